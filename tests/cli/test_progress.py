"""Progress of a command: one line that fits, on a terminal; nothing elsewhere; never on stdout."""

import io
import json
import os
import pty
import re
import subprocess
import sys
import time

import pytest
from rich.console import Console

from dumbbell.cli import progress
from dumbbell.cli.executor import EXECUTORS, make_executor
from dumbbell.cli.output import human_count, human_time
from dumbbell.errors import BadInput
from dumbbell.executor.base import MOST_WORKERS, check_workers
from dumbbell.executor.progress_state import ProgressState

SCENARIO = """\
name: small
path: {rtt: 20ms, bottleneck: {rate: 100mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: reno}]
duration: 60s
sweep: {path.rtt: [10ms, 20ms, 30ms]}
"""


@pytest.fixture
def now(monkeypatch):
    """The time, which stands still."""
    at_s = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: at_s)
    return at_s


def shown(meter, width):
    """The line, without its colours."""
    file = io.StringIO()
    Console(width=width, file=file, force_terminal=True, color_system=None).print(meter)
    return file.getvalue()


def runs_meter(**more):
    meter = progress._Runs("long-sweep", "runs")
    now = time.monotonic()
    settings = {"done": 3, "total": 36, "cost_done": 3.0, "cost_total": 36.0, "busy_s": 6.0, "packets": 24_000_000, "workers": 2}
    meter.state = ProgressState(**settings, running=((now, 1.0), (now, 1.0)), **more)
    meter.done, meter.total = 3, 36
    return meter


@pytest.mark.usefixtures("now")
def test_runs_done_time_left_and_packets_per_second():
    assert re.fullmatch(r"long-sweep [━╸╺ ]{40} 3 of 36 runs  33 s left  8.0 M packets/s\n", shown(runs_meter(), 120))


@pytest.mark.parametrize("width", [8, 14, 20, 30, 40, 50, 60, 61, 70, 80, 100, 200])
def test_the_line_fits_and_leaves_room_for_what_the_terminal_echoes(width):
    line = shown(runs_meter(), width)
    assert line.count("\n") == 1
    assert len(line.rstrip("\n")) <= width - len("^C")


@pytest.mark.usefixtures("now")
def test_what_is_said_last_goes_first():
    words = ["3 of 36 runs", "33 s left", "8.0 M packets/s", "━"]
    said = [[word for word in words if word in shown(runs_meter(), width)] for width in (26, 38, 54, 70)]
    assert said == [words[:1], words[:2], words[:3], words]


def test_before_the_first_run_is_done_the_time_so_far_is_told(now):
    meter = runs_meter()
    meter.state, meter.done, meter.began = ProgressState(total=36, cost_total=36.0), 0, now - 100
    assert shown(meter, 90).rstrip().endswith("0 of 36 runs  1 min 40 s so far")


def test_an_interrupt_is_told(monkeypatch):
    monkeypatch.setattr(progress, "is_interrupted", lambda: True)
    assert "interrupted  ending 2 runs  (Ctrl-C again leaves at once)" in shown(runs_meter(), 120)


def test_things_that_cost_the_same_go_by_their_number(now):
    meter = progress._Counts("report", "figures")
    meter.done, meter.total, meter.began, meter.moved = 2, 8, now - 20, now
    assert shown(meter, 100).rstrip().endswith(" 2 of 8 figures  1 min 0 s left")
    meter.began, meter.moved = now - 50, now - 30
    assert shown(meter, 100).rstrip().endswith(" 2 of 8 figures  30 s left")
    meter.began, meter.moved = now - 520, now - 500
    assert shown(meter, 100).rstrip().endswith(" 2 of 8 figures  0.0 s left")
    meter.done = meter.total = 0
    meter.began = now - 20
    assert shown(meter, 100).rstrip().endswith(" 20 s so far")


def test_elsewhere_than_on_a_terminal_it_is_quiet(capsys):
    with progress.progress_bar("report", "figures") as few, progress.runs_bar("sweep") as many:
        for done in range(10):
            few(done, 9)
        for done in range(41):
            many(ProgressState(done=done, total=40))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_the_line_is_on_stderr_alone_and_is_gone_in_the_end(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(SCENARIO)
    ours, theirs = pty.openpty()
    code = "from dumbbell.__main__ import main; main()"
    command = [sys.executable, "-c", code, "run", file, "--out", tmp_path / "out", "--json", "--workers", "1"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "70", "NO_COLOR": "1"}
    written = b""
    with (tmp_path / "stdout").open("w+") as stdout, subprocess.Popen(command, stdout=stdout, stderr=theirs, env=environment) as process:
        os.close(theirs)
        try:
            while piece := os.read(ours, 1 << 16):  # all the time: a terminal that nobody reads holds up who writes to it
                written += piece
        except OSError:  # what a terminal says when nobody writes to it any more
            pass
    os.close(ours)
    out = (tmp_path / "stdout").read_text()
    assert process.returncode == 0
    assert json.loads(out)["ran"] == 3
    text = written.decode()
    assert re.search(r"\d of 3 runs", text)
    assert "packets/s" in text
    assert text.endswith("\x1b[?25h\r\x1b[1A\x1b[2K"), "the cursor is shown and the line is empty"


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_executor_can_be_asked_for(name, dumbbell, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "small.yaml"
    file.write_text(SCENARIO.replace("60s", "1s"))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--executor", name, "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["ok"] == 3


def test_an_executor_that_is_none(dumbbell):
    answer = dumbbell("run", "x.yaml", "--executor", "thread")
    assert answer.status == 2
    assert answer.err == "--executor 'thread' is unknown (did you mean 'threads'?); expected one of threads, processes, exclusive\n"
    with pytest.raises(BadInput, match="--workers 2: the executor exclusive computes one run at a time"):
        make_executor("exclusive", 2)


@pytest.mark.parametrize("workers", ["0", "-1", "1001", "two", "1.5", ""])
def test_a_number_of_workers_that_is_none_is_one_clear_line(dumbbell, workers):
    answer = dumbbell("run", "x.yaml", "--workers", workers)
    assert answer.status == 2
    assert len(answer.err.splitlines()) == 1
    assert "--workers" in answer.err
    assert check_workers(MOST_WORKERS) == MOST_WORKERS


def test_times_and_counts_for_people():
    times = (0.04, 9.94, 9.96, 59.4, 59.6, 3599.4, 3600)
    assert [human_time(time_s) for time_s in times] == ["0.0 s", "9.9 s", "10 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min"]
    assert [human_count(count) for count in (0, 512, 3100, 12_000_000)] == ["0", "512", "3.1 k", "12.0 M"]
