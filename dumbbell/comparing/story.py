"""The story of flows around a moment, from the record of events, as lines that a person reads in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Told:
    """An event, or several ACKs in a row."""

    t_ns: int
    """Time of the event; of several that of the last."""
    flow: str
    kind: str
    text: str
    cwnd: float | None
    inflight: float | None

    def plain(self) -> dict[str, Any]:
        """Return data for JSON."""
        return {
            "t_s": self.t_ns / 1e9,
            "flow": self.flow,
            "kind": self.kind,
            "what": self.text,
            "cwnd": self.cwnd,
            "inflight": self.inflight,
        }


_CLASSES = {"ack": "ack", "drop": "drop", "loss": "repair", "retransmit": "repair", "mark": "mark"}
"""Kind -> events that one sentence says together until the state changes or a timer fires."""


def story(events: pl.DataFrame, start_s: float, stop_s: float, flows: Sequence[str] = (), each: bool = False) -> list[Told]:
    """The events of some flows (all without any) in a time, in order. ACKs, drops and repairs of a flow between two changes of its state
    are one line each, unless `each` event is to have its own."""
    import polars as pl

    within = events.filter(pl.col("t_ns").is_between(round(start_s * 1e9), round(stop_s * 1e9)))
    if flows:
        within = within.filter(pl.col("flow").is_in(list(flows)))
    waiting: dict[str, dict[str, list[dict[str, Any]]]] = {}
    found: list[Told] = []
    for row in within.iter_rows(named=True):
        together = None if each else _CLASSES.get(row["kind"])
        if together is None:
            found += [_together(rows) for rows in waiting.pop(row["flow"], {}).values()]
            found.append(_told(row))
        else:
            waiting.setdefault(row["flow"], {}).setdefault(together, []).append(row)
    found += [_together(rows) for classes in waiting.values() for rows in classes.values()]
    return sorted(found, key=lambda told: told.t_ns)


def _together(rows: list[dict[str, Any]]) -> Told:
    """Several events of a flow in a line."""
    if len(rows) == 1:
        return _told(rows[0])
    first, last = rows[0], rows[-1]
    took = f"in {(last['t_ns'] - first['t_ns']) / 1e6:.1f} ms"
    counts = {kind: math.fsum(row["count"] or 0 for row in rows if row["kind"] == kind) for kind in ("loss", "retransmit", "mark", "ack")}
    window = f", window {first['cwnd']:g} to {last['cwnd']:g}" if first["cwnd"] != last["cwnd"] else ""
    if last["kind"] == "ack":
        rtts = [row["rtt_ms"] for row in rows if row["rtt_ms"] is not None]
        rtt = f", RTT {min(rtts):.1f} to {max(rtts):.1f} ms" if rtts else ""
        text = f"{len(rows)} ACKs {took} deliver {counts['ack']:g} segments{rtt}{window}{_rate(last)}"
    elif last["kind"] == "drop":
        where = Counter(row["reason"] for row in rows)
        text = f"{len(rows)} packets are dropped {took}: " + ", ".join(f"{reason} ({count})" for reason, count in where.most_common())
    elif last["kind"] == "mark":
        text = f"{len(rows)} ACKs {took} echo marks of {counts['mark']:g} segments{window}"
    else:
        text = f"{counts['loss']:g} segments deemed lost and {counts['retransmit']:g} retransmitted {took}{window}"
    return Told(last["t_ns"], last["flow"], last["kind"], text, last["cwnd"], last["inflight"])


def _told(row: dict[str, Any]) -> Told:
    count, reason = row["count"], row["reason"]
    many = f"{count:g} segment{'' if count == 1 else 's'}" if count is not None else ""
    rtt = f", RTT {row['rtt_ms']:.1f} ms" if row["rtt_ms"] is not None else ""
    delivers = f"delivers {many}" if count else "brings nothing new"
    texts = {
        "ack": f"an ACK {delivers}{f' ({reason})' if reason == 'SACK' else ''}{rtt}{_rate(row)}",
        "loss": f"{many} deemed lost {reason}",
        "retransmit": f"{many} retransmitted{f' ({reason})' if reason else ''}",
        "timeout": "the retransmission timer fired",
        "undo": "the sender undoes a reduction: nothing was lost",
        "drop": f"a packet is dropped at {reason}" + ("" if row["sequence"] is None else f" (segment {row['sequence']:g})"),
        "mark": f"ECN echoes of {many}",
        "state": reason,
    }
    return Told(row["t_ns"], row["flow"], row["kind"], texts.get(row["kind"], reason), row["cwnd"], row["inflight"])


def _rate(row: dict[str, Any]) -> str:
    return f", {row['delivery_bps'] / 1e6:.2f} Mbit/s" if row["delivery_bps"] is not None else ""


def lines(told: Iterable[Told], several: bool) -> list[tuple[str, ...]]:
    """Columns of text: time, flow if there are several, kind, what happened, window and data in flight after it."""
    rows = [("time s", *(("flow",) if several else ()), "kind", "what", "cwnd", "in flight")]
    for each in told:
        numbers = tuple("-" if value is None else f"{value:g}" for value in (each.cwnd, each.inflight))
        rows.append((f"{each.t_ns / 1e9:.6f}", *((each.flow,) if several else ()), each.kind, each.text, *numbers))
    return rows
