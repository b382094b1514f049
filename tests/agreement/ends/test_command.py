"""`dumbbell agree ends`."""

import json
from collections import Counter

import pytest
from required import missing

from dumbbell.agreement.ends import cases, kernel
from dumbbell.agreement.ends.rounds import Tally
from dumbbell.cli.compare.agree_ends import below_bar
from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--kind", "sideways"], "--kind sideways: expected send, receive, both"),
        (["--cc", "vegas"], "--cc vegas: expected one of reno, cubic, dctcp, bbr"),
        (["--tso"], "--tso: only an end that sends builds TSO segments; expected --kind send"),
        (["--tso", "--kind", "both"], "--tso: only an end that sends builds TSO segments; expected --kind send"),
        (["--aborts"], "--aborts: only an end that sends and receives has them; expected --kind both"),
        (["--crossed"], "--crossed: only an end that sends and receives has it; expected --kind both"),
        (["--crossed", "--aborts", "--kind", "both"], "--crossed: expected without --aborts"),
        (["--engines", "sim,kernel"], "--engines sim,kernel: expected kernel,sim or kernel:NAME,sim"),
        (["--engines", "kernel:9.9,sim"], "kernel '9.9' is unknown"),
        (["nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_bad_input_is_an_error_in_one_line(dumbbell, arguments, line):
    answer = dumbbell("agree", "ends", *arguments)
    assert (answer.status, answer.err.strip()[: len(line)]) == (2, line)
    assert len(answer.err.splitlines()) == 1


def test_the_help_says_what_peers_are_drawn_from(dumbbell):
    answer = dumbbell("agree", "ends", "--help")
    assert answer.status == 0
    for words in ("RTT 1 to 200 ms", "0 to 20 %", "2 to 3000 segments", "1 byte to 1 MB", "--kind"):
        assert words in " ".join(answer.out.split())
    assert "agree ends" in " ".join(dumbbell("agree", "--help").out.split())


def test_too_few_equal_cases_are_below_the_bar():
    tallies = {
        kind: Tally(equal=1000 - differ, classes=Counter(window=differ)) for kind, differ in (("send", 10), ("receive", 11), ("both", 40))
    }
    below = "receive, {0}: 989 of 1000 cases are equal, expected 99%"
    assert below_bar(tallies, "bbr") == [below.format("bbr")]
    assert below_bar(tallies, "cubic") == [below.format("cubic"), "both, cubic: 960 of 1000 cases are equal, expected 97%"]


@pytest.fixture(scope="module")
def _kernel():
    try:
        engine("kernel").require()
    except EnvironmentFault as fault:
        missing("kernel", fault)


@pytest.mark.usefixtures("_kernel")
def test_the_real_kernel_answers_and_a_case_is_kept(dumbbell, tmp_path):
    answer = dumbbell("agree", "ends", "--kind", "send", "--seed", "1", "--count", "12", "--json", "--out", tmp_path)
    document = json.loads(answer.out)
    assert (answer.status, document["cases"]) == (0, 12)
    assert 0 < document["equal"] == 12 - sum(document["classes"].values())
    assert document["kinds"]["send"]["cases"] == 12
    kept = sorted(tmp_path.glob("*.json"))
    assert len(kept) == len(document["classes"])
    if kept:
        again = dumbbell("agree", "ends", *kept, "--json")
        assert json.loads(again.out)["classes"] == dict.fromkeys(document["classes"], 1)


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize("options", [["receive"], ["both", "--ecn"], ["send", "--tso", "--cc", "bbr"]], ids=" ".join)
def test_each_kind_and_option_reaches_the_kernel(dumbbell, options):
    document = json.loads(dumbbell("agree", "ends", "--kind", *options, "--count", "3", "--json").out)
    assert document["kinds"].keys() == {options[0]}
    assert document["cases"] == document["equal"] + sum(document["classes"].values()) == 3


@pytest.mark.usefixtures("_kernel")
def test_the_kernel_repeats_itself():
    [(case, _)] = cases.drawn(3, 0, 1, "both", "cubic", True, False)
    first, second = kernel.answers([case, case])
    assert first == second
