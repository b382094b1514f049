"""Optional tools. If one is missing, its tests are skipped, or fail if DUMBBELL_REQUIRE names it, as in continuous integration."""

import os
from collections.abc import Iterable
from typing import NoReturn

import pytest

VARIABLE = "DUMBBELL_REQUIRE"
"""Environment variable with the names of required tools, separated by commas."""
TOOLS = {
    "kernel": "the engine kernel: a built kernel that boots, and what it is built with",
    "flent": "Flent, which reads what we export",
    "tcptrace": "tcptrace, which reads our captures",
    "browser": "a browser that runs without a display",
    "lab": "the laboratory of real-time guests",
    "compiler": "a C compiler (cc), for congestion controls of one's own",
    "namespaces": "namespaces, with iproute2, ethtool and an SSH server in them",
    "applications": "iperf3, vsftpd, curl, nginx, irtt, ping and root, for flows that these make",
    "netperf": "netperf and what Flent needs beside it, for flows that these make",
    "tshark": "tshark, which reads our captures",
    "packages": "maturin, and the libraries that a wheel needs, from pip's cache or an index",
    "shells": "bash, zsh and fish, in which commands are completed",
    "iperf3": "iperf3, whose measurements we read",
    "site": "what builds the documentation (`make site`), and runs its notebooks",
}
"""All optional tools."""


def required() -> frozenset[str]:
    """The required tools. Raises `pytest.UsageError` for an unknown name."""
    names = [name.strip() for name in os.environ.get(VARIABLE, "").split(",")]
    names = [name for name in names if name]
    if unknown := _joined(name for name in names if name not in TOOLS):
        raise pytest.UsageError(f"{VARIABLE}: {unknown}: unknown; expected names out of {_joined(TOOLS)}")
    return frozenset(names)


def missing(tool: str, reason: object) -> NoReturn:
    """Fail the test if its missing tool is required, otherwise skip it. A tool that is not in `TOOLS` is always required."""
    if tool not in TOOLS or tool in required():
        pytest.fail(f"{tool} is required: {reason}", pytrace=False)
    pytest.skip(str(reason))


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)
