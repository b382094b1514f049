"""Changes on a machine, and their undoing.

`journal.sh` makes the changes there. It writes the undo of each change into the journal before it makes the change. When its stdin ends,
for any reason, it undoes all changes, the last one first. `recover` undoes the changes that it did not get to.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import PurePosixPath

from dumbbell.engines.testbed.facts import Feature
from dumbbell.engines.testbed.transport.base import KEEPALIVE, UNDOING, Machine, MachineFault, Process

FOLDER = "/run/dumbbell"
"""Folder of the sessions on each machine. Booting a machine empties it and undoes all changes."""
DEADLINE = 30.0
"""Seconds without a sign of life after which a controller counts as dead."""
_RECORD, _PART, _WORD = "\x1e", "\x1d", "\x1f"
_SEPARATORS = frozenset((_RECORD, _PART, _WORD, "\n", "\0"))
_SECONDS = 60.0
"""Time in which changes are made, however busy a machine is."""

Words = tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A program that changes something."""

    do: Words
    undo: Words = ()
    """The program that undoes the change. It succeeds, or says that there is no such thing, if it is run again, or without the change."""
    unless: Words = ()
    """A program that succeeds if the object exists already: then it belongs to somebody else, who is to keep it, and nothing is changed."""

    @property
    def shown(self) -> str:
        """The change for people: without the line of shell around its words."""
        return " ".join(self.do[3:] if self.do[:2] == ("sh", "-c") else self.do)

    def line(self) -> str:
        """Return the change as `journal.sh` reads it. Raises `ValueError` for words that `journal.sh` could not read."""
        return _PART.join("".join(_ended(word) for word in words) for words in (self.unless, self.undo, self.do))


def _ended(word: str) -> str:
    if not _SEPARATORS.isdisjoint(word):
        raise ValueError(f"{word!r} has a character that separates words")
    return word + _WORD


def batch(program: str, lines: Sequence[str]) -> Change:
    """Many lines for ip or tc, of devices that are gone when the session is: nothing of it is undone by itself."""
    return Change(("sh", "-c", f'printf "%s\\n" "$@" | {program} -batch -', "do", *lines))


def _told(change: Change, said: str) -> str:
    """Return the command that failed and its message. For a batch, only the line that failed."""
    found = re.search(r"Command failed -:(\d+)", said)
    lines = change.do[4:]
    if found is None or not 0 < int(found[1]) <= len(lines):
        return f"{change.shown}: {said}"
    return f"{lines[int(found[1]) - 1]}: {said[: found.start()].strip() or said}"


def veths(pairs: Sequence[tuple[str, str]]) -> Change:
    """Pairs of devices; everything put on them goes with them."""
    do = (
        "sh",
        "-c",
        'printf "%s\\n" "$@" | ip -batch -',
        "do",
        *(f"link add dev {one} type veth peer name {other}" for one, other in pairs),
    )
    undo = ("sh", "-c", 'printf "%s\\n" "$@" | ip -force -batch -', "ip", *(f"link del dev {one}" for one, _ in pairs))
    names = "|".join(name for pair in pairs for name in pair)
    return Change(do, undo, ("grep", "-qE", f"^ *({names}):", "/proc/net/dev"))


def clsact(device: str) -> Change:
    """A place for filters on a device."""
    unless = ("sh", "-c", 'case $(tc qdisc show dev "$1") in *"qdisc clsact "*|*"qdisc ingress "*) ;; *) exit 1 ;; esac', "unless", device)
    return Change(("tc", "qdisc", "add", "dev", device, "clsact"), ("tc", "qdisc", "del", "dev", device, "clsact"), unless)


def queue(device: str, lines: Sequence[str]) -> Change:
    """A queue discipline in place of a device's own, by lines for tc; without it the device gets its own again."""
    return replace(batch("tc", lines), undo=("tc", "qdisc", "del", "dev", device, "root"))


def route(network: str, gateway: str, device: str) -> Change:
    """A route."""
    words = (network, "via", gateway, "dev", device)
    unless = ("sh", "-c", '[ -n "$(ip route show exact "$1")" ]', "unless", network)
    return Change(("ip", "route", "add", *words), ("ip", "route", "del", *words), unless)


