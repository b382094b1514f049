"""Synthetic runs of the study ordering."""

import numpy as np
import pytest
from support import FLOW, PORT, study_run

from dumbbell.results import Block
from dumbbell_studies.ordering.conditions import PRINTED, distinct
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.published import utilization
from dumbbell_studies.ordering.scenarios import cell_of
from dumbbell_studies.ordering.trials import PAYLOAD

ETHERNET = 14
PLAN = {
    "duration_ns": 600 * 10**9,
    "ports": [
        {
            "id": name,
            "name": "bottleneck",
            "direction": "reverse" if name.endswith("reverse") else "forward",
            "delay_ns": 0,
            "kind": "queue",
            "qdisc": {"kind": "dummynet", "rate_bps": 400_000_000, "limit_bytes": 1 << 20},
            "shaper": {"kind": "own"},
        }
        for name in ("bottleneck", "bottleneck-reverse")
    ],
    "schedule": [],
}


def run(condition, protocol, used=0.9, wobble=0.1, mode="2006", seed=1, reverse=0.5, experiment="", together=True, again=None):
    """A run whose bottleneck is used by this share, payload counted, from 1 s on.

    Its load, that of two high-speed flows and the queue alternate every second by the fraction `wobble`; the flows in step, or with
    `together` false in turn. `again`: cumulative retransmissions of each flow, as a function of time.
    """
    t_s = np.arange(int(condition.times.to_s) + 1)
    t_ns = t_s * 10**9
    sign = np.where(t_s % 2, 1.0, -1.0)

    def cumulative(share, signs=sign):
        bits = 4e8 * share / PAYLOAD * (1 + wobble * signs)
        bits[0] = 0
        return np.cumsum(bits) / 8

    def port(name, share):
        counted = cumulative(share)
        packets = np.floor(counted / 1500)
        queue = 1000 * (1 + wobble * sign)
        rows = np.stack([queue, packets, counted + ETHERNET * packets])
        return Block(f"port/{name}", ("backlog_bytes", "sent_packets", "sent_bytes"), t_ns, rows)

    blocks = [port("bottleneck", used), port("bottleneck-reverse", reverse)]
    for number, name in enumerate(("highspeed-a", "highspeed-b") if condition.flows else ()):
        sent = cumulative(used / 2, sign if together or not number else -sign)
        lost = np.zeros(len(t_s)) if again is None else np.asarray(again(t_s, number), dtype=float)
        blocks.append(Block(f"flow/{name}", ("retransmits",), t_ns, lost[None, :]))
        blocks.append(Block(f"share/bottleneck/flow/{name}", ("sent_bytes",), t_ns, sent[None, :] * 1514 / 1500))
    cell = cell_of(condition, protocol, mode, seed, experiment or "")
    return study_run(cell, blocks, {"flow/1": FLOW, "port/bottleneck": PORT, "port/bottleneck-reverse": PORT}, PLAN)


@pytest.fixture(scope="session")
def make_run():
    """The function `run`."""
    return run


@pytest.fixture(scope="session")
def published_runs():
    """A run with the published utilisation of every cell; H-TCP's load is the widest, BIC's the steadiest."""
    wobble = {"HTCP": 0.3, "BIC": 0.02}
    values = {(condition, name): utilization()[(*level, name)] for level, condition in PRINTED.items() for name in PROTOCOLS}
    return [run(condition, name, values[condition, name], wobble.get(name, 0.1)) for condition in distinct(PRINTED) for name in PROTOCOLS]
