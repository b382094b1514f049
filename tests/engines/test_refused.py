"""Every refusal of the simulator, through the boundary: a plan goes in, its errors come out as data."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import PATH, plain_plan

from dumbbell.native import native
from dumbbell.plan import RUN, Place, Refusal

from .wrong_arrivals import OF_ARRIVALS, OWN_RTT
from .wrong_links import CARD, OF_FAULTS
from .wrong_stacks import OF_STACKS

SOURCES = Path(__file__).parents[2] / "crates" / "sim" / "src"

RED = {"kind": "red", "limit": "120kB", "min": "30kB", "max": "90kB"}
QDISCS = {
    "pfifo": {"kind": "pfifo", "limit": "9p"},
    "bfifo": {"kind": "bfifo", "limit": "64KiB"},
    "pie2013": {"kind": "pie", "variant": "2013"},
    "red": RED,
    "dummynet": {"kind": "dummynet", "limit": "64KiB", "tick": "1ms"},
    "netem": {"kind": "netem", "delay": "5ms", "tick": "1ms"},
    "dualpi2": {"kind": "dualpi2", "variant": "rfc9332"},
    **{kind: {"kind": kind} for kind in ("cake", "codel", "fq_codel", "pie", "fq_pie", "sfq", "fq")},
}
LONG_NS, BEYOND = 2**60, 2**31


def with_qdisc(name, shaper="tbf"):
    """A plan whose port 1 is a queue with this discipline; dummynet has a shaper of its own."""
    shaper = "dummynet" if name == "dummynet" else shaper
    return plain_plan(path={"rtt": "20ms", "bottleneck": {"rate": "10mbit", "shaper": shaper, "qdisc": QDISCS[name]}})


def put(plan, where, value):
    """Sets the value at a dotted place; numbers are indices of lists."""
    *path, last = [int(part) if part.isdigit() else part for part in where.split(".")]
    for part in path:
        plan = plan[part]
    plan[last] = value


def refused(plan):
    """Return the simulator's refusals, the same from checking and from running."""
    with pytest.raises(native().Refused) as caught:
        native().check(json.dumps(plan))
    with pytest.raises(native().Refused) as again:
        native().simulate(json.dumps(plan))
    assert again.value.args == caught.value.args
    return [Refusal.from_json(data) for data in json.loads(caught.value.args[0])]


# Discipline: field of the qdisc, value, what is wrong, what was expected. tests/catalogue has what the bounds of a single parameter refuse.
OF_QDISCS = [
    ("pie2013", "control.tupdate_ns", 10**5, "0 ticks", "at least 1"),
    ("red", "control.max_bytes", 30_000, "30000 bytes", "at least 30001"),
    ("red", "control.max_bytes", BEYOND, f"{BEYOND} bytes with a burst of 50 packets", "at most 67108863"),
    ("red", "control.avpkt_bytes", 30_001, "30001 bytes", "at most 30000"),
    ("red", "control.burst_packets", 29, "29 packets", "at least 30"),
    ("red", "control.burst_packets", 2**32 - 1, f"{2**32 - 1} packets", "a shorter burst"),
    ("red", "control.bandwidth_bps", 7, "7 bit/s", "at least 8"),
    ("dualpi2", "ramp_to_ns", 800_000, "800000 ns is not after ramp_from_ns, 800000 ns", "at least 800001"),
    ("dummynet", "rate_bps", 0, "0 bit/s", "at least 1"),
    ("sfq", "divisor", 100, "100 buckets", "a power of two"),
    ("cake", "sce", 2000, "2000 is out of range", "0 to 1024, 65534 or 65535"),
]