def namespace(name: str) -> Change:
    """Make a network namespace; when it is undone, the programs that still run in it are ended."""
    undo = ("sh", "-c", 'for each in $(ip netns pids "$1"); do kill -KILL "$each"; done; ip netns del "$1"', "undo", name)
    return Change(("ip", "netns", "add", name), undo, ("test", "-e", f"/run/netns/{name}"))


def folder(name: str, parent: str = FOLDER) -> Change:
    """A folder for the files of a session; with it go the files."""
    if name != PurePosixPath(name).name or name in ("", ".", ".."):
        raise ValueError(f"{name!r}: expected the name of a folder")
    path = f"{parent}/{name}"
    return Change(("mkdir", "-m", "700", path), ("rm", "-rf", "--", path), ("test", "-e", path))


def values(wanted: Mapping[str, str], former: Mapping[str, str]) -> list[Change]:
    """Files of one value below /proc/sys or /sys, all in one change; nothing for those that are as they should be."""
    different = {path: to for path, to in wanted.items() if former[path] != to}
    if not different:
        return []
    prefix = ("sh", "-c", 'while [ $# -gt 1 ]; do printf "%s\\n" "$2" >"$1" || exit; shift 2; done', "set")
    # A file that is gone does not keep the others from being restored.
    undo = ("sh", "-c", 'while [ $# -gt 1 ]; do [ ! -e "$1" ] || printf "%s\\n" "$2" >"$1" || bad=1; shift 2; done; exit ${bad:-0}', "undo")
    do_words = [word for pair in different.items() for word in pair]
    undo_words = [word for path in different for word in (path, former[path])]
    return [Change((*prefix, *do_words), (*undo, *undo_words))]


def sysctls(wanted: Mapping[str, str], former: Mapping[str, str]) -> list[Change]:
    """Sysctls by their names, such as `net.ipv4.ip_forward`."""
    paths = {name: "/proc/sys/" + name.replace(".", "/") for name in wanted}
    return values({paths[name]: to for name, to in wanted.items()}, {paths[name]: former[name] for name in wanted})


def segments(device: str, wanted: int, former: int) -> Change:
    """Change the maximum number of segments that a device gets in one piece."""
    prefix = ("ip", "link", "set", "dev", device, "gso_max_segs")
    return Change((*prefix, str(wanted)), (*prefix, str(former)))


def offloads(device: str, wanted: Mapping[str, bool], former: Mapping[str, Feature]) -> list[Change]:
    """Offloads by ethtool's long names, of those that the driver can change; nothing for those that are as they should be."""
    different = {name: on for name, on in wanted.items() if name in former and former[name].on != on and not former[name].fixed}
    if not different:
        return []
    do = [word for name, on in different.items() for word in (name, "on" if on else "off")]
    undo = [word for name, on in different.items() for word in (name, "off" if on else "on")]
    return [Change(("ethtool", "-K", device, *do), ("ethtool", "-K", device, *undo))]


def coalescing(device: str, wanted: Mapping[str, str], former: Mapping[str, str] | None) -> list[Change]:
    """Change when a device interrupts, one change a setting, because drivers take some and reject others, which is no fault."""
    known = {name: was for name, was in (former or {}).items() if was != "n/a"}
    prefix = ("sh", "-c", 'ethtool -C "$@" || true', "try", device)
    return [Change((*prefix, name, to), (*prefix, name, known[name])) for name, to in wanted.items() if known.get(name, to) != to]


