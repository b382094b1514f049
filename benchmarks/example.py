"""The examples of crates/sim, built with the pinned toolchain."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dumbbell.errors import EnvironmentFault

ROOT = Path(__file__).resolve().parent.parent


def build(name: str, features: Sequence[str] = ()) -> Path:
    """The executable of an example, in the release profile, with features of the crate. Raises `EnvironmentFault` if it cannot be built."""
    if shutil.which("cargo") is None:
        raise EnvironmentFault("expected Rust (cargo); see https://rustup.rs")
    command = ["cargo", "build", "-q", "--release", "--locked", "-p", "dumbbell-sim", "--example", name]
    command += ["--message-format=json", "--features", ",".join(features)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    made = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    found = [each["executable"] for each in made if each.get("target", {}).get("name") == name and each.get("executable")]
    if done.returncode or not found:
        raise EnvironmentFault(f"example {name} cannot be built: {' '.join(done.stderr.split())[-300:]}")
    return Path(found[-1])


def rustc_version() -> str:
    """Return the version of the pinned toolchain, e.g. `1.95.0`. Raises `EnvironmentFault` without one."""
    try:
        done = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentFault(f"expected Rust (rustc): {error}") from None
    return done.stdout.split()[1]
