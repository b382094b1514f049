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
IN_KERNEL = {"struct_ops": "a BPF program", "module": "a module of the kernel"}
"""Keys of congestion controls that a kernel loads, and what the file is."""
_FILES = {"struct_ops": re.compile(r"([A-Za-z0-9_-]{1,15})(\.bpf)?\.o"), "module": re.compile(r"(?:tcp_)?([A-Za-z0-9_-]{1,15})\.ko")}
"""Names of files, with the name of the congestion control that they are taken to have."""
_CONTROL = re.compile(r"[A-Za-z0-9_-]{1,15}")
"""The kernel has names of up to 15 characters (TCP_CA_NAME_MAX, include/net/tcp.h)."""


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


def loaded(written: Mapping[str, Any], info: ValidationInfo) -> dict[str, str]:
    """`kind`, absolute path and SHA-256 of `{struct_ops: PATH}` or `{module: PATH}`, which the kernel loads. The name is that
    of the file unless `name` says another one. Raises `Unfit`."""
    form = next(form for form in IN_KERNEL if form in written)
    if unknown := [key for key in written if key not in (form, "sha256", "name")]:
        raise Unfit(f"{unknown[0]}: unknown", f"{form}, with sha256 and name")
    name, wanted = written[form], written.get("sha256")
    if not isinstance(name, str):
        raise Unfit(f"{form} is no path", f"e.g. {form}: ./mine.{'bpf.o' if form == 'struct_ops' else 'ko'}")
    path = located(name, info)
    fits = _FILES[form].fullmatch(path.name)
    kind = written.get("name") or (fits[1] if fits else "")
    if not _CONTROL.fullmatch(str(kind)) or not re.fullmatch(r"[A-Za-z0-9._+-]+", path.name):
        raise Unfit(f"{path.name!r} says no name of a congestion control", "e.g. mine.bpf.o or tcp_mine.ko, or name: mine")
    try:
        found = sha256(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Unfit(f"cannot read {path}: {reason}", f"{IN_KERNEL[form]}, by its path from the scenario's file") from None
    if wanted not in (None, found):
        raise Unfit(f"{path} is another file: its SHA-256 is {found}", f"that of {wanted}")
    return {"kind": str(kind), form: str(path.absolute()), "sha256": found}


def sha256(path: Path) -> str:
    """The hash of a library. Raises as `read_regular`."""
    return hashlib.sha256(read_regular(path, MOST_BYTES)).hexdigest()
