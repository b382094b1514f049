"""qlog (draft-ietf-quic-qlog-main-schema-13): a file a run, a trace a flow, of the record of events.

The file is a QlogFile in JSON. Its events are TCP's, in a namespace of dumbbell's own (`dumbbell-tcp`, `EVENTS_URI`), since no schema
of TCP is registered. The data of every event are those of the record that are not null, by these names:

| event | data |
| --- | --- |
| `dumbbell-tcp:ack_received` | `acked` (segments newly delivered), `rtt` (ms), `reason` |
| `dumbbell-tcp:segments_lost`, `:segments_retransmitted`, `:segments_marked` | `count` (segments), `reason` |
| `dumbbell-tcp:timeout`, `:reduction_undone` | `reason` |
| `dumbbell-tcp:packet_dropped` | `sequence` (first segment of the packet), `reason`: the port and the cause |
| `dumbbell-tcp:state_changed` | `reason`: the variable, its old and its new value |

All but `packet_dropped` have `first_unacknowledged` (segments), `congestion_window`, `ssthresh` and `segments_in_flight` (segments), and
`delivery_rate` (bit/s). Times are ms since the start of the run, on a monotonic clock whose epoch is unknown to others.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.exchange.exported import Exported
from dumbbell.exchange.streams import title

if TYPE_CHECKING:
    from dumbbell.results import Run

FILE_SCHEMA = "urn:ietf:params:qlog:file:contained"
SERIALIZATION = "application/qlog+json"
NAMESPACE = "dumbbell-tcp"
EVENTS_URI = "urn:dumbbell:qlog:events:tcp"
_NAMES = {
    "ack": "ack_received",
    "loss": "segments_lost",
    "retransmit": "segments_retransmitted",
    "timeout": "timeout",
    "undo": "reduction_undone",
    "drop": "packet_dropped",
    "mark": "segments_marked",
    "state": "state_changed",
}


def write(run: Run, base: str) -> Exported:
    """The file of a run. Raises `BadInput` if it has no record of events."""
    events = run.events
    if run.record is None:
        raise BadInput(
            f"run {run.key[:10]} ({run.name}) has no record of events; expected `events: all` in its scenario, "
            f"or `dumbbell run DIR --again {run.key[:10]} --events all`"
        )
    traces = []
    rows = {str(row["flow"]): row for row in run.flows.rows()}
    for (flow,), part in events.partition_by("flow", as_dict=True, maintain_order=True).items():
        control = str(rows.get(str(flow), {}).get("cc", ""))
        traces.append(
            {
                "title": str(flow),
                "description": f"TCP sender with the congestion control {control}",
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "monotonic", "epoch": "unknown"},
                    "protocol_types": ["TCP"],
                },
                "vantage_point": {"name": str(flow), "type": "server" if rows.get(str(flow), {}).get("opener") == "to" else "client"},
                "event_schemas": [EVENTS_URI],
                "events": [_event(row) for row in part.iter_rows(named=True)],
            }
        )
    document = {"file_schema": FILE_SCHEMA, "serialization_format": SERIALIZATION, "title": title(run), "traces": traces}
    return Exported({f"{base}.qlog": json.dumps(document, allow_nan=False, separators=(",", ":")).encode()})


def _event(row: dict[str, Any]) -> dict[str, Any]:
    kind = row["kind"]
    about = "acked" if kind == "ack" else "count"
    data = {
        "sequence" if kind == "drop" else "first_unacknowledged": _whole(row["sequence"]),
        about: _whole(row["count"]),
        "congestion_window": row["cwnd"],
        "ssthresh": row["ssthresh"],
        "segments_in_flight": row["inflight"],
        "rtt": row["rtt_ms"],
        "delivery_rate": row["delivery_bps"],
        "reason": row["reason"] or None,
    }
    known = {
        name: value for name, value in data.items() if value is not None and (name != about or kind not in ("state", "timeout", "undo"))
    }
    return {"time": row["t_ns"] / 1e6, "name": f"{NAMESPACE}:{_NAMES[kind]}", "data": known}


def _whole(value: float | None) -> int | None:
    """A number of segments, which the record keeps among numbers with fractions."""
    return None if value is None else int(value)