# Change of the plan: place, value, then the entry, its field, what is wrong, what was expected. See `base`.
OTHERS = [
    *OF_FAULTS,
    ("format", 2, "run", "format", "2 is out of range", "1 to 1"),
    ("duration_ns", LONG_NS, "run", "duration_ns", f"{LONG_NS // 10**9} s", "at most 17592 s"),
    ("hosts.0.egress", 9, "host 0", "egress", "port 9 of 4", "one that there is"),
    ("paths.0.forward", [], "path 0", "forward", "0 ports", "1 to 255"),
    ("paths.0.forward", [1] * 256, "path 0", "forward", "256 ports", "1 to 255"),
    ("paths.0.forward", [9], "path 0", "forward", "port 9 of 4", "ports that there are"),
    ("paths.0.reverse", [], "path 0", "reverse", "0 ports", "1 to 255"),
    ("ports.0.delay_ns", 2**44, "port 0", "delay_ns", f"{2**44} ns", f"at most {2**44 - 2}"),
    ("ports.0.rate_bps", 0, "port 0", "rate_bps", "0 bit/s", "at least 1"),
    ("ports.2", CARD, "port 2", "coalesce_ns", "of a line, with a limit or faults", "a network card alone"),
    ("ports.0", OWN_RTT, "port 0", "own_rtt", "a line, a limit or faults besides", "none of them"),
    ("ports.1.shaper", {"kind": "link", "rate_bps": 0}, "port 1", "shaper.rate_bps", "0 bit/s", "at least 1"),
    ("ports.1.shaper.burst_bytes", 1513, "port 1", "shaper.burst_bytes", "1513 bytes", "at least 1514"),
    ("ports.1.shaper", {"kind": "own"}, "port 1", "shaper", "a qdisc that does not shape itself", "link, tbf or htb"),
    ("workloads.0.path", 3, "workload 0", "path", "path 3 of 1", "one that there is"),
    ("workloads.0.host.reads_bps", 0, "workload 0", "host.reads_bps", "0 bit/s", "1 to 1000000000000"),
    ("workloads.0.host.cached_ssthresh", 1, "workload 0", "host.cached_ssthresh", "1 packets", "2 to 2147483647"),
    ("workloads.0.host.max_pacing_bps", 7, "workload 0", "host.max_pacing_bps", "7 bit/s", "8 to 1000000000000"),
    ("workloads.0.from", 3, "workload 0", "from", "host 3 of 2", "one that there is"),
    ("workloads.0.to", 3, "workload 0", "to", "host 3 of 2", "one that there is"),
    ("workloads.0.transfer_bytes", 0, "workload 0", "transfer_bytes", "0 bytes", "1 to 6219112640264"),
    ("workloads.0.first_write_bytes", 1448, "workload 0", "first_write_bytes", "1448 bytes", "1 to 1447"),
    ("workloads.0.dscp", 64, "workload 0", "dscp", "64 is out of range", "0 to 63"),
    ("workloads.0.segment_bytes", 75, "workload 0", "segment_bytes", "75 bytes", "76 to 1448"),
    ("workloads.0.segment_bytes", 1449, "workload 0", "segment_bytes", "1449 bytes", "76 to 1448"),
    ("workloads.0.host.rcvbuf", 4607, "workload 0", "host.rcvbuf", "4607 bytes", "at least 4608"),
    ("workloads.0.host.sndbuf", 4607, "workload 0", "host.sndbuf", "4607 bytes", "at least 4608"),
    ("workloads.0.host.rmem", [1, 4607, 9999], "workload 0", "host.rmem", "4607 bytes", "at least 4608"),
    ("workloads.0.host.sender_rmem", [1, 4607, 9999], "workload 0", "host.sender_rmem", "4607 bytes", "at least 4608"),
    ("workloads.0.host.wmem", [1, 2, 4607], "workload 0", "host.wmem", "4607 bytes", "at least 4608"),
    ("workloads.0.cc.kind", "vegas2", "workload 0", "cc.kind", 'unknown "vegas2"', "one of reno, cubic, "),
    ("workloads.0.cc.speed", 3, "workload 0", "cc.speed", "no such parameter", "fast_convergence, "),
    ("workloads.0.stack.name", "linux-9", "workload 0", "stack.name", 'unknown "linux-9"', "one of freebsd-9, "),
    ("workloads.1.ect", 2, "workload 1", "ect", "2", "0 or 1"),
    ("workloads.1.interval_ns", 0, "workload 1", "interval_ns", "0 ns", "at least 1"),
    ("workloads.1.size_bytes", 1515, "workload 1", "size_bytes", "1515 bytes", "64 to 1514"),
    ("series.flows", [1], "run", "series.flows", "workload 1", "workloads of TCP connections that exist"),
    ("series.groups", [1], "run", "series.groups", "workload 1", "workloads of bulk flows or of connections that come and go"),
    ("series.shares", [9], "run", "series.shares", "port 9 of 4", "ports that there are"),
    ("schedule.0.port", 9, "change 0", "port", "port 9 of 4", "one that there is"),
    ("schedule.0.port", 0, "change 0", "port", "a link", "a queue"),
    ("schedule.0.rate_bps", 0, "change 0", "rate_bps", "0 bit/s", "at least 1"),
]

