"""Synthetic trials."""

import numpy as np
import pytest
from support import study_run

from dumbbell.results import Block
from dumbbell_studies.teacup.scenarios import CONTROL_FROM_S, cell, experiments

STEP_S = 0.1
T_S = np.arange(1011) * STEP_S
STARTS_S = (0.0, 20.0, 40.0)


def run(
    experiment,
    seed=1,
    rates=(0.333, 0.333, 0.333),
    total=9.56,
    cwnd=None,
    queue_ms=None,
    wobble=0.0,
    onset_s=None,
    again=None,
    step_s=STEP_S,
):
    """A run in which the active flows share `total` Mbit/s in proportion to `rates`.

    `cwnd` (packets), `queue_ms` and `again` (cumulative retransmissions of each flow) are functions of time. Rates alternate every 4 s, by
    the fraction `wobble` above and below the mean. `step_s`: interval of the RTTs by packet pairs.
    """
    queue = np.zeros(len(T_S)) + 5 if queue_ms is None else np.asarray(queue_ms(T_S), dtype=float)
    window = np.full(len(T_S), 100.0) if cwnd is None else np.asarray(cwnd(T_S), dtype=float)
    retransmits = np.zeros(len(T_S)) if again is None else np.asarray(again(T_S), dtype=float)
    active = np.array([(start <= T_S) & (start + 60 > T_S) for start in STARTS_S])
    shares = np.array(rates)[:, None] * active
    shares = shares * (1 + wobble * np.array([[1], [-1], [1]]) * np.where(T_S % 8 < 4, 1, -1))
    sums = shares.sum(axis=0)
    speed = np.divide(total * shares, sums, out=np.zeros_like(shares), where=sums > 0)
    t_ns = np.arange(len(T_S)) * round(STEP_S * 1e9)
    blocks, counters = [], {}
    for number, start in enumerate(STARTS_S):
        first = round(start / STEP_S)
        received = np.concatenate([[0.0], np.cumsum(speed[number] * 1e6 / 8 * STEP_S)[:-1]])
        rows = np.stack([window, np.zeros(len(T_S)), received, experiment.rtt_ms + queue, np.zeros(len(T_S)), retransmits])[:, first:]
        names = ("cwnd", "ssthresh", "rx_bytes", "rtt_ms", "ca_state", "retransmits")
        end_ns, read = round(start * 1e9) + 60 * 10**9, received[-1]
        blocks.append(Block(f"flow/{number + 1}", names, t_ns[first:], rows).until(end_ns, read))
        pairs = start + np.arange(round(60 / step_s)) * step_s
        waits = np.zeros(len(pairs)) + 5 if queue_ms is None else np.asarray(queue_ms(pairs), dtype=float)
        rtts = experiment.rtt_ms + waits
        blocks.append(Block(f"flow/{number + 1}", ("passive_rtt_ms",), np.round(pairs * 1e9).astype(int), rtts[np.newaxis]))
        counters[f"flow/{number + 1}"] = {"start_ns": round(start * 1e9), "active_ns": 60 * 10**9, "rx_bytes": round(read)}
    for name, delay in (("bottleneck", queue), ("bottleneck-reverse", np.zeros(len(T_S)))):
        drops = np.floor(T_S / 5)
        blocks.append(Block(f"port/{name}", ("sojourn_ms", "drops"), t_ns, np.stack([delay, drops])))
    coordinates = {**cell(experiment), "seed": seed, **({} if onset_s is None else {"onset_s": onset_s})}
    return study_run(coordinates, blocks, counters)


@pytest.fixture
def make_run():
    """The function `run`."""
    return run


def same_run_in_every_cell(**settings):
    """All experiments and control runs, with the same series in each of them."""
    controls = [
        run(each, onset_s=onset, **settings)
        for each in experiments()
        if each.qdisc != "pfifo" and (each.rtt_ms, each.limit_packets) == (200, 180)
        for onset in CONTROL_FROM_S
    ]
    return [*(run(each, seed, **settings) for each in experiments() for seed in range(1, 11)), *controls]


@pytest.fixture(scope="session")
def synthetic_studies():
    """Two complete studies: equal flows and a short queue; unequal flows and a queue that is neither short nor full."""
    return {
        "even": same_run_in_every_cell(),
        "uneven": same_run_in_every_cell(
            rates=(0.6, 0.3, 0.1), total=4.0, wobble=0.5, queue_ms=lambda t: 60 + 50 * np.sin(t), cwnd=lambda t: 500 - 190 * (t % 4 > 2)
        ),
    }
