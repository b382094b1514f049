"""Congestion controls of one's own: shared libraries that a scenario names. Reading a scenario hashes the file; nothing of it is run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationInfo

from dumbbell.documents.problems import Unfit
from dumbbell.files import read_regular
from dumbbell.scenario.values.csv_files import located

MOST_BYTES = 256 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\.(so|dylib)")


def identified(written: Mapping[str, Any], info: ValidationInfo) -> dict[str, str]:
    """`kind`, absolute path and SHA-256 of `{library: PATH}`. With `sha256` it must be that very file. Raises `Unfit`."""
    if "kind" in written:
        raise Unfit("kind and library", "one of them")
    name, wanted = written["library"], written.get("sha256")
    if not isinstance(name, str):
        raise Unfit("the library is no path", "e.g. library: ./mine.so")
    path = located(name, info)
    if not _NAME.fullmatch(path.name):
        raise Unfit(f"{path.name!r} is no name of a shared library", "letters, digits and . _ + - and .so at the end")
    try:
        found = sha256(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unfit(f"cannot read {path}: {reason}", "a shared library, by its path from the scenario's file") from None
    if wanted not in (None, found):
        raise Unfit(f"{path} is another library: its SHA-256 is {found}", f"that of {wanted}")
    return {"kind": path.name, "library": str(path.absolute()), "sha256": found}


def sha256(path: Path) -> str:
    """The hash of a library. Raises as `read_regular`."""
    return hashlib.sha256(read_regular(path, MOST_BYTES)).hexdigest()
