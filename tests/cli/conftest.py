"""Runs the command line in this process."""

from dataclasses import dataclass

import pytest

from dumbbell import cli


@dataclass(frozen=True)
class Answer:
    """What a command answered."""

    status: int
    out: str
    err: str


@pytest.fixture
def dumbbell(monkeypatch, capsys):
    """A function that runs `dumbbell ARGUMENTS...`."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["dumbbell", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        captured = capsys.readouterr()
        return Answer(stop.value.code or 0, captured.out, captured.err)

    return call
