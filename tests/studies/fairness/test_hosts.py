"""The setup of each transfer."""

import csv

import dumbbell
from dumbbell.scenario import Scenario
from dumbbell_studies.fairness.hosts import CONTROLS, has_outage, scenario_names, senders, setups
from dumbbell_studies.fairness.published import FOLDER, transfers
from dumbbell_studies.fairness.scenarios import ERA, document


def test_there_is_a_setup_for_every_published_transfer():
    assert setups().keys() == transfers().keys()
    assert len(scenario_names()) == 32
    assert {setup.cc for setup in setups().values()} == CONTROLS.keys()


def test_controls_and_delays_are_those_of_the_report():
    with (FOLDER / "alberta_runs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            setup = setups()[row["scenario"], row["sender"]]
            assert (setup.cc, setup.delay_ms) == (row["cc"], float(row["own_fixed_delay_ms"]))
            assert has_outage(row["scenario"]) == (row["forced_drop_ms"] == "100")


def test_every_window_that_senders_advertise_is_the_published_one():
    advertised = {}
    for scenario in scenario_names():
        short = {f"flows.{i}.bytes": "100kB" for i in range(len(senders(scenario)))} | {"duration": "5s"}
        (run,) = dumbbell.run(Scenario.model_validate(document(scenario, ERA, 1, short)))
        for row in run.flows.rows():
            advertised[scenario, row["flow"]] = row["trace_window_bytes"]
    assert advertised == {place: each.window_bytes for place, each in transfers().items()}


def test_what_is_listed_is_as_the_report_lists_it():
    with (FOLDER / "alberta_config.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["parameter"] == "net.ipv4.tcp_rmem" and row["case_delay_ms"]]
    listed = {(row["group"], float(row["case_delay_ms"])): int(row["value"].split()[-1]) for row in rows}
    for (scenario, sender), setup in setups().items():
        group = "1" if scenario.startswith("Baseline") else "3" if has_outage(scenario) else "2"
        if not setup.inferred:
            own = listed[group, senders(scenario)["S1"].delay_ms]
            assert (setup.send_buffer, setup.receive_buffer, setup.own_receive_buffer) == (own, own, own), (scenario, sender)
            assert not setup.reason
        else:
            assert setup.reason
