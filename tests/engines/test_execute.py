"""Many runs: the same whatever the number of workers, resumable, and clear when something fails."""

import json
import os

import pytest
from support import PATH

from dumbbell import Scenario, Store, run
from dumbbell.engines import sim
from dumbbell.engines.base import expected_packets
from dumbbell.engines.execute import execute
from dumbbell.engines.pool import in_parallel
from dumbbell.errors import BadInput, EnvironmentFault, Interrupted
from dumbbell.scenario import ScenarioError


def scenario(**more):
    settings = {
        "name": "many",
        "path": PATH,
        "flows": [{"cc": "cubic", "count": 2, "start": {"jitter": "100ms"}}],
        "duration": "2s",
        "sweep": {"path.bottleneck.rate": ["1mbit", "10mbit", "50mbit"], "path.rtt": ["5ms", "40ms"]},
        "repeat": 2,
        **more,
    }
    return Scenario.model_validate(settings)


@pytest.fixture(scope="module")
def expected():
    """The digests by one worker, in memory."""
    return [run.digest for run in run(scenario(), workers=1)]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_number_of_workers_changes_nothing(expected, workers, tmp_path):
    assert len(set(expected)) == 12
    assert [run.digest for run in run(scenario(), tmp_path / "out", workers=workers)] == expected
    assert [run.digest for run in Store(tmp_path / "out").runs()] == expected


def test_the_digest_is_of_what_the_store_holds(tmp_path):
    import numpy as np

    from dumbbell.results import Block, digest

    for found in run(scenario(repeat=1), tmp_path / "out"):
        blocks = []
        for group in found.frame.partition_by("entity", maintain_order=True):
            names = tuple(group["series"].unique(maintain_order=True))
            values = group["value"].to_numpy().reshape(len(names), -1)
            t_ns = group["t_ns"].to_numpy()[: values.shape[1]]
            blocks.append(Block(group["entity"][0], names, ("",) * len(names), t_ns, np.ascontiguousarray(values)))
        assert digest(blocks) == found.digest


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    cells = scenario().expand()
    store = Store(tmp_path / "out")
    execute(cells[:5], store)

    def files():
        return {path: path.stat().st_ino for path in store.path.glob("*/run.json")}

    before = files()
    real, calls = sim.native().simulate, []
    monkeypatch.setattr(sim.native(), "simulate", lambda network: calls.append(network) or real(network))
    progress = []
    runs = execute(cells, store, progress=lambda done, total: progress.append((done, total)))
    assert len(calls) == 7
    assert progress == [(done, 7) for done in range(8)]
    assert [run.cell for run in runs] == [cell.cell for cell in cells]
    assert len(before) == 5
    assert before.items() <= files().items()


def test_the_longest_come_first(monkeypatch):
    real, rates = sim.native().simulate, []

    def note(network):
        rates.append(json.loads(network)["ports"][1]["shaper"]["rate_bps"])
        return real(network)

    monkeypatch.setattr(sim.native(), "simulate", note)
    run(scenario(), workers=1)
    assert rates == sorted(rates, reverse=True)


def test_a_run_that_fails_is_told_and_not_kept(tmp_path, monkeypatch):
    real = sim.native().simulate

    def fail(network):
        if json.loads(network)["ports"][1]["shaper"]["rate_bps"] == 1_000_000:
            raise RuntimeError("panicked at sender.rs:12:\nindex out of bounds")
        return real(network)

    monkeypatch.setattr(sim.native(), "simulate", fail)
    runs = run(scenario(repeat=1), tmp_path / "out")
    assert [run.status for run in runs] == ["invalid"] * 2 + ["ok"] * 4
    assert runs[0].reasons == ("the simulator failed: panicked at sender.rs:12: index out of bounds",)
    assert len(Store(tmp_path / "out").runs()) == 4
    monkeypatch.undo()
    assert [run.status for run in run(scenario(repeat=1), tmp_path / "out")] == ["ok"] * 6


def test_what_the_simulator_refuses_is_bad_input():
    flows = [{"cc": "cubic", "stack": {"base": "linux-6.12", "hz": 250}}]
    bad = scenario(flows=flows, sweep={"flows.0.stack.hz": [250, 0, 5000]}, repeat=1)
    with pytest.raises(ScenarioError) as error:
        run(bad)
    assert [str(problem).partition(" (")[0] for problem in error.value.problems] == [
        f"sweep.flows.0.stack.hz: option hz is {hz}; expected 100 to 1000" for hz in (0, 5000)
    ]


def test_samples_are_counted_by_flows_and_ports():
    flows = [{"cc": "cubic", "count": 1000}]
    few, many = (scenario(flows=flows, duration="20s", sample=sample, sweep=None, repeat=1).expand() for sample in ("10ms", "1ms"))
    sim.ENGINE.refuse(few)
    with pytest.raises(ScenarioError, match=r"^sample: 1ms takes 220651032 values in 20s; expected at most"):
        sim.ENGINE.refuse(many)


def test_what_the_simulator_does_not_know_is_refused_before_anything_runs(tmp_path):
    bad = scenario(sweep={"flows.0.cc": ["cubic", "cubci"]})
    with pytest.raises(ScenarioError, match=r"^sweep.flows.0.cc: unknown cc 'cubci' \(did you mean 'cubic'\?\)"):
        run(bad, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_ends_it_with_whole_runs(small_disk):
    with pytest.raises(EnvironmentFault, match="No space left on device"):
        run(scenario(sample="1ms", repeat=20), small_disk / "out", workers=2)
    store = Store(small_disk / "out")
    assert 0 < len(store.runs()) < 120
    assert not [name for name in os.listdir(store.path) if name.startswith((".partial", ".claim"))]


def test_what_another_process_has_run_meanwhile_is_not_run_again(tmp_path, monkeypatch):
    cells = scenario().expand()
    real, calls = sim.native().simulate, []

    def simulate(network):
        if not calls:  # the other one does all the work while this one is at its first run
            calls.append(network)
            execute(others, Store(tmp_path / "out"))
        calls.append(network)
        return real(network)

    monkeypatch.setattr(sim.native(), "simulate", simulate)
    first = max(cells, key=expected_packets)
    others = [cell for cell in cells if cell is not first]
    runs = execute(cells, Store(tmp_path / "out"), workers=1)
    assert len(calls) == 1 + len(cells)
    assert [run.cell for run in runs] == [cell.cell for cell in cells]


def test_an_interrupt_lets_what_runs_finish_and_drops_the_rest():
    done = []

    def job(index):
        done.append(index)
        return index

    jobs = [lambda i=i: job(i) for i in range(100)]
    found = in_parallel(jobs, 1)
    assert next(found)[1] == 0
    with pytest.raises(Interrupted):
        found.throw(KeyboardInterrupt)
    count = len(done)
    assert done == list(range(count))
    with pytest.raises(StopIteration):
        next(found)


def test_a_job_that_raises_ends_it_all():
    def fail():
        raise BadInput("no")

    with pytest.raises(BadInput, match="no"):
        list(in_parallel([fail, *[lambda: None] * 10], 2))


def test_nothing_to_do():
    assert list(in_parallel([], 4)) == []
