"""The page as one file that loads nothing: the table of all runs, and as many of their series as fit, exactly as they are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from dumbbell.explorer.arrays import Samples, belongs_to_a_packet, coded, deltas, gzipped, reduced, regular
from dumbbell.explorer.collection import EVENTS, SHOWN, Collection, Document
from dumbbell.explorer.page import document

MOST_BYTES = 2_000_000
"""Bytes of a page, more or less: runs whose series do not fit are listed without them."""
SMALL_BYTES = 160_000
"""Up to here, series that are not drawn at first come along."""
MOST_POINTS = 200_000
"""Maximum number of samples of a series. A longer series is reduced to the minimum and maximum of equal parts of the time."""
_ELEMENT_BYTES = 60
"""Approximate size of an element around embedded content."""
_CHUNK = 50
"""Runs whose facts are packed together, since they are much alike."""
_DETAIL_BYTES = 700_000
"""Maximum size of the facts of runs: with more, runs without series have no facts."""


@dataclass(frozen=True)
class Extent:
    """Extent of the part of a collection that goes into the page."""

    everything: bool = False
    points: int | None = MOST_POINTS
    most_bytes: int | None = None
    """Maximum size of the page, as far as leaving out series and facts can reach it; by default `MOST_BYTES` of these."""


@dataclass
class _Blobs:
    """Embedded content, packed; equal content is embedded once."""

    content: dict[str, bytes] = field(default_factory=dict)
    size: int = 0
    _names: dict[bytes, str] = field(default_factory=dict)

    def add(self, content: bytes) -> str:
        """The name of the content, which is added if it is new."""
        digest = hashlib.sha256(content).digest()
        if digest not in self._names:
            self._names[digest] = name = f"b{len(self._names)}"
            self.content[name] = gzipped(content)
            self.size += _embedded_size(self.content[name])
        return self._names[digest]


class Exported(NamedTuple):
    """A page, and of how many runs it has series."""

    content: bytes
    runs: int
    with_series: int
    what: str
    """Noun for its runs: runs, or connections."""


@dataclass(frozen=True)
class Heading:
    """The heading of a page; the fields that are None stay as they are without it."""

    title: str | None = None
    abstract: str | None = None
    tab: str | None = None
    """The view that it opens on."""


def export(collection: Collection, extent: Extent = Extent(), heading: Heading = Heading()) -> Exported:
    """The page. The same collection gives the same bytes."""
    index = collection.index() | {name: value for name, value in asdict(heading).items() if value is not None}
    blobs = _Blobs()
    details: dict[str, Document] = {}
    with_series: list[str] = []
    of_series, of_details, margin = _room(index, extent)
    keys = list(collection.keys())
    largest = 0
    for key in keys:
        details[key] = collection.detail(key)
        for entry in details[key]["series"]:
            entry["left_out"] = True
        # At once, while its parts are in memory.
        if extent.everything or not with_series or blobs.size + margin * largest < of_series:
            before = blobs.size
            _embed(collection, details[key], blobs, extent, shown=True)
            largest = max(largest, blobs.size - before)
            with_series.append(key)
    for key in with_series:
        if extent.everything or blobs.size < min(SMALL_BYTES, of_series * (1 - margin / 2)):
            _embed(collection, details[key], blobs, extent, shown=False)
    chunks = _chunks(details)
    if not extent.everything and sum(map(_embedded_size, chunks.values())) > of_details:
        details = {key: details[key] for key in with_series}
        chunks = _chunks(details)
    packed = {"index": gzipped(_json(index | {"chunks": _CHUNK, "details": list(details)})), **chunks, **blobs.content}
    what = "connections" if index["kind"] == "capture" else "runs"
    return Exported(document(str(index["title"]), "embedded", packed), len(keys), len(with_series), what)


def _room(index: Document, extent: Extent) -> tuple[int, int, int]:
    """Bytes for series and for facts of runs, and how many runs' series must still fit before another one's are added."""
    if extent.most_bytes is None:
        return MOST_BYTES - _DETAIL_BYTES, _DETAIL_BYTES, 0
    bare = len(document(str(index["title"]), "embedded", {"index": gzipped(_json(index))}))
    room = max(extent.most_bytes - bare, 0)
    facts = min(_DETAIL_BYTES, room * 2 // 5)
    return room - facts, facts, 1


def _embed(collection: Collection, detail: Document, blobs: _Blobs, extent: Extent, shown: bool) -> None:
    """Adds the series of a run that are drawn at first, or the others."""
    entries = {(entry["entity"], entry["name"]): entry for entry in detail["series"]}
    for entity, name, samples in collection.series(detail["key"]):
        if shown is not _is_shown(name):
            continue
        if not shown and not extent.everything and blobs.size >= SMALL_BYTES:
            return
        if extent.points is not None and belongs_to_a_packet(name) and len(samples[1]) > extent.points:
            continue
        entry = entries[entity, name]
        kept = samples if extent.points is None else reduced(samples, extent.points // 2)
        entry |= _coded(kept, blobs)
        if len(kept[1]) < len(samples[1]):
            entry["reduced"] = len(kept[1])
        del entry["left_out"]


def _is_shown(name: str) -> bool:
    return name in (*SHOWN, *EVENTS) or name in ("new_bytes", "outstanding_bytes", "window_bytes") or belongs_to_a_packet(name)


def _coded(samples: Samples, blobs: _Blobs) -> Document:
    t_ns, values = samples
    steps = regular(t_ns)
    time = {"blob": blobs.add(deltas(t_ns))} if steps is None else {"start": steps[0], "step": steps[1]}
    how, content = coded(values)
    return {"time": time, "values": blobs.add(content), **how}


def _chunks(details: dict[str, Document]) -> dict[str, bytes]:
    def chunks() -> Iterator[tuple[str, bytes]]:
        listed = list(details.values())
        for start in range(0, len(listed), _CHUNK):
            yield f"details-{start // _CHUNK}", gzipped(_json(listed[start : start + _CHUNK]))

    return dict(chunks())


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _embedded_size(content: bytes) -> int:
    """Its bytes in base64, in an element of its own."""
    return (len(content) + 2) // 3 * 4 + _ELEMENT_BYTES
