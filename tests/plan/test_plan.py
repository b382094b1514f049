"""The whole of a plan, as JSON."""

import json

from support import PATH, plain_plan, planned, resolved

from dumbbell.engines import engine
from dumbbell.plan import make

FIFO = {"kind": "pfifo", "limit_packets": 100}
TBF = {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 1540}
DELAY = {"kind": "link", "name": "delay", "delay_ns": 10_000_000, "rate_bps": None, "limit_packets": None}
QUEUE = {"kind": "queue", "name": "bottleneck", "qdisc": FIFO, "shaper": TBF, "delay_ns": 0}


def test_the_whole_of_a_simple_plan():
    assert plain_plan() == {
        "format": 1,
        "seed": 1,
        "duration_ns": 10_000_000_000,
        "sample_ns": 100_000_000,
        "capture": False,
        "hosts": [
            {"id": "left", "side": "left", "number": 1, "egress": None},
            {"id": "right", "side": "right", "number": 2, "egress": None},
        ],
        "ports": [
            {**DELAY, "id": "delay", "direction": "forward"},
            {**QUEUE, "id": "bottleneck", "direction": "forward"},
            {**DELAY, "id": "delay-reverse", "direction": "reverse"},
            {**QUEUE, "id": "bottleneck-reverse", "direction": "reverse"},
        ],
        "paths": [{"id": "path", "forward": [0, 1], "reverse": [2, 3], "base_rtt_ns": 20_000_000, "rate_bps": 10_000_000}],
        "workloads": [
            {
                "kind": "tcp",
                "id": "cubic",
                "path": 0,
                "from": 0,
                "to": 1,
                "direction": "forward",
                "opener": "from",
                "cc": {"kind": "cubic"},
                "stack": {"name": "linux-6.12", "options": {}},
                "host": {
                    "tso": False,
                    "rmem": [4096, 131072, 6291456],
                    "rcvbuf": None,
                    "wmem": [4096, 16384, 4194304],
                    "sndbuf": None,
                    "cached_ssthresh": None,
                },
                "ecn": False,
                "sce_echo": False,
                "transfer_bytes": None,
                "first_write_bytes": None,
                "connections": [{"name": "cubic", "start_ns": 0, "stop_ns": None, "ports": [10000, 5000]}],
            }
        ],
        "schedule": [],
        "series": {"flows": [0], "groups": [], "ports": [0, 1, 2, 3], "shares": []},
    }


EVERYTHING = {
    "path": {
        **PATH,
        "impairments": [
            {"kind": "outage", "at": "4s", "for": "100ms", "direction": "both"},
            {"kind": "rate", "at": "5s", "rate": "2mbit"},
        ],
    },
    "flows": [
        {"cc": "cubic", "count": 2, "src": "a", "start": {"jitter": "100ms"}},
        {"cc": "dctcp", "rtt": "80ms", "direction": "reverse", "duration": "3s", "host": {"sndbuf": "1MB"}},
    ],
    "background": [{"kind": "udp", "rate": "1mbit", "direction": "both"}],
    "capture": True,
}


def test_a_plan_survives_being_written():
    plain = plain_plan(**EVERYTHING)
    assert json.loads(json.dumps(plain)) == plain


def numbers(value):
    """All scalars of a plan."""
    if isinstance(value, dict):
        return [each for entry in value.values() for each in numbers(entry)]
    if isinstance(value, list):
        return [each for entry in value for each in numbers(entry)]
    return [value]


def test_a_plan_holds_plain_numbers():
    """Plain integers only: a quantity with a unit is an int too, and JSON would accept it unnoticed."""
    assert {type(value) for value in numbers(plain_plan(**EVERYTHING))} == {int, str, bool, type(None)}


def test_every_entry_has_an_origin():
    made = planned(**EVERYTHING)
    for name in ("hosts", "ports", "paths", "workloads", "schedule"):
        assert len(getattr(made.provenance, name)) == len(getattr(made.plan, name)) > 0


def test_an_engine_gives_its_own_rule_of_ports():
    flows = [{"cc": "cubic", "count": 2}, {"cc": "reno", "direction": "reverse"}]

    def ports(name):
        return [connection.ports for _, connection in make(resolved(flows=flows), engine(name).capabilities()).plan.connections]

    assert ports("sim") == [(10_000, 5_000), (10_001, 5_000), (10_002, 5_000)]
    assert ports("kernel") == [(10_000, 30_000), (10_001, 30_001), (30_002, 10_002)]
