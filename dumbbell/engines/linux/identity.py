"""The identity of a program that makes a flow: a hash of its file, and of the libraries and the interpreter that the kernel maps with it.

An ELF file names its libraries (DT_NEEDED) and its interpreter (PT_INTERP, see elf(5)), which are looked for as ld.so(8) does: in its
DT_RUNPATH or DT_RPATH, in the cache that `ldconfig -p` prints, and in the standard folders. A script names its interpreter. What a program
opens by itself while it runs, such as modules of Python, is not known.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_ELF, _SCRIPT = b"\x7fELF", b"#!"
_X86_64 = 62
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
"""Types of segments (p_type)."""
_NEEDED, _STRING_TABLE, _RPATH, _RUNPATH = 1, 5, 15, 29
"""Tags of the dynamic section (d_tag)."""
_FOLDERS = ("/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
_MOST_FILES = 1000


@dataclass(frozen=True)
class Identity:
    """A program and what is mapped with it: paths with SHA-256."""

    path: str
    sha256: str
    mapped: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """Return the hash of all contents: a run does not depend on where the files are."""
        return hashlib.sha256("\0".join((self.sha256, *sorted(sha256 for _, sha256 in self.mapped))).encode()).hexdigest()[:20]

    def plain(self) -> dict[str, Any]:
        """Return plain data for run.json."""
        return {"path": self.path, "sha256": self.sha256, "mapped": dict(self.mapped)}


def identity(program: str, search: str) -> Identity | None:
    """The identity of a program: a path, or a name that is looked for in the folders `search`. None if it is not there."""
    found = shutil.which(program, path=search)
    if found is None:
        return None
    path = Path(found).resolve()
    files: dict[str, str] = {}
    waiting = [path]
    while waiting and len(files) < _MOST_FILES:
        at = waiting.pop()
        if str(at) in files:
            continue
        try:
            facts = at.stat()
            files[str(at)], others = _read(str(at), facts.st_mtime_ns, facts.st_size, search)
        except (OSError, struct.error, ValueError):
            continue
        waiting += map(Path, others)
    sha256 = files.pop(str(path), None)
    return None if sha256 is None else Identity(str(path), sha256, tuple(sorted(files.items())))


@lru_cache(maxsize=1000)
def _read(path: str, _changed_ns: int, _size: int, search: str) -> tuple[str, tuple[str, ...]]:
    """The hash of a file, and the files that are mapped with it."""
    content = Path(path).read_bytes()
    others: tuple[str, ...] = ()
    if content.startswith(_ELF):
        others = tuple(_mapped_with(content, Path(path)))
    elif content.startswith(_SCRIPT):
        others = tuple(_interpreters(content, search))
    return hashlib.sha256(content).hexdigest(), others


def _interpreters(content: bytes, search: str) -> Iterator[str]:
    """The programs that the first line of a script names."""
    for word in content.split(b"\n", 1)[0][2:].decode(errors="replace").split()[:3]:
        if not word.startswith("-") and (found := shutil.which(word, path=search)):
            yield str(Path(found).resolve())


def _mapped_with(content: bytes, path: Path) -> Iterator[str]:
    """The libraries and the interpreter of an ELF file of x86-64."""
    if content[4] != 2 or struct.unpack_from("<H", content, 18)[0] != _X86_64:
        return
    (table,), (each, count) = struct.unpack_from("<Q", content, 32), struct.unpack_from("<HH", content, 54)
    segments = [struct.unpack_from("<IIQQQQ", content, table + i * each) for i in range(count)]
    loads = [(virtual, offset, size) for kind, _, offset, virtual, _, size in segments if kind == _LOAD]
    for kind, _, offset, _, _, size in segments:
        if kind == _INTERPRETER:
            yield str(Path(content[offset : offset + size].rstrip(b"\0").decode()).resolve())
        elif kind == _DYNAMIC:
            entries = [struct.unpack_from("<QQ", content, at) for at in range(offset, offset + size - 15, 16)]
            table_at = next(value for tag, value in entries if tag == _STRING_TABLE)
            strings = next(table_at - first + where for first, where, length in loads if first <= table_at < first + length)
            named = [(tag, _text(content, strings + value)) for tag, value in entries if tag in (_NEEDED, _RPATH, _RUNPATH)]
            own = [text.replace("$ORIGIN", str(path.parent)) for tag, text in named if tag in (_RPATH, _RUNPATH)]
            folders = [folder for text in own for folder in text.split(":")]
            for tag, name in named:
                if tag == _NEEDED and (found := _library(name, folders)):
                    yield found


def _text(content: bytes, at: int) -> str:
    return content[at : content.index(b"\0", at)].decode()


def _library(name: str, folders: list[str]) -> str | None:
    """The file of a library; None if it is nowhere."""
    if "/" in name:
        return name
    for folder in folders:
        if os.path.isfile(found := os.path.join(folder, name)):
            return str(Path(found).resolve())
    if (cached := _cache().get(name)) is not None:
        return cached
    return next((str((Path(folder) / name).resolve()) for folder in _FOLDERS if (Path(folder) / name).is_file()), None)


@lru_cache(maxsize=1)
def _cache() -> dict[str, str]:
    """The libraries of x86-64 that ld.so knows by name."""
    program = shutil.which("ldconfig", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        return {}
    listed = subprocess.run([program, "-p"], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False).stdout
    found: dict[str, str] = {}
    for name, path in re.findall(r"^\s+(\S+) \(libc6,x86-64[^)]*\) => (\S+)$", listed, re.MULTILINE):
        found.setdefault(name, str(Path(path).resolve()))
    return found