class Journal:
    """A claim on a machine, and the changes that were made under it. A task tells it that its controller is alive."""

    def __init__(self, machine: Machine, process: Process) -> None:
        """`open_journal` makes one."""
        self._machine = machine
        self._process = process
        self._beating = asyncio.create_task(self._beat())

    async def make(self, changes: Sequence[Change]) -> None:
        """Make changes one after the other. Raises `MachineFault` with the message of one that fails; those behind it are not made."""
        if changes:
            answer = await self._ask("change" + _RECORD.join(change.line() for change in changes))
            if answer[0] == "failed" and len(answer) == 3:
                raise MachineFault(self._machine.name, _told(changes[int(answer[1])], answer[2].strip()))
            self._expect(answer, "done")

    async def close(self) -> int:
        """Undoes all changes: how many they were. Raises `MachineFault` with those that could not be undone. Once."""
        self._beating.cancel()
        return _undone(self._machine, (await self._process.wait(UNDOING)).out.decode(errors="replace"))

    async def _beat(self) -> None:
        """A sign of life every few seconds, until nobody hears it."""
        with contextlib.suppress(MachineFault):
            while True:
                await asyncio.sleep(KEEPALIVE)
                await self._process.write(b"beat\n")

    async def claim(self, session: str) -> None:
        """Says whose the machine is, in one line."""
        self._expect(await self._ask("claim" + " ".join(session.split())), "done")

    async def _ask(self, request: str) -> list[str]:
        await self._process.write(request.encode() + b"\n")
        return await _answer(self._machine, self._process)

    def _expect(self, answer: list[str], word: str) -> None:
        if answer[0] != word:
            raise MachineFault(self._machine.name, f"the journal says: {' '.join(answer)}")


async def open_journal(machine: Machine, session: str, *, prefix: Sequence[str] = (), parent: str = FOLDER) -> Journal:
    """Claims a machine.

    Args:
        machine: Which.
        session: One line that says whose it then is.
        prefix: Words in front of the command, such as those of sudo.
        parent: The folder of sessions.

    Raises `MachineFault` if it is claimed, or has changes of a dead session.
    """
    process = await _start(machine, [*prefix, "sh", "-s", "--", "run", parent, f"{DEADLINE:g}"])
    answer = await _answer(machine, process)
    if answer[0] == "ready":
        journal = Journal(machine, process)
        await journal.claim(session)
        return journal
    await process.wait(UNDOING)
    if answer[0] == "busy":
        raise MachineFault(machine.name, f"a session is running ({answer[-1].strip()}); expected its end")
    if answer[0] == "leftover":
        raise MachineFault(
            machine.name, f"a dead session ({answer[-1].strip()}) has left {answer[1]} changes; `dumbbell testbed recover` undoes them"
        )
    raise MachineFault(machine.name, f"cannot be claimed: {answer[-1].strip()}")


async def recover(machine: Machine, *, prefix: Sequence[str] = (), parent: str = FOLDER) -> int:
    """Undo the changes that a dead session has left. Return their number. Raises `MachineFault` if a session is alive, or a change cannot
    be undone."""
    done = await machine.run([*prefix, "sh", "-s", "--", "recover", parent], script(), UNDOING)
    out = done.out.decode(errors="replace")
    if out.startswith("busy"):
        raise MachineFault(machine.name, f"a session is running ({out.split(_WORD)[-1].strip()}); expected its end")
    if not out:
        raise MachineFault(machine.name, f"the journal has ended: {done.said}")
    return _undone(machine, out)


async def _start(machine: Machine, argv: Sequence[str]) -> Process:
    process = await machine.start(argv)
    await process.write(script())
    return process


async def _answer(machine: Machine, process: Process) -> list[str]:
    if (line := await process.line(_SECONDS)) is None:
        raise MachineFault(machine.name, f"the journal has ended: {(await process.wait(UNDOING)).said}")
    return line.split(_WORD)


def _undone(machine: Machine, out: str) -> int:
    words = (out.splitlines() or [""])[-1].split(_WORD)
    if words[0] == "undone":
        return int(words[1])
    if words[0] == "left":
        raise MachineFault(machine.name, f"could not be undone: {'; '.join(word.strip() for word in words[1:])}")
    raise MachineFault(machine.name, f"the journal has ended without a word{f': {out.strip()}' if out.strip() else ''}")


@cache
def script() -> bytes:
    """Return the input of `sh -s`."""
    return resources.files(__package__).joinpath("journal.sh").read_bytes()
