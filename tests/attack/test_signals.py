"""Signals while runs are computed: a signal that can be caught leaves nothing half written, and dumbbell says `interrupted`."""

import signal
import subprocess
import sys
import time

import pytest
from waiting import HANG_S, wait_until

LONG = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10gbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 4h
sample: 0s
sweep: {path.rtt: [1ms, 2ms, 3ms]}
"""
SHORT = LONG.replace("10gbit", "20mbit").replace("4h", "1s")
SOME = LONG.replace("path.rtt: [1ms, 2ms, 3ms]", "duration: [1s, 3h, 4h]").replace("10gbit", "1gbit")


def leftovers(out, *prefixes):
    return [path.name for path in out.iterdir() if path.name.startswith(prefixes or (".claim-", ".partial-"))]


@pytest.fixture
def start(tmp_path):
    """A function that runs a scenario in a process of its own, and returns the process once a run is being computed."""
    processes = []

    def run(text, executor="threads"):
        (tmp_path / "s.yaml").write_text(text)
        command = [sys.executable, "-m", "dumbbell", "run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "out")]
        command += ["--executor", executor, *([] if executor == "exclusive" else ["--workers", "3"])]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        wait_until(lambda: (tmp_path / "out").is_dir() and leftovers(tmp_path / "out", ".claim-"))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def ended(process):
    """Status, stdout and stderr. How long it took is for the eye: a machine may be busy."""
    began = time.monotonic()
    out, err = process.communicate(timeout=HANG_S)
    print(f"ended after {time.monotonic() - began:.2f} s")
    return process.returncode, out, err


def gone_on(count, out):
    return f"interrupted; {count} of 3 runs are in {out}, the same command goes on from there\n"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executor", ["threads", "processes", "exclusive"])
def test_a_signal_ends_runs_of_hours_and_says_how_to_go_on(sent, executor, start, tmp_path):
    process = start(LONG, executor)
    process.send_signal(sent)
    assert ended(process) == (130, "", gone_on(0, tmp_path / "out"))
    assert leftovers(tmp_path / "out") == []


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_what_is_finished_is_kept(executor, start, tmp_path):
    process = start(SOME, executor)
    wait_until(lambda: any(len(path.name) == 32 for path in (tmp_path / "out").iterdir()))
    process.send_signal(signal.SIGINT)
    assert ended(process) == (130, "", gone_on(1, tmp_path / "out"))


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_does_not_answer_is_given_up(sent, again, tmp_path):
    """A congestion control that never comes back, in the simulator's thread, while the main thread is in `dumbbell.run`."""
    begun = tmp_path / "begun"
    program = f"""
import signal, sys, time
from pathlib import Path
import dumbbell
from dumbbell.executor.interrupt import terminated_as_interrupted

@dumbbell.control
def stuck(round):
    Path({str(begun)!r}).touch()
    while True:
        time.sleep(3600)

scenario = dumbbell.Scenario.model_validate({{
    "name": "s", "duration": "1s", "flows": [{{"cc": stuck}}],
    "path": {{"rtt": "20ms", "bottleneck": {{"rate": "10mbit", "qdisc": "fq_codel"}}}},
}})
with terminated_as_interrupted():
    dumbbell.run(scenario)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(begun.exists)
        process.send_signal(sent)
        if again:
            process.send_signal(sent)
        assert ended(process) == (130, "", "interrupted\n")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_another_signal_ends_what_does_not_stop_and_says_the_same(sent, tmp_path):
    begun = tmp_path / "begun"
    program = f"""
import time
from pathlib import Path
from dumbbell.executor import interrupt
interrupt.GRACE_S = {HANG_S}
with interrupt.terminated_as_interrupted(), interrupt.deferred(lambda: "interrupted; 1 of 2 runs are there"), interrupt.abortable(list):
    Path({str(begun)!r}).touch()
    time.sleep({HANG_S})
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(begun.exists)
        process.send_signal(sent)
        wait_until(lambda: process.send_signal(sent) or process.poll() is not None)
        assert ended(process) == (130, "", "interrupted; 1 of 2 runs are there\n")
    finally:
        process.kill()
        process.communicate()


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
    (tmp_path / "t.yaml").write_text(SHORT)
    assert dumbbell("run", tmp_path / "t.yaml", "--out", tmp_path / "out").status == 0
    assert leftovers(tmp_path / "out") == []
