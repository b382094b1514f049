"""No command prints characters that a terminal interprets, whatever the name of a file, a machine or an argument."""

import ast
import csv
import io
import shutil
from pathlib import Path

import pytest
import typer

from dumbbell import cli
from dumbbell.scenario import Scenario

NAME = "a\x1b]0;pwn\x07\x1b[2J\x9b31m\u202eb"
ROOT = Path(cli.__file__).parent
DOORS = {"streams.py", "output.py", "tables.py"}
"""The modules that write to the standard streams: `say`, `show`, and tables, which escape their fields themselves and may be bold."""
SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 20p}}}
flows: [{cc: reno}, {cc: cubic}]
background: [{kind: transfers, name: web, cc: reno, size: 10kB, arrivals: {kind: poisson, every: 100ms}}]
duration: 1s
sweep: {path.rtt: [20ms, 30ms]}
"""
HOSTS = "machines: {a: {at: %s, role: left, data: {device: %s, address: %s}}}\ncontrol: {known_hosts: %s, key: %s, user: %s}\n"


def leaves(command, path=()):
    """Every command, with the words that call it."""
    for name, each in getattr(command, "commands", {}).items():
        yield from leaves(each, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


COMMANDS = dict(leaves(typer.main.get_command(cli.app)))
OPTIONS = [
    (*words, option.opts[-1])
    for words, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and not option.is_flag
]


def is_plain(answer):
    return all(line.replace("\t", "").isprintable() for line in (answer.out + answer.err).split("\n"))


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DUMBBELL_HOSTS", "")  # which --hosts sets for the rest of the process


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_an_option_with_escapes_is_told_without_them(words, dumbbell):
    arguments = [NAME for each in COMMANDS[words[:-1]].params if each.param_type_name == "argument" and each.required]
    answer = dumbbell(*words[:-1], *arguments, words[-1], NAME)
    assert answer.status == (0 if words == ("new", "--language") else 2)  # which is about congestion controls alone
    assert is_plain(answer), answer


@pytest.mark.parametrize("words", [words for words, command in COMMANDS.items()], ids=" ".join)
def test_an_argument_and_an_unknown_option_with_escapes_are_told_without_them(words, dumbbell):
    positions = sum(each.param_type_name == "argument" for each in COMMANDS[words].params) or 1
    answer = dumbbell(*words, *[NAME] * positions)
    assert answer.status in (2, 3)
    assert is_plain(answer), answer
    answer = dumbbell(*words, f"--{NAME}")
    assert answer.status == 2
    assert is_plain(answer), answer


def test_an_unknown_command_with_escapes_is_told_without_them(dumbbell):
    answer = dumbbell(NAME)
    assert answer.status == 2
    assert is_plain(answer), answer


def test_files_with_escapes_in_their_names_are_used_and_told_without_them(dumbbell, tmp_path, monkeypatch):
    monkeypatch.setattr("dumbbell.explorer.server.Server.serve_forever", lambda *_: None)
    folder, file = tmp_path / NAME, tmp_path / f"{NAME}.yaml"
    file.write_text(SCENARIO.replace("duration", "capture: true\nduration"))
    polls = tmp_path / f"{NAME}.txt"
    polls.write_text("1.5\nESTAB 0 0 1.1.1.1:1 2.2.2.2:2\n\t cubic cwnd:10 bytes_acked:100\n")
    captured = tmp_path / f"{NAME}.pcap"
    runs = [
        ("plan", file, "--out", folder),
        ("run", file, "--out", folder),
        ("run", file, "--out", folder),
        ("table", folder),
        *(("table", folder, "--format", form) for form in ("csv", "markdown", "latex")),
        ("table", folder, "--statistic", "mean"),
        ("table", folder, "--tidy"),
        ("plot", folder, "--list"),
        ("plot", folder, "--out", tmp_path / f"{NAME}-figures", "--figure", "run-rtt-20ms"),
        ("view", folder, "--no-browser"),
        ("view", folder, "--export", tmp_path / f"{NAME}.html"),
        ("check", folder),
        ("export", folder, "--format", "csv", "--out", tmp_path / f"{NAME}-exported"),
        ("import", polls, "--out", tmp_path / f"{NAME}-imported"),
        ("table", tmp_path / f"{NAME}-imported"),
        ("analyze", captured),
        ("analyze", "--each", captured, captured),
        ("analyze", captured, "--out", tmp_path / f"{NAME}-packets"),
        ("compare", folder, "sce"),
        ("claims", "sce", folder),
        ("calibrate", file, "--seeds", "1", "--warm-up", "1s", "--window", "2s", "--out", tmp_path / f"{NAME}-calibrated"),
        ("pack", folder),
        ("table", folder),
        ("plan", file, "--hosts", captured),
        ("cluster", polls),
        ("testbed", "check", "--hosts", polls),
        ("new", "cc", NAME),
        ("new", "study", NAME),
    ]
    failed = {}
    for command in runs:
        answer = dumbbell(*command)
        assert is_plain(answer), (command, answer)
        if answer.status:
            failed[command[0]] = answer.err
        if command[0] == "run":
            shutil.copy(next(folder.glob("*/left.pcap")), captured)
    assert set(failed) == {"claims", "cluster", "compare", "testbed", "new"}, failed


@pytest.mark.parametrize("place", range(6))
def test_what_a_hosts_file_says_is_told_without_escapes(dumbbell, tmp_path, place):
    fields = ["ssh://192.0.2.1", "eth1", "10.1.0.1/24", "lab.yaml", "lab.yaml", "ann"]
    fields[place] = f'"{NAME.encode("unicode_escape").decode()}"'
    (tmp_path / "lab.yaml").write_text(HOSTS % tuple(fields))
    answer = dumbbell("testbed", "check", "--hosts", tmp_path / "lab.yaml")
    assert answer.status == 2
    assert is_plain(answer), answer
    assert "lab.yaml:" in answer.err


def test_a_scenario_and_damaged_files_with_escapes_are_told_without_them(dumbbell, tmp_path):
    written = '"' + NAME.encode("unicode_escape").decode() + '"'
    for bad in ("name: s", "rate: 1mbit", "kind: pfifo", "cc: reno", "duration: 1s", "path.rtt", "20ms", "kind: transfers"):
        key, _, value = bad.partition(": ")
        (tmp_path / "s.yaml").write_text(SCENARIO.replace(bad, f"{key}: {written}" if value else written))
        answer = dumbbell("plan", tmp_path / "s.yaml")
        assert answer.status == 2, bad
        assert is_plain(answer), answer
    (tmp_path / "s.yaml").write_text(f"{SCENARIO}{NAME}: 1\n")
    assert is_plain(dumbbell("run", tmp_path / "s.yaml"))
    (tmp_path / "s.yaml").write_text(f"{SCENARIO}  - '{NAME.replace(chr(27), '')}\n")
    assert is_plain(dumbbell("run", tmp_path / "s.yaml"))


def test_only_the_doors_write_to_the_standard_streams():
    found = set()
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if called in ("print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"):
                found.add(path.name)
    assert found == DOORS


def test_a_label_of_progress_is_text():
    from rich.console import Console

    from dumbbell.cli.progress import _Counts

    console = Console(width=100, force_terminal=True, color_system=None)
    with console.capture() as shown:
        console.print(_Counts(f"[red]{NAME}[/red]", "runs"))
    assert "[red]a\\x1b]0;pwn\\x07" in shown.get()


def test_the_scenario_here_is_one():
    assert Scenario.from_text(SCENARIO).cell_count == 2


NAMES = ["=cmd|' &C calc'!A0", "@SUM(1)", "-2+E5", "\\input{x}", "a|b", "<b>x", "[x](http:x)", "$(id)"]


@pytest.fixture
def named(dumbbell, tmp_path):
    """A results folder of flows with names that mean something elsewhere."""
    rows = "".join(f'{t_s},"flow/{name}",rx_bytes,{t_s}\n' for name in NAMES for t_s in (1, 2))
    (tmp_path / "samples.csv").write_text(f"t_s,entity,series,value\n{rows}")
    assert dumbbell("import", tmp_path / "samples.csv", "--out", tmp_path / "named").status == 0
    return tmp_path / "named"


def test_names_in_csv_are_no_formulas(dumbbell, named, tmp_path):
    assert dumbbell("export", named, "--format", "csv", "--out", tmp_path / "exported").status == 0
    (exported,) = (tmp_path / "exported").iterdir()
    texts = [
        dumbbell("table", named, "--format", "csv").out,
        dumbbell("table", named, "--format", "csv", "--statistic", "mean").out,
        dumbbell("table", named, "--tidy").out,
        exported.read_text(),
    ]
    for text in texts:
        cells = [cell for row in csv.reader(io.StringIO(text), strict=True) for cell in row]
        assert sum(any(name in cell for name in NAMES) for cell in cells) >= len(NAMES)
        assert not any(cell.startswith(("=", "@")) or cell == "-2+E5" for cell in cells)


def test_names_in_markdown_and_latex_are_no_markup(dumbbell, named):
    markdown = dumbbell("table", named, "--format", "markdown").out
    assert "<b>" not in markdown
    assert "[x\\](http:x)" in markdown
    assert "a\\|b" in markdown
    latex = dumbbell("table", named, "--format", "latex").out
    assert "\\input" not in latex
    assert "\\textbackslash{}input\\{x\\}" in latex