# Stack and congestion control that know no other segments than the usual ones, and what is wrong.
OF_SEGMENTS = [
    ("linux-3.9", "cubic", "1000 on the stack linux-3.9, whose buffers do not lie in pages"),
    ("freebsd-9", "reno", "1000 on the stack freebsd-9"),
    ("linux-5.1-sce", "cubic-sce", "1000 with cubic-sce"),
]


# Requests and responses: field, value, what is wrong, what was expected.
OF_EXCHANGES = [
    ("count", 0, "0 requests", "at least 1"),
    ("request_bytes", 0, "0 bytes", "1 to "),
    ("response_bytes", 2**40, f"{2**40} bytes", "1 to "),
    ("tcp.transfer_bytes", 1000, "1000 bytes", "none, because the application says it"),
    ("tcp.host.tso", True, "true", "false"),
    ("tcp.gro", True, "true", "false"),
    ("tcp.stack.name", "freebsd-9", "freebsd-9", "a stack of Linux"),
    ("tcp.host.reads_bps", 10**6, "1000000 bit/s", "none, because the application says it"),
]


# Draws of exchanges: field, value, what is wrong, what was expected.
OF_DRAWS = [
    (f"request_bytes.{field}", {"kind": kind, **given}, what, expected)
    for kind, given, field, what, expected in [
        ("uniform", {"low": 5, "high": 1}, "high", "1 is out of range", "at least 5"),
        ("lognormal", {"median": 5, "sigma": -1.0}, "sigma", "-1", "at least 0"),
        ("pareto", {"shape": 0.0, "least": 1, "most": 2}, "shape", "0", "above 0"),
        ("pareto", {"shape": 1.0, "least": 0, "most": 2}, "least", "0 is out of range", "at least 1"),
        ("pareto", {"shape": 1.0, "least": 3, "most": 2}, "most", "2 is out of range", "at least 3"),
        ("mixture", {"parts": [{"share": 0.5, "of": 1}]}, "parts", "shares of 0.5 together", "1"),
        ("empirical", {"points": [[1, 0.5]]}, "points", "no number with a share of 1", "one, the last"),
    ]
]

# Sources: field, value, what is wrong, what was expected.
OF_SOURCES = [
    ("write_bytes", 0, "0 bytes", "at least 1"),
    ("write_bytes", 2**50, f"{2**50} bytes as often as that", "at most "),
    ("interval_ns", 0, "0 ns", "at least 1, or periods of a size with a time between"),
    ("on", {"kind": "time", "ns": 0}, "0 ns", "at least 1"),
    ("on", {"kind": "bytes", "bytes": 0}, "0 bytes", "1 to "),
]

# Pages: field, value, what is wrong, what was expected.
OF_PAGES = [
    ("connections_each", 3, "3 of 1 connections", "the same number for each browser"),
    ("objects", 0, "0 objects", "at least 1"),
    ("count", 0, "0 pages", "at least 1"),
    ("size_bytes", 0, "0 bytes", "1 to "),
    ("first_bytes", 2**41, f"{2**41} bytes", "1 to "),
    ("request_bytes", 0, "0 bytes", "1 to "),
]

