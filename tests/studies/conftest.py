"""Runs made up from published numbers, in a store as the simulator would leave them."""

import numpy as np
import pytest
from support import FLOW, PORT

from dumbbell.results import Block, Run, Store, digest
from dumbbell.studies import Request, find_part
from dumbbell.studies.folder import begin
from dumbbell.studies.sce import reductions as r

DURATION_S = 300


def one_flow_run(cell, throughput_mbit, rtt_ms, ramp_s=0.0, status="ok"):
    """A run that reduces to these numbers; until `ramp_s` it delivers at a tenth of the later rate."""
    t_s = np.arange(0, DURATION_S + 1)
    shape = np.where(t_s < ramp_s, 0.1, 1.0)
    received = np.concatenate([[0.0], np.cumsum(shape[:-1])])
    received *= throughput_mbit * 1e6 / 8 * DURATION_S / received[-1]
    srtt = np.full(len(t_s), float(rtt_ms))
    srtt[0] = np.nan
    blocks = (
        Block(
            "flow/1", ("cwnd", "srtt_ms", "rx_bytes"), ("packets", "ms", "bytes"), t_s * 10**9, np.stack([srtt * 0 + 20, srtt, received])
        ),
        Block("port/bottleneck", ("backlog_packets",), ("packets",), t_s * 10**9, np.abs(np.sin(t_s))[None, :]),
    )
    name = "-".join(str(value) for value in cell.values())
    return Run(
        key=f"key-{name}",
        name=f"sce-{name}",
        cell=cell,
        scenario={"flows": [{"name": "1", "cc": cell["cc"]}]},
        status=status,
        reasons=() if status == "ok" else ("packets lost from the books",),
        counters={
            "flow/1": {**FLOW, "rx_bytes": round(received[-1]), "active_ns": DURATION_S * 10**9, "retransmits": 0},
            "port/bottleneck": {**PORT, "dropped_overflow": 0},
        },
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=blocks,
    )


@pytest.fixture(scope="session")
def make_run():
    """The function `one_flow_run`."""
    return one_flow_run


@pytest.fixture(scope="session")
def published_runs():
    """A run for every published one-flow cell, with the published numbers."""
    published = find_part("sce/one-flow")[1].reference().lookup()
    runs = []
    for (cc, bandwidth, delay), metric in published:
        if metric == r.THROUGHPUT:
            ramp = {"dctcp": 225.0, "dctcp-sce": 80.0}.get(cc, 0.0) if (bandwidth, delay) == (100, 160) else 0.0
            cell = {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay, "seed": 1}
            key = (cc, bandwidth, delay)
            runs.append(one_flow_run(cell, published[key, r.THROUGHPUT], published[key, r.RTT], ramp))
    return runs


@pytest.fixture
def keep(tmp_path):
    """Writes runs as `reproduce sce` would leave them; returns the folder."""

    def to_folder(runs, request=None, name="demo"):
        study, part = find_part("sce/one-flow")
        store = begin(tmp_path / name, study, part, request or Request(), "sim")
        store.ask([(run.name, run.cell, run.key) for run in runs])
        for run in runs:
            store.write(run)
        return tmp_path / name

    return to_folder


@pytest.fixture
def keep_plain(tmp_path):
    """Writes runs as `run` would leave them; returns the folder."""

    def to_folder(runs):
        store = Store(tmp_path / "plain")
        store.ask([(run.name, run.cell, run.key) for run in runs])
        for run in runs:
            store.write(run)
        return store.path

    return to_folder
