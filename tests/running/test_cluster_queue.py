"""Tasks that workers get, and their fate when workers die or disagree: without any worker."""

from itertools import count, pairwise
from types import SimpleNamespace

import cluster_jobs
import pytest
from cluster_jobs import scenario

from dumbbell import Store
from dumbbell.executor import WorkerDied
from dumbbell.executor.cluster import Answer, Cluster, Worker
from dumbbell.executor.cluster import dispatch as dispatching
from dumbbell.executor.cluster.dispatch import Dispatch
from dumbbell.running.cluster import confirmation
from dumbbell.running.cluster import queue as queue_module
from dumbbell.running.cluster import sweep as on_cluster
from dumbbell.running.cluster.batch import Computed, standing
from dumbbell.running.cluster.crew import Crew
from dumbbell.running.cluster.queue import Piece, Queue
from dumbbell.running.cluster.sweep import ClusterSweep
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import Listed


def test_a_run_at_which_every_worker_dies_is_given_up():
    """A worker can also die while it computes a run in a process of its own."""
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
    """Next to it, in other threads of the same worker, one after the other."""
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


def test_a_run_that_kills_its_worker_beside_others_is_given_up(monkeypatch):
    """Though each worker that has it gets a fresh batch next to it, which may have killed the worker as well."""
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 1)
    jobs = Listed(prepare(scenario(sweep=None, repeat=20).runs()))
    made = ClusterSweep(jobs, range(20), None, Cluster("local:1"))
    made.joins(healthy := Worker("tcp://b", 1, standing(["sim"])))
    killed = 0
    while not made._kept.unstored and killed < 15:
        made.joins(worker := Worker(f"tcp://{killed}", 2, standing(["sim"])))
        task = made.next(worker)
        assert list(task.of.positions) == [0]
        if (innocent := made.next(healthy)) is not None and innocent.of.deaths:
            made._take(Answer(innocent, healthy, Computed(count=1)))
        beside = made.next(worker)
        made.leaves(worker)
        killed += 1
        for lost in filter(None, (task, beside)):
            made._take(Answer(lost, worker, error=WorkerDied("gone")))
    assert killed == queue_module.SPARINGS + queue_module.TRIES
    assert [run.key for run in made._kept.unstored.values()] == [jobs.key(0)]
    assert made._kept.unstored[jobs.key(0)].reasons == ("8 workers died while they computed it; gone",)


def test_a_run_is_not_given_up_for_one_like_it_that_kills_their_worker(monkeypatch):
    """Both have been in a batch whose worker died, so that both are suspected whenever it dies again."""
    monkeypatch.setattr(queue_module, "_MOST_BATCH", 1)
    jobs = Listed(prepare(scenario(sweep=None, repeat=2).runs()))
    made = ClusterSweep(jobs, range(2), None, Cluster("local:1"))
    while made.waiting:
        made.joins(worker := Worker("tcp://a", 2, standing(["sim"])))
        tasks = list(filter(None, (made.next(worker), made.next(worker))))
        killed = any(0 in task.of.positions for task in tasks)
        made.leaves(worker)
        for task in tasks:
            died = {"error": WorkerDied("gone")} if killed else {"value": Computed(count=1)}
            made._take(Answer(task, worker, **died))
    assert [run.key for run in made._kept.unstored.values()] == [jobs.key(0)]
    assert made._state.done == 2


def test_what_a_worker_answered_before_it_died_is_not_kept_in_mind():
    crew, piece, beside = Crew(), Piece([0], 1.0, deaths=1), Piece([1], 1.0)
    crew.joins(worker := Worker("tcp://a", 2), ["sim"])
    for each in (piece, beside):
        crew.takes(worker, each)
    assert crew.loses(beside, worker)
    crew.gives_back(beside, worker)
    crew.gives_back(piece, worker)  # its answer was on its way
    crew.takes(worker, piece)
    assert crew.loses(piece, worker)


def test_a_batch_is_halved_when_its_worker_dies():
    jobs = Listed(prepare(scenario(sweep=None, repeat=5).runs()))
    queue = Queue(jobs, [])
    assert queue.try_again(Piece([0, 1, 2, 3, 4], 1.0))
    again = [queue.take(["sim"], 0.0, 1) for _ in range(2)]
    assert [(list(part.positions), part.deaths) for part in again] == [([0, 1, 2], 1), ([3, 4], 1)]
    assert not queue


def test_what_nobody_else_can_confirm_is_kept_at_once(tmp_path, monkeypatch):
    """Only one of two workers can run the engine, or there is only one worker."""
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


@pytest.mark.filterwarnings("ignore::dumbbell.errors.WorkerWarning")
@pytest.mark.parametrize("since_s", [59.5, 60.5])
def test_a_sweep_that_only_waited_to_be_confirmed_ends_once_those_who_could_have_gone(since_s, tmp_path, monkeypatch):
    """Though a worker is there that is not used, and whenever the minute is over: each look at the clock is later than the one before."""
    monkeypatch.setattr(confirmation, "CHECKED", 1)
    jobs, store = Listed(prepare(scenario(sweep=None, repeat=1).runs())), Store(tmp_path)
    store.request([])
    made = ClusterSweep(jobs, [0], store, Cluster("local:2"))
    workers = [Worker(f"tcp://{name}", 1, standing(["sim"])) for name in "ab"]
    for each in workers:
        made.joins(each)
    task = made.next(workers[0])
    made._take(Answer(task, workers[0], task.function(task.argument)))
    for each in workers:
        made.leaves(each)
    dispatch = Dispatch(None, "tcp://s", made, lambda: False, set(), expects_more=True)
    dispatch.workers["tcp://c"] = Worker("tcp://c", 1, {}, refused="its polars is another")
    clock = count(dispatch._changed + since_s)
    monkeypatch.setattr(dispatching, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    while not dispatch._finished():
        assert (store.stored_keys(), made.waiting) == ([], True)
    assert store.stored_keys() == [jobs.key(0)]


def test_an_error_that_is_found_when_nothing_is_under_way_is_not_said_to_be_for_want_of_workers():
    found = []
    source = SimpleNamespace(waiting=True, next=lambda *_: found.append("an error"), deserted=lambda: None, lack=lambda _: "")
    dispatch = Dispatch(None, "tcp://s", source, lambda: bool(found), set(), expects_more=False)
    dispatch.workers["tcp://a"] = dispatch._free["tcp://a"] = Worker("tcp://a", 1, {})
    assert dispatch._finished()


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
