"""Tests draw the same cases on every machine, alone or after others; a fresh seed draws others."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

from hypothesis import given, seed, settings
from hypothesis import strategies as st

TESTS = Path(__file__).parent
ALONE = "attack/test_any_file.py"
RECORDED = "c7c7effb1d30744e527097542923955057c0c1d44279a72f5ea316c1a0715ad1"


def drawn(files, *options, hash_seed):
    """By test, the digest of the cases that it draws in a process of its own."""
    paths = [str(TESTS / each) for each in files]
    command = [sys.executable, "-m", "pytest", "-p", "drawn_cases", "-p", "no:cacheprovider", "--examples", "20", *options, *paths]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}", "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, capture_output=True, text=True, cwd=TESTS.parent, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(re.findall(r"^drawn (\S+) (\w{64})$", done.stdout, re.MULTILINE))


def test_a_test_draws_the_same_alone_and_after_all_others():
    files = sorted(str(path.relative_to(TESTS)) for path in TESTS.rglob("test_*.py") if "from hypothesis import" in path.read_text())
    together = drawn([*(each for each in files if each != ALONE), ALONE], hash_seed="1")
    alone = drawn([ALONE], hash_seed="2")
    assert len(together) > 20
    assert len(alone) == 3
    assert {name: together[name] for name in alone} == alone
    fresh = drawn([ALONE], "--seed", "2", hash_seed="1")
    assert fresh.keys() == alone.keys()
    assert not set(fresh.values()) & set(alone.values())


def test_the_installed_hypothesis_draws_what_was_recorded():
    """Another version would have `make test` try other cases: pyproject.toml names the one that is expected."""
    found = []

    @seed(1)
    @settings(max_examples=100)
    @given(st.lists(st.integers(0, 10**6) | st.floats(0, 1) | st.booleans(), max_size=4))
    def note(values):
        found.append(values)

    note()
    assert hashlib.sha256(repr(found).encode()).hexdigest() == RECORDED
