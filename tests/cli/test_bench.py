"""`dumbbell bench`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from dumbbell.cli import app
from dumbbell.errors import BadInput


def test_json_gives_packets_and_their_cost() -> None:
    result = CliRunner().invoke(app, ["bench", "reno-pfifo-1", "--json"])
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)
    assert row["name"] == "reno-pfifo-1"
    # 60 s at 50 Mbit/s are 247,700 frames; slow start and overshoot cost some of them.
    assert 200_000 < row["packets"] < 248_000
    assert row["packets_per_cpu_s"] == pytest.approx(row["packets"] / row["cpu_s"])


def test_an_unknown_benchmark_names_the_known_ones() -> None:
    result = CliRunner().invoke(app, ["bench", "cubic-red-9"])
    assert isinstance(result.exception, BadInput)
    assert "cubic-cake-1" in str(result.exception)
