"""TEACUP's extracts of the logs of siftr, by its names: `ID_SRC_SPORT_DST_DPORT_siftr.cwnd` (time, window in bytes) and `_siftr.tcp_rtt`
(time, smoothed RTT, last RTT, in ms) for each flow, comma-separated, and `experiments_completed.txt` with the ID, a test a line.

The ID is the name that TEACUP would give the experiment (`teacup_names`), with the run's key. Times are seconds since 1970 as in the run's
captures, which begin with 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.exchange.exported import Exported
from dumbbell.exchange.streams import Stream, left_out, streams
from dumbbell.exchange.teacup_names import experiment

if TYPE_CHECKING:
    from dumbbell.metrics import Series
    from dumbbell.results import Run

_EPOCH_S = 1_577_836_800
COMPLETED = "experiments_completed.txt"


def write(run: Run, base: str) -> Exported:
    """The files of a run, whose key is in their names since the coordinates may be the same in several. Raises `BadInput` if it has no TCP
    flow.
    """
    found = streams(run)
    test = experiment(run.name, run.cell, base.rpartition("-")[2])
    files = {}
    for stream in found:
        src, dst = stream.addresses
        if 0 in stream.ports:
            raise BadInput(
                f"run {run.key[:10]} ({run.name}): the ports of the flow {stream.name!r} are not known; expected a run that has them"
            )
        name = f"{test}_{src}_{stream.ports[0]}_{dst}_{stream.ports[1]}_siftr"
        if "cwnd" in stream.series:
            t_s, packets = stream.series["cwnd"]
            rows = [f"{_time(time_s)},{round(each * stream.segment_bytes)}" for time_s, each in zip(t_s, packets, strict=True)]
            files[f"{name}.cwnd"] = _text(rows)
        if "srtt_ms" in stream.series:
            files[f"{name}.tcp_rtt"] = _text(_rtts(run, stream))
    return Exported(files, {COMPLETED: _text([test])}, left_out=tuple(left_out(run, found)))


def _rtts(run: Run, stream: Stream) -> list[str]:
    """Return the smoothed RTT, and the last raw one if the run has it; else the smoothed one alone."""
    t_s, smoothed = stream.series["srtt_ms"]
    raw: Series = run.all_series("rtt_ms").get((f"flow/{stream.name}", "rtt_ms"), (np.empty(0), np.empty(0)))
    at = np.searchsorted(raw[0], t_s, side="right") - 1
    return [
        f"{_time(time_s)},{each:.6g},{f'{raw[1][i]:.6g}' if i >= 0 else ''}"
        for time_s, each, i in zip(t_s, smoothed, at.tolist(), strict=True)
    ]


def _time(t_s: float) -> str:
    return f"{_EPOCH_S + t_s:.6f}"


def _text(rows: list[str]) -> bytes:
    return ("\n".join(rows) + "\n").encode()
