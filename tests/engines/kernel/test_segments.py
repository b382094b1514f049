"""Ports of the engine kernel where hosts hand over packets of several segments: what queue disciplines count, and the segments."""

import pytest
from required import missing

from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario


@pytest.fixture(scope="module")
def _kernel():
    try:
        engine("kernel").require()
    except EnvironmentFault as fault:
        missing("kernel", fault)


@pytest.mark.usefixtures("_kernel")
@pytest.mark.parametrize("qdisc", [{"kind": "bfifo", "limit": "200kB"}, {"kind": "fq_codel"}, {"kind": "cake"}])
def test_segments_and_packets_are_accounted_for(qdisc):
    scenario = Scenario.model_validate(
        {
            "name": "segments",
            "path": {"rtt": "20ms", "bottleneck": {"rate": "100mbit", "qdisc": qdisc}},
            "flows": [{"cc": "cubic", "host": {"offload": "on"}}],
            "duration": "2s",
            "engine": "kernel",
        }
    )
    run = compute(next(iter(scenario.expand())))
    assert run.status == "ok", run.reasons
    ports = {row["port"]: row for row in run.ports.rows()}
    bottleneck = ports["bottleneck"]
    assert bottleneck["sent_segments"] * 1000 < bottleneck["sent_bytes"] < bottleneck["sent_segments"] * 1514 + 1
    fates = bottleneck["dropped_overflow"] + bottleneck["dropped_aqm"] + bottleneck["queued_packets"]
    assert bottleneck["arrived_packets"] == bottleneck["sent_packets"] + fates
    # Packets of the way there have several segments, ACKs have one.
    assert ports["delay"]["sent_packets"] < ports["delay"]["sent_segments"] / 3
    assert ports["delay-reverse"]["sent_packets"] == ports["delay-reverse"]["sent_segments"]
    assert "first_drop_ns" in run.ports.columns
    assert "srtt_ms" in run.flows.columns
