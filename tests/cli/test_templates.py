"""Ready-made tests, and other values of keys on the command line."""

import json

import pytest

from dumbbell import templates
from dumbbell.scenario import Scenario

GOOD = """\
name: good
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 180p}}}
flows: [{cc: cubic}, {cc: reno}]
duration: 2s
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "good.yaml"
    path.write_text(GOOD)
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def planned(dumbbell, *arguments):
    answer = dumbbell("plan", *arguments, "--json")
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


@pytest.mark.parametrize("name", templates.names())
def test_a_template_is_a_scenario_of_its_name(name, dumbbell, here):
    found = planned(dumbbell, name, "--set", "path.bottleneck.rate=20mbit", "--set", "path.bottleneck.qdisc.kind=codel")
    assert (found["name"], found["runs"], found["out"]) == (name, 1, f"results/{name}")
    queue = next(port for port in found["plan"]["ports"] if port["id"] == "bottleneck")
    assert (queue["qdisc"]["kind"], queue["shaper"]["rate_bps"]) == ("codel", 20_000_000)
    assert templates.summary(name)
    assert list(here.iterdir()) == []


def test_a_template_can_be_run_swept_and_checked(dumbbell, here):
    short = ("--set", "duration=600ms", "--set", "flows.*.start=100ms", "--set", "flows.*.duration=400ms")
    sweep = ("--set", "sweep={path.rtt: [10ms, 20ms]}")
    answer = dumbbell("run", "tcp_nup", *short, *sweep, "--json")
    assert answer.status == 0, answer.err
    assert [run["cell"] for run in json.loads(answer.out)["runs"]] == [{"path.rtt": "10ms"}, {"path.rtt": "20ms"}]
    assert (here / "results" / "tcp_nup").is_dir()


def test_templates_are_listed_and_printed(dumbbell, here):
    listed = json.loads(dumbbell("new", "--json").out)
    assert [each["name"] for each in listed if each["kind"] == "test"] == list(templates.names())
    answer = dumbbell("new", "tcp_nup")
    assert answer.out == templates.file("tcp_nup").read_text()
    (here / "mine.yaml").write_text(answer.out)
    assert planned(dumbbell, "mine.yaml")["plan"] == planned(dumbbell, "tcp_nup")["plan"]


def test_a_file_of_that_name_wins_and_that_is_told(dumbbell, here):
    (here / "tcp_nup").write_text(GOOD)
    answer = dumbbell("plan", "tcp_nup", "--json")
    assert json.loads(answer.out)["name"] == "good"
    assert answer.err == "tcp_nup: the file of this folder, not the ready-made test of that name (`dumbbell new tcp_nup`)\n"
    (here / "tcp_nup").unlink()
    (here / "tcp_nup").mkdir()
    assert planned(dumbbell, "tcp_nup")["name"] == "tcp_nup"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["new", "run", "plan"])
def test_an_unknown_name_is_told_the_nearest(command, dumbbell):
    answer = dumbbell(command, "tcp_nap")
    assert (answer.status, answer.out) == (2, "")
    assert "(did you mean 'tcp_nup'?)" in answer.err
    assert answer.err.count("\n") == 1


def test_other_values_take_the_place_of_those_of_the_file(dumbbell, file):
    found = planned(
        dumbbell, file, "--set", "path.rtt=50ms", "--set", "flows.*.ecn=true", "--set", "flows.1.cc={kind: cubic, hystart: off}"
    )
    assert found["plan"]["paths"][0]["base_rtt_ns"] == 50_000_000
    assert [workload["ecn"] for workload in found["plan"]["workloads"]] == [True, True]
    assert found["plan"]["workloads"][1]["cc"] == {"kind": "cubic", "hystart": False}
    assert Scenario.from_file(file, changes={"path.rtt": "50ms"}).path.rtt == 50_000_000


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("path.botleneck.rate=20mbit", "--set: path.botleneck: unknown key (did you mean 'bottleneck'?)"),
        ("flows.1.durration=2s", "--set: flows.1.durration: unknown key (did you mean 'duration'?)"),
        ("flows.0.rtt.x=2s", "--set: flows.0.rtt: {'x': '2s'} is not a duration"),
        ("path.bottleneck.rate=20mbt", "--set: path.bottleneck.rate: '20mbt' has an unknown unit 'mbt'"),
        ("path.bottleneck.rate=20Mbps", "--set: path.bottleneck.rate: '20Mbps' has an unknown unit 'Mbps' (did you mean mbit?)"),
        ("path.bottleneck.qdisc.kind=fq_codle", "--set: path.bottleneck.qdisc.kind: unknown kind 'fq_codle' (did you mean 'fq_codel'?)"),
        ("path.bottleneck={qdisc: codel}", "--set: path.bottleneck.rate: is missing; expected a rate"),
        ("flows.2.cc=reno", "--set: flows.2.cc: '2' is not an entry of a list of 2"),
        ("name.x=3", "--set: name.x: 'x' lies below a single value"),
        ("flows.0.cc=renno", "--set: flows.0.cc: unknown cc 'renno' (did you mean 'reno'?)"),
        ("duration=5", "--set: duration: 5 has no unit"),
        ("duration=1ms", "--set: duration: "),
        ("path.rtt", "--set: 'path.rtt' names no key and value; expected KEY=VALUE such as path.rtt=20ms"),
        ("path.rtt=[1", "--set: path.rtt: the bracket of line 1 is still open here"),
        ("seed=1\n---\n2", "--set: seed: a second document"),
    ],
)
def test_a_mistake_is_told_in_a_line(value, message, dumbbell, file):
    answer = dumbbell("plan", file, "--set", "sample=0s" if not value.startswith("duration=1") else "sample=1s", "--set", value)
    assert (answer.status, answer.out) == (2, "")
    if value != "duration=1ms":
        assert answer.err.startswith(message), answer.err
    assert answer.err.count("\n") == 1


def test_a_swept_key_is_not_set_in_vain(dumbbell, file):
    file.write_text(GOOD + "sweep: {path.bottleneck: [{rate: 1mbit, qdisc: codel}]}\n")
    answer = dumbbell("plan", file, "--set", "path.bottleneck.rate=20mbit")
    assert answer.status == 2
    assert answer.err.startswith("--set: path.bottleneck.rate: path.bottleneck is swept, which replaces it")


def test_a_mistake_of_the_file_keeps_its_line(dumbbell, file):
    file.write_text(GOOD.replace("{cc: reno}", "{cc: reno, durration: 1s}"))
    answer = dumbbell("plan", file, "--set", "path.rtt=50ms")
    assert answer.err.startswith(f"{file}:3: flows.1.durration: unknown key")
