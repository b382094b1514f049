"""Many runs: the same wherever they are computed, resumable, and clear when something fails."""

import json
import os
import signal
import threading
import time
import weakref

import pytest
from support import PATH, CrashingJob

from dumbbell import Scenario, Store, run
from dumbbell.engines import sim
from dumbbell.engines.base import expected_packets
from dumbbell.engines.prepared import Prepared
from dumbbell.errors import BadInput, EnvironmentFault, Interrupted
from dumbbell.executor import Threads
from dumbbell.executor.exclusive import Exclusive
from dumbbell.executor.processes import Processes
from dumbbell.running.execute import execute, execute_each
from dumbbell.running.prepare import prepare, refuse
from dumbbell.running.sweep import Listed
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


def executors(tmp_path):
    return [Threads(1), Threads(2), Threads(4), Processes(2), Exclusive(tmp_path / "lock")]


@pytest.mark.parametrize("which", range(5), ids=["threads 1", "threads 2", "threads 4", "processes 2", "exclusive"])
def test_where_runs_are_computed_changes_nothing(expected, which, tmp_path):
    executor = executors(tmp_path)[which]
    assert len(set(expected)) == 12
    assert [run.digest for run in run(scenario(), tmp_path / "out", executor=executor)] == expected
    assert [run.digest for run in Store(tmp_path / "out").runs()] == expected
    assert [run.digest for run in run(scenario(), executor=executor)] == expected
    host = json.loads(next((tmp_path / "out").glob("*/host.json")).read_text())
    assert host["cpu_s"] > 0
    assert host["wall_s"] > 0


def test_a_scenario_that_draws_is_computed_in_other_processes():
    drawn = scenario(sweep=None, background=[{"kind": "ping", "interval": {"exponential": "50ms"}}])
    assert [each.digest for each in run(drawn, executor=Processes(1))] == [each.digest for each in run(drawn)]


@pytest.mark.parametrize("workers", [0, -1, 2.5])
def test_a_number_of_workers_that_is_none_is_refused_before_anything_runs(workers, tmp_path):
    with pytest.raises(BadInput, match=f"workers is {workers}; expected a whole number"):
        run(scenario(), tmp_path / "out", workers=workers)
    assert not (tmp_path / "out").exists()


def test_the_digest_is_of_what_the_store_holds(tmp_path):
    import numpy as np

    from dumbbell.results import Block, digest

    for found in run(scenario(repeat=1), tmp_path / "out"):
        blocks = []
        for (entity, name), group in found.frame.partition_by("entity", "series", maintain_order=True, as_dict=True).items():
            blocks.append(Block(entity, (name,), group["t_ns"].to_numpy(), group["value"].to_numpy()[np.newaxis]))
        assert digest(blocks) == found.digest


def test_only_what_is_missing_is_run(tmp_path, monkeypatch):
    cells = prepare(scenario().expand())
    store = Store(tmp_path / "out")
    execute(cells[:5], store)

    def files():
        return {path: path.stat().st_ino for path in store.path.glob("*/run.json")}

    before = files()
    real, calls = sim.native().simulate, []
    monkeypatch.setattr(sim.native(), "simulate", lambda network, *more: calls.append(network) or real(network, *more))
    told = []
    runs = execute(cells, store, progress=told.append)
    assert len(calls) == 7
    assert list(dict.fromkeys((state.done, state.total) for state in told)) == [(done, 7) for done in range(8)]
    assert all(len(state.running) <= 2 * state.workers for state in told)
    last = told[-1]
    assert last.cost_done == pytest.approx(last.cost_total)
    assert last.packets == sum(run.engine["delivered_packets"] for run in runs[5:])
    assert [run.cell for run in runs] == [cell.resolved.cell for cell in cells]
    assert len(before) == 5
    assert before.items() <= files().items()


def test_the_longest_come_first(monkeypatch):
    real, rates = sim.native().simulate, []

    def note(network, *more):
        rates.append(json.loads(network)["ports"][1]["shaper"]["rate_bps"])
        return real(network, *more)

    monkeypatch.setattr(sim.native(), "simulate", note)
    monkeypatch.setattr(sim.engine.Compiled, "plan", property(lambda compiled: compiled.text))
    run(scenario(), workers=1)
    assert rates == sorted(rates, reverse=True)


def test_a_run_that_fails_is_told_and_not_kept(tmp_path, monkeypatch):
    real = sim.native().simulate

    def fail(network, *more):
        if json.loads(network)["ports"][1]["shaper"]["rate_bps"] == 1_000_000:
            raise RuntimeError("panicked at sender.rs:12:\nindex out of bounds")
        return real(network, *more)

    monkeypatch.setattr(sim.native(), "simulate", fail)
    monkeypatch.setattr(sim.engine.Compiled, "plan", property(lambda compiled: compiled.text))
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
        f"sweep.flows.0.stack.hz: {hz} ticks a second; expected 100 to 1000" for hz in (0, 5000)
    ]


