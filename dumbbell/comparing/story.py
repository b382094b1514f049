"""The story of flows around a moment, from the record of events, as lines that a person reads in order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
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


def story(events: pl.DataFrame, start_s: float, stop_s: float, flows: Sequence[str] = (), each_ack: bool = False) -> list[Told]:
    """The events of some flows (all without any) in a time, in order. ACKs of a flow in a row are one, unless `each_ack`."""
    import polars as pl

    within = events.filter(pl.col("t_ns").is_between(round(start_s * 1e9), round(stop_s * 1e9)))
    if flows:
        within = within.filter(pl.col("flow").is_in(list(flows)))
    waiting: dict[str, list[dict[str, Any]]] = {}
    found: list[Told] = []
    for row in within.iter_rows(named=True):
        if row["kind"] == "ack" and not each_ack:
            waiting.setdefault(row["flow"], []).append(row)
            continue
        found += _together(waiting.pop(row["flow"], []))
        found.append(_told(row))
    for acks in waiting.values():
        found += _together(acks)
    return sorted(found, key=lambda each: each.t_ns)


def _together(acks: list[dict[str, Any]]) -> Iterator[Told]:
    if len(acks) == 1:
        yield _told(acks[0])
    elif acks:
        first, last = acks[0], acks[-1]
        delivered = math.fsum(each["count"] or 0 for each in acks)
        rtts = [each["rtt_ms"] for each in acks if each["rtt_ms"] is not None]
        took = f", RTT {min(rtts):.1f} to {max(rtts):.1f} ms" if rtts else ""
        window = f", window {first['cwnd']:g} to {last['cwnd']:g}" if first["cwnd"] != last["cwnd"] else ""
        since = (last["t_ns"] - first["t_ns"]) / 1e6
        text = f"{len(acks)} ACKs in {since:.1f} ms deliver {delivered:g} segments{took}{window}{_rate(last)}"
        yield Told(last["t_ns"], last["flow"], "ack", text, last["cwnd"], last["inflight"])


def _told(row: dict[str, Any]) -> Told:
    count, reason = row["count"], row["reason"]
    many = f"{count:g} segment{'' if count == 1 else 's'}" if count is not None else ""
    rtt = f", RTT {row['rtt_ms']:.1f} ms" if row["rtt_ms"] is not None else ""
    delivers = f"delivers {many}" if count else "brings nothing new"
    texts = {
        "ack": f"an ACK {delivers}{f' ({reason})' if reason == 'SACK' else ''}{rtt}{_rate(row)}",
        "loss": f"{many} deemed lost {reason}",
        "retransmit": f"{many} sent again{f' ({reason})' if reason else ''}",
        "timeout": "the retransmission timer fired",
        "undo": "a reduction is taken back: the losses were none",
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
