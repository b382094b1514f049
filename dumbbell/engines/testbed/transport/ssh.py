"""Other machines by SSH: one connection each, all made at once; keys alone, and host keys that the known_hosts file has.

Neither ~/.ssh/config nor an agent is asked: who is reached, and as whom, is in the hosts file. No terminal; nothing is forwarded.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.transport.base import CONNECTING, KEEPALIVE, Done, Machine, MachineFault, Process
from dumbbell.errors import EnvironmentFault, printable

if TYPE_CHECKING:
    import asyncssh

_HOST_KEYS = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "rsa-sha2-512", "rsa-sha2-256")
"""Signature algorithms of hosts. dumbbell first asks for those in the known_hosts file, then for the others, so that it can say which one
the host has."""
_SUDO = 'sudo -n -- env SSH_CONNECTION="$SSH_CONNECTION" '
"""Words for the login shell, in front of each program: they pass on the facts of the connection that sudo would drop."""
_SILENT = 3
"""Signs of life that stay without an answer until a connection counts as lost."""


@dataclass(frozen=True)
class Target:
    """Address of a machine, and the user there."""

    host: str
    port: int
    user: str
    key: Path
    known_hosts: Path
    sudo: bool = False
    """Programs are run by sudo there, which must not ask for a password."""


def targets(hosts: Hosts) -> dict[str, Target]:
    """The machines of a hosts file; none if they are local."""
    control = hosts.control
    if control is None:
        return {}
    return {
        name: Target(machine.at.host, machine.at.port, control.user, control.key, control.known_hosts, control.sudo)
        for name, machine in hosts.by_name.items()
    }


async def connect(targets: Mapping[str, Target]) -> dict[str, Machine]:
    """Connects to all machines at once. Raises `EnvironmentFault` with a line for each that cannot be reached, and no connection left."""
    found = await asyncio.gather(*(_connect(name, target) for name, target in targets.items()), return_exceptions=True)
    faults = [each for each in found if isinstance(each, BaseException)]
    machines = [each for each in found if isinstance(each, SshMachine)]
    if faults:
        await asyncio.gather(*(each.close() for each in machines))
        if unexpected := [each for each in faults if not isinstance(each, MachineFault)]:
            raise unexpected[0]
        raise EnvironmentFault("\n".join(map(str, faults)))
    return {each.name: each for each in machines}


async def _connect(name: str, target: Target) -> SshMachine:
    import asyncssh

    presented: list[asyncssh.SSHKey] = []

    class Client(asyncssh.SSHClient):
        """Remembers the key of a host that is not known by it, which the exception does not have."""

        def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
            presented.append(key)
            return False

    try:
        known, key = asyncssh.read_known_hosts(str(target.known_hosts)), asyncssh.read_private_key(target.key)
        expected = [each.decode() for host in known.match(target.host, "", target.port)[0] for each in host.sig_algorithms]
        async with asyncio.timeout(CONNECTING):
            connection = await asyncssh.connect(
                target.host,
                target.port,
                username=target.user,
                known_hosts=known,
                server_host_key_algs=list(dict.fromkeys((*(each for each in expected if each in _HOST_KEYS), *_HOST_KEYS))),
                client_keys=[key],
                client_factory=Client,
                config=None,
                agent_path=None,
                agent_forwarding=False,
                x11_forwarding=False,
                request_pty=False,
                preferred_auth="publickey",
                gss_auth=False,
                gss_kex=False,
                keepalive_interval=KEEPALIVE,
                keepalive_count_max=_SILENT,
            )
    except asyncssh.HostKeyNotVerifiable:
        raise MachineFault(name, _wrong_host(target, known, presented)) from None
    except (asyncssh.Error, asyncssh.KeyImportError, OSError, ValueError) as error:
        raise MachineFault(name, _unreachable(target, error)) from None
    if not target.sudo:
        return SshMachine(name, connection)
    machine = SshMachine(name, connection, _SUDO)
    try:
        done = await machine.run(["true"], timeout=CONNECTING)
        if done.status:
            raise MachineFault(name, f"{target.user} may not use sudo without a password ({done.said}); expected NOPASSWD in sudoers")
    except BaseException:
        await machine.close()
        raise
    return machine


def _wrong_host(target: Target, known: asyncssh.SSHKnownHosts, presented: Sequence[asyncssh.SSHKey]) -> str:
    hosts, *_ = known.match(target.host, "", target.port)
    expected = ", ".join(f"{each.get_algorithm()} {each.get_fingerprint()}" for each in hosts)
    got = f" {presented[0].get_algorithm()} {presented[0].get_fingerprint()}" if presented else ""
    at = f"{target.host} port {target.port}"
    if not expected:
        return f"unknown host key{got} of {at}; expected a line of that host in {target.known_hosts}"
    return f"wrong host key{got} of {at}; expected {expected}, as {target.known_hosts} has it"


def _unreachable(target: Target, error: Exception) -> str:
    import asyncssh

    at = f"{target.host} port {target.port}"
    if isinstance(error, asyncssh.PermissionDenied):
        return f"{target.user} is not let in by the key {target.key}; expected its public half in that user's authorized_keys"
    if isinstance(error, asyncssh.KeyImportError):
        return f"{target.key} cannot be used ({error}); expected a private key without a passphrase"
    if isinstance(error, TimeoutError):
        return f"no answer from {at} within {CONNECTING:g} s"
    if isinstance(error, ConnectionRefusedError):
        return f"nobody listens at {at}; expected sshd there"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, ValueError):
        return f"{target.known_hosts} cannot be read ({error})"
    return f"{at} cannot be reached ({printable(str(error)) or type(error).__name__})"


class SshMachine(Machine):
    """A machine behind an open connection."""

    def __init__(self, name: str, connection: asyncssh.SSHClientConnection, prefix: str = "") -> None:
        """`prefix`: words that the login shell reads in front of every program's words."""
        self._name = name
        self._connection = connection
        self._prefix = prefix

    @property
    def name(self) -> str:
        return self._name

    async def run(self, argv: Sequence[str], stdin: bytes = b"", timeout: float | None = None) -> Done:
        process = await self._open(argv)
        try:
            async with asyncio.timeout(timeout):
                with _lost(self._name):
                    # A program may have ended without reading it.
                    with contextlib.suppress(BrokenPipeError):
                        process.stdin.write(stdin)
                        process.stdin.write_eof()
                    out, err = await process.communicate()
                    await process.wait_closed()
        except TimeoutError:
            raise MachineFault(self._name, f"{argv[0]} did not end within {timeout:g} s") from None
        finally:
            process.close()
        return _done(self._name, argv[0], process, _bytes(out), _bytes(err))

    async def start(self, argv: Sequence[str]) -> Process:
        return SshProcess(self._name, argv[0], await self._open(argv))

    async def close(self) -> None:
        self._connection.close()
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(KEEPALIVE):
                await self._connection.wait_closed()

    async def _open(self, argv: Sequence[str]) -> asyncssh.SSHClientProcess[bytes]:
        with _lost(self._name):
            # The login shell of the other side takes the line apart again.
            return await self._connection.create_process(self._prefix + shlex.join(argv), encoding=None)


