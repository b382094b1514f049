"""Causes for the speed of a connection: shares of time, and their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HOLDERS = ("application", "receiver", "sender", "congestion")
"""Causes that may hold a sender back."""
UNKNOWN: dict[str, Any] = {**{f"{name}_share": None for name in HOLDERS}, "held_by": None}


def reasons(row: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return shares of the time that each of `HOLDERS` held the sender of a direction back, `held_by` (the largest of them) and `evidence`.

    `other` is the opposite direction. The shares are null, and the evidence says why, if the direction carried no data or was captured
    nearer its receiver, where data and their ACKs are together and the data in flight are not known.
    """
    total_s = sum(row[f"held_{name}_s"] for name in HOLDERS)
    if not row["data_packets"] or not total_s:
        return {**UNKNOWN, "evidence": "no data were sent"}
    if _nearer_receiver(row, other):
        return {**UNKNOWN, "evidence": "captured nearer the receiver: nothing is known of what the sender had in flight"}
    shares = {name: row[f"held_{name}_s"] / total_s for name in HOLDERS}
    greatest = max(HOLDERS, key=lambda name: shares[name])
    ordered = sorted((name for name in HOLDERS if shares[name] >= 0.005), key=lambda name: -shares[name])
    evidence = "; ".join(f"{name} {shares[name]:.0%}: {_words(name, row, other)}" for name in ordered)
    return {**{f"{name}_share": shares[name] for name in HOLDERS}, "held_by": greatest, "evidence": evidence}


def _nearer_receiver(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True if the way to the receiver and back is shorter than that to the sender, by the handshake, or else by the minimum RTTs."""
    for name in ("rtt_syn_ms", "rtt_min_ms"):
        if row[name] is not None and other[name] is not None:
            return bool(row[name] < other[name])
    return False


def _words(holder: str, row: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    if holder == "application":
        return f"nothing in flight {_times(row['held_pauses'])}, or a short segment sent and room for more"
    if holder == "receiver":
        return f"no room in the advertised window (at most {other['window_max_bytes']:,} bytes) {_times(row['held_closings'])}"
    if holder == "sender":
        return (
            f"{row['held_level_rounds']} rounds with {row['held_level_bytes']:,} bytes in flight, the most there ever were, "
            "without a loss or a mark and with room in the window: a send buffer, or a congestion control that holds its window"
        )
    marks = other["ece_packets"] + other["ae_packets"] + other["ace_marks"]
    if row["held_episodes"]:
        return f"{row['held_episodes']} rounds with {row['retransmitted_packets']} retransmitted packets and {marks} echoes of marks"
    return "no losses and no marks, but the data in flight grew, or were fewer than before"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
