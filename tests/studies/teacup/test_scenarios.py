import json

import pytest

from dumbbell.engines import engine
from dumbbell.plan import make
from dumbbell.running.prepare import compute
from dumbbell.study import Request, find_part
from dumbbell_studies.teacup import beyond
from dumbbell_studies.teacup.published import Experiment, flow_labels, panels, setting
from dumbbell_studies.teacup.scenarios import AQMS, CONTROL_FROM_S, FURTHER, ONSET, QDISCS, SENDERS, document, experiments, further
from dumbbell_studies.teacup.trials import CHANGE, trial_of

STUDY, PART = find_part("teacup")


def plan(run):
    return make(run, engine("sim").capabilities()).plan


def test_every_published_panel_has_its_experiment():
    known = experiments()
    assert len(known) == len(set(known)) == 28
    assert {panel.experiment for panel in panels()} <= set(known)
    assert len(panels()) == 67
    assert sorted({panel.figure for panel in panels()}) == list(range(2, 15))


def test_parameters_are_the_printed_ones():
    pie, codel, fq_codel = (QDISCS[name] for name in ("pie", "codel", "fq_codel"))
    assert (pie["target"], pie["tupdate"]) == (
        f"{setting('linux_router', 'pie.target_ms')}ms",
        f"{setting('linux_router', 'pie.tupdate_ms')}ms",
    )
    assert (str(pie["alpha"]), str(pie["beta"])) == (setting("linux_router", "pie.alpha"), setting("linux_router", "pie.beta"))
    for name, qdisc in (("codel", codel), ("fq_codel", fq_codel)):
        assert float(qdisc["target"].removesuffix("ms")) == float(setting("linux_router", f"{name}.target_ms"))
        assert float(qdisc["interval"].removesuffix("ms")) == float(setting("linux_router", f"{name}.interval_ms"))
    assert str(fq_codel["flows"]) == setting("linux_router", "fq_codel.flows")
    assert fq_codel["quantum"] == setting("linux_router", "fq_codel.quantum_bytes") + "B"
    settings = document(Experiment("newreno", "pie", 200.0, 2000))
    assert settings["path"]["delay"]["limit"] == setting("linux_router", "delay_buffer_pkts") + "p"
    assert settings["path"]["bottleneck"]["rate"] == setting("path", "bottleneck_mbit") + "mbit"
    assert settings["path"]["bottleneck"]["qdisc"]["limit"] == "2000p"
    for number, flow in enumerate(settings["flows"], 1):
        assert flow["start"]["first"] == setting("traffic", f"flow{number}_start_s (Host{number} to Host{number + 3})") + "s"
        assert flow["duration"] == setting("traffic", "flow_duration_s") + "s"
        assert flow["host"]["sndbuf"] == flow["host"]["rcvbuf"] == setting("traffic", "requested_socket_buffer_kB") + "kB"
        assert flow["ecn"] is False
    assert len(set(flow_labels())) == 3
    assert set(SENDERS) == {panel.experiment.cc for panel in panels()}


def test_each_direction_is_shaped_first_and_delayed_behind():
    run = next(run for run in PART.scenarios(Request(quick=True)) if run.cell["rtt_ms"] == 200)
    found = plan(run)
    (path,) = found.paths
    ways = [[(found.ports[i].id, found.ports[i].delay_ns) for i in ports] for ports in (path.forward, path.reverse)]
    assert ways == [[("access", 0), ("bottleneck", 0), ("delay", 100_000_000)], [("bottleneck-reverse", 0), ("delay-reverse", 100_000_000)]]
    hosts = [workload.source for workload in found.tcp] + [workload.target for workload in found.tcp]
    assert len(set(hosts)) == 6


def test_repeats_differ_in_the_starts_of_all_flows_and_in_nothing_else():
    runs = [run for run in PART.scenarios(Request(quick=True, seeds=3)) if run.cell["qdisc"] == "codel"]
    first = [run for run in runs if run.cell["cc"] == "cubic" and run.cell["rtt_ms"] == 20 and run.cell["limit_packets"] == 180]
    assert [run.seed for run in first] == [1, 2, 3]
    starts = [tuple(connection.start_ns for _, connection in plan(run).connections) for run in first]
    assert all(len({each[i] for each in starts}) == 3 for i in range(3))
    assert all(0 <= each[i] - 20 * 10**9 * i <= 10**8 for each in starts for i in range(3))
    assert len({json.dumps(run.dump() | {"seed": 0}, sort_keys=True) for run in first}) == 1


