"""The list of what each document has: states with reasons, and commands that exist."""

import csv
import shlex
from pathlib import Path

import pytest
import typer

import dumbbell_studies
from dumbbell.cli import app
from dumbbell.study.registry import find_study

ROWS = list(csv.DictReader((Path(dumbbell_studies.__file__).parent / "coverage.csv").read_text(encoding="utf-8").splitlines()))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['study']}: {row['item']}")
def test_an_item_has_a_command_that_exists_or_a_reason(row):
    assert row["state"] in ("works", "partly", "missing")
    assert row["kind"] in ("experiment", "metric", "table", "figure")
    assert row["reason"] or row["state"] == "works"
    assert bool(row["command"]) == (row["state"] != "missing")
    if not row["command"]:
        return
    words = shlex.split(row["command"])
    commands = typer.main.get_group(app).commands
    name = words[1]
    group = commands[name]
    if "FILE" not in words and "DIR" not in words and "CAPTURE" not in words and "LEFT" not in words:
        rest, command = words[2:], group
        while hasattr(command, "commands"):
            command = command.commands[rest.pop(0)]
        command.make_context(name, rest)
    parts = find_study(row["study"]).parts
    if "--part" in words:
        assert words[words.index("--part") + 1] in parts
    if "--figure" in words:
        assert any(words[words.index("--figure") + 1] in part.figures for part in parts.values())
