"""The first difference between what two ends do in the same case, and its class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from dumbbell.agreement.ends.kernel import INFO, Answer, Case

TOLERANCE_NS = 5_000
"""Packets that far apart are at the same time."""
_FIELDS = ("seq", "payload", "ack", "sacks", "ecn", "tsval", "tsecr")
_WINDOW = ("window", "scale")
_STATES = ("open", "disorder", "CWR", "recovery", "loss")
_FLAGS = {"F": 0x01, "S": 0x02, "R": 0x04, "P": 0x08, ".": 0x10, "E": 0x40, "W": 0x80}
_SYN, _FIN, _PSH = _FLAGS["S"], _FLAGS["F"], _FLAGS["P"]
_AROUND = 8
"""Packets shown before the first difference."""
_DEFINED_OTHERWISE = {"sndbuf_limited_us"}
"""The simulator also counts the time in which what an application has written went at once and it waits for room, as `agent/socket.c` does
for runs of the kernel; TCP_INFO by itself does not."""
_TICK_US = 1000
_IN_TICKS = {"busy_us": "write", "rwnd_limited_us": "packet"}
"""Times that Linux counts in ticks and the simulator in microseconds -> the action that begins an interval, besides closing. Each interval
may be one tick off."""
_SMOOTHED = {"srtt_us", "rttvar_us"}
"""A microsecond off in a paced end: the kernel's clock moves on by 1 ns with each reading, so that a departure that is computed from it
sometimes lies in another microsecond."""
_PACED = "bbr"
_MS_NS = 1_000_000
_Apart = Callable[[Answer, Answer], Iterator[str]]
"""Names in what two packets differ."""


@dataclass(frozen=True)
class Difference:
    """Where two ends part."""

    at_ns: int
    """When, the earlier of both."""
    name: str
    """Its class."""
    kernel: Answer | None
    """The kernel's event; None if it has none."""
    sim: Answer | None
    """The same of the simulator."""


def difference(case: Case, kernel: Sequence[Answer], sim: Sequence[Answer]) -> Difference | None:
    """The first difference; None if there is none.

    Nothing follows from another window or PSH bit, since the peer does not react: they count only if there is no other difference.
    """
    behaviour = (_in_packets(case, kernel, sim, _fields_apart), _in_infos(case, kernel, sim))
    if found := [each for each in behaviour if each is not None]:
        return min(found, key=lambda each: each.at_ns)
    # A one-way sender of the simulator has no window of its own.
    passes = (_flags_apart,) if case["kind"] == "send" else (_windows_apart, _flags_apart)
    return next((each for apart in passes if (each := _in_packets(case, kernel, sim, apart, "only "))), None)


def _packets(answers: Sequence[Answer]) -> list[Answer]:
    return [answer for answer in answers if answer["is"] == "packet"]


def _in_packets(case: Case, kernel: Sequence[Answer], sim: Sequence[Answer], apart: _Apart, only: str = "") -> Difference | None:
    theirs, ours = _packets(kernel), _packets(sim)
    for a, b in zip_longest(theirs, ours):
        if a is None or b is None:
            present = a if b is None else b
            at, whose = present["at_ns"], "linux" if b is None else "the simulator"
            return Difference(at, f"{_kind_of(present, case)} only of {whose}{_in_state(case, kernel, at)}", a, b)
        if field := next(apart(a, b), None):
            first = min(a, b, key=lambda packet: int(packet["at_ns"]))
            at = first["at_ns"]
            return Difference(at, f"{only}{field} of {_kind_of(first, case)}{_in_state(case, kernel, at)}", a, b)
    return None


def _fields_apart(a: Answer, b: Answer) -> Iterator[str]:
    if abs(a["at_ns"] - b["at_ns"]) > TOLERANCE_NS:
        yield "time"
    if (a["flags"] ^ b["flags"]) & ~_PSH:
        yield "flags"
    yield from (field for field in _FIELDS if a[field] != b[field])


def _windows_apart(a: Answer, b: Answer) -> Iterator[str]:
    yield from (field for field in _WINDOW if a.get(field) != b.get(field))


def _flags_apart(a: Answer, b: Answer) -> Iterator[str]:
    if a["flags"] != b["flags"]:
        yield "PSH"


