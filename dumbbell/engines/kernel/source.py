"""The kernel's sources: finding, unpacking and patching them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from dumbbell.engines.kernel.series import BUILT
from dumbbell.errors import BadInput, EnvironmentFault

SERIES = BUILT.version
"""The version for which patches, configuration and the table of capabilities are made."""
PLACE = Path("/usr/src")
_PATTERN = f"{BUILT.package}*.tar.*"
WHERE = f"{PLACE / BUILT.package}.tar.xz"


def installed() -> Path | None:
    """The tarball of the distribution's package, newest version; None if it is not installed."""
    found = sorted((*PLACE.glob(_PATTERN), *PLACE.glob(f"{BUILT.package}*/{_PATTERN}")), key=_numbers)
    return found[-1] if found else None


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def named(path: Path) -> Path:
    """The absolute path of a tarball given by the user. Raises `BadInput` if it is not a file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise BadInput(f"{path}: {what}; expected the sources of Linux {SERIES} as a tarball (linux-{SERIES}.x.tar.xz)")
    return path.resolve()


def unpack(tarball: Path, folder: Path) -> str:
    """Unpacks the part of a kernel's sources that the build reads into an empty folder. Returns the kernel's version.

    Raises `BadInput` if the tarball is damaged or contains another kernel.
    """
    excluded = [f"--exclude=*/{pattern}" for pattern in BUILT.foreign]
    command = ["tar", "-x", "-f", str(tarball), "-C", str(folder), "--strip-components=1", "--no-same-owner", *excluded]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        if "No space left" in done.stderr:
            raise EnvironmentFault(f"{folder}: no space left")
        reason = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise BadInput(f"{tarball}: cannot be unpacked ({reason}); expected the sources of Linux {SERIES} as a tarball")
    return _version(tarball, folder)


def _version(tarball: Path, folder: Path) -> str:
    try:
        text = (folder / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    parts = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(parts):
        raise BadInput(f"{tarball}: holds no kernel; expected the sources of Linux {SERIES}")
    version = ".".join(part.group(1) for part in parts if part)
    if not version.startswith(f"{SERIES}."):
        raise BadInput(f"{tarball}: holds Linux {version}; expected {SERIES}.x")
    return version


def apply(patches: Sequence[Path], folder: Path, version: str) -> None:
    """Applies patches in order. Raises `EnvironmentFault` for the first that does not apply."""
    for patch in patches:
        command = ["patch", "-p1", "--forward", "--batch", "-d", str(folder), "-i", str(patch)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no message"]
            reason = next((line for line in lines if "FAILED" in line or "can't find" in line), lines[-1])
            raise EnvironmentFault(f"{patch.name} does not apply to Linux {version}: {reason.strip()}")
