"""The first questions of an operator, a student and a reviewer, answered by the commands that README prints."""

import re
import shlex

import pytest

from docs.pages import ROOT

BLOCK = re.compile(r"```sh\n(# Which queue.*?)```", re.DOTALL)
SHORT = ("--set", "duration=15s", "--repeat", "3")
"""Options that make the runs short, and otherwise the same."""


def commands(beginning):
    """The commands of README below a comment, each as words."""
    (block,) = BLOCK.findall((ROOT / "README.md").read_text())
    parts = re.split(r"^# (.*)\n", block, flags=re.MULTILINE)
    (lines,) = [text for title, text in zip(parts[1::2], parts[2::2], strict=True) if title.startswith(beginning)]
    return [shlex.split(line, comments=True)[1:] for line in lines.splitlines()]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder, and a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_an_operator_gets_numbers_a_sentence_and_tc_lines(dumbbell):
    run, advise = commands("Which queue")
    answer = dumbbell(*run, *SHORT)
    assert answer.status == 0, answer.err
    assert max(map(len, answer.out.splitlines())) <= 80
    words = " ".join(answer.out.split())
    assert "bottleneck.qdisc pfifo limit=1000p fq_codel cake" in words
    for name in ("download goodput (Mbit/s)", "upload goodput (Mbit/s)", "ping p95 (ms)", "MOS", "latency of pages (ms)"):
        assert name in words
    assert re.search(r"fq_codel and cake keep the .*; pfifo has ", words)
    assert "`dumbbell advise results/home`" in answer.err
    advised = dumbbell(*advise)
    assert advised.status == 0, advised.err
    assert re.search(r"^tc qdisc replace dev eth0 root (fq_codel|cake) ", advised.out, re.MULTILINE)


def test_a_student_gets_a_figure_and_a_reviewer_a_page(dumbbell, here):
    run, plot = commands("A figure")
    (view,) = commands("A page")
    assert dumbbell(*run, *SHORT).status == 0
    drawn = dumbbell(*plot)
    assert drawn.status == 0, drawn.err
    (figure,) = (here / "results" / "cc" / "figures").glob("*.pdf")
    assert figure.read_bytes().startswith(b"%PDF")
    made = dumbbell(*view)
    assert made.status == 0, made.err
    assert "Three controls" in (here / "page.html").read_text()
