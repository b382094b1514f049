"""Repeating cells until a metric is known well enough: which runs that makes, and how it goes on after an interruption."""

import json
import os
import shutil
import signal
from itertools import pairwise

import pytest

from dumbbell import Results, Scenario, Store, run
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.tables import repeats_table
from dumbbell.errors import BadInput, Interrupted
from dumbbell.executor import Local, Threads
from dumbbell.executor.base import produce
from dumbbell.running.until.rounds import asked_so_far, repeat_until
from dumbbell.scenario.function import control


def scenario(**more):
    """Two cells: the shares of two flows, which differ much from run to run, and a queue that shares evenly."""
    return Scenario.model_validate(
        {
            "name": "s",
            "path": {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
            "flows": [{"cc": "cubic", "start": {"jitter": "100ms"}}, {"cc": "reno", "start": {"jitter": "100ms"}}],
            "duration": "2s",
            "sweep": {"path.bottleneck.qdisc": [{"kind": "pfifo", "limit": "1bdp"}, "fq_codel"]},
            "until": {"metric": "goodput", "per": "group", "ci": "5%", "least": 3, "most": 12},
            **more,
        }
    )


def cells(outcome):
    return [tuple(each.cell.values()) for each in outcome]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The results of one go, and what is said of them."""
    folder = tmp_path_factory.mktemp("until") / "whole"
    return folder, repeat_until(scenario(), Store(folder), Threads(1))


def test_cells_take_as_many_repeats_as_they_need(whole):
    _, found = whole
    wide, narrow = found.verdicts
    assert narrow.state == "narrow"
    assert 3 <= narrow.taken < wide.taken <= 12
    assert found.outcome.ran == len(found.jobs) == narrow.taken + wide.taken
    # Cell by cell, and in a cell by seed.
    first = [("pfifo limit=1bdp", 1 + i) for i in range(wide.taken)]
    assert cells(found.outcome) == [*first, *(("fq_codel", 1 + i) for i in range(narrow.taken))]


def test_their_runs_are_those_of_repeat(whole):
    folder, found = whole
    repeated = scenario(until=None, repeat=12)
    missing = Store(folder).missing(each.key for each in run(repeated))
    assert len(missing) == 24 - len(found.jobs)


class Backwards(Local):
    """Finishes runs in the opposite order, as workers of different speeds might."""

    workers = 100

    def run(self, jobs, stopped=lambda: False):
        yield from reversed([produce(job) for job in jobs if not stopped()])


@pytest.mark.parametrize("executor", [Threads(3), Backwards()])
def test_neither_workers_nor_a_store_change_which_there_are(executor, whole):
    _, found = whole
    again = repeat_until(scenario(), None, executor)
    assert again.verdicts == found.verdicts
    assert [each.key for each in again.outcome] == [each.key for each in found.outcome]


def test_what_is_stored_is_not_run_again(whole, tmp_path):
    folder, found = whole
    shutil.copytree(folder, tmp_path / "copy")
    store = Store(tmp_path / "copy")
    again = repeat_until(scenario(), store)
    assert (again.outcome.ran, again.verdicts) == (0, found.verdicts)
    # Runs that somebody else asked for count as well, and those that nobody needs now stay.
    run(scenario(until=None, repeat=12), store.path)
    assert repeat_until(scenario(until={**scenario().until.model_dump(mode="json"), "ci": "0.1%"}), store).outcome.ran == 0
    assert repeat_until(scenario(), store).verdicts == found.verdicts


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("done", [4, 8], ids=["in the first round", "in the second"])
def test_it_goes_on_after_an_interruption(whole, tmp_path, done):
    _, found = whole
    store = Store(tmp_path / "stopped")
    pressed = []

    def stop(state):
        if state.done == done and not pressed:  # a second time would end the process
            pressed.append(state)
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="the same command goes on from there") as raised:
        repeat_until(scenario(), store, Threads(1), stop)
    assert str(raised.value).startswith(f"interrupted; {len(store.stored_keys())} runs are in {store.path}")
    again = repeat_until(scenario(), store, Threads(2))
    assert 0 < again.outcome.ran < len(again.jobs)
    assert again.verdicts == found.verdicts
    assert [each.digest for each in again.outcome] == [each.digest for each in found.outcome]


def test_progress_grows_with_what_is_asked_for():
    states = []
    found = repeat_until(scenario(), None, Threads(1), states.append)
    assert states[0].total == 6
    last = states[-1]
    assert (last.done, last.total, last.running) == (len(found.jobs), len(found.jobs), ())
    assert all(before.done <= after.done for before, after in pairwise(states))


def test_what_is_stored_says_what_is_asked_for(whole, tmp_path):
    folder, found = whole
    taken = [verdict.taken for verdict in found.verdicts]
    done = list(asked_so_far(scenario(), Store(folder), [0, 1]))
    assert [(each.cell, each.least, each.most, each.missing) for each in done] == [(i, taken[i], taken[i], 0) for i in (0, 1)]
    nothing = list(asked_so_far(scenario(), Store(tmp_path / "none"), [1]))
    assert [(each.cell, each.least, each.most, each.missing) for each in nothing] == [(1, 3, 12, 3)]


def test_a_damaged_repeat_is_left_out(whole, tmp_path):
    folder, found = whole
    shutil.copytree(folder, tmp_path / "copy")
    key = next(iter(found.outcome)).key
    (tmp_path / "copy" / key / "run.json").write_text("{}")
    with pytest.warns(UserWarning, match="run.json"):
        again = repeat_until(scenario(), Store(tmp_path / "copy"))
    assert len(list(again.outcome)) == len(again.jobs) - 1
    assert again.verdicts[1] == found.verdicts[1]


def test_a_metric_of_series_is_that_of_the_table(tmp_path):
    until = {"metric": "jain_by_step", "ci": 0.02, "least": 3, "most": 6}
    store = Store(tmp_path)
    found = repeat_until(scenario(until=until), store, Threads(1))
    table = repeats_table([RunSet("", list(found.outcome))], "", per="run", y=("jain_by_step",), apart=True)
    shown = [[float(field) for field in row[-4:]] for row in table.fields]
    for verdict, numbers in zip(found.verdicts, shown, strict=True):
        estimate = verdict.estimate
        assert verdict.state != "none"
        assert numbers == pytest.approx([verdict.taken, estimate.centre, estimate.low, estimate.high], rel=1e-5)
    assert [each.least for each in asked_so_far(scenario(until=until), store, (0, 1))] == [each.taken for each in found.verdicts]


def test_a_repeat_whose_series_are_damaged_has_no_metric_of_them(tmp_path):
    asks = scenario(until={"metric": "jain_by_step", "ci": 0.02, "least": 3, "most": 3})
    store = Store(tmp_path)
    found = repeat_until(asks, store, Threads(1))
    assert [each.estimate.count for each in found.verdicts] == [3, 3]
    (tmp_path / next(iter(found.outcome)).key / "series.parquet").write_bytes(b"PAR1")
    with pytest.warns(UserWarning, match=r"series\.parquet"):
        again = repeat_until(asks, store, Threads(1))
    assert [(each.taken, each.estimate.count) for each in again.verdicts] == [(3, 2), (3, 3)]
    assert again.verdicts[0].estimate.centre != found.verdicts[0].estimate.centre
    assert [(each.least, each.missing) for each in asked_so_far(asks, store, (0, 1))] == [(3, 0), (3, 0)]


def test_the_interface_of_python_repeats_as_well(whole, tmp_path):
    _, found = whole
    results = run(scenario(), workers=1)
    assert isinstance(results, Results)
    assert [each.key for each in results] == [each.key for each in found.outcome]
    assert "until" not in json.dumps(results[0].scenario)

    @control(name="mine")
    def mine(seen):
        return seen.cwnd

    functions = scenario(flows=[{"cc": mine, "start": {"jitter": "100ms"}}], until={"metric": "goodput", "ci": "2%"}, sweep=None)
    with pytest.raises(BadInput, match=r"mine\.py: runs with congestion controls in Python are not stored"):
        run(functions, tmp_path / "out")
