"""Synthetic runs of the study fairness."""

import numpy as np
import pytest
from support import FLOW, PORT, study_run

from dumbbell.results import Block
from dumbbell_studies.fairness.hosts import scenario_names, senders
from dumbbell_studies.fairness.published import FILE_BYTES, transfers

SAMPLE_S = 0.1


def run(scenario, elapsed, retransmits=None, seed=1, mode="2011", experiment="", starts=None):
    """A run whose transfers go on evenly and take so long, s by sender."""
    published, blocks, counters = transfers(), [], {"port/bottleneck": PORT}
    stop = max(elapsed.values()) + 1
    t_s = np.arange(0, stop, SAMPLE_S)
    for sender, setup in senders(scenario).items():
        start = (starts or {}).get(sender, 0.0)
        end = start + elapsed[sender]
        received = np.clip((t_s - start) / elapsed[sender], 0, 1) * FILE_BYTES
        rows = np.stack([received, np.full_like(t_s, 100.0), np.full_like(t_s, setup.delay_ms + 2)])
        blocks.append(Block(f"flow/{sender}", ("rx_bytes", "cwnd", "srtt_ms"), (t_s * 1e9).astype(int), rows))
        counters[f"flow/{sender}"] = {
            **FLOW,
            "start_ns": round(start * 1e9),
            "active_ns": round(elapsed[sender] * 1e9),
            "completed_ns": round(end * 1e9),
            "retransmits": (retransmits or {}).get(sender, 0),
            "trace_packets": published[scenario, sender].packets,
            "trace_rtt_ms": published[scenario, sender].rtt_ms,
            "trace_window_bytes": published[scenario, sender].window_bytes,
        }
    cell = {"mode": mode, "scenario": scenario, **({"experiment": experiment} if experiment else {}), "seed": seed}
    return study_run(cell, blocks, counters)


@pytest.fixture(scope="session")
def make_run():
    """The function `run`."""
    return run


@pytest.fixture(scope="session")
def published_runs():
    """A run of each scenario with the published elapsed times and retransmissions."""

    def of(scenario, value):
        return {sender: value(transfers()[scenario, sender]) for sender in senders(scenario)}

    return [run(name, of(name, lambda each: each.elapsed_s), of(name, lambda each: each.retransmits or 0)) for name in scenario_names()]
