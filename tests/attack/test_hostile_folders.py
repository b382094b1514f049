"""Results folders of somebody who means harm: each command ends with a status and lines, in little memory, and leaves the rest alone."""

import random
import shutil

import pytest
from attack import hostile_folders

COMMANDS = (
    ("table", "X"),
    ("table", "X", "--runs"),
    ("table", "X", "--json"),
    ("table", "X", "--format", "csv"),
    ("table", "X", "--statistic", "mean"),
    ("table", "X", "--tidy"),
    ("plot", "X", "--format", "svg"),
    ("plot", "X", "--list"),
    ("plot", "X", "--x", "seed", "--y", "goodput", "--format", "svg"),
    ("view", "X", "--export", "page.html"),
    ("view", "X", "--export", "page.html", "--all"),
    *(
        ("export", "X", "--format", form, "--out", "exported")
        for form in ("flent", "iperf3", "xpl", "mahimahi-log", "teacup", "csv", "parquet")
    ),
    ("check", "X"),
    ("check", "X", "--repair", "--executor", "threads"),
    ("pack", "X"),
    ("compare", "X", "X"),
)
EACH = 4
"""Commands that a folder is given to."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Whole folders."""
    return hostile_folders.make(tmp_path_factory.mktemp("hostile"))


def test_a_folder_that_somebody_has_changed_is_told_in_lines(made, request, dumbbell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = request.config.getoption("seed") * 10**6
    for seed in range(first, first + request.config.getoption("folders")):
        rng = random.Random(-seed)
        folder = shutil.copytree(rng.choice(made), tmp_path / "X")
        hostile_folders.spoil(folder, seed)
        for command in rng.sample(COMMANDS, EACH):
            try:
                answer = dumbbell(*command)
            except BaseException as error:
                raise AssertionError(f"seed {seed}, {' '.join(command)}: {error!r}") from error
            assert answer.status in (0, 1, 2), (seed, command, answer)
            assert all(each.isprintable() for each in answer.err.splitlines()), (seed, command, answer)
            assert "Traceback" not in answer.err, (seed, command, answer)
        assert {path.name for path in tmp_path.iterdir()} <= {"X", "exported", "page.html"}, seed
        for left in ("X", "exported"):
            shutil.rmtree(left, ignore_errors=True)
