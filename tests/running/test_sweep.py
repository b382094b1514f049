"""Large sweeps: prepared runs are prepared again when they are needed, and nothing but the memory shows it."""

import gc
import tracemalloc

import pytest
from support import PATH

from dumbbell import Scenario, Store
from dumbbell.executor import Threads
from dumbbell.running import sweep
from dumbbell.running.execute import execute, execute_each
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import PreparedSweep, requests
from dumbbell.scenario import ScenarioError


def scenario(cells, repeat=1):
    """Return a scenario of this many cells."""
    return Scenario.model_validate(
        {
            "name": "many",
            "path": PATH,
            "flows": [{"cc": "cubic", "start": {"jitter": "10ms"}}],
            "duration": "200ms",
            "sample": "0s",
            "sweep": {"path.bottleneck.rate": [f"{100 + i}kbit" for i in range(cells)]},
            "repeat": repeat,
        }
    )


@pytest.mark.parametrize("most_kept", [0, 100])
def test_whether_they_are_kept_changes_nothing(most_kept, tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "MOST_KEPT", most_kept)
    wanted = scenario(4, repeat=3)
    expected = prepare(wanted.runs())
    jobs = PreparedSweep(wanted)
    assert list(requests(jobs)) == [(run.resolved.name, run.resolved.cell, run.key) for run in expected]
    for i, run in enumerate(expected):
        again = jobs[i]
        assert (again.key, again.plan, again.resolved.cell, again.scenario) == (run.key, run.plan, run.resolved.cell, run.scenario)
        assert (jobs.key(i), jobs.cpu_s(i), jobs.engine(i)) == (run.key, run.cpu_s, run.engine)
    runs = execute(expected, executor=Threads(2))
    outcome = execute_each(jobs, Store(tmp_path), Threads(2))
    for _ in range(2):  # they can be read as often as one likes
        assert [(run.cell, run.digest) for run in outcome] == [(run.cell, run.digest) for run in runs]


def test_all_are_checked_before_any_runs(monkeypatch):
    monkeypatch.setattr(sweep, "MOST_KEPT", 0)
    wrong = scenario(3)
    wrong.sweep.grid["path.bottleneck.rate"][2] = "1bogus"
    with pytest.raises(ScenarioError, match="'1bogus' has an unknown unit"):
        PreparedSweep(wrong)


def test_preparing_leaves_no_cycles(monkeypatch):
    """The collector is off meanwhile."""
    monkeypatch.setattr(sweep, "MOST_KEPT", 0)

    def cycles(cells):
        wanted = scenario(cells)
        gc.collect()
        gc.disable()
        try:
            PreparedSweep(wanted)
            return gc.collect()
        finally:
            gc.enable()

    cycles(5)  # imports
    assert cycles(60) == cycles(5)


def test_memory_hardly_grows_with_the_number_of_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "MOST_KEPT", 0)

    def peaks(cells):
        wanted = scenario(cells)
        tracemalloc.start()
        outcome = execute_each(PreparedSweep(wanted), Store(tmp_path / str(cells)), Threads(1))
        made = tracemalloc.get_traced_memory()[1]
        assert sum(run.status == "ok" for run in outcome) == cells
        read = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return made, read

    peaks(5)  # imports
    few, many = peaks(10), peaks(50)
    for before, after in zip(few, many, strict=True):
        assert (after - before) / 40 < 4000, "bytes a run"
