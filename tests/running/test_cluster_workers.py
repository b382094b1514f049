"""Workers that differ: one with several threads, and one that has no kernel. Their results are those of one process."""

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import cluster_jobs
import pytest
from cluster_jobs import scenario
from cluster_processes import processes
from required import missing
from waiting import HANG_S

from docs import interface
from dumbbell import Store, run
from dumbbell.cli.executor import make_executor
from dumbbell.cli.maintain import check
from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault, WorkerWarning
from dumbbell.executor import Threads
from dumbbell.executor.cluster import Cluster
from dumbbell.running.cluster import queue as queue_module
from dumbbell.running.cluster.batch import Batch, compute
from dumbbell.running.cluster.sweep import ClusterSweep
from dumbbell.running.execute import execute, execute_each
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import Listed, PreparedSweep
from dumbbell.running.until.rounds import repeat_until

ROOT = Path(__file__).resolve().parents[2]
THREADS = 4


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """A scheduler with a worker of several threads that finds what is built here, and one of one thread that finds nothing."""
    folder = tmp_path_factory.mktemp("head")
    with processes(folder) as made:
        made.worker(THREADS)
        made.worker(XDG_CACHE_HOME=str(folder / "empty"))
        yield made


@pytest.fixture
def cluster(head):
    """The two workers, both of which are there."""
    with Cluster(head.address) as made:
        made.connect().wait_for_workers(2, timeout=HANG_S)
        yield made


@pytest.fixture
def wide(cluster):
    """The address of the worker with several threads."""
    return next(address for address, threads in cluster.connect().nthreads().items() if threads == THREADS)


@pytest.fixture
def kernel():
    found = engine("kernel")
    try:
        found.require()
    except EnvironmentFault as fault:
        missing("kernel", fault)


@pytest.fixture
def computed(monkeypatch):
    """By position, how often a run was sent to a worker."""
    sent, part = Counter(), ClusterSweep._part

    def counting(self, positions):
        sent.update(positions)
        return part(self, positions)

    monkeypatch.setattr(ClusterSweep, "_part", counting)
    return sent


def stored(folder):
    store = Store(folder)
    return {key: (store.record(key), store.get(key).frame.write_csv()) for key in store.stored_keys() if store.verify(key)}


@pytest.mark.usefixtures("kernel")
def test_runs_of_the_kernel_go_to_workers_that_have_one(cluster, wide, tmp_path):
    jobs = PreparedSweep(scenario(engine="kernel", repeat=2))
    execute_each(jobs, Store(tmp_path / "one"), Threads(2))
    with pytest.warns(WorkerWarning, match=r"is not used: the engine kernel has no kernel in .*; `dumbbell kernel build`"):
        execute_each(jobs, store := Store(tmp_path / "many"), cluster)
    assert stored(store.path) == stored(tmp_path / "one")
    assert len(store.stored_keys()) == 6
    assert all(f'"worker": "{wide}"'.encode() in store.host(key) for key in store.stored_keys())


@pytest.mark.usefixtures("kernel")
def test_of_two_engines_each_worker_computes_what_it_can(cluster, wide, tmp_path):
    runs = [*prepare(scenario(engine="kernel", repeat=1).runs()), *prepare(scenario().runs())]
    execute(runs, store := Store(tmp_path), cluster)
    assert not store.missing(each.key for each in runs)
    assert {wide} == {_worker(store, each.key) for each in runs if each.engine == "kernel"}


def _worker(store, key):
    return json.loads(store.host(key))["worker"]


@pytest.fixture(scope="module")
def poor(tmp_path_factory):
    """A cluster whose only worker has no kernel."""
    folder = tmp_path_factory.mktemp("poor")
    with processes(folder) as made:
        made.worker(XDG_CACHE_HOME=str(folder / "empty"))
        with Cluster(made.address) as cluster:
            cluster.connect().wait_for_workers(1, timeout=HANG_S)
            yield cluster


@pytest.mark.usefixtures("kernel")
@pytest.mark.filterwarnings("ignore::dumbbell.errors.WorkerWarning")
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside others"])
def test_if_no_worker_has_a_kernel_that_is_said_in_a_line(beside, poor, tmp_path, monkeypatch):
    monkeypatch.setattr("dumbbell.executor.cluster.dispatch._ABSENT_S", 0.2)
    others = prepare(scenario(repeat=1).runs()) if beside else []
    runs = [*prepare(scenario(engine="kernel", repeat=1).runs()), *others]
    with pytest.raises(EnvironmentFault, match=r"no worker can compute what is left: .*the engine kernel has no kernel in") as error:
        execute(runs, store := Store(tmp_path), poor)
    assert "\n" not in str(error.value)
    assert sorted(store.stored_keys()) == sorted(each.key for each in others)


@pytest.mark.usefixtures("kernel", "cluster")
def test_a_plan_counts_the_workers_that_can_run_its_engine(dumbbell, head, poor, tmp_path):
    file = tmp_path / "s.json"
    file.write_text(scenario().model_dump_json())
    plan = ("plan", file, "--out", tmp_path / "out", "--json")
    everywhere, kernel = (dumbbell(*plan, "--set", f"engine={name}", "--cluster", head.address) for name in ("sim", "kernel"))
    assert (json.loads(everywhere.out)["workers"], json.loads(kernel.out)["workers"]) == (THREADS + 1, THREADS)
    answer = dumbbell(*plan, "--set", "engine=kernel", "--cluster", poor.place)
    assert answer.status == EnvironmentFault.exit_status
    said = f"{poor.place}: there are no workers that run the engine kernel; `dumbbell cluster {poor.place}` says what there is"
    assert answer.err.splitlines() == [said]


