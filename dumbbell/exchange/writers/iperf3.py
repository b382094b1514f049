"""iperf3's JSON (as `--json` of 3.12 has it): `NAME.json` of the flows of one direction, as their senders would print it, and
`NAME-reverse.json`.

Intervals are 1 s long, or as long as the samples are apart if that is more. Bytes are payload received, the window is in bytes and the RTT,
smoothed, in us. Keys that a run does not have (`rttvar`, `pmtu`, `snd_wnd`) are left out, and `extra_data` says that nothing was measured
by iperf3.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.exchange.exported import Exported
from dumbbell.exchange.streams import Stream, duration_s, last_before, left_out, streams, title
from dumbbell.metrics import Array

if TYPE_CHECKING:
    from dumbbell.results import Run

_INTERVAL_S = 1.0
"""iperf3's default."""
_EPOCH_S = 1_577_836_800
"""Start of a run in its captures: the beginning of 2020."""
_LEAST_S = 1e-9
"""Shorter intervals are none."""
_FIRST_SOCKET = 5
"""The first that iperf3 has for a stream."""


def write(run: Run, base: str) -> Exported:
    """The documents of a run. Raises `BadInput` if it has no TCP flow with series, or all were over at once."""
    found = [stream for stream in streams(run) if stream.until_s - stream.start_s >= _LEAST_S]
    if not found:
        raise BadInput(f"run {run.key[:10]} ({run.name}) has no TCP flow that took any time; expected one with two samples")
    ways = {"": [stream for stream in found if stream.direction == "forward"]}
    ways["-reverse"] = [stream for stream in found if stream.direction == "reverse"]
    files = {
        f"{base}{suffix}.json": (json.dumps(_document(run, its, duration_s(run, found)), indent=1, allow_nan=False) + "\n").encode()
        for suffix, its in ways.items()
        if its
    }
    return Exported(files, left_out=tuple(left_out(run, found)))


def _document(run: Run, found: Sequence[Stream], lasts_s: float) -> dict[str, Any]:
    steps = [np.diff(stream.received[0]) for stream in found]
    interval_s = max(_INTERVAL_S, *(float(np.median(each)) for each in steps if each.size), 0.0)
    edges_s = np.append(np.arange(0.0, lasts_s - 1e-9, interval_s), lasts_s)
    rows = [_rows(stream, _FIRST_SOCKET + 2 * i, edges_s) for i, stream in enumerate(found)]
    intervals = [[row for row in each if row is not None] for each in zip(*rows, strict=True)]
    return {
        "start": _start(run, found, lasts_s, interval_s),
        "intervals": [{"streams": each, "sum": _sum(each)} for each in intervals if each],
        "end": _end(found, rows),
        "extra_data": f"written by dumbbell: run {run.key} ({title(run)}), engine {run.engine.get('name')}, not measured by iperf3;"
        " bytes are those received",
    }


def _start(run: Run, found: Sequence[Stream], lasts_s: float, interval_s: float) -> dict[str, Any]:
    from dumbbell import __version__

    connected = [
        {
            "socket": _FIRST_SOCKET + 2 * i,
            "local_host": stream.addresses[0],
            "local_port": stream.ports[0],
            "remote_host": stream.addresses[1],
            "remote_port": stream.ports[1],
        }
        for i, stream in enumerate(found)
    ]
    test = {"protocol": "TCP", "num_streams": len(found), "omit": 0, "duration": lasts_s, "bytes": 0, "blocks": 0, "reverse": 0}
    return {
        "connected": connected,
        "version": f"dumbbell {__version__}",
        "system_info": f"engine {run.engine.get('name')}",
        "timestamp": {"time": "Wed, 01 Jan 2020 00:00:00 GMT", "timesecs": _EPOCH_S},
        "connecting_to": {"host": found[0].addresses[1], "port": found[0].ports[1]},
        "cookie": run.key,
        "tcp_mss_default": found[0].segment_bytes,
        "test_start": {**test, "interval": interval_s},
    }


def _rows(stream: Stream, socket: int, edges_s: Array) -> list[dict[str, Any] | None]:
    """The intervals of a stream; None before it begins and when it is over."""
    received = np.round(np.diff(stream.megabits(edges_s)) * 1e6 / 8)
    sampled = {name: last_before(series, edges_s) for name, series in stream.series.items()}
    again = _more_of(sampled["retransmits"]) if "retransmits" in sampled else None
    until_s = stream.until_s
    rows: list[dict[str, Any] | None] = []
    for i, (start_s, end_s) in enumerate(zip(edges_s[:-1].tolist(), edges_s[1:].tolist(), strict=True)):
        first_s, last_s = max(start_s, stream.start_s), min(end_s, until_s)
        if last_s - first_s < _LEAST_S:
            rows.append(None)
            continue
        row = {"socket": socket, "start": first_s, "end": last_s, "seconds": last_s - first_s, **_volume(received[i], last_s - first_s)}
        if again is not None:
            row["retransmits"] = int(again[i])
        if "cwnd" in sampled and not math.isnan(sampled["cwnd"][i]):
            row["snd_cwnd"] = round(sampled["cwnd"][i] * stream.segment_bytes)
        if "srtt_ms" in sampled and not math.isnan(sampled["srtt_ms"][i]):
            row["rtt"] = round(sampled["srtt_ms"][i] * 1e3)
        rows.append({**row, "omitted": False, "sender": True})
    return rows


def _more_of(totals: Array) -> Array:
    """Return the growth of a total in each interval. The total stays where there is no sample."""
    known: Array = np.maximum.accumulate(np.nan_to_num(totals))
    return np.diff(known, prepend=0.0)


def _volume(received: float, seconds: float) -> dict[str, Any]:
    return {"bytes": int(received), "bits_per_second": received * 8 / seconds}


def _sum(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    start_s, end_s = min(row["start"] for row in rows), max(row["end"] for row in rows)
    volume = _volume(sum(row["bytes"] for row in rows), end_s - start_s)
    again = {"retransmits": sum(row["retransmits"] for row in rows)} if all("retransmits" in row for row in rows) else {}
    return {"start": start_s, "end": end_s, "seconds": end_s - start_s, **volume, **again, "omitted": False, "sender": True}


def _end(found: Sequence[Stream], rows: Sequence[Sequence[dict[str, Any] | None]]) -> dict[str, Any]:
    ends = []
    for stream, each in zip(found, rows, strict=True):
        there = [row for row in each if row is not None]
        if not there:
            continue
        whole = {"socket": there[0]["socket"], **{key: value for key, value in _sum(there).items() if key != "omitted"}}
        sender = dict(whole)
        windows, rtts = (stream.series[name][1] if name in stream.series else np.empty(0) for name in ("cwnd", "srtt_ms"))
        if windows.size:
            sender["max_snd_cwnd"] = round(float(windows.max()) * stream.segment_bytes)
        if rtts.size:
            sender |= {f"{name}_rtt": round(float(of(rtts)) * 1e3) for name, of in (("max", np.max), ("min", np.min), ("mean", np.mean))}
        ends.append({"sender": sender, "receiver": {key: value for key, value in whole.items() if key != "retransmits"}})
    total = _sum([each["sender"] for each in ends])
    controls = {stream.cc for stream in found}
    return {
        "streams": ends,
        "sum_sent": total,
        "sum_received": {key: value for key, value in total.items() if key != "retransmits"},
        **({"sender_tcp_congestion": controls.pop()} if len(controls) == 1 and "" not in controls else {}),
    }
