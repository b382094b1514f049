"""Hostile scenario files: each is an error in one line, soon, and with status 2."""

import os

import pytest
from work import counted

GOOD = """\
name: good
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 180p}}}
flows: [{cc: cubic}]
duration: 2s
"""
LAUGHS = "x: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"x{i}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(9)
)
MERGES = "x0: &m0 {" + ", ".join(f"k{i}: 1" for i in range(1000)) + "}\n" + f"y: [{', '.join(['{<<: [*m0, *m0]}'] * 1000)}]\n"
CHAIN = "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} {'[' * 60}*a{i - 1}{']' * 60}\n" for i in range(1, 40))

CASES = {
    "an alias bomb": (LAUGHS, "values, aliases expanded"),
    "a bomb of merge keys": (MERGES, "values, aliases expanded"),
    "depth by aliases": (CHAIN, "more than 64 levels"),
    "a list in itself": ("x: &a [*a]\n", "is within what it stands for"),
    "a mapping merged into itself": ("x: &a {<<: *a}\n", "is within what it stands for"),
    "an alias for nothing": ("x: *a\n", "found undefined alias 'a'"),
    "a merge key of a number": ("x: {<<: 1}\n", "has no mapping"),
    "100,000 brackets": ("x: " + "[" * 100_000, "more than 64 levels"),
    "100,000 braces": ("x: " + "{a: " * 100_000, "more than 64 levels"),
    "100,000 dashes": ("x:\n" + "- " * 100_000 + "1\n", "more than 64 levels"),
    "a list for a key": ("? [a]\n: 1\n", "a list for a key"),
    "a mapping for a key": ("{a: 1}: 1\n", "a mapping for a key"),
    "an aliased list for a key": ("x: &a [1]\n? *a\n: 1\n", "a list or mapping for a key"),
    "a number for a key": ("12: 1\n", "12 for a key"),
    "nothing for a key": ("~: 1\n", "nothing for a key"),
    "a number of 10,000 digits": ("seed: " + "9" * 10_000 + "\n", "a number of 10000 characters"),
    "a time of 10,000 digits": ("sample: " + "9" * 10_000 + "ms\n", "is out of range"),
    "an exponent of 30 digits": ("sample: 1e" + "9" * 30 + "s\n", "is out of range"),
    "an exponent of 18 digits": ("sample: 1e" + "9" * 18 + "s\n", "is out of range"),
    "a seed of 100 digits": ("seed: " + "9" * 100 + "\n", "seed"),
    "digits that are not ASCII": ("sample: \u0661ms\n", "is not a number with a unit"),
    "wide digits in a swept key": ("sweep: {flows.\uff10.cc: [reno]}\n", "is not an entry"),
    "a superscript in a swept key": ("sweep: {flows.².cc: [reno]}\n", "is not an entry"),
    "a foreign tag": ("x: !!python/object/apply:os.system ['true']\n", "unknown tag"),
    "a number that is none": ("seed: !!int abc\n", "is not of the tag int"),
    "a second document": ("---\nname: other\n", "a second document"),
    "a key of 100,000 characters": ("? " + "k" * 100_000 + "\n: 1\n", "unknown key"),
    "a key with escape sequences": ('"\\e[31mred\\n": 1\n', "unknown key"),
    "a value with escape sequences": ('engine: "\\e[31mred\\nnext"\n', "is not a name"),
    "a null character": ("x: \0\n", ":5: the character '\\x00', which YAML does not allow; expected printable characters"),
    "a directive of the future": ("%YAML 9.9\n---\nx: 1\n", ""),
}
"""By name: the text that is added to a good file, and the text in the report."""

