"""Completion in shells: the words, the time that they take, and bash, zsh and fish themselves."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from required import missing
from waiting import HANG_S

from dumbbell import completion
from dumbbell.completion import collect

BIN = Path(sys.executable).parent
ZSH = """\
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT="READY> "; autoload -Uz compinit; compinit -u -D; source <(dumbbell completion zsh); LISTMAX=0; \\
    stty rows 200 cols 200; bindkey "^D" list-choices; echo SET''UP'
zpty -r shell out '*SETUP*READY> '
zpty -w -n shell "$1"$'\\C-d'
zpty -r shell out "*$2*"
print -r -- $out
zpty -d shell
"""
BASH = """\
source <(dumbbell completion bash)
COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_dumbbell dumbbell; printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def ask(capsys):
    """A function that gives what may stand in place of the last word, without what it is."""

    def call(*words, shell="fish"):
        assert completion.answered(["completion", shell, "--", *words])
        return [line.partition("\t")[0] for line in capsys.readouterr().out.splitlines()]

    return call


@pytest.fixture
def shell(tmp_path):
    """A function that runs a script in a shell, in a folder with files, where `dumbbell` is that of this environment."""
    for name in ("mine.yaml", "other.txt"):
        (tmp_path / name).touch()
    (tmp_path / "results" / "mine").mkdir(parents=True)
    environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "xterm", "LC_ALL": "C.UTF-8"}

    def call(name, *command):
        if shutil.which(name) is None:
            missing("shells", f"there is no {name}")
        done = subprocess.run([name, *command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_the_words_are_those_of_the_commands():
    assert Path(completion.WORDS).read_text(encoding="utf-8") == collect.text(), "expected `python docs/generate.py` to have run"


def test_every_value_that_is_named_is_there():
    """And every name in the table is one of an option or argument, so that none is left over."""
    known = json.loads(collect.text())
    nodes = [known]
    for node in nodes:
        nodes += node.get("commands", {}).values()
    takes = [each for node in nodes for each in node["arguments"]]
    takes += [each.get("takes", ()) for node in nodes for each in node["options"].values()]
    takes += known["values"]["of"].values()
    named = {word[1:].rstrip(",=.") for words in takes for word in words if word.startswith("@")}
    assert named <= set(known["values"])
    assert set(known["values"]) - {"of"} == named
    assert all(each for name, each in known["values"].items())


@pytest.mark.parametrize(
    ("words", "some"),
    [
        pytest.param([""], ["run", "new", "reproduce", "kernel", "completion"], id="commands"),
        pytest.param(["kernel", ""], ["build", "status"], id="commands of a command"),
        pytest.param(["run", "--"], ["--set", "--out", "--help"], id="options"),
        pytest.param(["run", "mine.yaml", ""], ["--set", "--json"], id="options where no argument can follow"),
        pytest.param(["run", ""], [":files yaml yml", "rrul", "tcp_nup"], id="scenarios"),
        pytest.param(["new", ""], ["rrul", "one-flow", "first", "examples/voip", "cc", "examples"], id="examples"),
        pytest.param(["run", "--out", ""], [":folders"], id="folders"),
        pytest.param(["analyze", "left.pcap", ""], [":files pcap pcapng gz zst"], id="captures, again and again"),
        pytest.param(["reproduce", ""], ["sce", "teacup", "sce/one-flow"], id="studies"),
        pytest.param(["reproduce", "sce", "--part", "two"], ["two-flow"], id="parts of the study"),
        pytest.param(["reproduce", "--part", ""], ["one-flow", "trials"], id="parts of all"),
        pytest.param(["agree", "random", "--cc", "cu"], ["cubic"], id="controls"),
        pytest.param(["agree", "random", "--qdisc", "pfifo,fq_c"], ["pfifo,fq_codel"], id="one more after a comma"),
        pytest.param(["run", "x.yaml", "--set", "path."], ["path.rtt=", "path.bottleneck.", "path.bottleneck="], id="keys, step by step"),
        pytest.param(["run", "x.yaml", "--set", "flows.0.c"], ["flows.0.cc="], id="keys of an entry"),
        pytest.param(["run", "x.yaml", "--set", "flows.0.cc=cubic"], ["flows.0.cc=cubic", "flows.0.cc=cubic-sce"], id="values of a key"),
        pytest.param(["run", "x.yaml", "--set", "flows.*.ecn="], ["flows.*.ecn=true", "flows.*.ecn=false"], id="true or false"),
        pytest.param(["run", "x.yaml", "--executor=pro"], ["--executor=processes"], id="a value in the same word"),
        pytest.param(["plot", "results/a", "--y", "srtt"], ["srtt_mean", "srtt"], id="metrics and series"),
        pytest.param(["list", ""], ["cc", "qdisc", "stack", "study", "engine"], id="choices"),
        pytest.param(["completion", "f"], ["fish"], id="shells"),
    ],
)
def test_what_is_completed(ask, words, some):
    found = ask(*words)
    assert set(some) <= set(found), found
    assert all(each.startswith((words[-1], ":")) for each in found)


@pytest.mark.parametrize("words", [["nonsense", ""], ["run", "--workers", ""], ["run", "--set", "path.rtt=2"], ["new", "x", "--json="]])
def test_what_cannot_be_completed(ask, words):
    assert ask(*words) == []


def test_an_option_is_given_once_unless_it_is_repeatable(ask):
    found = ask("run", "x.yaml", "--json", "--set", "path.rtt=1ms", "--")
    assert "--json" not in found
    assert "--set" in found


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b", ["a", "b"]),
        ("a  b ", ["a", "b", ""]),
        ("a 'b c", ["a", "b c"]),
        ('a "b\\" c" d\\ e', ["a", 'b" c', "d e"]),
        ("", [""]),
        (" ", ["", ""]),
    ],
)
def test_a_line_is_split_as_shells_do(line, words):
    assert completion.split(line) == words


