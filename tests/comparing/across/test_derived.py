"""Jain's index by step, on hand-made runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support import tables

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.derived import jain_by_step
from dumbbell.comparing.across.questions import Asked, settle
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.errors import BadInput
from dumbbell.results import Block, Run

SECOND = 10**9


def made(received, step_s=0.2, starts_s=(0.0, 0.0), cell=None):
    """A run of reno and cubic, which receive so many bytes in each interval of samples after their start; None: no series."""
    counters, blocks = {}, []
    for name, each, start_s in zip(("reno", "cubic"), received, starts_s, strict=True):
        total, active_ns = sum(each or ()), round(len(each or (0,)) * step_s * SECOND)
        counters[f"flow/{name}"] = {"start_ns": round(start_s * SECOND), "active_ns": active_ns, "rx_bytes": total, "retransmits": 0}
        if each is not None:
            t_ns = np.round((start_s + step_s * np.arange(1, len(each) + 1)) * SECOND).astype(np.int64)
            blocks.append(Block(f"flow/{name}", ("rx_bytes",), t_ns, np.cumsum([each], axis=1, dtype=float)))
    known = {"scenario": {"flows": [{"cc": "reno"}, {"cc": "cubic"}]}, "plan": {"ports": []}, "engine": {"name": "sim"}}
    return Run(key="0", name="s", cell=cell or {}, status="ok", reasons=(), **tables(counters), digest="", samples=tuple(blocks), **known)


def test_flows_that_take_turns_are_unfair_in_each_step_and_fair_in_all():
    run = made([[1000, 0] * 5, [0, 1000] * 5])
    assert jain_by_step(run) == pytest.approx(0.5)
    assert run.summary.run["jain_index"] == pytest.approx(1)


def test_it_is_the_mean_over_the_steps():
    # 1, (1 + 3)^2 / (2 (1 + 9)), and 1/2.
    assert jain_by_step(made([[10, 10, 0], [10, 30, 7]])) == pytest.approx((1 + 0.8 + 0.5) / 3)


def test_a_flow_counts_while_it_is_there_and_steps_without_payload_do_not():
    assert jain_by_step(made([[10, 10, 10, 10], [10, 30]], starts_s=(0.0, 0.4))) == pytest.approx((1 + 1 + 1 + 0.8) / 4)
    assert jain_by_step(made([[10, 0, 10], [10, 0, 30]])) == pytest.approx((1 + 0.8) / 2)
    assert math.isnan(jain_by_step(made([[0, 0], [0, 0]])))


def test_steps_are_whole_intervals_of_samples_and_at_least_a_fifth_of_a_second():
    # Four samples of 50 ms make a step, in which turns of 50 ms come out even.
    assert jain_by_step(made([[10, 0] * 8, [0, 10] * 8], step_s=0.05)) == pytest.approx(1)
    assert jain_by_step(made([[10, 0] * 4, [0, 10] * 4], step_s=0.5)) == pytest.approx(0.5)


def test_a_flow_that_begins_within_a_step_has_its_part_of_it():
    # 0.2 s to 0.4 s: one flow 10 and the other, from 0.3 s on, half of its first 10.
    found = jain_by_step(made([[10, 10, 10], [10, 10]], starts_s=(0.0, 0.3)))
    assert found == pytest.approx((1 + 15**2 / (2 * (10**2 + 5**2)) + 1 + 1) / 4)


def test_without_samples_of_a_flow_there_is_none():
    assert math.isnan(jain_by_step(made([[10, 10], None])))


def test_it_is_a_column_of_runs_for_those_who_ask():
    runs = [made([[1000, 0] * 5, [0, 1000] * 5], cell={"path.rtt": "20ms"}), made([[10] * 9, [10] * 9], cell={"path.rtt": "40ms"})]
    table = repeats_table([RunSet("a", runs)], "t", per="run", y=("jain_by_step", "jain_index"))
    assert [list(row) for row in table.fields] == [["20ms", "1", "0.5", "1"], ["40ms", "1", "1", "1"]]
    only = repeats_table([RunSet("a", runs)], "t", per="run", y=("jain_by_step",), where=("rtt=20ms",))
    assert [row[-1] for row in only.fields] == ["0.5"]
    assert "jain_by_step" not in repeats_table([RunSet("a", runs)], "t", per="run").columns
    found = settle(Asked(x="rtt", y=("jain_by_step",)), [RunSet("a", runs)])
    assert [each.values["jain_by_step"] for each in found.data["jain_by_step"]] == pytest.approx([0.5, 1])
    with pytest.raises(BadInput, match="--y 'jain_by_step' is unknown; expected one of flow_goodput_mbit"):
        repeats_table([RunSet("a", runs)], "t", per="flow", y=("jain_by_step",))


def test_only_the_runs_that_are_drawn_are_read_for_it():
    runs = [replace(made([[10] * 9, [10] * 9], cell={"path.rtt": rtt}), key=rtt) for rtt in ("20ms", "40ms", "80ms")]
    opened = []
    source = RunSet("a", runs, lambda outline: opened.append(outline.key) or outline)
    found = settle(Asked(x="rtt", y=("jain_by_step",), where=("rtt=20ms", "rtt=80ms")), [source])
    assert len(found.data["jain_by_step"]) == 2
    assert opened == ["20ms", "80ms"]
    with pytest.raises(BadInput, match="a run has no group"):
        settle(Asked(x="rtt", y=("jain_by_step",), per="run", where=("group=cubic",)), [source])
    assert opened == ["20ms", "80ms"]


def test_it_is_no_column_of_flows_on_either_axis():
    source = RunSet("a", [made([[10] * 9, [10] * 9])])
    with pytest.raises(BadInput, match="x 'jain_by_step' is unknown; expected one of flow_goodput_mbit"):
        settle(Asked(kind="scatter", x="jain_by_step", y=("goodput",), by=("flow",)), [source])
    found = settle(Asked(kind="scatter", x="jain_by_step", y=("goodput",)), [source])
    assert [each.values["jain_by_step"] for each in found.data["goodput_mbit"]] == pytest.approx([1])
