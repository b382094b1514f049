"""A field of a plan leads back to the key of the scenario that it comes from."""

import pytest
from support import PATH, planned, resolved

from dumbbell.plan import RUN, Place, Refusal

STAGES = {"forward": [{"delay": "1ms"}, {"name": "slow", "rate": "1mbit", "qdisc": {"kind": "fq_codel"}}]}
OWN = {**PATH, "access": {"rate": "1gbit"}, "reverse": PATH["bottleneck"]}
APART = {**OWN, "delay": {"limit": "1000p"}}
STEPS = [{"kind": "outage", "at": "1s", "for": "1s", "direction": "both"}, {"kind": "rate", "at": "3s", "rate": "1mbit"}]


@pytest.mark.parametrize(
    ("path", "place", "field", "key"),
    [
        (PATH, RUN, "", ""),
        (PATH, RUN, "sample_ns", "sample"),
        (PATH, RUN, "duration_ns", "duration"),
        (PATH, Place("port", 0), "", "path.delay"),
        (PATH, Place("port", 0), "delay_ns", "path.rtt"),
        (APART, Place("port", 1), "limit_packets", "path.delay.limit"),
        (OWN, Place("port", 0), "rate_bps", "path.access.rate"),
        (APART, Place("port", 0), "rate_bps", "path.access.rate"),
        (PATH, Place("port", 1), "", "path.bottleneck"),
        (PATH, Place("port", 1), "shaper.rate_bps", "path.bottleneck.rate"),
        (PATH, Place("port", 3), "qdisc.limit_packets", "path.bottleneck.qdisc.limit"),
        (OWN, Place("port", 3), "shaper.burst_bytes", "path.reverse.burst"),
        (STAGES, Place("port", 1), "qdisc.control.target_ns", "path.forward.1.qdisc.target"),
        (STAGES, Place("port", 3), "qdisc.queues.memory_limit_bytes", "path.forward.1.qdisc.memory_limit"),
        (STAGES, Place("port", 0), "delay_ns", "path.forward.0.delay"),
        (PATH, Place("path", 0), "", "path"),
        (PATH, Place("host", 2), "", "flows.1.src"),
        (PATH, Place("workload", 0), "", "flows.0"),
        (PATH, Place("workload", 1), "cc.kind", "flows.1.cc.kind"),
        (PATH, Place("workload", 1), "cc.beta", "flows.1.cc.beta"),
        (PATH, Place("workload", 1), "stack.name", "flows.1.stack.base"),
        (PATH, Place("workload", 1), "stack.options.hz", "flows.1.stack.hz"),
        (PATH, Place("workload", 1), "stack.options.output_limit_bytes", "flows.1.stack.output_limit_bytes"),
        (PATH, Place("workload", 1), "cc.scale_bytes", "flows.1.cc.scale_bytes"),
        (PATH, Place("workload", 1), "host.tso", "flows.1.host.offload"),
        (PATH, Place("workload", 1), "host.rcvbuf", "flows.1.host.rcvbuf"),
        (PATH, Place("workload", 1), "transfer_bytes", "flows.1.bytes"),
        (PATH, Place("workload", 1), "first_write_bytes", "flows.1.first_write"),
        (PATH, Place("workload", 1), "connections.0.start_ns", "flows.1.start"),
        (PATH, Place("workload", 3), "interval_ns", "background.0.rate"),
        (PATH, Place("workload", 3), "size_bytes", "background.0.size"),
        ({**PATH, "impairments": STEPS}, Place("change", 1), "for_ns", "path.impairments.0.for"),
        ({**PATH, "impairments": STEPS}, Place("change", 2), "rate_bps", "path.impairments.1.rate"),
    ],
)
def test_where_a_field_is_written(path, place, field, key):
    settings = {
        "path": path,
        "flows": [{"cc": "cubic", "count": 2}, {"cc": "reno", "src": "a"}],
        "background": [{"kind": "udp", "rate": "1mbit", "direction": "both"}],
    }
    problem = planned(**settings).problem(resolved(**settings), Refusal(place, field, "is odd", "another"))
    assert (problem.key, problem.what, problem.expected) == (key, "is odd", "another")
