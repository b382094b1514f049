"""Boots the guests of a laboratory, and ends them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.engines.kernel import binary as binaries
from dumbbell.engines.kernel import diagnosis, guest
from dumbbell.engines.kernel.binary import Binary
from dumbbell.engines.testbed.laboratory import namespaces, requirements, wiring
from dumbbell.engines.testbed.laboratory.namespaces import Namespaces
from dumbbell.errors import EnvironmentFault

HOSTS, SSH_CONFIG, FACTS = "hosts.yaml", "ssh_config", "laboratory.json"
"""Files in the folder of a laboratory."""
PRIORITY = 5
"""Priority of SCHED_FIFO: guests keep time only if they run when they have to."""
_MEMORY_MIB = 192
_BUFFER_BYTES = 4 << 20
"""Buffer of a wire between two guests, each way. It is more than TCP has in flight at the rates that guests reach, so that the wire loses
nothing."""
_LIMIT_S = 60.0
"""The most that guests may take to boot."""
_WITHOUT_IPV6 = "cd /proc/sys/net/ipv6/conf 2>/dev/null && echo 1 >default/disable_ipv6; true"
"""Bridges and taps send nothing of their own then, which guests, who do not know that protocol, would count as lost."""
_POLL_S = 0.02
_READY = "READY"
_KEY = "ed25519"
_HERE = Path(__file__).parent
_SIGNALLED = 128
"""Base of the exit status of a program that a signal ended."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Laboratory:
    """Guests that answer."""

    hosts: Path
    """The hosts file."""
    facts: dict[str, Any]
    """Kernel, scheduling, seconds to boot; also in `laboratory.json` next to the hosts file."""
    _namespaces: Namespaces

    @property
    def folder(self) -> Path:
        """Return the folder with the hosts file, the keys, the guests' output and a configuration for `ssh -F`."""
        return self.hosts.parent

    @property
    def process(self) -> int:
        """Process id of the first process in the laboratory's namespaces."""
        return self._namespaces.process

    def start(self, command: Sequence[str], environment: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[bytes]:
        """Starts a program that reaches the guests, with $DUMBBELL_HOSTS set; `options` are those of `Popen`.

        Its process passes on the signals that it is sent, except those of a terminal, which the program is sent itself.
        """
        return self._namespaces.start(command, env={**(environment or os.environ), "DUMBBELL_HOSTS": str(self.hosts)}, **options)


@contextlib.contextmanager
def booted(left: int, right: int, progress: Progress = lambda _done, _total: None) -> Iterator[Laboratory]:
    """Boot guests. When they answer, yield the laboratory, of which nothing is left in the end.

    Args:
        left: Number of left hosts, 1 to `MOST_HOSTS`.
        right: Number of right hosts.
        progress: Called with (guests that answer, guests).

    Raises `EnvironmentFault` with one line: what is missing on this machine, or which guest does not boot.
    """
    requirements.check()
    binary = binaries.find()
    machines = wiring.machines(left, right)
    with namespaces.opened() as private:
        began = time.monotonic()
        progress(0, len(machines))
        private.run(["sh", "-c", _WITHOUT_IPV6])
        private.run(["ip", "-batch", "-"], "\n".join(wiring.host_lines(machines)))
        _write(private.folder, machines)
        priority = _priority()
        guests = _boot(private, binary, machines, priority)
        _wait(private.folder, guests, progress)
        facts = {
            "kernel": {"version": binary.version, "key": binary.key, "configuration": binary.config_hash},
            "scheduling": _scheduling(priority),
            "machines": [machine.name for machine in machines],
            "boot_s": round(time.monotonic() - began, 3),
        }
        (private.folder / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        yield Laboratory(private.folder / HOSTS, facts, private)


def probe() -> str:
    """Return how the guests of a laboratory would be scheduled here. It boots no guest. Raises `EnvironmentFault` if the laboratory cannot
    be booted."""
    requirements.check()
    binaries.find()
    with namespaces.opened() as private:
        private.run(["ip", "-batch", "-"], "\n".join(wiring.host_lines(wiring.machines(2, 2))))
    return _scheduling(_priority())


def _scheduling(priority: int) -> str:
    return f"SCHED_FIFO {priority}" if priority else "SCHED_OTHER"


def _priority() -> int:
    """Return the priority of SCHED_FIFO for guests; 0 if this machine does not allow it."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        return 0
    os.sched_setscheduler(0, *before)
    return PRIORITY


def _write(folder: Path, machines: list[wiring.Machine]) -> None:
    """Write keys, the files of each guest, and the files that say how to reach them."""
    _make_key(folder / "id")
    shutil.copy(_HERE / "guest.sh", folder / "init")
    (folder / "init").chmod(0o755)
    known = []
    for machine in machines:
        own = folder / machine.name
        own.mkdir()
        known.append(f"{machine.control} {_make_key(own / 'host_key')}\n")
        shutil.copy(folder / "id.pub", own / "authorized_keys")
        config = (_HERE / "sshd_config").read_text(encoding="utf-8")
        (own / "sshd_config").write_text(f"{config}ListenAddress {machine.control}\n", encoding="utf-8")
        (own / "addresses").write_text("\n".join((*wiring.guest_lines(machine), "")), encoding="utf-8")
        (own / "sysctls").write_text(wiring.sysctls(machine), encoding="utf-8")
        (own / "name").write_text(f"{machine.name}\n", encoding="utf-8")
    (folder / "known_hosts").write_text("".join(known), encoding="utf-8")
    (folder / HOSTS).write_text(wiring.hosts_file(machines), encoding="utf-8")
    (folder / SSH_CONFIG).write_text(wiring.ssh_config(machines, str(folder)), encoding="utf-8")


def _make_key(path: Path) -> str:
    """Makes a pair of keys. Returns kind and public key."""
    subprocess.run(["ssh-keygen", "-q", "-t", _KEY, "-N", "", "-C", "laboratory", "-f", path], stdin=subprocess.DEVNULL, check=True)
    return " ".join(path.with_suffix(".pub").read_text(encoding="utf-8").split()[:2])


def _boot(private: Namespaces, binary: Binary, machines: list[wiring.Machine], priority: int) -> dict[str, subprocess.Popen[bytes]]:
    """Starts the guests. They end with their namespaces."""
    folder = private.folder
    memory = guest.memory_folder(len(machines) * (_MEMORY_MIB << 20))
    # User-Mode Linux makes its memory as an unlinked file in TMPDIR.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": str(memory), "HOME": str(folder)}
    started = {}
    with contextlib.ExitStack() as stack:
        wires = _wires(machines, stack)
        for machine in machines:
            own = wires.get(machine.name, {})
            command = [
                str(binary.linux),
                f"mem={_MEMORY_MIB}M",
                "root=/dev/root",
                "rootfstype=hostfs",
                "rootflags=/",
                "ro",
                f"init={folder}/init",
                f"uml_dir={folder}/uml",
                f"umid={machine.name}",
                "con=null",
                "con0=null,fd:1",
                "quiet",
                *wiring.kernel_arguments(machine, {device: wire.fileno() for device, wire in own.items()}),
                f"laboratory={folder}/{machine.name}",
            ]
            with _console(folder, machine.name).open("wb") as console:
                started[machine.name] = private.start(
                    command,
                    priority=priority,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    pass_fds=[wire.fileno() for wire in own.values()],
                    start_new_session=True,
                )
    return started


def _wires(machines: list[wiring.Machine], stack: contextlib.ExitStack) -> dict[str, dict[str, socket.socket]]:
    """The ends of the data links that are socket pairs, by machine and device; open as long as `stack` is."""
    found: dict[str, dict[str, socket.socket]] = {}
    for side in ("left", "right"):
        if not wiring.bridged(machines, side):
            ends = [(machine.name, port.device) for machine in machines for port in machine.ports if port.side == side]
            for (name, device), wire in zip(ends, socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM), strict=True):
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
                found.setdefault(name, {})[device] = stack.enter_context(wire)
    return found


def _wait(folder: Path, guests: dict[str, subprocess.Popen[bytes]], progress: Progress) -> None:
    """Waits until all guests answer. Raises `EnvironmentFault` with the first that does not."""
    waiting, deadline = dict(guests), time.monotonic() + _LIMIT_S
    while waiting:
        for name, process in tuple(waiting.items()):
            status = process.poll()  # before the console is read, which says why
            console = _console(folder, name).read_text(encoding="utf-8", errors="replace")
            if _READY in console.split():
                del waiting[name]
                progress(len(guests) - len(waiting), len(guests))
            elif status is not None or time.monotonic() > deadline:
                ended = status or 0
                code = _SIGNALLED - ended if ended > _SIGNALLED else ended
                ending = diagnosis.Ending(code, _LIMIT_S if status is None else None, console)
                raise EnvironmentFault(f"{name}: {diagnosis.fault(ending, folder) or 'the guest has ended'}")
        time.sleep(_POLL_S)


def _console(folder: Path, name: str) -> Path:
    return folder / f"{name}.console"
