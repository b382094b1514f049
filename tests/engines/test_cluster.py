"""Runs on workers of dask: the same as anywhere else, whatever happens to workers."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from functools import partial
from itertools import pairwise

import cluster_jobs
import pytest
from support import PATH

from dumbbell import Scenario, Store, control
from dumbbell.engines import engine, sweep
from dumbbell.engines.cluster import confirmation
from dumbbell.engines.cluster import queue as queue_module
from dumbbell.engines.cluster import sweep as on_cluster
from dumbbell.engines.cluster.batch import Batch, Computed, compute, standing
from dumbbell.engines.cluster.confirmation import Confirmations
from dumbbell.engines.cluster.queue import Piece, Queue
from dumbbell.engines.cluster.sweep import ClusterSweep, why_not
from dumbbell.engines.execute import execute, execute_each
from dumbbell.engines.prepared import prepare
from dumbbell.engines.sweep import Listed, PreparedSweep
from dumbbell.errors import BadInput, EnvironmentFault, WorkerWarning
from dumbbell.executor import Threads, WorkerDied
from dumbbell.executor.cluster import Answer, Cluster, Task, Worker
from dumbbell.executor.cluster.dispatch import Dispatch

SCENARIO = {
    "name": "s",
    "path": PATH,
    "flows": [{"cc": "cubic", "start": {"jitter": "10ms"}}],
    "duration": "300ms",
    "sweep": {"path.bottleneck.rate": ["1mbit", "5mbit", "20mbit"]},
    "repeat": 8,
}


def scenario(**changes):
    return Scenario.model_validate({**SCENARIO, **changes})


@pytest.fixture(scope="module")
def workers():
    with Cluster("local:2") as made:
        yield made


@pytest.fixture
def cluster(workers):
    """Two workers, both of which are there: some tests kill one."""
    workers.connect().wait_for_workers(2, timeout=60)
    return workers


def stored(folder):
    """What a store has of each run, whatever machine made it and however it is kept."""
    store = Store(folder)
    return {key: (store.record(key), store.get(key).frame.write_csv()) for key in store.stored_keys() if store.verify(key)}


@pytest.mark.parametrize("most_kept", [0, 100], ids=["packs", "folders"])
def test_what_is_stored_is_what_one_process_stores(most_kept, cluster, tmp_path, monkeypatch):
    for module in (sweep, on_cluster):
        monkeypatch.setattr(module, "MOST_KEPT", most_kept)
    jobs = PreparedSweep(scenario())
    execute_each(jobs, Store(tmp_path / "one"), Threads(1))
    told = []
    outcome = execute_each(jobs, Store(tmp_path / "many"), cluster, told.append)
    assert stored(tmp_path / "many") == stored(tmp_path / "one")
    assert not outcome.unstored
    assert [run.cell for run in outcome] == [jobs.asked(i)[1] for i in range(len(jobs))]
    store = Store(tmp_path / "many")
    assert bool(store.packs.all()) == (most_kept == 0)
    assert b'"worker": "tls://127.0.0.1:' in store.host(jobs.key(0))
    assert [state.done for state in told] == sorted(state.done for state in told)
    assert (told[-1].done, told[-1].total, told[-1].running) == (24, 24, ())
    again = []
    execute_each(jobs, store, cluster, again.append)
    assert not again  # all are there, and no worker is asked


def test_runs_with_captures_keep_their_folders(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(on_cluster, "MOST_KEPT", 0)
    jobs = Listed(prepare(scenario(capture=["hosts"], repeat=4).runs()))
    execute_each(jobs, Store(tmp_path / "one"), Threads(1))
    execute_each(jobs, Store(tmp_path / "many"), cluster)
    assert stored(tmp_path / "many") == stored(tmp_path / "one")
    assert not Store(tmp_path / "many").packs.all()


def test_without_a_store_runs_come_back(cluster):
    runs = prepare(scenario().runs())
    assert [run.digest for run in execute(runs, executor=cluster)] == [run.digest for run in execute(runs)]


def test_a_run_that_kills_its_worker_is_one_invalid_run(cluster, tmp_path):
    runs = prepare(scenario(repeat=2).runs())
    runs[3] = cluster_jobs.as_kind(cluster_jobs.Killer, runs[3])
    found = execute(runs, Store(tmp_path), cluster)
    assert [run.status == "invalid" for run in found] == [i == 3 for i in range(6)]
    assert found[3].reasons == ("the process that computed it was killed by SIGKILL",)
    assert Store(tmp_path).missing([run.key for run in runs]) == [runs[3].key]
    kept = [run for i, run in enumerate(runs) if i != 3]
    assert [run.digest for run in execute(kept)] == [run.digest for i, run in enumerate(found) if i != 3]


def test_a_run_at_which_every_worker_dies_is_given_up():
    """What computes a run in a process of its own can die as well."""
    jobs = Listed(prepare(scenario(sweep=None, repeat=1).runs()))
    dying = ClusterSweep(jobs, [0], None, Cluster("local:1"))
    dying.joins(worker := Worker("tcp://a", 1, standing(["sim"])))
    for deaths in range(queue_module.TRIES):
        task = dying.next(worker)
        assert (task.of.deaths, task.argument.apart) == (deaths, deaths > 0)
        dying._take(Answer(task, worker, error=WorkerDied("gone")))
    assert not dying.waiting
    (run,) = dying._kept.unstored.values()
    assert (run.status, run.key) == ("invalid", jobs.key(0))
    assert run.reasons == ("3 workers died while they computed it; gone",)


def test_a_run_is_not_given_up_for_others_that_kill_its_worker(monkeypatch):
    """Beside it in other threads of the same worker, one after the other."""
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 1)
    jobs = Listed(prepare(scenario(sweep=None, repeat=5).runs()))
    made = ClusterSweep(jobs, range(5), None, Cluster("local:1"))
    made.joins(worker := Worker("tcp://a", 2, standing(["sim"])))
    task = made.next(worker)
    innocent = task.of.positions
    for _ in range(queue_module.TRIES + 1):
        made._take(Answer(task, worker, error=WorkerDied("gone")))
        made.joins(worker := Worker("tcp://a", 2, standing(["sim"])))
        task, other = made.next(worker), made.next(worker)
        assert (list(task.of.positions), task.of.deaths) == (list(innocent), 1)
        assert (task.argument.apart, other.argument.apart) == (True, False)
        made._take(Answer(other, worker, error=WorkerDied("gone")))
        again = made.next(worker)
        assert again.argument.apart
        made._take(Answer(again, worker, Computed(count=1)))
    made._take(Answer(task, worker, Computed(count=1)))
    assert (made._state.done, made._kept.unstored) == (5, {})


def test_a_batch_is_halved_when_its_worker_dies():
    jobs = Listed(prepare(scenario(sweep=None, repeat=5).runs()))
    queue = Queue(jobs, [])
    assert queue.try_again(Piece([0, 1, 2, 3, 4], 1.0))
    again = [queue.take(["sim"], 0.0, 1) for _ in range(2)]
    assert [(list(part.positions), part.deaths) for part in again] == [([0, 1, 2], 1), ([3, 4], 1)]
    assert not queue


def test_two_workers_that_disagree_stop_the_sweep(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(confirmation, "CHECKED", 5)
    runs = [cluster_jobs.as_kind(cluster_jobs.Liar, run) for run in prepare(scenario().runs())]
    with pytest.raises(EnvironmentFault, match=r"computed different results of the same run \(s, path.bottleneck.rate: \w+, seed: \d\)"):
        execute(runs, Store(tmp_path), cluster)
    assert len(Store(tmp_path).stored_keys()) < len(runs)


def test_runs_that_a_second_worker_confirms_are_kept(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(confirmation, "CHECKED", 2)
    asked = []
    settle = Confirmations.settle
    monkeypatch.setattr(Confirmations, "settle", lambda self, check, answer: asked.append((check, answer)) or settle(self, check, answer))
    execute(runs := prepare(scenario().runs()), Store(tmp_path), cluster)
    assert len(Store(tmp_path).stored_keys()) == len(runs)
    assert len(asked) == len(runs) // 2
    assert all(check.held.first.worker.address != answer.worker.address for check, answer in asked)


def test_one_worker_alone_confirms_nothing_and_keeps_all(tmp_path, monkeypatch):
    monkeypatch.setattr(confirmation, "CHECKED", 2)
    with Cluster("local:1") as one:
        execute(runs := prepare(scenario(repeat=2).runs()), Store(tmp_path), one)
    assert len(Store(tmp_path).stored_keys()) == len(runs)


def test_what_nobody_else_can_confirm_is_kept_at_once(tmp_path, monkeypatch):
    """Of two workers only one can run the engine, or there is but one."""
    monkeypatch.setattr(confirmation, "CHECKED", 2)
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 2)
    jobs = Listed(prepare(scenario(sweep=None, repeat=8).runs()))
    able, unable = Worker("tcp://a", 1, standing(["sim"])), Worker("tcp://b", 1, {**standing([]), "engines": {"sim": "is not built"}})
    for number, others in enumerate(([], [unable])):
        store = Store(tmp_path / str(number))
        store.request([])
        made = ClusterSweep(jobs, range(8), store, Cluster("local:2"))
        assert [made.refusal(each) for each in (able, unable)] == ["", "is not built"]
        for each in (able, *others):
            made.joins(each)
        computed = 0
        while (task := made.next(able)) is not None:
            assert len(store.stored_keys()) == computed
            made._take(Answer(task, able, task.function(task.argument)))
            computed += 2
        assert len(store.stored_keys()) == 8
        assert not made.waiting


def test_of_a_batch_on_which_workers_disagree_nothing_is_kept(tmp_path, monkeypatch):
    """Though another of its runs is confirmed later, and neither is what the same workers send afterwards."""
    monkeypatch.setattr(confirmation, "CHECKED", 1)
    jobs = Listed([cluster_jobs.as_kind(cluster_jobs.Liar, run) for run in prepare(scenario(sweep=None, repeat=4).runs())])
    workers = [Worker(f"tcp://{name}", 1, standing(["sim"])) for name in "abc"]
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 2)
    store = Store(tmp_path)
    store.request([])
    made = ClusterSweep(jobs, range(4), store, Cluster("local:2"))
    for each in workers:
        made.joins(each)
    first = made.next(workers[0])
    computed = first.function(first.argument)
    made._take(Answer(first, workers[0], computed))
    checks = [made.next(worker) for worker in workers[1:]]
    later = made.next(workers[1])
    seals = dict(computed.seals)
    made._take(Answer(checks[0], workers[1], Computed(seals=dict.fromkeys(seals, "0" * 64), count=1)))
    made._take(Answer(checks[1], workers[2], Computed(seals=seals, count=1)))
    made._take(Answer(later, workers[1], later.function(later.argument)))
    made._keep_unconfirmed()
    assert store.stored_keys() == []
    assert "computed different results of the same run" in str(made._error)


def test_what_another_could_confirm_waits_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(confirmation, "CHECKED", 2)
    jobs = Listed(prepare(scenario(sweep=None, repeat=2).runs()))
    first, unknown = Worker("tcp://a", 1, standing(["sim"])), Worker("tcp://b", 1)
    store = Store(tmp_path)
    store.request([])
    made = ClusterSweep(jobs, range(2), store, Cluster("local:2"))
    for each in (first, unknown):
        made.joins(each)
    task = made.next(first)
    made._take(Answer(task, first, task.function(task.argument)))
    assert made.next(first) is None
    assert (store.stored_keys(), made.waiting) == ([], True)
    unknown.facts = standing(["sim"])
    made.joins(unknown)
    check = made.next(unknown)
    made._take(Answer(check, unknown, check.function(check.argument)))
    assert (len(store.stored_keys()), made.waiting) == (2, False)


def test_handing_out_looks_at_no_other_worker(monkeypatch):
    """While a result waits to be confirmed, as else the work of a sweep would grow with the square of their number."""
    monkeypatch.setattr(confirmation, "CHECKED", 1)
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 1)
    made = ClusterSweep(Listed(prepare(scenario(sweep=None, repeat=50).runs())), range(50), None, Cluster("local:2"))
    workers = [Worker(f"tcp://{i}", 1, standing(["sim"])) for i in range(40)]
    for each in workers:
        made.joins(each)
    first = made.next(workers[0])
    made._take(Answer(first, workers[0], first.function(first.argument)))
    monkeypatch.setattr(on_cluster, "why_not", lambda *_: pytest.fail("a worker was looked at"))
    made._crew._able = _Uncounted(made._crew._able)
    assert all(made.next(each) is not None for each in workers)


class _Uncounted(dict):
    """A mapping that nobody goes through."""

    def __iter__(self):
        pytest.fail("all workers were looked at")

    items = keys = values = __iter__


def test_a_second_sweep_computes_nothing_that_the_first_has_stored_meanwhile(cluster, tmp_path):
    """It had looked at what is there before the first one ended."""
    jobs, store = Listed(prepare(scenario(repeat=2).runs())), Store(tmp_path)
    execute(jobs._runs, store, cluster)
    told = []
    second = ClusterSweep(jobs, range(6), store, cluster, told.append)
    assert second.finish(lambda: False) == {}
    assert [state.done for state in told] == [6]


def test_a_sweep_of_this_machine_waits_for_one_of_a_cluster_and_the_other_way_round(cluster, tmp_path):
    store, runs = Store(tmp_path), prepare(scenario(repeat=1).runs())
    store.request([])
    with (
        store.place.claimed("cluster"),
        pytest.raises(BadInput, match="another process has runs for it computed by a cluster; exp"),
    ):
        execute(runs, store)
    with store.claim(runs[0].key), pytest.raises(BadInput, match="another process computes runs for it; expected to be alone"):
        execute(runs, store, cluster)
    assert len(execute(runs, store, cluster)) == 3


def test_controls_in_python_stay_at_home():
    @control
    def half(_round):
        return 10

    runs = prepare(scenario(flows=[{"cc": half}], sweep=None, repeat=1).runs())
    with pytest.raises(BadInput, match=r"--cluster: half.py: congestion controls in Python are of this process alone; exp"):
        execute(runs, executor=Cluster("local:1"))


def test_a_worker_with_other_code_of_metrics_is_refused():
    ours = standing(["sim"])
    assert not why_not({"sim": ours["engines"]["sim"]}, ours)
    found = why_not({"sim": ours["engines"]["sim"]}, {**ours, "polars": "0.1"})
    assert found["sim"].startswith("its polars is 0.1, not ")
    assert found["sim"].endswith("; expected the same, as what is stored depends on it")


def test_an_error_of_a_run_ends_the_sweep_in_a_line(cluster, tmp_path):
    runs = prepare(scenario(repeat=2).runs())
    runs[0] = cluster_jobs.as_kind(cluster_jobs.Faulty, runs[0])
    with pytest.raises(EnvironmentFault, match="ValueError: a fault of this program"):
        execute(runs, Store(tmp_path), cluster)


def test_workers_with_other_sources_are_refused(cluster, tmp_path, monkeypatch):
    runs = prepare(scenario().runs())
    monkeypatch.setattr(engine("sim"), "sources", lambda: ("0123456789abcdef",))
    theirs = standing(["sim"])["engines"]["sim"]
    assert theirs == ["0123456789abcdef"]
    said = r"its engine sim has the sources [0-9a-f]{12}, not 0123456789ab; expected the same build of dumbbell"
    with (
        pytest.warns(WorkerWarning, match=f"is not used: {said}"),
        pytest.raises(EnvironmentFault, match=f"no worker can compute what is left: .*{said}"),
    ):
        execute(runs, Store(tmp_path), cluster)


def test_what_a_worker_lacks_is_said():
    ours = {"sim": ["a"], "kernel": ["b"]}
    same = standing([])
    assert why_not(ours, {**same, "engines": {"sim": ["a"], "kernel": "the kernel is not built"}}) == {"kernel": "the kernel is not built"}
    assert why_not(ours, {**same, "engines": {"sim": ["a"]}}) == {"kernel": "is unknown there"}
    assert not why_not(ours, {**same, "engines": {"sim": ["a"], "kernel": ["b"]}})


def test_a_worker_that_prepares_other_runs_computes_none():
    runs = prepare(scenario(repeat=1).runs())
    with pytest.raises(EnvironmentFault, match=r"a run has the key .* on this worker and 0000000000 where it was asked for"):
        compute(Batch(Listed(runs).part([0, 1]), (runs[0].key, "0" * 32), "memory"))


@pytest.mark.parametrize("fault", [EnvironmentFault, BadInput])
def test_packs_that_cannot_be_put_together_fail_no_sweep(fault, tmp_path, monkeypatch):
    def fails(*_):
        raise fault("the disk is full")

    store = Store(tmp_path)
    store.request([])
    monkeypatch.setattr("dumbbell.results.joining.join", fails)
    made = ClusterSweep(Listed([]), [], store, Cluster("local:1"))
    with pytest.warns(WorkerWarning, match="packs stay small: the disk is full"):
        assert made.finish(lambda: False) == {}


def test_another_sweep_of_the_same_folder_is_refused(cluster, tmp_path):
    store = Store(tmp_path)
    store.request([])
    with store.place.claimed("cluster"), pytest.raises(BadInput, match="another process has runs for it computed by a cluster; expected"):
        execute(prepare(scenario().runs()), store, cluster)


def test_engines_with_machines_of_their_own_are_refused(monkeypatch):
    monkeypatch.setattr(engine("sim"), "in_real_time", True)
    with pytest.raises(BadInput, match="--cluster: the engine sim runs on machines of its own; expected another engine, or no cluster"):
        execute(prepare(scenario().runs()), executor=Cluster("local:1"))


def test_batches_are_of_the_longest_runs_first_and_end_together(monkeypatch):
    monkeypatch.setattr(queue_module, "_FIRST_S", 0.001)
    jobs = Listed(prepare(scenario().runs()))
    order = sorted(range(len(jobs)), key=lambda i: -jobs.cpu_s(i))
    queue, pieces = Queue(jobs, order), []
    while (piece := queue.take(["sim"], 0.0, 2)) is not None:
        pieces.append(piece)
    assert [i for piece in pieces for i in piece.positions] == order
    assert len(pieces) > 6
    assert all(one.cost >= other.cost - jobs.cpu_s(order[0]) for one, other in pairwise(pieces))
    assert queue.engines == ("sim",)


def test_part_of_a_sweep_is_small_and_makes_the_same_runs(monkeypatch):
    monkeypatch.setattr(sweep, "MOST_KEPT", 0)
    jobs = PreparedSweep(scenario())
    part = jobs.part([9, 2, 3, 20, 8])
    assert [run.key for run in part.prepared()] == [jobs.key(i) for i in (2, 3, 8, 9, 20)]
    assert part.chosen == ((0, range(2, 4)), (1, range(2)), (2, range(4, 5)))


@pytest.fixture
def doomed():
    """Two workers, for a test that kills them."""
    with Cluster("local:2") as made:
        yield made


@pytest.mark.filterwarnings("ignore::dumbbell.errors.WorkerWarning")
def test_a_worker_that_is_killed_costs_no_run(doomed, tmp_path, monkeypatch):
    """It is killed as soon as it has runs, and so is the next that has some."""
    runs = prepare(scenario(duration="20s", repeat=40).runs())
    client, killed, take = doomed.connect(), [], Dispatch._send

    def send(self, task, worker):
        future = take(self, task, worker)
        if task.function is compute and len(killed) < 2:
            killed.append(worker.address)
            os.kill(processes[worker.address], signal.SIGKILL)
        elif task.function is standing:
            processes[worker.address] = client.run(os.getpid, workers=[worker.address])[worker.address]
        return future

    processes = client.run(os.getpid)
    monkeypatch.setattr(Dispatch, "_send", send)
    found = execute(runs, Store(tmp_path), doomed)
    assert len(set(killed)) == 2
    assert [run.digest for run in found] == [run.digest for run in execute(runs)]
    assert len(Store(tmp_path).stored_keys()) == len(runs)


def test_a_worker_that_goes_while_it_is_asked_is_not_waited_for(doomed, monkeypatch):
    client = doomed.connect()
    processes = client.run(os.getpid)
    send = Dispatch._send

    def killing(self, task, worker):
        future = send(self, Task(time.sleep, 30) if worker.address in processes else task, worker)
        if worker.address in processes:
            os.kill(processes[worker.address], signal.SIGKILL)
        return future

    monkeypatch.setattr(Dispatch, "_send", killing)
    began = time.monotonic()
    found = doomed.ask(ClusterSweep(Listed(prepare(scenario(repeat=1).runs())), [0], None, doomed))
    assert all(worker.address not in processes for worker in found)
    assert time.monotonic() - began < 60


def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path):
    file, out = tmp_path / "s.yaml", tmp_path / "out"
    file.write_text(
        "name: s\npath: {rtt: 20ms, bottleneck: {rate: 50mbit, qdisc: {kind: fq_codel}}}\n"
        "flows: [{cc: cubic, start: {jitter: 10ms}}]\nduration: 60s\nrepeat: 300\n"
    )
    command = [sys.executable, "-m", "dumbbell", "run", str(file), "--out", str(out), "--cluster", "local:2"]
    # In a group of its own, all of which Ctrl-C reaches, as in a terminal.
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heard)
    deadline = time.monotonic() + 60
    while len(list(out.glob("*/run.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    there = len(Store(out).stored_keys())
    assert said.splitlines()[-1] == f"interrupted; {there} of 300 runs are in {out}, the same command goes on from there"
    assert 3 <= there < 300
    assert all(Store(out).is_whole(key) for key in Store(out).stored_keys())


def test_closing_in_the_middle_gives_up_what_is_under_way(cluster):
    runs = prepare(scenario(duration="60s", repeat=4).runs())
    under_way = ClusterSweep(Listed(runs), range(len(runs)), None, cluster)
    with closing(cluster.compute(under_way)) as answers:
        next(answers)
    assert len(execute(runs[:2], executor=cluster)) == 2
