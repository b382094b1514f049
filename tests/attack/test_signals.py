"""Signals while runs are computed: what can be caught leaves nothing half written, and says `interrupted`."""

import signal
import subprocess
import sys

import pytest
from waiting import HANG_S

LONG = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10gbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 4h
sample: 0s
sweep: {path.rtt: [1ms, 2ms, 3ms]}
"""
SHORT = LONG.replace("10gbit", "20mbit").replace("4h", "300s")
# The command, which says on stdout when it begins a run, and when it has heard the first signal, for which each run waits.
TELLING = """
import sys, threading, time
from dumbbell.__main__ import main
from dumbbell.engines.prepared import Prepared
from dumbbell.executor import interrupt

produce, heard = Prepared.produce, threading.Event()

def telling(self):
    sys.stdout.write("begun\\n")
    sys.stdout.flush()
    heard.wait()
    return produce(self)

Prepared.produce = telling

def tell():
    while not interrupt.is_interrupted():
        time.sleep(0.005)
    print("heard", flush=True)
    heard.set()

threading.Thread(target=tell, daemon=True).start()
main()
"""


def leftovers(out, *prefixes):
    return [path.name for path in out.iterdir() if path.name.startswith(prefixes or (".claim-", ".partial-"))]


@pytest.fixture
def start(tmp_path):
    """A function that runs a scenario in a process of its own, and returns the process once two runs are begun."""
    processes = []

    def run(text):
        (tmp_path / "s.yaml").write_text(text)
        arguments = ["run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "out"), "--workers", "2"]
        command = [sys.executable, "-c", TELLING, *arguments]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        assert [processes[-1].stdout.readline() for _ in range(2)] == ["begun\n"] * 2
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_at_once_and_leaves_nothing(first, second, start, tmp_path):
    process = start(LONG)
    process.send_signal(first)
    assert process.stdout.readline() == "heard\n"
    assert process.poll() is None
    process.send_signal(second)
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    assert leftovers(tmp_path / "out") == []


def test_sigterm_keeps_what_is_finished(start, tmp_path):
    process = start(SHORT)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "heard\n"
    out, err = process.communicate(timeout=HANG_S)
    assert (process.returncode, out) == (130, "")
    assert err == f"interrupted; 2 of 3 runs are in {tmp_path / 'out'}, the same command goes on from there\n"
    assert leftovers(tmp_path / "out") == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_signal_before_anything_runs_is_reported(sent):
    program = f"""
import os, signal, sys
from dumbbell import cli, scenario
scenario.Scenario.from_file = lambda *_: os.kill(os.getpid(), signal.{sent})
sys.argv = ["dumbbell", "plan", "none.yaml"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def test_what_a_killed_process_leaves_is_removed_by_the_next(start, tmp_path, dumbbell):
    process = start(LONG)
    (tmp_path / "out" / ".partial-0123456789abcdef-x").mkdir()
    process.kill()
    process.wait()
    assert leftovers(tmp_path / "out")
    (tmp_path / "t.yaml").write_text(SHORT.replace("300s", "1s"))
    assert dumbbell("run", tmp_path / "t.yaml", "--out", tmp_path / "out").status == 0
    assert leftovers(tmp_path / "out") == []
