"""FAST TCP on whole paths, where no kernel is there to compare with: its fixed point."""

import numpy as np
import pytest

import dumbbell
from dumbbell import Scenario
from dumbbell.engines import engine
from dumbbell.metrics import jain


def run(flows, limit="600p", seconds=30):
    """A run over 20 Mbit/s and 40 ms."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": limit}}}
    described = {"name": "fast", "engine": "sim", "path": path, "flows": flows, "duration": f"{seconds}s", "sample": "100ms"}
    (found,) = dumbbell.run(Scenario.model_validate(described)).runs
    return found


def srtt_ms(found, flow):
    """Median smoothed RTT of the second half."""
    _, values = found.series(f"flow/{flow}", "srtt_ms")
    return float(np.median(values[len(values) // 2 :]))


@pytest.mark.parametrize("alpha", [10, 50])
def test_a_flow_keeps_alpha_segments_queued(alpha):
    found = run([{"cc": {"kind": "fast", "alpha": alpha}}])
    (flow,) = found.flows.rows()
    # 1514 bytes take 0.6056 ms.
    assert srtt_ms(found, flow["flow"]) == pytest.approx(40 + alpha * 0.6056, abs=2)
    assert flow["retransmits"] == 0


def test_two_flows_keep_theirs_and_share_alike():
    found = run([{"count": 2, "cc": {"kind": "fast", "alpha": 30}}])
    rows = found.flows.rows()
    # A little more: the first window of one flow is in the minimum RTT of the other, which takes it for the path's.
    assert [srtt_ms(found, row["flow"]) for row in rows] == pytest.approx([40 + 60 * 0.6056 + 3] * 2, abs=3.5)
    assert jain([row["rx_bytes"] for row in rows]) > 0.98


def test_rates_follow_alpha():
    found = run([{"cc": {"kind": "fast", "alpha": alpha}} for alpha in (20, 60)], seconds=40)
    few, many = (float(found.series(f"flow/{row['flow']}", "delivered")[1][-1]) for row in found.flows.rows())
    assert many / few == pytest.approx(3, rel=0.15)


def test_a_buffer_below_alpha_makes_it_halve_and_no_kernel_has_it():
    (flow,) = run([{"cc": "fast"}], limit="50p").flows.rows()
    assert flow["cwnd_reductions"] > 10
    assert "fast" not in engine("kernel").capabilities().cc