def test_samples_are_counted_by_flows_and_ports():
    flows = [{"cc": "cubic", "count": 1000}]
    few, many = (scenario(flows=flows, duration="20s", sample=sample, sweep=None, repeat=1).expand() for sample in ("10ms", "1ms"))
    refuse(few)
    with pytest.raises(ScenarioError, match=r"^sample: 1ms takes 220651032 values in 20s; expected at most"):
        refuse(many)


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
    cells = prepare(scenario().expand())
    real, calls = sim.native().simulate, []

    def simulate(network, *more):
        if not calls:  # the other one does all the work while this one is at its first run
            calls.append(network)
            execute(others, Store(tmp_path / "out"))
        calls.append(network)
        return real(network, *more)

    monkeypatch.setattr(sim.native(), "simulate", simulate)
    first = max(cells, key=lambda cell: expected_packets(cell.plan))
    others = [cell for cell in cells if cell is not first]
    outcome = execute_each(Listed(cells), Store(tmp_path / "out"), Threads(1))
    runs = list(outcome)
    assert outcome.ran == 1
    assert len(calls) == 1 + len(cells)
    assert [run.cell for run in runs] == [cell.resolved.cell for cell in cells]


def test_what_another_process_is_at_is_waited_for_last(tmp_path):
    cells = prepare(scenario().expand())
    store = Store(tmp_path / "out")
    (theirs,) = execute([max(cells, key=lambda cell: expected_packets(cell.plan))])
    store.request([])
    told = []

    def other():
        with Store(store.path).claim(theirs.key):
            claimed.set()
            while len(store.missing(keys)) > 1:
                time.sleep(0.01)
            store.write(theirs)

    keys = [cell.key for cell in cells]
    claimed, thread = threading.Event(), threading.Thread(target=other)
    thread.start()
    claimed.wait()
    runs = execute(cells, store, Threads(2), told.append)
    thread.join()
    assert [run.key for run in runs] == keys
    assert (told[-1].done, told[-1].total) == (12, 12)
    assert told[-1].cost_done == pytest.approx(told[-1].cost_total)
    assert not [name for name in os.listdir(store.path) if name.startswith(".claim")]


def test_the_same_run_asked_for_twice_is_computed_once(tmp_path, monkeypatch):
    (cell, *_) = prepare(scenario().expand())
    real, calls = sim.native().simulate, []
    monkeypatch.setattr(sim.native(), "simulate", lambda network, *more: calls.append(network) or real(network, *more))
    for store in (None, Store(tmp_path / "out")):
        first, second = execute([cell, cell], store, Threads(2))
        assert first.digest == second.digest
    assert len(calls) == 2


def test_a_run_that_crashes_its_process_is_one_invalid_run(tmp_path):
    cells = [CrashingJob(**vars(cell)) for cell in prepare(scenario(repeat=1).expand())]
    runs = execute(cells, Store(tmp_path / "out"), Processes(2))
    assert [run.status for run in runs] == ["invalid"] * 2 + ["ok"] * 4
    assert runs[0].reasons == ("the process that computed it was killed by SIGSEGV",)
    assert runs[0].cell == {"path.bottleneck.rate": "1mbit", "path.rtt": "5ms"}
    assert len(Store(tmp_path / "out").runs()) == 4
    assert [run.status for run in run(scenario(repeat=1), tmp_path / "out")] == ["ok"] * 6


def test_what_one_job_raises_ends_it_all_and_what_is_begun_is_kept(tmp_path, monkeypatch):
    real, count, second = sim.native().simulate, iter(range(100)), threading.Event()

    def simulate(network, *more):
        if next(count) == 0:
            second.wait()
            raise BadInput("no such thing")
        second.set()
        return real(network, *more)

    monkeypatch.setattr(sim.native(), "simulate", simulate)
    with pytest.raises(BadInput, match="no such thing"):
        run(scenario(), tmp_path / "out", workers=2)
    assert 1 <= len(Store(tmp_path / "out").runs()) < 11, "what was begun with it is kept, and the rest is not begun"


def test_memory_does_not_grow_with_runs_that_are_written(tmp_path, monkeypatch):
    real, computed, alive = Prepared.produce, [], []

    def produce(job):
        made = real(job)
        assert made.samples
        computed.append(weakref.ref(made))
        return made

    monkeypatch.setattr(Prepared, "produce", produce)
    run(scenario(repeat=4), tmp_path / "out", workers=2, progress=lambda _: alive.append(sum(made() is not None for made in computed)))
    assert len(computed) == 24
    assert 0 < max(alive) <= 4, "two runs are being computed, and two are finished and not yet written"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("kept", [True, False])
def test_an_interrupt_keeps_what_is_finished(tmp_path, kept):
    begun = []

    def press(state):
        if state.done == 2 and not begun:
            begun.append(len(state.running))
            os.kill(os.getpid(), signal.SIGINT)

    out = tmp_path / "out"
    with pytest.raises(Interrupted) as interrupted:
        run(scenario(), out if kept else None, workers=2, progress=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if kept:
        there = len(Store(out).runs())
        assert 2 <= there <= 2 + begun[0]
        assert str(interrupted.value) == f"interrupted; {there} of 12 runs are in {out}, the same command goes on from there"
    else:
        assert str(interrupted.value) == "interrupted"


def test_nothing_to_do():
    assert len(execute([])) == 0
