"""Flows are distinguished by the ports of the plan, however many there are."""

from dataclasses import replace

import pytest
from support import resolved

from dumbbell.errors import BadInput
from dumbbell.running.prepare import compute
from dumbbell.trace import flow_rtt

FLOWS = 25_000


@pytest.fixture(scope="module")
def run():
    """Many flows in both directions, each with a segment to send."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "1gbit", "qdisc": {"kind": "pfifo", "limit": "100000p"}}}
    flows = [{"cc": "reno", "count": FLOWS - 1, "bytes": "1B"}, {"cc": "cubic", "direction": "reverse", "bytes": "1B"}]
    return compute(resolved(path=path, flows=flows, duration="1s", sample="0s", capture=True), on="sim")


def test_every_flow_is_recognised(run):
    found = flow_rtt(run)
    assert list(found) == [*(f"flow/reno-{i}" for i in range(1, FLOWS)), "flow/cubic"]
    # One pair of the handshake, one of the segment, one of the FIN behind it; all flows start at once.
    assert {len(rtt_ms) for _, rtt_ms in found.values()} == {3}
    assert min(rtt_ms.min() for _, rtt_ms in found.values()) == pytest.approx(20, abs=0.1)


def test_a_run_without_a_plan_is_refused(run):
    with pytest.raises(BadInput, match=r"has no plan, an earlier dumbbell made it; expected a run of this one$"):
        flow_rtt(replace(run, plan=None))