MOST_CALLS = 8_000_000
"""Maximum number of calls that reading one of them takes."""


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_is_refused_in_one_line(name, dumbbell, tmp_path):
    text, what = CASES[name]
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD + text)
    with counted() as work:
        answer = dumbbell("run", file, "--out", tmp_path / "out")
    assert work.calls < MOST_CALLS
    assert (answer.status, answer.out) == (2, "")
    assert what in answer.err
    lines = answer.err.splitlines()
    assert all(line.startswith((f"{file}:", "    ")) and line.isprintable() and len(line) < 1000 for line in lines), answer.err
    assert len([line for line in lines if line.startswith(str(file)) and what in line]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("default")
def test_an_anchor_that_is_defined_again_is_a_warning_of_one_line(dumbbell, tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD.replace("rtt: 20ms", "rtt: &a 20ms").replace("duration: 2s", "duration: &a 2s\nsample: *a"))
    answer = dumbbell("plan", file, "--out", tmp_path / "out", "--json")
    assert (answer.status, answer.err) == (0, "line 4: the anchor 'a' is defined again; aliases after it mean the new one\n")


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\ud800", "\uffff"])
def test_a_character_that_yaml_does_not_allow_is_told_with_its_line_and_place(dumbbell, tmp_path, character):
    file = tmp_path / "bad.yaml"
    file.write_bytes(GOOD.encode() + b"# \xc3\xa9\nna" + character.encode("utf-8", "surrogatepass") + b"me: x\n")
    answer = dumbbell("run", file)
    number = GOOD.count("\n") + 2
    assert answer.status == 2
    if character == "\ud800":
        assert answer.err == f"{file}:{number}: the byte 0xed is not text in UTF-8; expected a scenario file\n"
    else:
        first, shown, caret = answer.err.splitlines()
        assert first.startswith(f"{file}:{number}: the character {character!r}, which YAML does not allow; expected ")
        assert (shown, caret) == ("    na me: x", "      ^")


def test_aliases_and_merge_keys_work_within_the_limits(dumbbell, tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD.replace("[{cc: cubic}]", "[&a {cc: cubic, ecn: true}, {<<: *a, cc: reno}, {<<: [{ecn: false}, *a]}, *a]"))
    answer = dumbbell("plan", file, "--out", tmp_path / "out", "--json")
    assert (answer.status, answer.err) == (0, "")


def test_a_mistake_in_a_merged_mapping_is_reported_where_it_is_written(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("flows: [{cc: cubic}]", "flows:\n  - &a\n    cc: cubic\n    ecn: maybe\n  - {<<: *a, cc: reno}"))
    answer = dumbbell("plan", file)
    assert [line.split(":")[1] for line in answer.err.splitlines()] == ["6", "6"]


def test_a_file_of_17_mib_is_refused(dumbbell, tmp_path):
    file = tmp_path / "large.yaml"
    with open(file, "wb") as handle:
        handle.truncate(17 << 20)
    answer = dumbbell("run", file)
    assert (answer.status, answer.err) == (2, f"{file}: has more than 16 MiB; expected a scenario file\n")


@pytest.mark.parametrize("command", ["run", "plan"])
def test_special_files_are_refused(command, dumbbell, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for file in (fifo, "/dev/zero", "/dev/null"):
        answer = dumbbell(command, file)
        assert (answer.status, answer.err) == (2, f"{file}: is not a regular file; expected a scenario file\n")


@pytest.mark.parametrize(
    ("text", "line", "what", "shown"),
    [
        ("sample: 1s: 2s\n", 5, "a ':' that cannot stand here; expected one key a line", "sample: 1s: 2s|          ^"),
        ("sweep:\n   seed: [1]\n  duration: [1s]\n", 7, "does not line up with what is above", "  duration: [1s]|  ^"),
        (
            "sweep: {seed: [1, 2}\n",
            5,
            "the bracket of line 5 is still open here; expected a comma, or ]",
            "sweep: {seed: [1, 2}|" + 19 * " " + "^",
        ),
        ("sweep: {seed: [1]\nsample: 1s\n", 6, "the bracket of line 5 is still open here; expected a comma, or }", "sample: 1s|^"),
        ("sweep: {seed: [1]}}\n", 5, "} closes nothing", "sweep: {seed: [1]}}|" + 18 * " " + "^"),
        ("engine: 'sim\nsample: 1s\n", 5, "a quote that is never closed", "engine: 'sim|        ^"),
        ("sample 1s\nseed: 1\n", 5, "a key without a ':'; expected KEY: VALUE", "sample 1s|^"),
        ("sweep:\n\tseed: [1]\n", 6, "a tab; expected spaces", " seed: [1]|^"),
        ("engine: @sim\n", 5, "@ cannot begin a value; expected quotes around it", "engine: @sim|        ^"),
        ("engine: " + 200 * "x" + ": 1\n", 5, "a ':' that cannot stand here", 60 * "x" + ": 1|" + 60 * " " + "^"),
    ],
)
def test_an_error_of_syntax_is_shown_where_it_is(text, line, what, shown, dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD + text)
    answer = dumbbell("plan", file)
    assert (answer.status, answer.out) == (2, "")
    said, *excerpt = answer.err.splitlines()
    assert said.startswith(f"{file}:{line}: {what}")
    assert excerpt == [f"    {each}" for each in shown.split("|")]