# Streaming: field, value, what is wrong, what was expected.
OF_STREAMING = [
    ("chunk_ns", 0, "0 ns", "at least 1"),
    ("chunk_bytes", 0, "0 bytes", "1 to "),
    ("buffer_ns", 10**8, f"{10**8} ns", "at least 1000000000"),
    ("start_at_ns", 10**11, f"{10**11} ns", "1 to "),
    ("count", 0, "0 chunks", "at least 1"),
]


# Connections that come and go: field, value, what is wrong, what was expected.
OF_TRANSFERS = [
    ("arrivals.mean_interval_ns", 0, "0 ns", "at least 1"),
    ("ports", [9, 80], "9 is out of range", "10000 to "),
    ("tcp.connections", [{"name": "a", "start_ns": 0, "stop_ns": None, "ports": [1, 2]}], "1 connections", "none from the start on"),
]


def base():
    """A plan with a link (port 0), a queue (port 1), TCP (workload 0), datagrams (workload 1) and a change of rate."""
    path = {**PATH, "impairments": [{"at": "1s", "kind": "rate", "rate": "1mbit"}]}
    return plain_plan(path=path, background=[{"rate": "1mbit"}])


def test_the_plan_that_is_changed_runs():
    plan = base()
    assert [port["kind"] for port in plan["ports"]] == ["link", "queue", "link", "queue"]
    assert [workload["kind"] for workload in plan["workloads"]] == ["tcp", "udp"]
    native().check(json.dumps(plan))
    for name in QDISCS:
        native().check(json.dumps(with_qdisc(name)))


@pytest.mark.parametrize(("name", "field", "value", "what", "expected"), OF_QDISCS)
def test_a_qdisc(name, field, value, what, expected):
    plan = with_qdisc(name)
    put(plan, f"ports.1.qdisc.{field}", value)
    assert Refusal(Place("port", 1), f"qdisc.{field}", what, expected) in refused(plan)


def test_an_sfq_of_one_queue_of_one_packet():
    plan = with_qdisc("sfq")
    put(plan, "ports.1.qdisc.divisor", 1)
    put(plan, "ports.1.qdisc.depth_packets", 1)
    what = "1 packets in all queues together"
    assert refused(plan) == [Refusal(Place("port", 1), "qdisc.depth_packets", what, "at least 2")]


@pytest.mark.parametrize("mtu", [1499, 9001])
def test_packets_of_another_size(mtu):
    plan = base()
    plan["mtu_bytes"] = mtu
    assert Refusal(RUN, "mtu_bytes", f"{mtu} bytes", "1500 to 9000") in refused(plan)


@pytest.mark.parametrize(("stack", "cc", "what"), OF_SEGMENTS)
def test_segments_of_another_size(stack, cc, what):
    plan = base()
    put(plan, "workloads.0.stack.name", stack)
    put(plan, "workloads.0.cc.kind", cc)
    native().check(json.dumps(plan))
    put(plan, "workloads.0.segment_bytes", 1000)
    assert refused(plan) == [Refusal(Place("workload", 0), "segment_bytes", what, "1448")]


@pytest.mark.parametrize(("where", "value", "entry", "field", "what", "expected"), OTHERS)
def test_what_is_no_qdisc(where, value, entry, field, what, expected):
    plan = base()
    put(plan, where, value)
    (found,) = refused(plan)
    kind, _, index = entry.partition(" ")
    assert (found.place, found.field, found.what) == (Place(kind, int(index) if index else None), field, what)
    assert found.expected.startswith(expected)


@pytest.mark.parametrize(("stack", "option", "value", "what", "expected"), OF_STACKS)
def test_a_stack(stack, option, value, what, expected):
    plan = base()
    plan["workloads"][0] |= {"stack": {"name": stack, "options": {option: value}}, "cc": {"kind": "reno"}, "ecn": False}
    found = {each.field: each for each in refused(plan)}[f"stack.options.{option}"]
    assert (found.place, found.what) == (Place("workload", 0), what)
    assert found.expected.startswith(expected)


