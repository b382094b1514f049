"""dumbbell.cc, compiled against an installation of ns-3, and what it prints."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.ns3.installation import MODULES, Installation
from dumbbell.errors import EnvironmentFault

SOURCE = Path(__file__).with_name("dumbbell.cc")
_FOLDER = Path(__file__).resolve().parents[2] / "target" / "ns3" / "programs"
_COUNTS = ("packets", "drops", "marks", "events", "maxrss_kb")


@dataclass(frozen=True)
class Outcome:
    """A run of ns-3."""

    packets: int
    """Segments' worth of payload that reached the application."""
    goodput_bps: float
    drops: int
    marks: int
    events: int
    cpu_s: float
    """User and system time of Simulator::Run()."""
    maxrss_kb: int


def compiler() -> str:
    """The C++ compiler and its version. Raises `EnvironmentFault` if there is none."""
    command = os.environ.get("CXX", "g++")
    if shutil.which(command) is None:
        raise EnvironmentFault(f"expected a C++ compiler ({command}); CXX names another")
    done = subprocess.run([command, "-dumpfullversion", "-dumpversion"], capture_output=True, text=True, check=False)
    return f"{Path(command).name} {done.stdout.strip()}"


def build(ns3: Installation) -> Path:
    """The program; compiled once for a source, an installation and a compiler. Raises `EnvironmentFault` if that fails."""
    content = f"{ns3} {ns3.include} {compiler()}".encode() + SOURCE.read_bytes()
    program = _FOLDER / f"dumbbell-{hashlib.sha256(content).hexdigest()[:20]}"
    if program.is_file():
        return program
    program.parent.mkdir(parents=True, exist_ok=True)
    partial = program.with_suffix(f".{os.getpid()}")
    command = [os.environ.get("CXX", "g++"), "-std=c++20", "-O3", *ns3.definitions, f"-I{ns3.include}", str(SOURCE), "-o", str(partial)]
    command += [f"-L{ns3.libraries}", f"-Wl,-rpath,{ns3.libraries}", "-Wl,--allow-shlib-undefined"]
    command += [f"-l:{ns3.library(module)}" for module in MODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no reason given"]
        raise EnvironmentFault(f"{SOURCE.name} cannot be compiled against {ns3}: {errors[0]}")
    partial.rename(program)
    return program


def parse(line: str) -> Outcome:
    """The program's line. Raises `EnvironmentFault` if it is not one."""
    pairs = dict(word.split("=", 1) for word in line.split() if "=" in word)
    try:
        counts = {name: int(pairs[name]) for name in _COUNTS}
        return Outcome(**counts, goodput_bps=float(pairs["goodput_bps"]), cpu_s=float(pairs["cpu_s"]))
    except (KeyError, ValueError):
        raise EnvironmentFault(f"ns-3 printed {line.strip()[:200]!r}; expected packets=... goodput_bps=... cpu_s=...") from None


def run(program: Path, arguments: list[str]) -> Outcome:
    """One run. Raises `EnvironmentFault` if it fails."""
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EnvironmentFault(f"ns-3 ended with exit status {done.returncode}: {reason}")
    return parse(done.stdout)
