"""Executors: the same from each, only what can be begun is taken, and a job's trouble is that job's."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise
from pathlib import Path

import pytest
from support import MadeJob
from waiting import wait_until

from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.executor import Threads, WorkerDied, check_workers
from dumbbell.executor.exclusive import Exclusive
from dumbbell.executor.processes import Processes
from dumbbell.scenario import ScenarioError

TESTS = Path(__file__).parent.parent
CLOCK_S = 0.001
"""By which the clocks of a process and of its machine may differ."""


@pytest.fixture(params=["threads 1", "threads 3", "processes 2", "exclusive 1"])
def executor(request, tmp_path):
    kind, count = request.param.split()
    return Exclusive(tmp_path / "lock") if kind == "exclusive" else {"threads": Threads, "processes": Processes}[kind](int(count))


def jobs(count, **more):
    return [MadeJob(f"{i:032x}", **more) for i in range(count)]


def test_every_job_is_done_once(executor):
    for count in (7, 0, 1):
        asked = jobs(count)
        found = {finished.job.key: finished for finished in executor.run(iter(asked))}
        assert sorted(found) == [job.key for job in asked]
        assert all(finished.run.key == key and finished.error is None for key, finished in found.items())


def test_a_job_is_taken_when_it_can_be_begun(executor):
    taken = given = 0

    def counted():
        nonlocal taken
        for job in jobs(12, takes_s=0.01):
            taken += 1
            assert taken - given <= 2 * executor.workers, "as many are begun as there are workers, and as many may be finished"
            yield job

    for _ in executor.run(counted()):
        given += 1
    assert (taken, given) == (12, 12)


@pytest.mark.parametrize("kind", [Threads, Processes])
def test_jobs_are_begun_in_the_order_given(kind):
    asked = jobs(9)
    assert [finished.job for finished in kind(1).run(iter(asked))] == asked


def test_what_is_begun_is_given_back_after_a_stop(executor):
    asked, given = [], []
    for finished in executor.run((asked.append(job) or job for job in jobs(50, takes_s=0.01)), lambda: len(given) >= 3):
        given.append(finished)
    assert 3 <= len(given) == len(asked) <= 3 + 2 * executor.workers


def test_what_a_job_raises_comes_with_the_job(executor):
    asked = [*jobs(2), MadeJob("f" * 32, "raise"), *jobs(2)]
    found = {finished.job.key: finished for finished in executor.run(asked)}
    finished = found["f" * 32]
    assert finished.run is None
    assert isinstance(finished.error, ScenarioError)
    assert str(finished.error) == "a.yaml:3: flows.0.cc: cubci is unknown; expected another\npath: is odd; expected another"
    assert [problem.line for problem in finished.error.problems] == [3, None]
    assert len(found) == 3
    assert all(other.error is None for key, other in found.items() if key != "f" * 32)


def test_what_a_job_takes_is_measured(executor):
    began = time.monotonic()
    (finished,) = executor.run(jobs(1, takes_s=0.05))
    assert 0.05 <= finished.wall_s <= time.monotonic() - began
    assert 0 <= finished.cpu_s <= finished.wall_s - 0.05 + CLOCK_S, "it sleeps"


@pytest.mark.parametrize("how", ["exit 3", "exit 0", f"kill {signal.SIGSEGV.value}", f"kill {signal.SIGKILL.value}"])
def test_a_process_that_dies_takes_its_own_job_only(how):
    bad = MadeJob("f" * 32, how)
    found = {finished.job.key: finished for finished in Processes(2).run([*jobs(3), bad, *jobs(8)[3:]])}
    assert len(found) == 9
    died = found.pop(bad.key)
    assert died.run is None
    assert isinstance(died.error, WorkerDied)
    kind, number = how.split()
    ending = f"ended with exit status {number}" if kind == "exit" else f"was killed by {signal.Signals(int(number)).name}"
    assert str(died.error) == f"the process that computed it {ending}"
    assert all(other.run.key == key for key, other in found.items())


def test_an_error_that_cannot_be_sent_is_told_by_its_text():
    (finished,) = Processes(1).run([MadeJob("0" * 32, "raise what cannot be sent")])
    assert isinstance(finished.error, RuntimeError)
    assert str(finished.error) == "Unsendable: a and b"


def test_what_a_worker_prints_does_not_go_to_stdout(capfd):
    (finished,) = Processes(1).run([MadeJob("0" * 32, "print")])
    assert finished.run is not None
    assert capfd.readouterr() == ("", "from a worker\n")


def test_workers_that_do_not_start_are_trouble_with_the_machine(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EnvironmentFault, match="a worker process does not start: it ended with exit status 1"):
        list(Processes(2).run(jobs(3)))


def gone(pid):
    """True if a process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_workers_end_with_the_process_that_started_them(tmp_path):
    program = f"""
        import sys
        sys.path[:0] = [{str(TESTS)!r}]
        from pathlib import Path
        from support import MadeJob
        from dumbbell.executor.processes import Processes
        executor = Processes(2)
        for done in executor.run([MadeJob("a", notes=Path({str(tmp_path)!r})), MadeJob("b", takes_s=3600), MadeJob("c", takes_s=3600)]):
            print("begun", flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 2
        process.kill()
    wait_until(lambda: all(map(gone, children)))


def test_exclusive_runs_take_turns(tmp_path):
    def sweep(first):
        list(Exclusive(tmp_path / "deep" / "lock").run([MadeJob(f"{first}{i}", takes_s=0.03, notes=tmp_path) for i in range(4)]))

    threads = [threading.Thread(target=sweep, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans = sorted(tuple(map(float, (tmp_path / f"{name}{i}").read_text().split())) for name in "ab" for i in range(4))
    assert all(earlier[1] <= later[0] for earlier, later in pairwise(spans))


def test_a_stop_ends_the_wait_for_the_lock(tmp_path):
    holder, waiter = Exclusive(tmp_path / "lock"), Exclusive(tmp_path / "lock")
    looks = iter(range(100))

    class Held(MadeJob):
        def produce(self):
            assert list(waiter.run(jobs(1), lambda: next(looks) >= 3)) == []
            return super().produce()

    (finished,) = holder.run([Held("0" * 32)])
    assert finished.error is None


def test_a_lock_that_cannot_be_is_trouble_with_the_machine(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match=r"file/lock: cannot be locked \(.*\); expected a file that can be written"):
        list(Exclusive(tmp_path / "file" / "lock").run(jobs(1)))


@pytest.mark.parametrize("workers", [0, -3, 1001, 1.5, "two", True])
def test_a_number_of_workers_that_is_none(workers):
    with pytest.raises(BadInput, match="expected a whole number from 1 to 1000"):
        check_workers(workers)