def with_workload(**workload):
    """The plan of `base` with one more workload, number 1, whose TCP settings are those of workload 0 but for `tcp`, and that workload."""
    plan = base()
    settings = {key: setting for key, setting in plan["workloads"][0].items() if key != "kind"}
    workload["tcp"] = settings | workload.get("tcp", {})
    plan["workloads"].insert(1, workload)
    native().check(json.dumps(plan))
    return plan, workload


def assert_workload_1_refused(plan, field, what, expected):
    found = {each.field: each for each in refused(plan)}[field]
    assert (found.place, found.what) == (Place("workload", 1), what)
    assert found.expected.startswith(expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_EXCHANGES)
def test_an_exchange(field, value, what, expected):
    plan, exchange = with_workload(kind="exchange", request_bytes=100, response_bytes=20_000, count=9, think_ns=0)
    put(exchange, field, value)
    assert_workload_1_refused(plan, field, what, expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_DRAWS)
def test_what_is_drawn(field, value, what, expected):
    plan, exchange = with_workload(kind="exchange", request_bytes=100, response_bytes=20_000, count=9, think_ns=0)
    exchange["request_bytes"] = value
    assert_workload_1_refused(plan, field, what, expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_SOURCES)
def test_a_source(field, value, what, expected):
    plan, source = with_workload(kind="onoff", write_bytes=10_000, interval_ns=10**7, on=None, off_ns=0)
    source[field] = value
    assert_workload_1_refused(plan, {"time": "on.ns", "bytes": "on.bytes"}[value["kind"]] if field == "on" else field, what, expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_PAGES)
def test_a_page(field, value, what, expected):
    sizes = {"request_bytes": 300, "first_bytes": None, "size_bytes": 10_000}
    plan, page = with_workload(kind="page", connections_each=1, **sizes, objects=5, count=None, think_ns=0)
    page[field] = value
    assert_workload_1_refused(plan, field, what, expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_STREAMING)
def test_streaming(field, value, what, expected):
    times = {"chunk_ns": 10**9, "buffer_ns": 10**10, "start_at_ns": 10**9}
    plan, streaming = with_workload(kind="streaming", request_bytes=300, **times, chunk_bytes=10**6, count=None)
    streaming[field] = value
    assert_workload_1_refused(plan, field, what, expected)


@pytest.mark.parametrize(("field", "value", "what", "expected"), OF_TRANSFERS)
def test_transfers(field, value, what, expected):
    plan, transfers = with_transfers()
    put(transfers, field, value)
    assert_workload_1_refused(plan, field, what, expected)


def with_transfers():
    """The plan with connections that come and go as workload 1, and that workload."""
    return with_workload(
        kind="transfers",
        tcp={"id": "web", "connections": []},
        size_bytes=20_000,
        arrivals={"kind": "poisson", "mean_interval_ns": 10**8},
        start_ns=0,
        stop_ns=None,
        count=None,
        ports=[20_000, 80],
        rows=True,
    )


@pytest.mark.parametrize(("where", "value", "field", "what"), OF_ARRIVALS)
def test_what_connections_are_drawn_from(where, value, field, what):
    plan, transfers = with_transfers()
    put(transfers, where, value)
    found = {each.field: each for each in refused(plan)}[field]
    assert (found.place, found.what) == (Place("workload", 1), what)


def test_what_freebsd_does_not_do_is_told_at_once():
    plan = base()
    tcp = plan["workloads"][0]
    tcp |= {"stack": {"name": "freebsd-9", "options": {}}, "cc": {"kind": "dctcp"}, "ecn": True, "ect": 1, "accecn": "ee1b"}
    tcp |= {"sce_echo": True, "gro": True}
    tcp["host"] |= {"tso": True, "rcvbuf": 2**30, "sndbuf": 2**30, "reads_bps": 1000}
    assert [(each.place, each.field) for each in refused(plan)] == [
        (Place("workload", 0), field)
        for field in ("cc.kind", "ect", "accecn", "sce_echo", "host.tso", "gro", "host.reads_bps", "host.rcvbuf", "host.sndbuf")
    ]