def test_rounds_of_until_are_those_of_one_process(cluster, tmp_path):
    repeated = scenario(
        flows=[{"cc": "cubic", "start": {"jitter": "100ms"}}, {"cc": "reno", "start": {"jitter": "100ms"}}],
        duration="2s",
        repeat=None,
        sweep={"path.bottleneck.qdisc": [{"kind": "pfifo", "limit": "1bdp"}, "fq_codel"]},
        until={"metric": "goodput", "per": "group", "ci": "5%", "least": 3, "most": 12},
    )
    one = repeat_until(repeated, Store(tmp_path / "one"), Threads(1))
    many = repeat_until(repeated, Store(tmp_path / "many"), cluster)
    assert (many.verdicts, many.outcome.ran) == (one.verdicts, one.outcome.ran)
    assert [run.cell for run in many.outcome] == [run.cell for run in one.outcome]
    assert stored(tmp_path / "many") == stored(tmp_path / "one")
    assert all(_worker(Store(tmp_path / "many"), run.key) for run in many.outcome)


def test_damaged_runs_are_made_again_by_workers(dumbbell, head, cluster, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(check, "make_executor", lambda *how: opened.append(make_executor(*how)) or opened[0])
    out, file = tmp_path / "out", tmp_path / "s.json"
    file.write_text(scenario().model_dump_json())
    runs = prepare(scenario().runs())
    execute(runs, Store(out), cluster)
    before = stored(out)
    (out / runs[3].key / "series.parquet").write_bytes(b"")
    (out / runs[5].key / "run.json").write_text("{}")
    shutil.rmtree(out / runs[7].key)
    answer = dumbbell("check", "--repair", out, "--cluster", head.address, "--json")
    opened[0].close()
    assert answer.status == 1, "a run of which nothing is left is only known from the scenario"
    assert '"repaired": 2' in answer.out
    assert all(_worker(Store(out), runs[i].key) for i in (3, 5))
    Store(out).request([])
    execute(runs, Store(out), cluster)
    assert {key: samples for key, (_, samples) in stored(out).items()} == {key: samples for key, (_, samples) in before.items()}


def test_a_library_is_loaded_by_workers_if_that_is_allowed(cluster, tmp_path):
    if shutil.which("cc") is None:
        missing("compiler", "there is no C compiler (cc), which compiles the tests' libraries")
    library = tmp_path / "cubic.so"
    source = ROOT / "examples" / "library" / "cubic.c"
    command = ["cc", "-O2", "-w", "-std=gnu11", "-shared", "-fPIC", "-I", str(interface.TARGET), "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    own = scenario(flows=[{"cc": {"library": str(library)}, "start": {"jitter": "10ms"}}], repeat=2)
    prepared = prepare(own.runs())
    refused = compute(Batch(Listed(prepared).part([0]), (prepared[0].key,), "memory"))
    assert "expected --allow-library" in str(refused.error)
    run(own, tmp_path / "many", executor=cluster, allow_library=True)
    run(own, tmp_path / "one", allow_library=True)
    assert stored(tmp_path / "many") == stored(tmp_path / "one")
    assert len(stored(tmp_path / "one")) == 6


def test_threads_of_a_worker_compute_each_run_once(cluster, wide, computed, tmp_path, monkeypatch):
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 5)
    runs = prepare(scenario(repeat=40).runs())
    told = []
    execute(runs, store := Store(tmp_path), cluster, told.append)
    assert [each.digest for each in store.runs()] == [each.digest for each in execute(runs)]
    assert computed == dict.fromkeys(range(len(runs)), 1)
    assert max(len(state.running) for state in told) == THREADS + 1
    assert {_worker(store, each.key) for each in runs} > {wide}
    assert not store.place.others()


@pytest.mark.filterwarnings("ignore::dumbbell.errors.WorkerWarning")
def test_of_what_was_in_the_threads_of_a_worker_that_died_only_what_killed_it_is_lost(cluster, tmp_path, monkeypatch):
    """All of it is with the same worker, and those like it, each time."""
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 1)
    monkeypatch.setattr(ClusterSweep, "refusal", lambda _, worker: "" if worker.threads == THREADS else "has one thread")
    runs = prepare(scenario(duration="200s", sweep=None, repeat=THREADS).runs())
    runs[0] = cluster_jobs.as_kind(cluster_jobs.WorkerKiller, runs[0])
    runs[1] = cluster_jobs.as_kind(cluster_jobs.Killer, runs[1])
    found = execute(runs, store := Store(tmp_path), cluster)
    assert [i for i, each in enumerate(found) if each.status == "invalid"] == [0, 1]
    assert found[0].reasons[0].startswith("3 workers died while they computed it; the worker that computed it, tcp://")
    assert found[1].reasons == ("the process that computed it was killed by SIGKILL",)
    assert sorted(store.missing(each.key for each in runs)) == sorted([runs[0].key, runs[1].key])
    assert [each.digest for each in found[2:]] == [each.digest for each in execute(runs[2:])]
