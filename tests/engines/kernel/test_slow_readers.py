"""The simulator compared with the real kernel where every window shows: applications that read slowly."""

import pytest
from required import missing

from dumbbell.engines import engine
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}
LIMITS = ("cwnd_limited_ms", "rwnd_limited_ms", "sndbuf_limited_ms", "app_limited_ms")


def row(name, host):
    settings = {"name": "slow", "path": PATH, "flows": [{"cc": "cubic", "host": host}], "duration": "6s", "engine": name}
    (resolved,) = Scenario.model_validate(settings).expand()
    found = engine(name)
    try:
        found.require()
    except EnvironmentFault as fault:
        missing(name, fault)
    return compute(resolved, on=found.name).flows.rows()[0]


@pytest.mark.parametrize("host", [{"reads": "2mbit", "rcvbuf": "40kB"}, {"reads": "5mbit"}], ids=["small", "tuned"])
def test_as_many_segments_leave_and_the_same_limits_hold(host):
    sim, kernel = row("sim", host), row("kernel", host)
    assert sim["sent_packets"] == kernel["sent_packets"]
    assert sim["retransmits"] == kernel["retransmits"] == 0
    assert [sim[name] for name in LIMITS] == pytest.approx([kernel[name] for name in LIMITS], abs=2)
    # A turn of the simulator's application falls on the end of the run.
    assert 0 <= sim["rx_bytes"] - kernel["rx_bytes"] <= 6250
