"""One end of a TCP connection, packet by packet: random peers play against the simulator's end, and then against the real kernel's."""

KINDS = ("send", "receive", "both")
"""The roles of an end."""
STACK = "linux-6.12"
"""The stack of an end where a case names none."""
CONTROLS = ("reno", "cubic", "dctcp", "bbr")
"""Congestion controls that ends are compared with."""


def bar(kind: str, cc: str) -> float:
    """The share of the cases of a kind that are equal at least, as `docs/ends.md` states it."""
    if kind != "both":
        return 0.99
    return 0.95 if cc == "bbr" else 0.97
