"""Workloads: every flow by itself, with its times and its hosts, and what is true of its group."""

import pytest
from support import plain_plan


def workloads(**more):
    return plain_plan(**more)["workloads"]


@pytest.mark.parametrize(("stack", "size"), [("linux-6.12", 1_200_000), ("freebsd-9", 600_000)])
def test_a_socket_buffer_is_what_the_stack_makes_of_it(stack, size):
    (flow,) = workloads(flows=[{"cc": "reno", "stack": stack, "host": {"sndbuf": "600kB", "rcvbuf": "600kB"}}])
    assert (flow["host"]["sndbuf"], flow["host"]["rcvbuf"]) == (size, size)


def test_a_cached_ssthresh_is_in_packets():
    (flow,) = workloads(flows=[{"cc": "reno", "host": {"cached_ssthresh": "5p"}}])
    assert flow["host"]["cached_ssthresh"] == 5


@pytest.mark.parametrize(
    ("engine", "host", "found"),
    [
        ("sim", {"offload": "tso"}, {"tso": True}),
        ("kernel", {"offload": "on"}, {"tso": True, "gso": True}),
        ("kernel", {"sysctls": {"net.ipv4.tcp_notsent_lowat": 16384}}, {"tso": False, "sysctls": {"net.ipv4.tcp_notsent_lowat": "16384"}}),
    ],
)
def test_what_only_a_kernel_has_is_there_where_it_is_asked_for(engine, host, found):
    ((flow,), (plain,)) = (plain_plan(engine, flows=[{"cc": "reno", **more}])["workloads"] for more in ({"host": host}, {}))
    assert flow["host"] == {**plain["host"], **found}


def test_ecn_is_on_where_the_cc_needs_it_and_where_it_is_asked_for():
    flows = [{"cc": "dctcp"}, {"cc": "reno"}, {"cc": "reno", "ecn": True, "name": "a"}, {"cc": "reno", "sce_echo": True, "name": "b"}]
    assert [flow["ecn"] for flow in workloads(flows=flows)] == [True, False, True, True]


@pytest.mark.parametrize("cc", ["reno-sce", "dctcp-sce", "cubic-sce"])
@pytest.mark.parametrize(
    ("written", "ecn", "sce_echo"),
    [({}, True, True), ({"ecn": True}, True, True), ({"sce_echo": False}, True, False), ({"sce_echo": True}, True, True)],
)
def test_who_answers_to_sce_gets_it(cc, written, ecn, sce_echo):
    (flow,) = workloads(flows=[{"cc": cc, **written}])
    assert (flow["ecn"], flow["sce_echo"]) == (ecn, sce_echo)


def test_flows_that_name_no_hosts_share_a_pair_and_a_name_on_both_sides_has_one_number():
    flows = [{"cc": "reno", "src": "a"}, {"cc": "cubic", "count": 2, "src": "b", "dst": "a"}, {"cc": "dctcp"}]
    plan = plain_plan(flows=flows)
    assert [(host["id"], host["side"], host["number"]) for host in plan["hosts"]] == [
        ("left", "left", 1),
        ("right", "right", 2),
        ("a", "left", 3),
        ("b", "left", 4),
        ("a-right", "right", 3),
    ]
    assert [(flow["from"], flow["to"]) for flow in plan["workloads"]] == [(2, 1), (3, 4), (0, 1)]


def test_a_host_may_be_called_what_a_default_one_is():
    plan = plain_plan(flows=[{"cc": "reno", "src": "left", "dst": "left-right"}, {"cc": "cubic", "dst": "left"}])
    assert [(host["id"], host["number"]) for host in plan["hosts"][2:]] == [("left-left", 3), ("left-right", 4), ("left-right-2", 3)]


def test_starts_and_stops():
    start = {"first": "1s", "every": "3s"}
    (flow,) = workloads(flows=[{"cc": "reno", "count": 3, "start": start, "duration": "5s"}])
    times = [(each["start_ns"] / 1e9, each["stop_ns"] and each["stop_ns"] / 1e9) for each in flow["connections"]]
    assert times == [(1, 6), (4, 9), (7, None)]


def test_jitter_is_bounded_and_a_stream_per_flow():
    def starts(count, seed=1):
        flow = {"cc": "reno", "name": "f", "count": count, "start": {"jitter": "100ms"}}
        (group,) = workloads(flows=[flow], seed=seed)
        return {each["name"]: each["start_ns"] for each in group["connections"]}

    many = starts(200)
    assert all(0 <= start <= 100_000_000 for start in many.values())
    assert 40_000_000 < sum(many.values()) / 200 < 60_000_000
    assert starts(50).items() <= many.items()
    assert starts(200, seed=2) != many


