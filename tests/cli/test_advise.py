"""`dumbbell advise`: tc lines with the evidence."""

import json
import shlex

import pytest

SHORT = """\
name: short
path:
  rtt: 30ms
  bottleneck: {rate: 20mbit, qdisc: fq_codel}
flows: [{name: download, cc: cubic, count: 2, start: {jitter: 500ms}}]
background: [{kind: ping, interval: 50ms}]
duration: 6s
sweep: {path.bottleneck.qdisc: [{kind: pfifo, limit: 1000p}, {kind: fq_codel, target: 10ms}]}
repeat: 3
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Results of a sweep over two queues."""
    from dumbbell.api import run
    from dumbbell.scenario import Scenario

    folder = tmp_path_factory.mktemp("advise") / "short"
    run(Scenario.from_text(SHORT), out=folder)
    return folder


def test_the_lines_are_those_of_the_best_queue(dumbbell, out):
    answer = dumbbell("advise", out, "--device", "ppp0")
    assert answer.status == 0, answer.err
    assert "fq_codel target=10ms against pfifo limit=1000p: ping " in " ".join(answer.out.split())
    lines = [line for line in answer.out.splitlines() if line.startswith("tc ")]
    assert [line.split()[:7] for line in lines] == [shlex.split("tc qdisc replace dev ppp0 root fq_codel")]
    assert "target 10000us" in lines[0]


def test_shaped_lines_have_95_percent_of_the_rate(dumbbell, out):
    found = json.loads(dumbbell("advise", out, "--shaped", "--json").out)
    assert (found["decided"], found["best"]) == (True, ["fq_codel target=10ms"])
    lines = found["tc"]["fq_codel target=10ms"]
    assert lines[1] == "tc class replace dev eth0 parent 1: classid 1:1 htb rate 19000000bit"
    assert lines[2].startswith("tc qdisc replace dev eth0 parent 1:1 handle 10: fq_codel ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "eth0;reboot"), "'eth0;reboot' is no name of a network device"),
        (("--reverse-device", "a device"), "'a device' is no name of a network device"),
    ],
)
def test_a_wrong_device_is_one_line(arguments, said, dumbbell, out):
    answer = dumbbell("advise", out, *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(said)


def test_runs_of_one_queue_have_no_advice(dumbbell, tmp_path):
    file = tmp_path / "one.yaml"
    file.write_text(SHORT.replace("sweep:", "#"))
    dumbbell("run", file, "--out", tmp_path / "out", "--quiet")
    answer = dumbbell("advise", tmp_path / "out")
    assert answer.status == 2
    assert answer.err.endswith("expected a sweep over one, such as `dumbbell run home`\n")
