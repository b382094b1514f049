"""What each transfer is run with."""

import csv

import pytest

from dumbbell_studies.fairness.hosts import CONTROLS, advertised, has_outage, scenario_names, senders, setups
from dumbbell_studies.fairness.published import FOLDER, transfers


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


@pytest.mark.parametrize(
    ("largest", "window"),
    [(249_856, 5840), (1_249_280, 5856), (2_498_560, 5888), (4_999_168, 5888), (4_194_304, 5888), (65_535, 5840), (0, 5840)],
)
def test_the_window_of_a_sender_tells_its_largest_buffer(largest, window):
    assert advertised(largest) == window


def test_every_window_is_the_published_one():
    assert {place: advertised(setup.own_receive_buffer) for place, setup in setups().items()} == {
        place: each.window_bytes for place, each in transfers().items()
    }


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
