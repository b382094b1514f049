"""The runs that the study asks for."""

import pytest

from dumbbell.study import Request, find_study
from dumbbell_studies.fairness.experiments import EXPERIMENTS
from dumbbell_studies.fairness.scenarios import ERA, MODERN, document, outage_s, run_of

STUDY = find_study("fairness")


@pytest.mark.parametrize(("part", "seeds", "count"), [("2011", 10, 320), ("modern", 1, 32)])
def test_how_many_runs_a_part_has(part, seeds, count):
    found = STUDY.parts[part].scenarios(Request(seeds=seeds))
    assert len(found) == count
    assert len({tuple(run.cell.items()) for run in found}) == count


def test_experiments_stand_beside_the_reports_own_runs():
    cells = [run.cell for run in STUDY.parts["experiments"].scenarios(Request(seeds=1))]
    for each in EXPERIMENTS:
        for scenario in each.scenarios:
            assert {"mode": "2011", "scenario": scenario, "seed": 1} in cells
            assert {"mode": "2011", "scenario": scenario, "experiment": each.name, "seed": 1} in cells


def test_each_sender_delays_its_own_packets():
    found = document("Combo10", ERA, 1)
    assert {name: host["egress"]["qdisc"]["delay"] for name, host in found["hosts"].items()} == {"s1": "400ms", "s2": "100ms"}
    assert [flow["src"] for flow in found["flows"]] == ["s1", "s2"]
    assert found["flows"][0]["host"]["wmem"][-1] == "4999168B"
    assert "impairments" not in found["path"]


def test_without_delay_there_is_no_netem():
    assert document("Baseline1", ERA, 1)["hosts"]["s1"]["egress"]["qdisc"]["kind"] == "pfifo"


def test_outages_are_drawn_within_a_second_of_the_scripts():
    assert document("Combo13", ERA, 1)["path"]["impairments"] == [{"kind": "outage", "at": "4.000s", "for": "107.5ms"}]
    drawn = [outage_s(seed) for seed in range(2, 11)]
    assert len(set(drawn)) == 9
    assert all(3 <= at <= 5 for at in drawn)
    assert min(drawn) < 3.6
    assert max(drawn) > 4.4


def test_the_rerun_has_todays_controls_and_room_for_twice_the_path():
    found = document("Combo9", MODERN, 1)
    assert found["flows"][0]["cc"] == {"kind": "westwood"}
    assert found["flows"][0]["stack"] == {"base": "linux-6.12"}
    assert found["hosts"]["s1"]["egress"]["qdisc"]["limit"] == "3303p"


def test_ablations_change_one_thing():
    found = document("Combo1", ERA, 1, override={"cubic.version": "2.0", "stack.send_truesize": 1964, "netem.tick": None})
    assert [flow["cc"] for flow in found["flows"]] == [{"kind": "cubic", "version": "2.0"}, {"kind": "reno"}]
    assert found["hosts"]["s1"]["egress"]["qdisc"] == {"kind": "netem", "delay": "20ms", "limit": "1000p"}
    assert document("Combo1", ERA, 1)["hosts"]["s1"]["egress"]["qdisc"]["tick"] == "1ms"
    assert {flow["stack"]["send_truesize"] for flow in found["flows"]} == {1964}
    assert found["flows"][0]["stack"]["receive_truesize"] == document("Combo1", ERA, 1)["flows"][0]["stack"]["receive_truesize"]


def test_the_buffers_of_a_run_reach_its_plan():
    run = run_of("Combo16", ERA, 1)
    first, second = run.settings.flows
    assert int(first.host.rmem[-1]) == 249_856
    assert int(first.host.wmem[-1]) == int(second.host.rmem[-1]) == 1_249_280
