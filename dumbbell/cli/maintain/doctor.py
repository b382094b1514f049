"""`dumbbell doctor`: whether this machine has everything that dumbbell needs."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import typer

from dumbbell.cli.output import JsonOption, human_size, print_columns, print_json
from dumbbell.engines import sim
from dumbbell.errors import DumbbellError, EnvironmentFault
from dumbbell.executor import default_workers

_LIBRARIES = {"polars": False, "numpy": False, "scipy": True, "pydantic": False, "matplotlib": True}
"""Libraries, each with a flag that is true if machines that only compute runs may lack it."""
_LEAST_DISK = 100_000_000
"""Bytes."""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    good: bool
    found: str
    optional: bool = False
    """Needed by some commands only."""

    @property
    def mark(self) -> str:
        """Its mark in the table."""
        return "ok" if self.good else "no" if self.optional else "BAD"


def command(json: JsonOption = False) -> None:
    """Check the machine: versions, the engines, disk space. Exit status 3 if something is missing that every command needs."""
    findings = list(_examine())
    good = all(finding.good or finding.optional for finding in findings)
    if json:
        print_json({"good": good, "findings": [asdict(finding) for finding in findings]})
    else:
        print_columns([(finding.mark, finding.name, finding.found) for finding in findings])
    if not good:
        raise typer.Exit(3)


def _examine() -> Iterator[Finding]:
    yield Finding("python", sys.version_info >= (3, 11), platform.python_version())
    for library, optional in _LIBRARIES.items():
        try:
            yield Finding(library, True, version(library))
        except PackageNotFoundError:
            yield Finding(library, False, "not installed; expected the libraries of `pip install dumbbell`", optional)
    yield from _simulator()
    yield from _kernels()
    yield _laboratory()
    yield Finding("processors", True, str(default_workers()))
    free = shutil.disk_usage(Path.cwd()).free
    yield Finding("disk", free >= _LEAST_DISK, f"{human_size(free)} free in {Path.cwd()}")


def _simulator() -> Iterator[Finding]:
    try:
        source = sim.native().SOURCE_HASH
        speed = sim.packets_per_cpu_second()
    except DumbbellError as error:
        yield Finding("simulator", False, str(error))
        return
    yield Finding("simulator", True, f"sources {source[:10]}, {speed / 1e6:.1f} M packets per CPU second")


def _kernels() -> Iterator[Finding]:
    """The kernel of the default series, and all others that are built."""
    from dumbbell.engines.kernel import binary
    from dumbbell.engines.kernel.series import DEFAULT, versions

    yield _kernel("kernel", DEFAULT)
    others = [version for version in versions() if version != DEFAULT and binary.named(version) is not None]
    for name in (*others, *binary.names()):
        yield _kernel(f"kernel:{name}", name)


def _kernel(label: str, name: str) -> Finding:
    from dumbbell.engines.kernel import binary, guest

    try:
        found = binary.find(name)
        boot_s = guest.boot_time(found)
    except DumbbellError as fault:
        return Finding(label, False, str(fault), optional=True)
    return Finding(label, True, f"Linux {found.version}, boots in {boot_s:.2f} s", optional=True)


def _laboratory() -> Finding:
    from dumbbell.engines.testbed import laboratory

    try:
        scheduling = laboratory.probe()
    except EnvironmentFault as fault:
        return Finding("laboratory", False, str(fault), optional=True)
    return Finding("laboratory", True, f"can be booted, {scheduling}", optional=True)
