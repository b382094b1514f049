"""Examples that `dumbbell new` prints and writes, and the files of the tutorial, which are what it shows."""

import json
import re
from pathlib import Path

import pytest

from dumbbell import templates
from dumbbell.templates import examples

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SHOWN = [text for text in re.findall(r"```yaml[^\n]*\n(.*?)```", TUTORIAL, re.DOTALL) if "name: " in text]


def without_comments(text):
    return "".join(f"{line}\n" for line in text.splitlines() if not line.startswith("#"))


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: re.search(r"^name: (\S+)", text, re.MULTILINE)[1])
def test_what_the_tutorial_shows_is_printed(dumbbell, text):
    answer = dumbbell("new", re.search(r"^name: (\S+)", text, re.MULTILINE)[1])
    assert without_comments(answer.out) == text


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_printed(dumbbell, path):
    assert dumbbell("new", f"examples/{path.name}").out == path.read_text(encoding="utf-8")
    if path.stem not in templates.names():
        assert dumbbell("new", path.stem).out == path.read_text(encoding="utf-8")


def test_all_are_listed_with_what_they_show(dumbbell):
    listed = [each for each in json.loads(dumbbell("new", "--json").out) if each["kind"] == "example"]
    assert [each["name"] for each in listed] == list(examples.names())
    assert all(each["summary"] and "\n" not in each["summary"] for each in listed)
    assert "examples/voip" in examples.names()  # there is a test of that name


def test_what_an_example_reads_is_told(dumbbell):
    answer = dumbbell("new", "trace")
    assert answer.err == "trace reads traces/cellular.down and traces/cellular.up; `dumbbell new examples` writes the examples with these\n"
    assert examples.needed("rates") == ["traces/rates.csv"]
    assert examples.needed("first") == []


def test_the_folder_of_all(dumbbell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = json.loads(dumbbell("new", "examples", "--json").out)["files"]
    assert "examples/library/cubic.c" in found
    assert all(Path(path).is_file() for path in found)
    again = dumbbell("new", "examples")
    assert (again.status, again.err) == (2, "examples: there is one already; expected a folder without it\n")


def test_an_unknown_example(dumbbell):
    answer = dumbbell("new", "one-flwo")
    assert answer.status == 2
    assert "(did you mean 'one-flow'?)" in answer.err
    assert answer.err.count("\n") == 1