def test_bash_is_given_the_part_that_it_completes(ask):
    assert ask("dumbbell run --set path.bottleneck.qdisc=fq_c", "=: ", shell="bash") == ["fq_codel"]
    assert ask("dumbbell run --set path.bottleneck.qdisc=fq_c", " ", shell="bash") == ["path.bottleneck.qdisc=fq_codel"]


@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["completion", "bash"], ["completion", "tcsh", "--", "x"], ["completion", "bash", "--", "x"]]
)
def test_other_command_lines_are_left_alone(arguments, capsys):
    assert not completion.answered(arguments)
    assert capsys.readouterr().out == ""


@pytest.mark.clock
def test_an_answer_is_quick():
    """The processor time of whole processes, the quickest of five, since others run meanwhile: 0.2 s is what a person notices."""
    spent = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([BIN / "dumbbell", "completion", "fish", "--", "run", "--set", "path.b"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.2


def test_an_answer_imports_nothing_slow():
    asks = "import sys; from dumbbell import completion; completion.answered(['completion', 'fish', '--', '']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True, text=True).stdout.split()
    assert "dumbbell.completion" in loaded
    assert not {"polars", "numpy", "pydantic", "typer", "dumbbell.cli"} & set(loaded)


@pytest.mark.parametrize("name", completion.SHELLS)
def test_the_command_prints_what_a_shell_reads(dumbbell, name):
    answer = dumbbell("completion", name)
    assert (answer.status, answer.out) == (0, completion.script(name))


def test_a_shell_that_is_not_known(dumbbell):
    answer = dumbbell("completion", "tcsh")
    assert answer.status == 2
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["dumbbell", "reprod"], {"reproduce"}),
        (["dumbbell", "run", "m"], {"mine.yaml"}),
        (["dumbbell", "run", "mine.yaml", "--set", "engine", "=", "k"], {"kernel"}),
        (["dumbbell", "run", "--out", "r"], {"results"}),
        (["dumbbell", "table", "res"], {"results"}),
    ],
)
def test_bash(shell, words, found):
    line = " ".join(words).replace(" = ", "=")
    assert set(shell("bash", "--norc", "-c", BASH, "bash", line, *words).split()) == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dumbbell reprod", {"reproduce"}),
        ("dumbbell run --set engine=k", {"engine=kernel"}),
        ("dumbbell run --out r", {"results/"}),
        ("dumbbell table res", {"results/"}),
    ],
)
def test_fish(shell, line, found):
    lines = shell("fish", "--no-config", "-c", 'dumbbell completion fish | source; complete -C "$argv"', "--", line).splitlines()
    assert {each.partition("\t")[0] for each in lines} == found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dumbbell reprod", "reproduce  -- Run a published study"),
        ("dumbbell run --set engine=k", "engine=kernel"),
        ("dumbbell run m", "mine.yaml"),
    ],
)
def test_zsh(shell, line, found):
    assert found in shell("zsh", "-f", "-c", ZSH, "zsh", line, found)  # for which it waits
