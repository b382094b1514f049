"""Ready-made tests, and other values of keys on the command line."""

import json

import pytest

from dumbbell import templates
from dumbbell.scenario import Scenario
from dumbbell.templates.options import as_settings, named_in, options

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


@pytest.mark.parametrize("name", [name for name in templates.names() if not options(name)])
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


QUESTIONS = ("home", "aqm", "cc", "starvation", "responsiveness", "l4s", "l4s_coexist", "l4s_rtt", "l4s_bursts")


@pytest.mark.usefixtures("here")
def test_a_flag_may_stand_before_the_name_of_a_test(dumbbell):
    answer = dumbbell("run", "--json", "home", "--down", "5mbit", "--set", "duration=4s", "--set", "repeat=1", "--out", "made")
    assert (answer.status, json.loads(answer.out)["ok"]) == (0, 3)


def test_the_tests_that_ask_a_question_declare_options():
    assert {name for name in templates.names() if options(name)} == set(QUESTIONS)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", QUESTIONS)
def test_every_option_of_a_test_sets_keys_that_change_its_runs(name, dumbbell):
    values = {
        "RATE": "7mbit",
        "TIME": "33ms",
        "TIMES": "33ms",
        "COUNT": "2",
        "SIZES": "2bdp",
        "SHARE": "0.5%",
        "CODEPOINT": "0",
        "DIRECTIONS": "reverse",
    }
    names = {"--cc": "vegas", "--against": "vegas", "--classic": "vegas", "--qdisc": "codel"}
    usual = planned(dumbbell, name)
    assert usual["name"] == name
    for option in options(name):
        value = names.get(option.name) or values[option.metavar]
        found = planned(dumbbell, name, option.name, value)
        assert (found["plan"], found["runs"]) != (usual["plan"], usual["runs"]), option.name


@pytest.mark.usefixtures("here")
def test_an_operator_gives_the_rates_of_the_link(dumbbell):
    found = planned(dumbbell, "home", "--down", "100mbit", "--up=20mbit", "--qdisc", "fq_codel,cake", "--repeat", "2")
    ports = {port["id"]: port for port in found["plan"]["ports"]}
    assert ports["bottleneck"]["shaper"]["rate_bps"] == 100_000_000
    assert ports["bottleneck-reverse"]["shaper"]["rate_bps"] == 20_000_000
    assert ports["bottleneck"]["qdisc"]["kind"] == ports["bottleneck-reverse"]["qdisc"]["kind"] == "fq_codel"
    assert found["runs"] == 2 * 2


def test_help_shows_the_options_of_the_test_that_is_named(dumbbell):
    answer = dumbbell("run", "home", "--help")
    assert answer.status == 0
    text = answer.out[answer.out.index("Options of home") :]
    assert all(option.name in text for option in options("home"))
    assert "Options of" not in dumbbell("run", "--help").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "home", "--down"), "--down needs a value: rate of the downlink; expected --down RATE"),
        (("run", "home", "--down", "--up", "2mbit"), "--down needs a value"),
        (("plan", "home", "--down", "fast"), "--set: path.bottleneck.rate: 'fast' is"),
        (("plan", "rrul", "--down", "5mbit"), "No such option: --down"),
        (("run", "home", "--dwn", "5mbit"), "No such option: --dwn (did you mean --down?) (see `dumbbell run --help`)\n"),
        (("run", "home", "--wrkers", "5"), "No such option: --wrkers (did you mean --workers?)"),
        (("plan", "home", "--duration", "5s"), "No such option: --duration (did you mean --set duration=VALUE?)"),
    ],
)
@pytest.mark.usefixtures("here")
def test_wrong_options_of_a_test_are_one_line(arguments, said, dumbbell):
    answer = dumbbell(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(said)
    assert answer.err.count("\n") == 1


def test_the_value_of_an_option_names_no_test():
    assert named_in(["--out", "home", "rrul"]) == "rrul"
    assert named_in(["--out=x", "home"]) == "home"
    assert named_in(["mine.yaml", "--set", "name=home"]) is None
    assert as_settings("cc", ["cc", "--cc", "bbr,cubic"]) == ["cc", "--set", "sweep.flows.0.cc=[bbr,cubic]"]


def test_dotted_keys_of_a_sweep_can_be_set_one_by_one(dumbbell, file):
    file.write_text(GOOD + "sweep: {zip: {path.rtt: [10ms, 20ms], path.bottleneck.rate: [1mbit, 2mbit]}}\n")
    found = planned(dumbbell, file, "--set", "sweep.zip.path.rtt=[30ms, 40ms]")
    assert found["plan"]["paths"][0]["base_rtt_ns"] == 30_000_000


def test_new_cc_is_the_test_without_the_name_of_a_project(dumbbell, here):
    answer = dumbbell("new", "cc")
    assert answer.out == templates.file("cc").read_text()
    assert answer.err == "this is the test; `dumbbell new cc PROJECT` writes a congestion control of your own\n"
    assert list(here.iterdir()) == []
