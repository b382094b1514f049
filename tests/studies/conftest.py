"""Synthetic runs with the published numbers, in stores like those of the simulator."""

import numpy as np
import pytest
from support import FLOW, PORT, tables

from dumbbell.results import Block, Run, Store, digest
from dumbbell.study import Request, find_part
from dumbbell.study.folders import open_store
from dumbbell_studies.sce import reductions

DURATION_S = 300


def one_flow_run(cell, throughput_mbit, rtt_ms, ramp_s=0.0, status="ok"):
    """A run with this throughput and RTT. Until `ramp_s` its rate is a tenth of the later rate."""
    t_s = np.arange(0, DURATION_S + 1)
    shape = np.where(t_s < ramp_s, 0.1, 1.0)
    received = np.concatenate([[0.0], np.cumsum(shape[:-1])])
    received *= throughput_mbit * 1e6 / 8 * DURATION_S / received[-1]
    srtt = np.full(len(t_s), float(rtt_ms))
    srtt[0] = np.nan
    blocks = (
        Block("flow/1", ("cwnd", "srtt_ms", "rx_bytes"), t_s * 10**9, np.stack([srtt * 0 + 20, srtt, received])),
        Block("port/bottleneck", ("backlog_packets",), t_s * 10**9, np.abs(np.sin(t_s))[None, :]),
    )
    name = "-".join(str(value) for value in cell.values())
    return Run(
        key=f"key-{name}".replace(" ", "-"),
        name=f"sce-{name}",
        cell=cell,
        scenario={"flows": [{"name": "1", "cc": cell["cc"]}]},
        status=status,
        reasons=() if status == "ok" else ("packets lost from the books",),
        **tables(
            {
                "flow/1": {**FLOW, "rx_bytes": round(received[-1]), "active_ns": DURATION_S * 10**9, "retransmits": 0},
                "port/bottleneck": {**PORT, "dropped_overflow": 0},
            }
        ),
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=blocks,
    )


def pair_run(cell, throughputs_mbit, rtts_ms, reductions=(10, 10), status="ok"):
    """A two-flow run with these throughputs and RTTs, constant over time."""
    t_s = np.arange(0, DURATION_S + 1)
    blocks, counters = [], {}
    for name, throughput, rtt, cuts in zip(("1", "2"), throughputs_mbit, rtts_ms, reductions, strict=True):
        received = t_s * throughput * 1e6 / 8
        rows = np.stack([np.full(len(t_s), 20.0), np.full(len(t_s), float(rtt)), received])
        blocks.append(Block(f"flow/{name}", ("cwnd", "srtt_ms", "rx_bytes"), t_s * 10**9, rows))
        counters[f"flow/{name}"] = {
            **FLOW,
            "rx_bytes": round(received[-1]),
            "active_ns": DURATION_S * 10**9,
            "retransmits": 0,
            "cwnd_reductions": cuts,
        }
    counters["port/bottleneck"] = {**PORT, "dropped_overflow": 0}
    name = "-".join(str(value) for value in cell.values())
    flows = [{"name": name, "cc": cell[cc]} for name, cc in (("1", "cc1"), ("2", "cc2"))]
    return Run(
        key=f"key-{name}".replace(" ", "-"),
        name=f"sce-{name}",
        cell=cell,
        scenario={"flows": flows},
        status=status,
        reasons=(),
        **tables(counters),
        digest=digest(blocks),
        engine={"name": "sim"},
        samples=tuple(blocks),
    )


@pytest.fixture(scope="session")
def make_pair():
    """The function `pair_run`."""
    return pair_run


@pytest.fixture(scope="session")
def published_pairs():
    """A run with the published numbers for every published two-flow cell. SCE senders reduce their windows a tenth as often as others."""
    published = find_part("sce/two-flow")[1].reference().lookup()
    runs = []
    for (mode, cc1, cc2, bandwidth, delay, flow, _), metric in published:
        if metric == reductions.THROUGHPUT and flow == 1:
            cell = {"queue_mode": mode, "cc1": cc1, "cc2": cc2, "bandwidth_mbit": bandwidth, "delay_ms": delay, "seed": 1}
            keys = [(mode, cc1, cc2, bandwidth, delay, float(flow), cc) for flow, cc in ((1, cc1), (2, cc2))]
            values = [tuple(published[key, metric] for key in keys) for metric in (reductions.THROUGHPUT, reductions.RTT)]
            runs.append(pair_run(cell, *values, tuple(1 if cc.endswith("-sce") else 10 for cc in (cc1, cc2))))
    return runs


@pytest.fixture(scope="session")
def make_run():
    """The function `one_flow_run`."""
    return one_flow_run


@pytest.fixture(scope="session")
def published_runs():
    """A run with the published numbers for every published one-flow cell."""
    published = find_part("sce/one-flow")[1].reference().lookup()
    runs = []
    for (cc, bandwidth, delay), metric in published:
        if metric == reductions.THROUGHPUT:
            ramp = {"dctcp": 225.0, "dctcp-sce": 80.0}.get(cc, 0.0) if (bandwidth, delay) == (100, 160) else 0.0
            cell = {"cc": cc, "bandwidth_mbit": bandwidth, "delay_ms": delay, "seed": 1}
            key = (cc, bandwidth, delay)
            runs.append(one_flow_run(cell, published[key, reductions.THROUGHPUT], published[key, reductions.RTT], ramp))
    return runs


@pytest.fixture
def keep(tmp_path):
    """A function that writes runs to a folder like that of `reproduce sce`, and returns it."""

    def to_folder(runs, request=None, name="demo", part="one-flow"):
        study, part = find_part("sce", part)
        store = open_store(tmp_path / name, study, part, request or Request(), "sim")
        store.request([(run.name, run.cell, run.key) for run in runs])
        for run in runs:
            store.write(run)
        return tmp_path / name

    return to_folder


@pytest.fixture
def keep_plain(tmp_path):
    """A function that writes runs to a folder like that of `run`, and returns it."""

    def to_folder(runs):
        store = Store(tmp_path / "plain")
        store.request([(run.name, run.cell, run.key) for run in runs])
        for run in runs:
            store.write(run)
        return store.path

    return to_folder
