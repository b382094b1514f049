"""What tests of several rooms make by hand."""

import numpy as np

from dumbbell.results import Block, Run, digest

PATH = {
    "rtt": "20ms",
    "bottleneck": {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "100p"}},
}
"""Of a dumbbell, as a user writes it."""
FLOW = {
    "sent_packets": 10,
    "retransmits": 1,
    "arrived_packets": 7,
    "dropped_packets": 1,
    "in_flight_packets": 2,
    "acks_sent": 5,
    "acks_arrived": 3,
    "acks_dropped": 1,
    "acks_in_flight": 1,
    "rx_bytes": 8 * 1448,
    "active_ns": 10**9,
}
PORT = {
    "arrived_packets": 10,
    "sent_packets": 7,
    "dropped_overflow": 1,
    "dropped_aqm": 0,
    "dropped_blue": 0,
    "queued_packets": 2,
}


def make_run(key="0" * 32, name="s", cell=None, samples=11, entities=("flow/reno", "port/bottleneck")):
    """A run with regular series; the first value is NaN."""
    blocks = []
    for i, entity in enumerate(entities):
        names = ("cwnd", "srtt_ms") if entity.startswith("flow") else ("backlog_bytes",)
        values = np.arange(len(names) * samples, dtype=float).reshape(len(names), samples) + 100 * i
        values[0, 0] = np.nan
        t_ns = np.arange(samples, dtype=np.int64) * 100_000_000
        blocks.append(Block(entity, names, ("packets", "ms")[: len(names)], t_ns, values))
    return Run(
        key=key,
        name=name,
        cell=cell or {},
        scenario={"duration": "1s"},
        status="ok",
        reasons=(),
        counters={"flow/reno": dict(FLOW), "port/bottleneck": dict(PORT)},
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=tuple(blocks),
    )
