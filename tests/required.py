"""Tools that a user may do without and continuous integration may not: where one is missing, its tests skip, or fail if it is required."""

import os
from collections.abc import Iterable
from typing import NoReturn

import pytest

VARIABLE = "DUMBBELL_REQUIRE"
"""Names the tools that must be there, separated by commas."""
TOOLS = {
    "kernel": "the engine kernel: a built kernel that boots, and what it is built with",
    "flent": "Flent, which reads what we export",
    "tcptrace": "tcptrace, which reads our captures",
    "browser": "a browser that runs without a display",
    "lab": "the laboratory of real-time guests",
}
"""Every tool that a test may skip for."""


def required() -> frozenset[str]:
    """The tools that must be there. Raises `pytest.UsageError` if one is unknown."""
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",")]
    names = [name for name in names if name]
    if unknown := _joined(name for name in names if name not in TOOLS):
        raise pytest.UsageError(f"{VARIABLE}: {unknown}: unknown; expected names out of {_joined(TOOLS)}")
    return frozenset(names)


def missing(tool: str, reason: object) -> NoReturn:
    """Ends a test whose tool is not there: a failure if the tool is required, else a skip. A tool that is not in `TOOLS` always is."""
    if tool not in TOOLS or tool in required():
        pytest.fail(f"{tool} is required: {reason}", pytrace=False)
    pytest.skip(str(reason))


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)
