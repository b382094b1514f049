"""Flent's data files (`.flent.gz`, version 4 of its format, as Flent 2.3.0 reads and writes it).

A run becomes a run of one of Flent's own tests, because Flent only draws those: `tcp_nup` or `tcp_ndown`, with `rrul_be_nflows` for flows
both ways. Flows begin DELAY (5 s, Flent's default) after the time axis does, and the axis goes on for as long after them, as in Flent.
Flent cuts that off both ends in its box plots, CDFs and bar charts, which show the whole run. The run begins with its captures, at
2020-01-01 00:00 UTC.

Throughput is the payload received in each step of the time axis; windows and RTTs are every sample. `MEAN_VALUE`, which Flent prefers to
its own means, is the value that `dumbbell table` shows. TCP's RTT is never called a ping: that name is for pings and other probes alone.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.exchange.exported import Exported
from dumbbell.exchange.streams import Probe, Stream, duration_s, last_before, left_out, probes, streams, title
from dumbbell.metrics import Array, Series
from dumbbell.results.received import common_step_s, rates_mbit

if TYPE_CHECKING:
    from dumbbell.results import Run

VERSION = 4
DELAY_S = 5
"""Flent's setting of that name."""
_ZERO = datetime(2020, 1, 1, tzinfo=UTC) - timedelta(seconds=DELAY_S)
"""Start of the time axis."""
_BITS_PER_MBIT = 1e6
_PING = "Ping (ms) ICMP"
_MBITS = "Mbits/s"