def _in_infos(case: Case, kernel: Sequence[Answer], sim: Sequence[Answer]) -> Difference | None:
    """TCP_INFO after each packet, as far as both ends have it. That of a socket before the connection is there is not compared."""
    ours = {answer["at_ns"]: answer for answer in sim if answer["is"] == "info"}
    for a in kernel:
        b = ours.get(a["at_ns"]) if a["is"] == "info" else None
        if b is None or not b["srtt_us"]:
            continue
        if field := next((name for name in INFO if _info_apart(case, name, a, b)), None):
            return Difference(a["at_ns"], f"{field} in {_STATES[a['ca_state']]}", a, b)
    return None


def _info_apart(case: Case, name: str, a: Answer, b: Answer) -> bool:
    if name in _DEFINED_OTHERWISE or a[name] == b[name]:
        return False
    if name in _SMOOTHED and case["cc"] == _PACED:
        return bool(abs(a[name] - b[name]) > 1)
    if name not in _IN_TICKS:
        return True
    intervals = 1 + sum(action["do"] == _IN_TICKS[name] and action["at_ns"] <= a["at_ns"] for action in case["actions"])
    return bool(abs(a[name] - b[name]) > intervals * _TICK_US)


def _in_state(case: Case, answers: Sequence[Answer], at_ns: int) -> str:
    """The congestion state in which a packet was sent, of an end that sends."""
    if case["kind"] == "receive":
        return ""
    states = [answer["ca_state"] for answer in answers if answer["is"] == "info" and answer["at_ns"] <= at_ns]
    return f" in {_STATES[states[-1]]}" if states else ""


def _kind_of(packet: Answer, case: Case) -> str:
    if packet["flags"] & _SYN:
        return "a SYN"
    if packet["flags"] & _FIN:
        return "a FIN"
    if packet["payload"]:
        return "data"
    duplicate = any(block[1] <= packet["ack"] for block in packet["sacks"])
    if duplicate:
        return "an ACK with a D-SACK"
    if packet["sacks"]:
        return "an ACK with SACK blocks"
    return "an ACK" if case["kind"] != "send" else "a packet without data"


def shown(case: Case, found: Difference, kernel: Sequence[Answer], sim: Sequence[Answer]) -> list[str]:
    """Lines that show a difference with what came before it."""
    number = f"seed {case['seed']}, case {case['number']}"
    lines = [f"{number} ({case['kind']}, {case['cc']}): {found.name}, at {found.at_ns / _MS_NS:.3f} ms"]
    calls = [action for action in case["actions"] if action["do"] not in ("packet", "read")]
    earlier = [("  call      ", call) for call in calls]
    earlier += [("  peer      ", action) for action in case["actions"] if action["do"] == "packet"]
    earlier += [("  linux     ", answer) for answer in _packets(kernel) if answer is not found.kernel]
    before = sorted((pair for pair in earlier if pair[1]["at_ns"] <= found.at_ns), key=lambda pair: int(pair[1]["at_ns"]))
    lines += [who + described(packet) for who, packet in before[-_AROUND:]]
    for name, answer, answers in (("linux", found.kernel, kernel), ("simulator", found.sim, sim)):
        lines.append(f"> {name:<9} {described(answer) if answer is not None else 'nothing'}")
        info = [each for each in answers if each["is"] == "info" and each["at_ns"] <= found.at_ns]
        if info and (answer is None or answer["is"] != "info"):
            lines.append(f"            before: {described(info[-1])}")
    return lines


def described(answer: dict[str, Any]) -> str:
    """A line about a packet, a call or TCP_INFO."""
    at = f"{answer['at_ns'] / _MS_NS:>12.3f} "
    if answer.get("is") == "info":
        return at + " ".join(f"{name} {answer[name]}" for name in INFO)
    if answer.get("do", "packet") != "packet":
        return at + f"{answer['do']} {answer.get('bytes', '')}".rstrip()
    flags = "".join(letter for letter, bit in _FLAGS.items() if answer["flags"] & bit)
    text = f"{flags:<4} seq {answer['seq']}+{answer['payload']} ack {answer['ack']} win {answer['window']}"
    text += f" ts {answer['tsval']} {answer['tsecr']}"
    if answer["ecn"]:
        text += f" ecn {answer['ecn']}"
    if answer["sacks"]:
        text += " sack " + " ".join(f"{first}-{end}" for first, end in answer["sacks"])
    return at + text
