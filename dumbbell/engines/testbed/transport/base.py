"""Access to a machine: running a program there, keeping one under a lease, and handing files over.

Programs are lists of words. Text from a scenario is never a word of a command line: it goes to a program's stdin or into a file.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dumbbell.errors import EnvironmentFault, printable, shortened

KEEPALIVE = 5.0
"""Seconds between two signs of life of a connection."""
CONNECTING = 15.0
"""Seconds within which a machine has to answer."""
UNDOING = 60.0
"""Seconds within which a program whose lease ends has cleaned up behind itself."""
_PUT = 'umask 077 && cat >"$1.part" && chmod "$2" "$1.part" && mv -f -- "$1.part" "$1" && sha256sum <"$1"'
_PUT_ALL = 'umask 077 && cat >"$1/.part" && tar --no-same-owner -C "$1" -xzf "$1/.part" && sha256sum <"$1/.part" && rm -- "$1/.part"'
_GET = 'sha256sum <"$1" && cat <"$1"'


@dataclass(frozen=True)
class Done:
    """A program that has ended."""

    status: int
    """Exit status; below zero the signal that ended it."""
    out: bytes
    err: bytes

    @property
    def said(self) -> str:
        """Return in one line why it failed: the end of its messages for people, or else its status."""
        lines = self.err.decode(errors="replace").strip().splitlines()
        ended = f"signal {-self.status}" if self.status < 0 else f"status {self.status}"
        return shortened(printable(lines[-1].strip())) if lines else ended


class MachineFault(EnvironmentFault):
    """Something is wrong with a machine, or with the way to it."""

    def __init__(self, machine: str, what: str) -> None:
        """`what` is one line."""
        super().__init__(f"{machine}: {printable(what)}")
        self.machine = machine
        self.what = what

    def __reduce__(self) -> tuple[type[MachineFault], tuple[str, str]]:
        return type(self), (self.machine, self.what)


class Process(Protocol):
    """A program that runs. That its stdin is open is its lease: it ends, and cleans up behind itself, when that is closed."""

    async def write(self, content: bytes) -> None:
        """To its stdin. Raises `MachineFault` if it is gone."""

    async def line(self, timeout: float | None = None) -> str | None:
        """The next line of its stdout, None at the end. Raises `MachineFault` if there is none within `timeout` seconds."""

    def release(self) -> None:
        """Ends its stdin. May be called again."""

    async def wait(self, timeout: float | None = None) -> Done:
        """Ends its stdin and waits until it has ended; `out` is what `line` has not returned. Raises `MachineFault` after `timeout` s."""


class Machine(ABC):
    """A machine that can be reached."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the name in the hosts file."""

    @abstractmethod
    async def run(self, argv: Sequence[str], stdin: bytes = b"", timeout: float | None = None) -> Done:
        """Runs a program to its end. Raises `MachineFault` if the machine is lost, or after `timeout` s."""

    @abstractmethod
    async def start(self, argv: Sequence[str]) -> Process:
        """Starts a program that has a lease. Raises `MachineFault` if the machine is lost."""

    @abstractmethod
    async def close(self) -> None:
        """Ends all leases and the connection."""

    async def put(self, content: bytes, path: str, timeout: float | None = None, *, mode: str = "600") -> None:
        """Writes a file, for its owner alone, as a whole. Raises `MachineFault`."""
        await self._write([_PUT, "put", path, mode], content, path, timeout)

    async def put_all(self, files: Mapping[str, bytes], folder: str, timeout: float | None = None, *, mode: int = 0o600) -> None:
        """Writes files into a folder that exists, for their owner alone. Raises `MachineFault`."""
        await self.put_archive(packed(files, mode=mode), folder, timeout)

    async def put_archive(self, archive: bytes, folder: str, timeout: float | None = None) -> None:
        """Writes the files of `packed` into a folder that exists. Raises `MachineFault`."""
        await self._write([_PUT_ALL, "put", folder], archive, folder, timeout)

    async def _write(self, words: Sequence[str], content: bytes, path: str, timeout: float | None) -> None:
        done = await self.run(["sh", "-c", *words], content, timeout)
        if done.status:
            raise MachineFault(self.name, f"cannot write {path} ({len(content)} bytes): {done.said}")
        if _digest(done.out) != hashlib.sha256(content).hexdigest():
            raise MachineFault(self.name, f"{path} has another checksum there than here")

    async def get(self, path: str, timeout: float | None = None) -> bytes:
        """Reads a file. Raises `MachineFault`."""
        done = await self.run(["sh", "-c", _GET, "get", path], b"", timeout)
        if done.status:
            raise MachineFault(self.name, f"cannot read {path}: {done.said}")
        head, _, content = done.out.partition(b"\n")
        if _digest(head) != hashlib.sha256(content).hexdigest():
            raise MachineFault(self.name, f"{path} has another checksum there than here")
        return content


def packed(files: Mapping[str, bytes], *, mode: int = 0o600) -> bytes:
    """Files by their names, as `Machine.put_archive` takes them."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=6) as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return archive.getvalue()


def _digest(shown: bytes) -> str:
    found = re.match(rb"[0-9a-f]{64}", shown)
    return found[0].decode() if found else ""