@pytest.mark.parametrize(
    ("given", "what", "expected"),
    [
        ({}, "AccECN on the stack linux-6.12, which does not have it", "the stack linux-7.3"),
        ({"stack": {"name": "linux-7.3", "options": {}}, "ecn": False}, "AccECN without ECN", "ecn: true"),
        ({"stack": {"name": "linux-7.3", "options": {}}, "sce_echo": True}, "AccECN where ECT(1) is a mark of SCE", "no sce_echo"),
    ],
)
def test_accecn_needs_a_stack_that_has_it(given: dict[str, Any], what: str, expected: str):
    plan = base()
    plan["workloads"][0] |= {"ecn": True, "accecn": "ee1b", **given}
    assert refused(plan) == [Refusal(Place("workload", 0), "accecn", what, expected)]


@pytest.mark.parametrize(
    ("given", "what", "expected"),
    [
        ({"ecn": False, "ect": 1}, "1 without ECN", "0"),
        ({"ecn": True, "sce_echo": True, "ect": 1}, "1 where ECT(1) is a mark of SCE", "0"),
        ({"ecn": True, "ect": 2}, "2", "0 or 1"),
    ],
)
def test_a_codepoint_goes_with_ecn_and_is_no_mark(given: dict[str, Any], what: str, expected: str):
    plan = base()
    plan["workloads"][0] |= given
    assert refused(plan) == [Refusal(Place("workload", 0), "ect", what, expected)]


def test_the_sender_of_freebsd_opens():
    plan = base()
    plan["workloads"][0] |= {"stack": {"name": "freebsd-9", "options": {}}, "cc": {"kind": "reno"}, "ecn": False, "opener": "to"}
    assert refused(plan) == [Refusal(Place("workload", 0), "opener", "to on the stack freebsd-9", "from")]


@pytest.mark.parametrize(("name", "shaper", "where", "value"), [("cake", "cake", "shaper", {"kind": "link", "rate_bps": 10**7})])
def test_one_shaper_is_enough(name, shaper, where, value):
    plan = with_qdisc(name, shaper)
    put(plan, f"ports.1.{where}", value)
    assert refused(plan) == [Refusal(Place("port", 1), "shaper", "a second one, the qdisc shapes itself", "own")]
    put(plan, "ports.1.shaper", {"kind": "own"})
    put(plan, "ports.1.qdisc.rate_bps", 7)
    assert refused(plan) == [Refusal(Place("port", 1), "qdisc.rate_bps", "7bit is out of range", "at least 8bit")]


def test_what_only_several_settings_together_give():
    plan = with_qdisc("sfq")
    plan["ports"][1]["qdisc"] |= {"depth_packets": 1, "divisor": 1}
    what = "1 packets in all queues together"
    assert refused(plan) == [Refusal(Place("port", 1), "qdisc.depth_packets", what, "at least 2")]
    plan = with_qdisc("red")
    control = {"min_bytes": 2, "max_bytes": 3, "avpkt_bytes": 1, "burst_packets": 32_000, "bandwidth_bps": 8}
    plan["ports"][1]["qdisc"]["control"] |= control
    assert refused(plan) == [Refusal(Place("port", 1), "qdisc.control.bandwidth_bps", "8 bit/s", "a faster line")]


def test_a_round_trip_takes_time():
    plan = base()
    plan["paths"][0] |= {"forward": [0], "reverse": [2]}
    plan["schedule"] = []
    for port in (0, 2):
        plan["ports"][port] |= {"delay_ns": 0, "rate_bps": None}
    assert refused(plan) == [Refusal(Place("path", 0), "", "a round trip that takes no time", "a delay or a rate")]


@pytest.mark.parametrize(
    ("points", "what", "expected"),
    [
        ([[9]], "port 9 of 4", "ports that there are, that are on no host, each once"),
        ([[1], [1]], "port 1 of 4", "ports that there are, that are on no host, each once"),
        ([[]], "a point without ports", "a port at least"),
    ],
)
def test_packets_are_captured_at_ports_that_there_are(points, what, expected):
    plan = base() | {"captured_ports": points}
    assert refused(plan) == [Refusal(Place("run"), "captured_ports", what, expected)]


