"""Series as the page reads them: float64 as they are, times as exact nanoseconds, and min/max reduction that loses no extreme."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Samples: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.float64]]"
"""Times (ns) and values of a series, of the same length."""

_SCALES = (1, 1000, 8000, 1_000_000)
"""Counts; ms of whole microseconds, of eighths of them (the kernel's smoothed RTT), and of nanoseconds."""
_MOST_WHOLE = 2**53
"""Below it float64 has every whole number."""
_GZIP = 31
"""zlib's window bits for the largest window with the header of gzip, which then holds neither a time nor a name."""


def gzipped(content: bytes) -> bytes:
    """The content packed by gzip: the same bytes for the same content."""
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    return packer.compress(content) + packer.flush()


def regular(t_ns: NDArray[np.int64]) -> tuple[int, int] | None:
    """Start and step (ns) of times with equal distances; None for others."""
    if len(t_ns) < 2:
        return (int(t_ns[0]), 0) if len(t_ns) else (0, 0)
    step = int(t_ns[1]) - int(t_ns[0])
    return (int(t_ns[0]), step) if np.all(np.diff(t_ns) == step) else None


def deltas(t_ns: NDArray[np.int64]) -> bytes:
    """Times as the first one and the distances between them, little-endian."""
    return np.diff(t_ns, prepend=np.int64(0)).astype("<i8").tobytes()


def coded(values: NDArray[np.float64]) -> tuple[dict[str, int | str], bytes]:
    """Values as the page reads them, to the last bit, and how: float64, or where all are whole numbers over a scale the distances between
    those, as the shortest integers that hold them, which need a third less room."""
    most = np.max(np.abs(values), initial=0.0)
    for scale in _SCALES if len(values) else ():
        if not most < _MOST_WHOLE / scale:
            break
        whole = np.rint(values * scale).astype(np.int64)
        if (whole / scale).tobytes() == values.tobytes():  # a zero with a sign is none of an integer
            steps = np.diff(whole, prepend=np.int64(0))
            bits = next(bits for bits in (8, 16, 32, 64) if bits == 64 or np.all(np.abs(steps) < 1 << bits - 1))
            return {"scale": scale, "bits": bits}, steps.astype(f"<i{bits // 8}").tobytes()
    return {}, values.astype("<f8").tobytes()


def belongs_to_a_packet(name: str) -> bool:
    """True if a series has a value for each packet: reduced, a segment would have the start of one and the end of another."""
    return name.startswith(("segment_", "sack_", "ack"))


def within(samples: Samples, from_s: float, to_s: float) -> Samples:
    """The samples from one time to another, and one more on either side, to which lines lead."""
    t_ns, values = samples
    t_s = t_ns / 1e9
    first = max(int(np.searchsorted(t_s, from_s, side="left")) - 1, 0)
    last = int(np.searchsorted(t_s, to_s, side="right")) + 1
    return t_ns[first:last], values[first:last]


def reduced(samples: Samples, columns: int) -> Samples:
    """Return minimum and maximum of each of these equal parts of the time, at their own times: at most twice as many samples as parts.

    Nothing is averaged, so that no spike is lost. A series that has no more samples stays as it is.
    """
    t_ns, values = samples
    if len(values) <= 2 * columns:
        return samples
    span = int(t_ns[-1]) - int(t_ns[0]) + 1
    column = ((t_ns - t_ns[0]).astype(np.float64) * (columns / span)).astype(np.int64).clip(0, columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    counts = np.diff(starts, append=len(values))
    chosen = [_first_of(values == np.repeat(extreme.reduceat(values, starts), counts), starts) for extreme in (np.fmin, np.fmax)]
    kept = np.unique(np.concatenate(chosen))
    return t_ns[kept], values[kept]


def _first_of(there: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first place in each part where it is; parts without one (of NaN) give none."""
    places = np.flatnonzero(there)
    part = np.searchsorted(starts, places, side="right")
    return places[np.flatnonzero(np.diff(part, prepend=0))]