def write(run: Run, base: str) -> Exported:
    """The data file of a run. Raises `BadInput` if it has no TCP flow with series."""
    found, measured = streams(run), probes(run)
    lasts_s = duration_s(run, found)
    step_s = common_step_s(stream.received for stream in found)
    steps = np.arange(-round(DELAY_S / step_s) - 1, math.ceil((lasts_s + DELAY_S) / step_s - 1e-9) + 1)
    edges_s = np.round(step_s * steps, 9)
    test, names = _test(found)
    name = f"{base}.flent.gz"
    document: dict[str, Any] = {
        "version": VERSION,
        "x_values": [round(x, 9) for x in (edges_s[1:] + DELAY_S).tolist()],
        "results": {},
        "raw_values": {},
        "metadata": _metadata(run, found, test, name, lasts_s, step_s),
    }
    means = run.summary
    for stream, series in zip(found, names, strict=True):
        flow = means.flows.get(stream.name, {})
        _add_stream(document, series, stream, edges_s, flow)
    for series, probe in zip(_ping_names(measured), measured, strict=True):
        _add(document, series, "ms", means.datagrams.get(probe.name, {}).get("rtt_mean_ms"), last_before(probe.rtt_ms, edges_s))
        document["raw_values"][series] = _records(probe.rtt_ms, "val")
    content = json.dumps(document, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()
    return Exported({name: gzip.compress(content, mtime=0)}, left_out=tuple(left_out(run, found)))


def _test(found: Sequence[Stream]) -> tuple[str, list[str]]:
    """Return the test that has these streams, and the test's name of each."""
    directions = {stream.direction for stream in found}
    ways = {"forward": "upload", "reverse": "download"}
    test, infix = ("rrul_be_nflows", " BE") if len(directions) > 1 else ("tcp_nup" if "forward" in directions else "tcp_ndown", "")
    counts = dict.fromkeys(ways, 0)
    names = []
    for stream in found:
        counts[stream.direction] += 1
        names.append(f"TCP {ways[stream.direction]}{infix}::{counts[stream.direction]}")
    return test, names


def _ping_names(measured: Sequence[Probe]) -> list[str]:
    """The first ping is the one that Flent's tests have; the others are drawn where all pings are."""
    pings = [probe.name for probe in measured if probe.kind == "ping"]
    return [_PING if [probe.name] == pings[:1] and probe.kind == "ping" else f"Ping (ms) {probe.kind} {probe.name}" for probe in measured]


def _metadata(run: Run, found: Sequence[Stream], test: str, name: str, lasts_s: float, step_s: float) -> dict[str, Any]:
    from dumbbell import __version__

    counts = {"upload_streams": 0, "download_streams": 0}
    for stream in found:
        counts["upload_streams" if stream.direction == "forward" else "download_streams"] += 1
    flows = [stream.name for stream in found]
    known = {
        "key": run.key,
        "name": run.name,
        "cell": dict(run.cell),
        "seed": run.scenario.get("seed"),
        "engine": run.engine.get("name"),
        "status": run.status,
        "reasons": list(run.reasons),
        "flows": flows,
        "version": __version__,
    }
    what = f"dumbbell run {run.key}, engine {known['engine']}, seed {known['seed']}, status {run.status}"
    return {
        "NAME": test,
        "TITLE": title(run),
        "TIME": _text(_ZERO),
        "T0": _text(_ZERO),
        "LENGTH": _whole(lasts_s),
        "TOTAL_LENGTH": _whole(lasts_s + 2 * DELAY_S),
        "STEP_SIZE": _whole(step_s),
        "HOST": "right",
        "HOSTS": ["right"],
        "LOCAL_HOST": "left",
        "TEST_PARAMETERS": {way: str(count) for way, count in counts.items() if count},
        "FLENT_VERSION": f"dumbbell {__version__}",
        "IP_VERSION": 4,
        "DATA_FILENAME": name,
        "SERIES_META": {},
        "NOTE": f"{what}; streams are {', '.join(flows)}",
        "DUMBBELL": known,
    }


def _add_stream(document: dict[str, Any], name: str, stream: Stream, edges_s: Array, means: Any) -> None:
    _add(document, name, _MBITS, means.get("flow_goodput_mbit"), rates_mbit(stream.received, stream.start_s, stream.end_s, edges_s))
    again = means.get("retransmits", math.nan)
    document["metadata"]["SERIES_META"][name] |= {
        "TCP_MSS": stream.segment_bytes,
        **({"CONG_CONTROL": stream.cc} if stream.cc else {}),
        **({} if math.isnan(again) else {"TCP_RETRANSMIT": int(again)}),
    }
    inner = edges_s[(edges_s > stream.start_s) & (edges_s < stream.until_s)]
    ends_s = np.array([stream.start_s, *inner, stream.until_s])
    records = _rates(stream, ends_s)
    for series, key, metric in (("cwnd", "tcp_cwnd", "cwnd_mean_packets"), ("srtt_ms", "tcp_rtt", "srtt_mean_ms")):
        if series in stream.series:
            unit = "packets" if series == "cwnd" else "ms"
            _add(document, f"{name}::{key}", unit, means.get(metric), last_before(stream.series[series], edges_s))
            records += _records(stream.series[series], key)
    records.sort(key=lambda record: float(record["t"]))
    document["raw_values"][name] = records


def _rates(stream: Stream, ends_s: Array) -> list[dict[str, float]]:
    """Return the bytes received in each interval, and the bytes that the sender learned to be delivered."""
    spans_s, megabits = np.diff(ends_s), np.diff(stream.megabits(ends_s))
    found = [
        {"t": _epoch_s(end_s), "dur": span_s, "val": mbit / span_s}
        for end_s, span_s, mbit in zip(ends_s[1:].tolist(), spans_s.tolist(), megabits.tolist(), strict=True)
        if span_s > 1e-9
    ]
    if "delivered" in stream.series:
        t_s, segments = stream.series["delivered"]
        megabit = np.interp(ends_s, t_s, segments * stream.segment_bytes * 8 / _BITS_PER_MBIT)
        rates = [more / span_s for more, span_s in zip(np.diff(megabit).tolist(), spans_s.tolist(), strict=True) if span_s > 1e-9]
        found = [{**record, "tcp_delivery_rate": rate} for record, rate in zip(found, rates, strict=True)]
    return found


def _add(document: dict[str, Any], name: str, unit: str, mean: float | None, values: Array) -> None:
    document["results"][name] = [None if math.isnan(value) else value for value in values.tolist()]
    document["metadata"]["SERIES_META"][name] = {"UNITS": unit} | ({} if mean is None or math.isnan(mean) else {"MEAN_VALUE": mean})


def _records(series: Series, key: str) -> list[dict[str, float]]:
    return [{"t": _epoch_s(t_s), key: value} for t_s, value in zip(*(each.tolist() for each in series), strict=True)]


def _epoch_s(t_s: float) -> float:
    return round(_ZERO.timestamp() + DELAY_S + t_s, 6)


def _text(time: datetime) -> str:
    """With microseconds and Z, or Flent guesses a time zone."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _whole(number: float) -> float | int:
    return round(number) if abs(number - round(number)) < 1e-9 else round(number, 9)
