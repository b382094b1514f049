"""Runs on workers of dask: the same as anywhere else, whatever happens to workers."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import closing
from functools import partial

import cluster_jobs
import pytest
from cluster_jobs import scenario
from waiting import HANG_S, wait_until

from dumbbell import Store, control
from dumbbell.engines import engine
from dumbbell.errors import BadInput, EnvironmentFault, WorkerWarning
from dumbbell.executor import Threads
from dumbbell.executor.cluster import Cluster, Task
from dumbbell.executor.cluster.dispatch import Dispatch
from dumbbell.running import sweep
from dumbbell.running.cluster import confirmation
from dumbbell.running.cluster import queue as queue_module
from dumbbell.running.cluster import sweep as on_cluster
from dumbbell.running.cluster.batch import Batch, compute, standing
from dumbbell.running.cluster.confirmation import Confirmations
from dumbbell.running.cluster.sweep import ClusterSweep, why_not
from dumbbell.running.execute import execute, execute_each
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import Listed, PreparedSweep


@pytest.fixture(scope="module")
def workers():
    with Cluster("local:2") as made:
        yield made


@pytest.fixture
def cluster(workers):
    """Two workers, both of which are there: some tests kill one."""
    workers.connect().wait_for_workers(2, timeout=HANG_S)
    return workers


def stored(folder):
    """Return a store's content of each run, whatever machine made it and however it is kept."""
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
    assert not outcome.at_hand
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


def test_a_second_sweep_computes_nothing_that_the_first_has_stored_meanwhile(cluster, tmp_path):
    """It had looked at the folder before the first one ended."""
    jobs, store = Listed(prepare(scenario(repeat=2).runs())), Store(tmp_path)
    execute(jobs._runs, store, cluster)
    told = []
    second = ClusterSweep(jobs, range(6), store, cluster, told.append)
    assert second.finish(lambda: False) == {}
    assert [state.done for state in told] == [6]
    assert second.elsewhere == 6


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
    monkeypatch.setattr("dumbbell.results.storage.joining.join", fails)
    made = ClusterSweep(Listed([]), [], store, Cluster("local:1"))
    with pytest.warns(WorkerWarning, match="packs stay small: the disk is full"):
        assert made.finish(lambda: False) == {}


def test_a_sweep_waits_to_put_its_packs_together_while_another_process_packs(cluster, tmp_path, monkeypatch):
    """The sweep before it, at whose end it was started, puts together the files that existed when that began to."""
    for module in (sweep, on_cluster):
        monkeypatch.setattr(module, "MOST_KEPT", 0)
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 4)
    jobs, store = PreparedSweep(scenario()), Store(tmp_path)
    store.request([])
    with store.place.claimed("pack"):
        ended = threading.Thread(target=execute_each, args=(jobs, store, cluster))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ended.start()
            wait_until(lambda: told)
        assert [str(each.message) for each in told] == [
            f"{tmp_path}: all runs are computed; waiting until another process has packed what it found"
        ]
        assert ended.is_alive()
        assert len(Store(tmp_path).packs.all()) > 1
        execute_each(jobs, Store(tmp_path), cluster)  # one that has computed nothing has nothing to wait for
    ended.join(HANG_S)
    assert len(Store(tmp_path).packs.all()) == 1


def test_another_sweep_of_the_same_folder_is_refused(cluster, tmp_path):
    store = Store(tmp_path)
    store.request([])
    with store.place.claimed("cluster"), pytest.raises(BadInput, match="another process has runs for it computed by a cluster; expected"):
        execute(prepare(scenario().runs()), store, cluster)


def test_engines_with_machines_of_their_own_are_refused(monkeypatch):
    monkeypatch.setattr(engine("sim"), "in_real_time", True)
    with pytest.raises(BadInput, match="--cluster: the engine sim runs on machines of its own; expected another engine, or no cluster"):
        execute(prepare(scenario().runs()), executor=Cluster("local:1"))


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
        future = send(self, Task(time.sleep, 3600) if worker.address in processes else task, worker)
        if worker.address in processes:
            os.kill(processes[worker.address], signal.SIGKILL)
        return future

    monkeypatch.setattr(Dispatch, "_send", killing)
    found = doomed.ask(ClusterSweep(Listed(prepare(scenario(repeat=1).runs())), [0], None, doomed))
    assert all(worker.address not in processes for worker in found)


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
    wait_until(lambda: len(list(out.glob("*/run.json"))) >= 3)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=HANG_S)
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
