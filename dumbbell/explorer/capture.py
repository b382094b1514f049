"""The TCP connections of a capture, as the explorer shows them: a row each, and of each direction that carried data its packets."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.explorer.arrays import Samples
from dumbbell.explorer.collection import Document, Rows, shell_command
from dumbbell.trace import FACTS, analyze, packets
from dumbbell.trace.passive import EPOCH_NS

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dumbbell.trace import Analysis

_HELD = 4
"""Connections whose packets stay in memory."""
_DIRECTIONS = ("forward", "reverse")
_METRICS = {
    "bytes": "bytes_back",
    "throughput_mbit": "throughput_back_mbit",
    "retransmitted_packets": "retransmitted_packets_back",
    "rtt_min_ms": "rtt_min_back_ms",
    "rtt_median_ms": "rtt_median_back_ms",
    "rtt_p95_ms": "rtt_p95_back_ms",
    "ce_packets": "ce_packets_back",
    "sack_packets": "sack_packets_back",
}
"""Facts of a direction that the table of connections has -> their names there for the way back, with the unit at the end."""
_OWN_CLOCK_S = 86_400
"""A capture that begins within a day of the epoch of runs is of a run, whose time it then has."""


class Capture:
    """A capture file. The constructor reads it once; of its packets only those of one connection at a time are kept."""

    def __init__(self, file: Path, title: str, prefix: str = "") -> None:
        """`prefix` is put before the numbers of its connections (from 1), which are their keys."""
        self._file = file
        self._title = title
        self._prefix = prefix
        self._found: Analysis = analyze(file)
        self._series = lru_cache(_HELD)(self._read)

    @cached_property
    def _connections(self) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
        rows = self._found.rows()
        return {f"{self._prefix}{number}": pair for number, pair in enumerate(zip(rows, rows, strict=True), 1)}

    @cached_property
    def _zero_ns(self) -> int:
        """The time that the page calls 0: the start of the run, or the first packet."""
        first_s = min(float(row["first_s"]) for pair in self._connections.values() for row in pair if row["first_s"] is not None)
        own = 0 <= first_s - EPOCH_NS / 1e9 < _OWN_CLOCK_S
        return EPOCH_NS if own else int(first_s * 1e9)

    def renew(self) -> None:
        """A capture stays as it was when it was opened."""

    def keys(self) -> Sequence[str]:
        """The keys of the connections, the largest first: an export keeps as many of them as fit."""
        size = {key: sum(int(row["bytes"] or 0) for row in pair) for key, pair in self._connections.items()}
        return heapq.nlargest(len(size), size, key=lambda key: size[key])

    def index(self) -> Document:
        """The table of connections."""
        rows = Rows()
        for key, pair in self._connections.items():
            forward = pair[0]
            facts = {
                "key": key,
                "name": f"{self._title} {key.rpartition(':')[2]}",
                "status": "closed" if forward["closed"] else "open",
                "reasons": [row["evidence"] for row in pair if row["data_packets"]],
                "engine": "capture",
                "seed": None,
                "ccs": [],
            }
            metrics = {
                name if row is forward else back: float(row[name])
                for row in pair
                for name, back in _METRICS.items()
                if row[name] is not None and row["data_packets"]
            }
            rows.add(facts, {"client": forward["client"], "server": forward["server"]}, metrics)
        return rows.document(self._title, "capture")

    def detail(self, key: str) -> Document:
        """Every fact of a connection, and which series it has."""
        forward, reverse = self._connections[key]
        ends = (forward["client"], forward["server"])
        names = {"forward": " → ".join(ends), "reverse": " → ".join(reversed(ends))}
        return {
            "key": key,
            "name": f"{self._title} {key.rpartition(':')[2]}",
            "cell": {"client": ends[0], "server": ends[1]},
            "status": "closed" if forward["closed"] else "open",
            "reasons": [row["evidence"] for row in (forward, reverse) if row["data_packets"]],
            "command": shell_command("dumbbell", "analyze", "--long", self._file.name),
            "facts": [[fact.label, fact.meaning, forward[fact.name], reverse[fact.name]] for fact in FACTS],
            "entities": {f"flow/{way}": {"label": names[way], "direction": way, "group": way} for way in _DIRECTIONS},
            "captures": [],
            "series": [
                {"entity": entity, "name": name, "samples": len(samples[1]), "idle": False} for entity, name, samples in self.series(key)
            ],
        }

    def series(self, key: str) -> Iterator[tuple[str, str, Samples]]:
        """The series of both directions, as far as they carried data."""
        for (entity, name), samples in self._series(key).items():
            yield entity, name, samples

    def one_series(self, key: str, entity: str, name: str) -> Samples:
        """One of them."""
        return self._series(key)[entity, name]

    def captures(self, key: str) -> Mapping[str, Path]:
        """None: the capture itself is shown."""
        if key not in self._connections:
            raise KeyError(key)
        return {}

    def _read(self, key: str) -> dict[tuple[str, str], Samples]:
        if key not in self._connections:
            raise KeyError(key)
        number = int(key.removeprefix(self._prefix))
        rows = packets(self._file, number - 1)
        return {
            (f"flow/{way}", name): samples
            for way in _DIRECTIONS
            for name, samples in _of_direction(rows, way == "reverse", self._zero_ns).items()
        }


def _of_direction(rows: pl.DataFrame, reverse: bool, zero_ns: int) -> dict[str, Samples]:
    """The series of the data that one end sent."""
    import polars as pl

    sent = rows.filter((pl.col("reverse") == reverse) & (pl.col("payload") > 0) & pl.col("start").is_not_null())
    if sent.is_empty():
        return {}
    answers = rows.filter(pl.col("reverse") != reverse)
    acks = answers.filter(pl.col("ack").is_not_null())
    blocks = acks.filter(pl.col("sack_start").is_not_null())
    measured = answers.filter(pl.col("rtt_ms").is_not_null())
    # SYN and FIN count as retransmitted, but are no payload.
    new = (sent["payload"] - sent["again_bytes"]).clip(lower_bound=0).cum_sum()
    in_flight = pl.when(pl.col("reverse") == reverse).then(pl.col("outstanding_bytes")).otherwise(pl.col("other_outstanding_bytes"))
    found = {
        "segment_start": (sent, sent["start"]),
        "segment_end": (sent, sent["start"] + sent["payload"]),
        "segment_again": (sent, sent["again_bytes"]),
        "segment_ecn": (sent, sent["ecn"]),
        "acknowledged": (acks, acks["ack"]),
        "ack_echo": (acks, acks["ece"] & ~acks["syn"]),  # ECE in a SYN offers ECN
        "ack_sack": (acks, acks["sack_start"].is_not_null()),
        "sack_start": (blocks, blocks["sack_start"]),
        "sack_end": (blocks, blocks["sack_end"]),
        "new_bytes": (sent, new),
        "rtt_ms": (measured, measured["rtt_ms"]),
        "outstanding_bytes": (rows, rows.select(in_flight).to_series()),
        "window_bytes": (answers, answers["window_bytes"]),
    }
    return {name: (_times(of, zero_ns), values.cast(pl.Float64).to_numpy()) for name, (of, values) in found.items() if len(values)}


def _times(rows: pl.DataFrame, zero_ns: int) -> NDArray[np.int64]:
    times: NDArray[np.int64] = rows["t_ns"].to_numpy() - zero_ns
    return np.maximum.accumulate(times)  # a clock that is set back would make the axis turn