def test_controls_are_part_of_a_full_request_only():
    full, quick = PART.scenarios(Request(seeds=1)), PART.scenarios(Request(quick=True, seeds=1))
    assert len(quick) == 28
    controls = [run for run in full if ONSET in run.cell]
    assert len(full) - len(controls) == 28
    assert len(controls) == len(SENDERS) * len(AQMS) * len(CONTROL_FROM_S)


@pytest.fixture(scope="module")
def control():
    """One control run, and one run with tail drop."""
    chosen = [
        run
        for run in PART.scenarios(Request(seeds=1))
        if run.cell["cc"] == "newreno" and run.cell["rtt_ms"] == 200 and run.cell["limit_packets"] == 180
        if (run.cell.get(ONSET) == 2.0 and run.cell["qdisc"] == "codel") or run.cell["qdisc"] == "pfifo"
    ]
    return {run.cell["qdisc"]: compute(run, on="sim") for run in chosen}


def test_a_control_is_tail_drop_until_its_onset_and_the_aqm_after_it(control):
    times, windows = control["codel"].series("flow/1", "cwnd")
    tail_drop = control["pfifo"].series("flow/1", "cwnd")
    before = times < 1.9
    assert before.sum() > 50
    # The second stage adds the serialisation delay at 1 Gbit/s, so an ACK may arrive just before or just after a sample.
    assert (abs(windows[before] - tail_drop[1][: len(windows)][before]) <= 2).mean() > 0.9
    counters = control["codel"].counters
    assert counters["port/bottleneck"]["dropped_aqm"] > 0
    assert counters["port/bottleneck"]["first_drop_ns"] >= 2 * 10**9


def test_cdg_has_the_trials_of_newreno_on_the_same_hosts():
    assert {each.cc for each in further()} == set(FURTHER) == {"cdg", "freebsd-cubic"}
    assert [(each.qdisc, each.rtt_ms, each.limit_packets) for each in further() if each.cc == "cdg"] == [
        (each.qdisc, each.rtt_ms, each.limit_packets) for each in experiments() if each.cc == "newreno"
    ]
    runs = STUDY.parts["cdg"].scenarios(Request(quick=True, seeds=1))
    assert {(flow.stack, flow.cc["kind"]) for run in runs for flow in plan(run).tcp} == {("freebsd-9", "cdg"), ("freebsd-9", "cubic")}


def test_each_next_step_changes_what_it_says_and_nothing_else():
    pie, fair = (Experiment("newreno", name, 20.0, 180) for name in ("pie", "fq_codel"))
    base = document(pie)
    assert beyond.changed(pie, beyond.NONE) == base
    tuned = beyond.changed(pie, "target 5 ms")
    assert tuned["path"]["bottleneck"]["qdisc"].pop("target") == "5ms"
    base["path"]["bottleneck"]["qdisc"].pop("target")
    assert tuned == base
    marked = beyond.changed(fair, "ECN")
    assert all(flow["ecn"] for flow in marked["flows"])
    assert beyond.changed(pie, "ECN")["path"]["bottleneck"]["qdisc"]["variant"] == "linux-6.12"
    slow = beyond.changed(fair, "ACKs over 128 kbit/s")["path"]
    assert [stage["rate"] for stage in slow["reverse"] if stage["name"] == "bottleneck"] == ["128kbit"]
    assert slow["forward"][1]["rate"] == "10mbit"
    late = beyond.changed(fair, "nine tenths of the delay behind the queue")["path"]
    assert (late["forward"][-1]["delay"], late["reverse"][-1]["delay"]) == ("18ms", "2ms")
    assert beyond.changed(fair, "flow 2 with four times the RTT")["flows"][1]["rtt"] == "80ms"
    asked = {(cell.qdisc, change) for cell, change in beyond.experiments()}
    assert ("codel", "quantum 300") not in asked
    assert ("pfifo", "ECN") not in asked


def test_a_trial_with_a_change_is_none_of_the_reports():
    runs = STUDY.parts["next"].scenarios(Request(quick=True, seeds=1))
    assert {run.cell[CHANGE] for run in runs} == set(beyond.CHANGES)
    run = compute(next(run for run in runs if run.cell[CHANGE] == "ECN" and run.cell["qdisc"] == "codel"))
    assert trial_of(run) is None
    trial = trial_of(run, changed=True)
    assert trial is not None
    assert trial.drops[1].max() == 0, "CoDel marks, and the limit is not reached"
    table = STUDY.parts["next"].summaries([run])["summary"]
    assert table.rows[0][:3] == ["ECN", "newreno", "codel"]
