"""This machine: programs are subprocesses, behind a prefix in a network namespace or as another user."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Sequence

from dumbbell.engines.testbed.transport.base import UNDOING, Done, Machine, MachineFault, Process

LONGEST_LINE = 1 << 20
"""Maximum number of bytes that are kept of a program's output."""


class LocalMachine(Machine):
    """This machine."""

    def __init__(self, name: str, prefix: Sequence[str] = ()) -> None:
        """`prefix` is put in front of all programs."""
        self._name = name
        self._prefix = tuple(prefix)
        self._processes: list[LocalProcess] = []

    @property
    def name(self) -> str:
        return self._name

    async def run(self, argv: Sequence[str], stdin: bytes = b"", timeout: float | None = None) -> Done:
        process = await self._spawn(argv)
        try:
            async with asyncio.timeout(timeout):
                out, err = await process.communicate(stdin)
        except TimeoutError:
            raise MachineFault(self._name, f"{argv[0]} did not end within {timeout:g} s") from None
        finally:
            if process.returncode is None:
                # End it with all programs that it has started, which would keep its output open.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        return Done(process.returncode or 0, out, err)

    async def start(self, argv: Sequence[str]) -> Process:
        process = LocalProcess(self._name, argv[0], await self._spawn(argv))
        self._processes.append(process)
        return process

    async def close(self) -> None:
        await asyncio.gather(*(each.wait(UNDOING) for each in self._processes), return_exceptions=True)

    async def _spawn(self, argv: Sequence[str]) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        words = [*self._prefix, *argv]
        try:
            # A session of its own: Ctrl-C is the controller's, which then ends the lease.
            return await asyncio.create_subprocess_exec(
                *words, stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True
            )
        except OSError as error:
            raise MachineFault(self._name, f"cannot run {words[0]}: {error.strerror}") from None


class LocalProcess:
    """A subprocess with a lease."""

    def __init__(self, machine: str, program: str, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._machine, self._program, self._process = machine, program, process
        self._stdin, self._stdout = process.stdin, process.stdout
        # Read all the time, so that it does not wait for room.
        self._err = asyncio.ensure_future(process.stderr.read())

    async def write(self, content: bytes) -> None:
        try:
            self._stdin.write(content)
            await self._stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise MachineFault(self._machine, f"{self._program} has ended early") from None

    async def line(self, timeout: float | None = None) -> str | None:
        try:
            async with asyncio.timeout(timeout):
                line = await self._stdout.readline()
        except TimeoutError:
            raise MachineFault(self._machine, f"{self._program} said nothing for {timeout:g} s") from None
        return line.decode(errors="replace").rstrip("\n") if line else None

    def release(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._stdin.close()

    async def wait(self, timeout: float | None = None) -> Done:
        self.release()
        try:
            async with asyncio.timeout(timeout):
                out, err = await self._stdout.read(), await asyncio.shield(self._err)
                return Done(await self._process.wait(), out, err)
        except TimeoutError:
            raise MachineFault(self._machine, f"{self._program} did not end within {timeout:g} s") from None