def test_groups_have_ids_and_flows_have_names():
    flows = [{"cc": "reno", "count": 2}, {"cc": "cubic"}, {"cc": "reno"}, {"cc": "cubic", "name": "late"}]
    found = [(flow["id"], [each["name"] for each in flow["connections"]]) for flow in workloads(flows=flows)]
    assert found == [("reno", ["reno-1", "reno-2"]), ("cubic", ["cubic"]), ("reno-2", ["reno-3"]), ("late", ["late"])]


def test_a_reverse_flow_goes_from_right_to_left():
    ahead, back = workloads(flows=[{"cc": "reno"}, {"cc": "cubic", "direction": "reverse"}])
    assert (ahead["direction"], ahead["from"], ahead["to"]) == ("forward", 0, 1)
    assert (back["direction"], back["from"], back["to"]) == ("reverse", 1, 0)
    assert ahead["path"] == back["path"]


def test_datagrams():
    background = [{"kind": "udp", "rate": "3mbit", "size": "1000B", "direction": "both", "start": "2s", "duration": "5s"}]
    _, there, back = workloads(background=background)
    load = {"bursts": None, "count": None, "reply": False, "measured": False, "playout_ns": None}
    common = {"kind": "udp", "path": 0, "interval_ns": 2_666_666, "size_bytes": 1000, **load}
    times = {"start_ns": 2_000_000_000, "stop_ns": 7_000_000_000}
    assert there == {
        **common,
        "id": "udp",
        "direction": "forward",
        "from": 0,
        "to": 1,
        "streams": [{"name": "udp", **times, "ports": [10_001, 5_000]}],
    }
    assert back == {
        **common,
        "id": "udp-reverse",
        "direction": "reverse",
        "from": 1,
        "to": 0,
        "streams": [{"name": "udp-reverse", **times, "ports": [10_002, 5_000]}],
    }


def test_pings_and_calls_are_datagrams_that_measure():
    _, ping, call = workloads(background=[{"kind": "ping", "interval": {"exponential": "1s"}, "count": 3}, {"kind": "voip"}])
    assert (ping["interval_ns"], ping["size_bytes"]) == ({"kind": "exponential", "mean": 10**9}, 98)
    assert (ping["count"], ping["reply"], ping["measured"], ping["streams"][0]["ports"]) == (3, True, True, [0, 0])
    assert (call["interval_ns"], call["size_bytes"], call["playout_ns"]) == (20_000_000, 214, 60_000_000)
    assert (call["reply"], call["measured"]) == (False, True)


def test_datagrams_end_with_the_run():
    _, udp = workloads(background=[{"kind": "udp", "rate": "1mbit", "start": "2s", "duration": "20s"}])
    assert udp["streams"][0]["stop_ns"] == 10_000_000_000


def test_streams_of_datagrams_have_names_of_their_own():
    def names(*background):
        found = workloads(background=[{"kind": "udp", "rate": "1mbit", **more} for more in background])
        return [udp["streams"][0]["name"] for udp in found if udp["kind"] == "udp"]

    assert names({}, {}, {"name": "u"}) == ["udp-1", "udp-2", "u"]
    assert names({"name": "u", "direction": "both"}, {"name": "u-reverse"}) == ["u", "u-reverse", "u-reverse-2"]


EXCHANGE = {"kind": "exchange", "cc": "reno", "request": "300B", "response": "30kB"}
TRANSFERS = {"kind": "transfers", "cc": "reno", "size": "15kB", "arrivals": {"kind": "poisson", "every": "10ms"}}


def test_requests_and_responses():
    more = {
        "connections": 2,
        "think": "50ms",
        "count": 9,
        "opens": "server",
        "direction": "reverse",
        "start": {"first": "1s", "every": "1s"},
    }
    flow, exchange = workloads(background=[{**EXCHANGE, **more, "ecn": True, "duration": "3s"}])
    tcp = exchange.pop("tcp")
    assert exchange == {"kind": "exchange", "request_bytes": 300, "response_bytes": 30_000, "count": 9, "think_ns": 50_000_000}
    assert (tcp["id"], tcp["from"], tcp["to"], tcp["direction"], tcp["opener"]) == ("exchange", 1, 0, "reverse", "to")
    assert (tcp["cc"], tcp["ecn"], tcp["transfer_bytes"]) == ({"kind": "reno"}, True, None)
    assert tcp["connections"] == [
        {"name": f"exchange-{i}", "start_ns": i * 10**9, "stop_ns": (i + 3) * 10**9, "ports": [10_000 + i, 5_000]} for i in (1, 2)
    ]
    assert tcp.keys() == flow.keys() - {"kind"}


