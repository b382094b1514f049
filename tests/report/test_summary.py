"""What each flow got, over the time that it was there."""

from dataclasses import replace

import numpy as np
import pytest
from support import FLOW, make_run

from dumbbell.report.summary import flow_metrics


def measured(**counters):
    run = make_run()
    (flow, port) = run.samples
    values = np.array([np.arange(11.0), 10 * np.arange(11.0)])
    run = replace(run, samples=(replace(flow, values=values), port), counters={"flow/reno": {**FLOW, **counters}})
    return flow_metrics(run, "flow/reno")


def test_means_are_of_the_time_that_the_flow_was_active():
    found = measured(start_ns=300_000_000, active_ns=400_000_000)
    assert found["cwnd_mean_packets"] == pytest.approx(5)
    assert found["srtt_mean_ms"] == pytest.approx(50)
    assert found["srtt_p95_ms"] == pytest.approx(68)
    assert found["throughput_mbit"] == pytest.approx(8 * FLOW["rx_bytes"] / 0.4 / 1e6)


def test_the_completion_is_counted_from_the_start():
    assert measured(start_ns=300_000_000, active_ns=400_000_000, completed_ns=700_000_000)["completion_s"] == pytest.approx(0.4)
    assert np.isnan(measured()["completion_s"])