def test_a_run_is_not_too_large():
    plan = base()
    (connection,) = plan["workloads"][0]["connections"]
    plan["workloads"][0]["connections"] = [connection] * 300_000
    (found,) = refused(plan)
    assert (found.place, found.field, found.expected) == (Place("run"), "workloads", "at most 100000")
    plan = base()
    plan["ports"] += [plan["ports"][0]] * 65_535
    assert [(each.place, each.field) for each in refused(plan)] == [(Place("run"), "ports")]


def test_all_of_a_plan_is_told_at_once_and_a_workload_once_however_many_connections_it_has():
    plan = base()
    plan["workloads"][0]["connections"] *= 3
    for where, value in [
        ("duration_ns", LONG_NS),
        ("ports.1.qdisc.limit_packets", 0),
        ("ports.1.shaper.burst_bytes", 1),
        ("workloads.0.cc.kind", "vegas2"),
        ("workloads.0.transfer_bytes", 0),
        ("workloads.1.interval_ns", 0),
        ("schedule.0.rate_bps", 0),
    ]:
        put(plan, where, value)
    assert [(each.place, each.field) for each in refused(plan)] == [
        (Place("run"), "duration_ns"),
        (Place("port", 1), "qdisc.limit_packets"),
        (Place("port", 1), "shaper.burst_bytes"),
        (Place("workload", 0), "transfer_bytes"),
        (Place("workload", 0), "cc.kind"),
        (Place("workload", 1), "interval_ns"),
        (Place("change", 0), "rate_bps"),
    ]


def test_dropped_packets_are_at_least_one_packet_apart():
    plan = base()
    plan["schedule"] = [{"kind": "drop", "at_ns": 0, "port": 1, "packets": 1, "every": 0}]
    assert [(each.field, each.what, each.expected) for each in refused(plan)] == [("every", "0 packets", "at least 1")]


def test_what_is_no_plan_is_no_refusal():
    plan = base()
    plan["ports"][0]["colour"] = "red"
    with pytest.raises(ValueError, match="unknown field `colour`") as caught:
        native().check(json.dumps(plan))
    assert not isinstance(caught.value, native().Refused)


def test_no_refusal_is_missing_here():
    """The fields that the sources refuse, by the last part of their names, are those that the tests above provoke."""
    called = re.compile(r"(?:flaws\.(?:add|range|at_least|at_most)|Flaws::one|Flaws::position)\(\s*\"([a-z_.]+)\"")
    listed = re.compile(r"^\s+\(\"([a-z_.]+)\", (?:self|spec|host|&path)\.", re.MULTILINE)
    in_sources = set()
    for path in SOURCES.rglob("*.rs"):
        code = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]
        if path.stem not in ("tests", "refusal"):
            in_sources |= {name.rpartition(".")[2] for name in called.findall(code) + listed.findall(code)}
    provoked = {field for _, field, *_ in OF_QDISCS} | {field for _, _, _, field, *_ in OTHERS} | {option for _, option, *_ in OF_STACKS}
    provoked |= {field for field, *_ in (*OF_EXCHANGES, *OF_TRANSFERS, *OF_DRAWS, *OF_SOURCES, *OF_PAGES, *OF_STREAMING)}
    provoked |= {field for _, _, field, _ in OF_ARRIVALS}
    provoked |= {
        "every",
        "shaper.at_ms",
        "on.ns",
        "opener",
        "accecn",
        "ecn",
        "ect",
        "sce_echo",
        "host.tso",
        "mtu_bytes",
        "ports",
        "workloads",
        "qdisc.rate_bps",
        "depth_packets",
    }
    provoked |= {"captured_ports"}
    assert len(in_sources) > 50
    assert in_sources - {name.rpartition(".")[2] for name in provoked} == set()