def test_requests_without_end_are_as_many_as_sequence_numbers_count():
    _, small, large = workloads(background=[EXCHANGE, {**EXCHANGE, "name": "large", "response": "1GB"}])
    assert [small["count"], large["count"]] == [(2**32 - 3) // 21, (2**32 - 3) // 690_608]


def test_a_source():
    def planned(**more):
        (found,) = workloads(flows=[], background=[{"kind": "onoff", "cc": "reno", **more}])
        return found

    always = planned(rate="2mbit", opens="receiver")
    assert always.pop("tcp")["opener"] == "to"
    assert always == {"kind": "onoff", "write_bytes": 10_000, "interval_ns": 40_000_000, "on": None, "off_ns": 0}
    talk, burst = planned(rate="2mbit", on="2s", off="1s"), planned(burst="1MB", off="5s")
    assert (talk["on"], talk["off_ns"]) == ({"kind": "time", "ns": 2 * 10**9}, 10**9)
    assert (burst["on"], burst["interval_ns"], burst["off_ns"]) == ({"kind": "bytes", "bytes": 10**6}, 0, 5 * 10**9)


def test_the_connections_of_a_browser_start_together():
    more = {"clients": 2, "connections": 2, "start": {"every": "1s", "jitter": "100ms"}, "first": "50kB", "pages": 4}
    (page,) = workloads(flows=[], background=[{"kind": "page", "cc": "reno", "size": "15kB", **more}])
    starts = [(each["name"], each["start_ns"]) for each in page.pop("tcp")["connections"]]
    assert [name for name, _ in starts] == ["page-1", "page-2", "page-3", "page-4"]
    (_, first), (_, second), (_, third), (_, fourth) = starts
    assert 0 < first == second < 10**8 < 10**9 < third == fourth
    sizes = {"request_bytes": 300, "first_bytes": 50_000, "objects": 50, "size_bytes": 15_000}
    assert page == {"kind": "page", "connections_each": 2, **sizes, "count": 4, "think_ns": 0}


def test_streaming():
    (found,) = workloads(flows=[], background=[{"kind": "streaming", "cc": "reno", "bitrate": "5mbit"}])
    assert found.pop("tcp")["id"] == "streaming"
    times = {"chunk_ns": 4 * 10**9, "buffer_ns": 30 * 10**9, "start_at_ns": 4 * 10**9}
    assert found == {"kind": "streaming", "request_bytes": 300, "chunk_bytes": 2_500_000, **times, "count": None}


def test_connections_that_come_and_go():
    more = {"direction": "both", "start": "2s", "duration": "20s", "count": 100, "rows": True}
    _, there, back = workloads(background=[{**TRANSFERS, **more}])
    tcp = there.pop("tcp")
    arrivals = {"kind": "poisson", "mean_interval_ns": 10_000_000}
    times = {"start_ns": 2 * 10**9, "stop_ns": 10**10, "ports": [10_000, 20_000]}
    assert there == {"kind": "transfers", "size_bytes": 15_000, "arrivals": arrivals, "count": 100, "rows": True, **times}
    assert (tcp["id"], tcp["transfer_bytes"], tcp["connections"], tcp["opener"]) == ("transfers", None, [], "from")
    assert (back["tcp"]["id"], back["tcp"]["direction"], back["ports"]) == ("transfers-reverse", "reverse", [10_000, 21_000])
    (regular,) = workloads(flows=[], background=[{**TRANSFERS, "arrivals": {"kind": "regular", "every": "1s"}}])
    assert (regular["arrivals"], regular["count"]) == ({"kind": "regular", "interval_ns": 10**9}, None)


def test_connections_of_all_kinds_have_names_of_their_own():
    flows = [{"cc": "cubic", "name": "a", "count": 2}, {"cc": "cubic", "name": "b"}]
    background = [{**EXCHANGE, "name": "a-1"}, {**EXCHANGE, "name": "b", "connections": 2}, {"rate": "1mbit", "name": "b"}]
    found = workloads(flows=flows, background=background)
    listed = [workload.get("tcp", workload) for workload in found]
    names = [each["name"] for workload in listed for each in workload.get("connections", workload.get("streams"))]
    assert names == ["a-1", "a-2", "b", "a-1-2", "b-1-1", "b-1-2", "b-2"]
    assert len({workload["id"] for workload in listed}) == len(listed)


def test_other_traffic_may_have_a_round_trip_and_hosts_of_its_own():
    plan = plain_plan(background=[{**EXCHANGE, "rtt": "80ms", "src": "client"}, TRANSFERS])
    flow, exchange, transfers = plan["workloads"]
    assert [path["base_rtt_ns"] for path in plan["paths"]] == [20_000_000, 80_000_000]
    assert [each["path"] for each in (flow, exchange["tcp"], transfers["tcp"])] == [0, 1, 0]
    assert plan["hosts"][exchange["tcp"]["from"]]["id"] == "client"
