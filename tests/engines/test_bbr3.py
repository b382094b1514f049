"""BBR version 3 on whole paths, where no kernel is there to compare with: the promises of the model."""

import numpy as np
import pytest

import dumbbell
from dumbbell import Scenario
from dumbbell.engines import engine

SHARE = 1448 / 1514
"""Share of a link's frames that is payload."""


def run(cc, limit="1bdp", seconds=20, path=()):
    """A flow alone over 20 Mbit/s and 40 ms: share of the link, retransmissions, and smoothed RTTs after 3 s, every 100 ms."""
    bottleneck = {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": limit}}
    described = {
        "name": "bbr3",
        "engine": "sim",
        "path": {"rtt": "40ms", "bottleneck": bottleneck, **dict(path)},
        "flows": [{"cc": cc}],
        "duration": f"{seconds}s",
        "sample": "100ms",
    }
    (found,) = dumbbell.run(Scenario.model_validate(described)).runs
    flow = found.flows.rows()[0]
    _, srtt_ms = found.series(f"flow/{flow['flow']}", "srtt_ms")
    return flow["rx_bytes"] * 8 / (20e6 * SHARE * seconds), flow["retransmits"], np.array(srtt_ms[30:])


@pytest.mark.parametrize("variant", ["draft", "google"])
def test_a_flow_alone_fills_the_link_and_cruises_without_a_queue(variant):
    used, _, srtt_ms = run({"kind": "bbr3", "variant": variant})
    # 1 % below the bandwidth, 2 % for PROBE_RTT, and the start.
    assert used == pytest.approx(0.965, abs=0.01)
    assert np.median(srtt_ms) < 42
    assert 50 < max(srtt_ms) < 85, "UP fills the queue"


@pytest.mark.parametrize("variant", ["draft", "google"])
def test_a_shallow_queue_costs_little_where_version_1_loses_more(variant):
    # A quarter of a BDP.
    used, lost, _ = run({"kind": "bbr3", "variant": variant}, limit="17p")
    _, of_version_1, _ = run("bbr", limit="17p")
    assert used > 0.94
    assert 0 < lost < of_version_1 / 3


@pytest.mark.parametrize("variant", ["draft", "google"])
def test_random_losses_of_1_percent_leave_most_of_the_link(variant):
    # Each round with losses, about half of them, leaves what it has delivered, sent 1 % below the bandwidth, until it probes again.
    path = {"delay": {"where": "before", "loss": "1%", "faults_in": "forward"}}
    used, _, _ = run({"kind": "bbr3", "variant": variant}, path=path)
    beside, _, _ = run("cubic", path=path)
    assert 0.77 < used < 0.93
    assert used > 2.5 * beside


def test_the_variants_differ_and_no_kernel_has_either():
    _, _, draft = run({"kind": "bbr3", "variant": "draft"}, seconds=6)
    _, _, google = run({"kind": "bbr3", "variant": "google"}, seconds=6)
    assert list(draft) != list(google)
    assert "bbr3" not in engine("kernel").capabilities().cc
