"""Content of the explorer: a list of runs, or of the connections of a capture, each with facts and series."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from dumbbell.comparing.across.measures import Measure, called, measured, others, ways_of
from dumbbell.comparing.across.sentence import Cell, sentence
from dumbbell.comparing.format import title_of
from dumbbell.drawing import style
from dumbbell.explorer.arrays import Samples
from dumbbell.results import schema
from dumbbell.results.columns import SEED

if TYPE_CHECKING:
    from dumbbell.results.summary import Summary

Document: TypeAlias = dict[str, Any]
"""Plain data for JSON."""

SHOWN = ("rx_bytes", "rtt_ms", "srtt_ms", "cwnd", "backlog_packets", "latency_ms", "buffer_s", "owd_ms")
"""The series that the page draws without being asked, from above."""
EVENTS = ("drops", "ce_marks")
"""Counts of queues whose growth the page draws as events below the others."""
CAPTURED: Mapping[str, tuple[str, str, str]] = {
    "new_bytes": ("bytes", "total", "payload that was not sent before"),
    "outstanding_bytes": ("bytes", "gauge", "sent and not acknowledged"),
    "window_bytes": ("bytes", "gauge", "window that the other end advertises"),
    "segment_start": ("bytes", "packet", "first sequence number of a segment, from the sender's first"),
    "segment_end": ("bytes", "packet", "the number after its last"),
    "segment_again": ("bytes", "packet", "bytes of it that were sent before"),
    "segment_ecn": ("", "packet", "its ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE"),
    "acknowledged": ("bytes", "packet", "what the other end acknowledges"),
    "ack_echo": ("", "packet", "whether the packet, which is no SYN, echoes a mark (ECE)"),
    "ack_sack": ("", "packet", "whether the packet has a SACK block: those that have one are in the order of the blocks"),
    "sack_start": ("bytes", "packet", "where the first SACK block of a packet begins"),
    "sack_end": ("bytes", "packet", "the number after its end"),
}
"""Series of the connections of captures that runs do not have: unit, kind, meaning. Those of kind `packet` are drawn together, as the
time-sequence graph."""


def shell_command(*words: str) -> str:
    """These words as a command that can be pasted into a shell; empty if a terminal would interpret characters of them."""
    return shlex.join(words) if "".join(words).isprintable() else ""


class Collection(Protocol):
    """Source of all that the page shows. All look-ups raise `KeyError` for what is not there."""

    def index(self) -> Document:
        """Return the facts about all of them."""

    def renew(self) -> None:
        """Take in the runs that were added since it was read."""

    def keys(self) -> Sequence[str]:
        """Their names, in order."""

    def detail(self, key: str) -> Document:
        """Everything about one but its samples."""

    def series(self, key: str) -> Iterator[tuple[str, str, Samples]]:
        """Entity, name and samples of each series of one."""

    def one_series(self, key: str, entity: str, name: str) -> Samples:
        """One of them."""

    def captures(self, key: str) -> Mapping[str, Path]:
        """Files of packets by name."""


@dataclass
class Rows:
    """The columns of the table of runs while it is made."""

    coordinates: dict[str, list[Any]] = field(default_factory=dict)
    metrics: dict[str, list[float | None]] = field(default_factory=dict)
    facts: dict[str, list[Any]] = field(default_factory=dict)
    count: int = 0
    measures: dict[str, Measure] = field(default_factory=dict)
    """The metrics that tell of the traffic, by their columns."""
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of columns that their names do not tell."""
    _ways: dict[str, set[str]] = field(default_factory=dict)
    """Direction -> the groups of bulk flows that any run has there."""

    def add_run(self, facts: Mapping[str, Any], coordinates: Mapping[str, Any], summary: Summary) -> None:
        """Adds a row with every metric of a run."""
        found = measured(summary)
        self.measures |= {measure.column: measure for measure in found}
        for way, groups in ways_of(summary).items():
            self._ways.setdefault(way, set()).update(groups)
        more = others(summary)
        self.titles |= {column: title for column, (title, _) in more.items()}
        of_measures = {measure.column: value for measure, value in found.items()}
        self.add(facts, coordinates, of_measures | dict(summary.run) | {column: value for column, (_, value) in more.items()} | of_measures)

    def add(self, facts: Mapping[str, Any], coordinates: Mapping[str, Any], metrics: Mapping[str, float]) -> None:
        """Adds a row; a column that is new has null in those before, and one that is missing in this."""
        numbers = {name: None if value != value or value in (float("inf"), float("-inf")) else value for name, value in metrics.items()}
        for columns, values in ((self.facts, facts), (self.coordinates, coordinates), (self.metrics, numbers)):
            for name in values:
                columns.setdefault(name, [None] * self.count)
            for name, column in columns.items():
                column.append(values.get(name))
        self.count += 1

    def document(self, title: str, kind: str) -> Document:
        """Return the index: columns, their meanings, and the colours of the congestion controls in it."""
        ccs = sorted({cc for listed in self.facts.get("ccs", ()) for cc in listed})
        measures = {column: called(measure, self._ways) for column, measure in self.measures.items()}
        titles = self.titles | {column: measure.title for column, measure in measures.items()}
        return {
            "title": title,
            "folder": title,
            "kind": kind,
            "runs": {"facts": self.facts, "coordinates": self.coordinates, "metrics": self.metrics},
            "titles": {name: titles.get(name) or title_of(name) for name in self.metrics},
            "measures": [[each.column, each.noun, each.unit, each.more_is_better] for each in measures.values()],
            "sentence": self._sentence(measures),
            "student": student(self._most_repeats()),
            "shown": list(SHOWN),
            "series": known_series(),
            "colours": {cc: style.colour(cc) for cc in ccs},
            "palette": [*dict.fromkeys(style.of_flow(i)[0] for i in range(16))],
            "others": list(style.OTHERS),
        }

    def _cells(self) -> list[Cell]:
        """The cell of each row: coordinates and engine, without the seed."""
        columns = {name: values for name, values in self.coordinates.items() if name != SEED}
        engines = self.facts.get("engine", [])
        if len(set(engines)) > 1:
            columns["engine"] = engines
        return [tuple((name, "" if values[i] is None else values[i]) for name, values in columns.items()) for i in range(self.count)]

    def _most_repeats(self) -> int:
        return max(Counter(self._cells()).values(), default=0)

    def _sentence(self, measures: Mapping[str, Measure]) -> str | None:
        cells, statuses = self._cells(), self.facts.get("status", ())
        found: dict[Measure, dict[Cell, list[float]]] = {}
        for column, measure in measures.items():
            for cell, value, status in zip(cells, self.metrics[column], statuses, strict=True):
                if value is not None and status != "invalid":
                    found.setdefault(measure, {}).setdefault(cell, []).append(value)
        return sentence(found)


def student(most: int) -> list[float]:
    """The half width of a 95 % interval in standard errors, for 2 to `most` runs."""
    if most < 2:
        return []
    from scipy import special

    return [float(each) for each in special.stdtrit(np.arange(1, most), 0.975)]


def known_series() -> dict[str, dict[str, str]]:
    """Unit, kind and meaning of every series by its name."""
    known = {name: quantity for each in reversed(list(schema().series.values())) for name, quantity in each.items()}
    found = {name: {"unit": quantity.unit, "kind": quantity.kind, "meaning": quantity.meaning} for name, quantity in sorted(known.items())}
    return found | {name: dict(zip(("unit", "kind", "meaning"), facts, strict=True)) for name, facts in CAPTURED.items()}
