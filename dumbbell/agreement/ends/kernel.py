"""Cases for the real kernel, and its answers in the form of the simulator's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.agreement.ends import STACK

INFO = (
    "ca_state",
    "cwnd",
    "ssthresh",
    "srtt_us",
    "rttvar_us",
    "rto_us",
    "reordering",
    "unacked",
    "sacked",
    "lost",
    "retrans",
    "busy_us",
    "rwnd_limited_us",
    "sndbuf_limited_us",
)
"""The fields of TCP_INFO that are compared."""
_PACKET = ("flags", "seq", "ack", "payload", "window", "tsval", "tsecr", "ecn")
_DOUBLED = 2
"""Linux doubles a size that an application asks for."""

Case = dict[str, Any]
"""Calls and packets that reach an end (`crates/ends/src/case.rs`)."""
Answer = dict[str, Any]
"""A packet that an end sends, or its TCP_INFO, with the time."""


def answers(cases: Sequence[Case], name: str | None = None) -> list[list[Answer]]:
    """The answers of the kernel `name` to each of the cases, which are driven in one guest; None: that of the ends' stack.

    Raises `EnvironmentFault`, `BadInput`.
    """
    from dumbbell.engines.kernel.ends import run

    if name is None:
        name = cases[0].get("stack", STACK).removeprefix("linux-")
    found = run(("".join(f"{line}\n" for line in _lines(number, case)) for number, case in enumerate(cases)), name)
    return [[_answer(line) for line in lines] for lines in found]


def _lines(number: int, case: Case) -> Iterator[str]:
    rcvbuf, sndbuf = ((case[name] or 0) // _DOUBLED for name in ("rcvbuf", "sndbuf"))
    opens = any(action["do"] == "open" for action in case["actions"])
    numbers = [
        case["ecn"],
        case["tso"],
        case["nodelay"],
        rcvbuf,
        sndbuf,
        case["reads_bps"] is not None,
        opens,
        case.get("sack", True),
        case.get("timestamps", True),
    ]
    yield f"case {number} {case['cc']} {' '.join(str(int(each)) for each in numbers)}"
    for action in case["actions"]:
        what = action["do"]
        if what == "packet":
            scale = action.get("scale")
            fields = [*(action[name] for name in _PACKET), -1 if scale is None else scale, len(action["sacks"])]
            numbers = [*fields, *(number for block in action["sacks"] for number in block)]
        else:
            numbers = [action["bytes"]] if "bytes" in action else []
        yield " ".join(map(str, [what, action["at_ns"], *numbers]))
    yield f"end {case['end_ns']}"


def _answer(line: str) -> Answer:
    what, *words = line.split()
    at, *numbers = map(int, words)
    if what == "info":
        return {"at_ns": at, "is": "info", **dict(zip(INFO, numbers, strict=True))}
    scale, _, *borders = numbers[len(_PACKET) :]
    packet = dict(zip(_PACKET, numbers, strict=False))
    sacks = [list(pair) for pair in zip(borders[::2], borders[1::2], strict=True)]
    return {"at_ns": at, "is": "packet", **packet, "sacks": sacks, **({} if scale < 0 else {"scale": scale})}
