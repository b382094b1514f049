"""Whole sweeps on workers that are played, with a clock that is played: who kills is found, whatever lies next to it, and soon."""

import math
import random
from collections import Counter
from itertools import product
from queue import Empty

import pytest
from cluster_jobs import scenario

from dumbbell.executor.cluster import Cluster, dispatch
from dumbbell.running.cluster import confirmation
from dumbbell.running.cluster import queue as queue_module
from dumbbell.running.cluster.batch import Computed, standing
from dumbbell.running.cluster.queue import SPARINGS, TRIES
from dumbbell.running.cluster.sweep import ClusterSweep
from dumbbell.running.prepare import prepare
from dumbbell.running.sweep import Listed

RUNS = 60
MOST_KILLS = 300


class Played:
    """A scheduler with its clock, and workers, each of which comes back under another address some time after it was killed.

    Whoever computes a run of `killers` is killed with all that he is at; the scheduler may notice late. Times are drawn.
    """

    def __init__(self, seed, killers, workers, threads):
        self._draw, self.killers, self._threads = random.Random(seed), killers, threads
        self.now, self._number = 0.0, 0
        self._alive, self._unnoticed, self._coming = set(), {}, []
        self._sent = {}
        self.kills, self.computed = Counter(), Counter()
        for _ in range(workers):
            self._comes()

    def _comes(self):
        self._alive.add(f"tcp://{self._number}")
        self._number += 1

    def monotonic(self):
        return self.now

    def nthreads(self):
        seen = {address for address, until in self._unnoticed.items() if until > self.now}
        return dict.fromkeys(sorted(self._alive | seen), self._threads)

    def submit(self, function, argument, workers, **_):
        asked = function is standing
        made = Future(argument, workers[0], asked, self.now + (0.01 if asked else self._draw.uniform(0.1, 10.0)))
        self._sent[made] = None
        return made

    def put(self, future):
        """Does nothing: `get` looks for the future that is done next."""

    def get(self, timeout):
        """The future that is done next, as a queue gives it."""
        end = self.now + timeout
        while True:
            for _ in [at for at in self._coming if at <= self.now]:
                self._comes()
            self._coming = [at for at in self._coming if at > self.now]
            due = [each for each in self._sent if each.worker in self._alive and each.at <= end]
            if not due:
                self.now = end
                raise Empty
            done = min(due, key=lambda each: each.at)
            self.now = max(self.now, done.at)
            if not done.asked and (killing := self.killers.intersection(done.argument.keys)):
                self.kills.update(killing)
                self._kill(done.worker)
                continue
            del self._sent[done]
            done.status = "finished"
            done.value = FACTS if done.asked else self._computed(done.argument.keys)
            return done

    def _computed(self, keys):
        self.computed.update(keys)
        return Computed(count=len(keys), seals=dict.fromkeys(keys, "0"), wall_s=float(len(keys)))

    def _kill(self, address):
        self._alive.discard(address)
        self._unnoticed[address] = self.now + self._draw.uniform(0.0, 5.0)
        self._coming.append(self.now + self._draw.uniform(0.5, 3.0))


class Future:
    """A task that a played worker has."""

    def __init__(self, argument, worker, asked, at):
        self.argument, self.worker, self.asked, self.at = argument, worker, asked, at
        self.status, self.value = "pending", None

    def add_done_callback(self, _):
        pass

    def cancel(self):
        pass

    def result(self, **_):
        return self.value


FACTS = standing(["sim"])


@pytest.fixture(scope="module")
def runs():
    return prepare(scenario(sweep=None, repeat=RUNS).runs())


@pytest.mark.filterwarnings("ignore::dumbbell.errors.WorkerWarning")
@pytest.mark.parametrize("checked", [1000, 3], ids=["few are confirmed", "many are confirmed"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_run_that_kills_its_workers_is_given_up_and_no_other(runs, threads, checked, monkeypatch):
    """Each sweep is drawn from the numbers of its case."""
    monkeypatch.setattr(confirmation, "CHECKED", checked)
    jobs = Listed(runs)
    for case in product((1, 2, 5), (1, 3, 100), (1, 3), range(3)):
        workers, most_batch, killers, seed = case
        monkeypatch.setattr(queue_module, "_MOST_BATCH", most_batch)
        played = Played(seed, {runs[i].key for i in random.Random(seed).sample(range(RUNS), killers)}, workers, threads)
        for module in (dispatch, queue_module):
            monkeypatch.setattr(module, "time", played)
        cluster = Cluster("tcp://played:1")
        sweep = ClusterSweep(jobs, range(RUNS), None, cluster)
        dispatched = dispatch.Dispatch(played, "tcp://played:1", sweep, lambda: False, set(), expects_more=True)
        dispatched._done = played
        for answer in dispatched.answers():
            cluster.workers = max(dispatched.threads, 1)
            sweep._take(answer)
            assert sum(played.kills.values()) < MOST_KILLS, case
        assert {each.key for each in sweep._kept.unstored.values() if each.status == "invalid"} == played.killers, case
        halvings = math.ceil(math.log2(min(most_batch, RUNS)))
        assert max(played.kills.values()) <= SPARINGS + max(TRIES, 1 + halvings), case
        assert played.computed.keys() == {each.key for each in runs} - played.killers, case
        assert sweep._state.done == RUNS, case