class SshProcess:
    """A program on the other side that has a lease."""

    def __init__(self, machine: str, program: str, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._machine, self._program, self._process = machine, program, process
        # Read all the time, so that it does not wait for room.
        self._err = asyncio.ensure_future(self._read_err())

    async def _read_err(self) -> bytes:
        try:
            return await self._process.stderr.read()
        except OSError:  # the waiting task hears of it from stdout
            return b""

    async def write(self, content: bytes) -> None:
        with _lost(self._machine, f"{self._program} has ended early"):
            self._process.stdin.write(content)
            await self._process.stdin.drain()

    async def line(self, timeout: float | None = None) -> str | None:
        try:
            async with asyncio.timeout(timeout):
                with _lost(self._machine):
                    line = await self._process.stdout.readline()
        except TimeoutError:
            raise MachineFault(self._machine, f"{self._program} said nothing for {timeout:g} s") from None
        return line.decode(errors="replace").rstrip("\n") if line else None

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.write_eof()

    async def wait(self, timeout: float | None = None) -> Done:
        self.release()
        try:
            async with asyncio.timeout(timeout):
                with _lost(self._machine):
                    out, err = await self._process.stdout.read(), await asyncio.shield(self._err)
                    await self._process.wait_closed()
        except TimeoutError:
            raise MachineFault(self._machine, f"{self._program} did not end within {timeout:g} s") from None
        return _done(self._machine, self._program, self._process, out, err)


@contextlib.contextmanager
def _lost(machine: str, closed: str = "the connection is lost") -> Iterator[None]:
    """Whatever a connection that ends says, as a fault of the machine."""
    import asyncssh

    try:
        yield
    except TimeoutError:
        raise
    except asyncssh.ChannelOpenError as error:
        raise MachineFault(machine, f"no program can be started ({error.reason or 'the connection is lost'})") from None
    except asyncssh.DisconnectError as error:
        raise MachineFault(machine, f"the connection is lost ({error.reason})") from None
    except OSError:
        raise MachineFault(machine, closed) from None


def _done(machine: str, program: str, process: asyncssh.SSHClientProcess[bytes], out: bytes, err: bytes) -> Done:
    status = process.returncode
    if status is None:
        raise MachineFault(machine, f"the connection was lost before {program} ended")
    return Done(status, out, err)


def _bytes(content: bytes | str | None) -> bytes:
    return content if isinstance(content, bytes) else b""
