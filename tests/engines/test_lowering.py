"""From a scenario to the simulator's network: numbers in ns, bit/s, bytes and packets."""

import copy

import pytest
from support import PATH

from dumbbell.engines import engine, sim
from dumbbell.scenario import Scenario, ScenarioError


def lowered(**more):
    settings = {"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "10s", **more}
    (resolved,) = Scenario.model_validate(settings).expand()
    return sim.lower(resolved)


def queue(name="bottleneck", **bottleneck):
    path = copy.deepcopy(PATH)
    path["bottleneck"].update(bottleneck)
    for key in [key for key, value in bottleneck.items() if value is None]:
        del path["bottleneck"][key]
    return next(port for port in lowered(path=path)["ports"] if port["name"] == name)


def test_the_whole_of_a_simple_network():
    fifo = {"kind": "pfifo", "limit_packets": 100}
    tbf = {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 1540}
    delay = {"kind": "delay", "delay_ns": 10_000_000, "rate_bps": None, "limit_packets": None}
    assert lowered() == {
        "seed": 1,
        "duration_ns": 10_000_000_000,
        "sample_ns": 100_000_000,
        "ports": [
            {**delay, "name": "delay"},
            {"kind": "queue", "name": "bottleneck", "qdisc": fifo, "shaper": tbf, "delay_ns": 0},
            {**delay, "name": "delay-reverse"},
            {"kind": "queue", "name": "bottleneck-reverse", "qdisc": fifo, "shaper": tbf, "delay_ns": 0},
        ],
        "flows": [
            {
                "name": "cubic",
                "cc": "cubic",
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
                "forward": [0, 1],
                "reverse": [2, 3],
                "start_ns": 0,
                "stop_ns": None,
                "transfer_bytes": None,
                "first_write_bytes": None,
                "src_host": 1,
                "dst_host": 2,
                "from_right": False,
            }
        ],
        "udp": [],
        "impairments": [],
        "capture": False,
    }


@pytest.mark.parametrize(
    ("shaper", "lower"),
    [
        ({"shaper": None}, {"kind": "link", "rate_bps": 10_000_000}),
        ({"shaper": "tbf", "burst": "3kB"}, {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 3000}),
        ({"shaper": "htb"}, {"kind": "htb", "rate_bps": 10_000_000, "burst_bytes": 1600}),
        ({"shaper": "htb", "burst": "3kB"}, {"kind": "htb", "rate_bps": 10_000_000, "burst_bytes": 3000}),
        ({"shaper": None, "qdisc": {"kind": "cake"}}, {"kind": "own"}),
        ({"shaper": "link", "qdisc": {"kind": "cake"}}, {"kind": "link", "rate_bps": 10_000_000}),
    ],
)
def test_shapers(shaper, lower):
    assert queue(**shaper)["shaper"] == lower


@pytest.mark.parametrize(("limit", "packets"), [("180p", 180), ("1bdp", 17), ("0.5bdp", 9), ("2bdp", 34)])
def test_limits_in_packets(limit, packets):
    assert queue(qdisc={"kind": "pfifo", "limit": limit})["qdisc"] == {"kind": "pfifo", "limit_packets": packets}


@pytest.mark.parametrize(("stack", "bytes_"), [("linux-6.12", 1_200_000), ("freebsd-9", 600_000)])
def test_a_socket_buffer_is_what_the_stack_makes_of_it(stack, bytes_):
    (flow,) = lowered(flows=[{"cc": "reno", "stack": stack, "host": {"sndbuf": "600kB", "rcvbuf": "600kB"}}])["flows"]
    assert (flow["host"]["sndbuf"], flow["host"]["rcvbuf"]) == (bytes_, bytes_)


@pytest.mark.parametrize(("limit", "count"), [("64KiB", 65536), ("1bdp", 17 * 1514)])
def test_limits_in_bytes(limit, count):
    assert queue(qdisc={"kind": "bfifo", "limit": limit})["qdisc"] == {"kind": "bfifo", "limit_bytes": count}


def test_cake_by_default():
    assert queue(shaper=None, qdisc={"kind": "cake"})["qdisc"] == {
        "kind": "cake",
        "rate_bps": 10_000_000,
        "isolation": "triple-isolate",
        "rtt_ns": 100_000_000,
        "overhead_bytes": None,
        "mpu_bytes": 0,
        "framing": "noatm",
        "memory_limit_bytes": None,
        "sce": 0,
    }


@pytest.mark.parametrize(
    ("sce", "number"), [(False, 0), (True, 1), ("single", 65535), ("single-steep", 65534), (1, 1), (32, 32), (1024, 1024)]
)
def test_the_sce_keywords(sce, number):
    assert queue(shaper=None, qdisc={"kind": "cake", "sce": sce})["qdisc"]["sce"] == number


def test_every_keyword_of_cake():
    keywords = {
        "isolation": "dual-srchost",
        "rtt": "20ms",
        "overhead": 18,
        "mpu": 64,
        "framing": "ptm",
        "memlimit": "4MiB",
        "rate": "5mbit",
    }
    port = queue(rate=None, shaper="cake", qdisc={"kind": "cake", **keywords})
    assert port["shaper"] == {"kind": "own"}
    assert port["qdisc"] == {
        "kind": "cake",
        "rate_bps": 5_000_000,
        "isolation": "dual-srchost",
        "rtt_ns": 20_000_000,
        "overhead_bytes": 18,
        "mpu_bytes": 64,
        "framing": "ptm",
        "memory_limit_bytes": 4 << 20,
        "sce": 0,
    }


def test_cake_behind_a_link_does_not_shape():
    assert queue(shaper="link", qdisc={"kind": "cake"})["qdisc"]["rate_bps"] is None


def test_ecn_is_on_where_the_cc_needs_it_and_where_it_is_asked_for():
    flows = [{"cc": "dctcp"}, {"cc": "reno"}, {"cc": "reno", "ecn": True, "name": "a"}, {"cc": "reno", "sce_echo": True, "name": "b"}]
    assert [flow["ecn"] for flow in lowered(flows=flows)["flows"]] == [True, False, True, True]


@pytest.mark.parametrize("cc", ["reno-sce", "dctcp-sce", "cubic-sce"])
@pytest.mark.parametrize(
    ("written", "ecn", "sce_echo"),
    [({}, True, True), ({"ecn": True}, True, True), ({"sce_echo": False}, True, False), ({"sce_echo": True}, True, True)],
)
def test_who_answers_to_sce_gets_it(cc, written, ecn, sce_echo):
    (flow,) = lowered(flows=[{"cc": cc, **written}])["flows"]
    assert (flow["ecn"], flow["sce_echo"]) == (ecn, sce_echo)


def test_hosts_have_numbers_and_flows_that_name_none_share_a_pair():
    flows = [{"cc": "reno", "src": "a"}, {"cc": "cubic", "count": 2, "src": "b", "dst": "a"}, {"cc": "dctcp"}]
    numbers = [(flow["src_host"], flow["dst_host"]) for flow in lowered(flows=flows)["flows"]]
    assert numbers == [(3, 2), (4, 3), (4, 3), (1, 2)]


def test_socket_buffers_are_doubled_as_the_kernel_does():
    (flow,) = lowered(flows=[{"cc": "reno", "host": {"rcvbuf": "64KiB", "sndbuf": "1MiB", "cached_ssthresh": "5p"}}])["flows"]
    assert flow["host"]["rcvbuf"] == 2 * 65536
    assert flow["host"]["sndbuf"] == 2 << 20
    assert flow["host"]["cached_ssthresh"] == 5


def test_starts_and_stops():
    start = {"first": "1s", "every": "3s"}
    flows = lowered(flows=[{"cc": "reno", "count": 3, "start": start, "duration": "5s"}])["flows"]
    assert [(flow["start_ns"] / 1e9, flow["stop_ns"] and flow["stop_ns"] / 1e9) for flow in flows] == [(1, 6), (4, 9), (7, None)]


def test_jitter_is_bounded_and_a_stream_per_flow():
    def starts(count, seed=1):
        flow = {"cc": "reno", "name": "f", "count": count, "start": {"jitter": "100ms"}}
        return {flow["name"]: flow["start_ns"] for flow in lowered(flows=[flow], seed=seed)["flows"]}

    many = starts(200)
    assert all(0 <= start <= 100_000_000 for start in many.values())
    assert 40_000_000 < sum(many.values()) / 200 < 60_000_000
    assert starts(50).items() <= many.items()
    assert starts(200, seed=2) != many


def test_flows_of_other_rtts_share_the_queue():
    network = lowered(flows=[{"cc": "reno"}, {"cc": "cubic", "rtt": "80ms"}])
    names = [[network["ports"][i]["name"] for i in flow["forward"]] for flow in network["flows"]]
    assert names == [["delay", "bottleneck"], ["delay-80ms", "bottleneck"]]


def test_a_reverse_flow_goes_against_the_others():
    network = lowered(flows=[{"cc": "reno"}, {"cc": "cubic", "direction": "reverse"}])
    ahead, back = network["flows"]
    assert (back["forward"], back["reverse"]) == (ahead["reverse"], ahead["forward"])
    assert (back["src_host"], back["dst_host"]) == (ahead["dst_host"], ahead["src_host"])


def test_datagrams():
    background = [{"kind": "udp", "rate": "3mbit", "size": "1000B", "direction": "both", "start": "2s", "duration": "5s"}]
    network = lowered(background=background)
    common = {"interval_ns": 2_666_666, "size_bytes": 1000, "start_ns": 2_000_000_000, "stop_ns": 7_000_000_000}
    assert network["udp"] == [
        {"name": "udp", **common, "forward": [0, 1], "src_host": 1, "dst_host": 2, "from_right": False},
        {"name": "udp-reverse", **common, "forward": [2, 3], "src_host": 2, "dst_host": 1, "from_right": True},
    ]


def test_datagrams_end_with_the_run():
    (stream,) = lowered(background=[{"kind": "udp", "rate": "1mbit", "start": "2s", "duration": "20s"}])["udp"]
    assert stream["stop_ns"] == 10_000_000_000


def test_impairments_befall_the_bottleneck_of_their_direction():
    outage = {"kind": "outage", "at": "4s", "for": "100ms", "direction": "both"}
    step = {"kind": "rate", "at": "5s", "rate": "2mbit"}
    network = lowered(path={**PATH, "impairments": [outage, step]})
    assert [port["name"] for port in network["ports"]] == ["delay", "bottleneck", "delay-reverse", "bottleneck-reverse"]
    assert network["impairments"] == [
        {"kind": "outage", "port": 1, "at_ns": 4_000_000_000, "for_ns": 100_000_000},
        {"kind": "outage", "port": 3, "at_ns": 4_000_000_000, "for_ns": 100_000_000},
        {"kind": "rate", "port": 1, "at_ns": 5_000_000_000, "rate_bps": 2_000_000},
    ]


def test_what_the_key_depends_on():
    def key(**more):
        settings = {"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "10s", **more}
        return sim.ENGINE.key(Scenario.model_validate(settings).expand()[0])

    assert key() == key(name="other")
    others = [key(seed=2), key(sample="10ms"), key(duration="11s"), key(flows=[{"cc": "reno"}]), key(path={**PATH, "rtt": "21ms"})]
    assert len({key(), *others}) == 6


def test_the_key_depends_on_the_sources(monkeypatch):
    (resolved,) = Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "10s"}).expand()
    before = sim.ENGINE.key(resolved)
    monkeypatch.setattr(sim.native(), "SOURCE_HASH", "0" * 64)
    assert sim.ENGINE.key(resolved) != before


def test_codel_and_its_old_variant():
    qdisc = queue(qdisc={"kind": "fq_codel", "limit": "100p", "ecn": False})["qdisc"]
    control = {"target_ns": 5_000_000, "interval_ns": 100_000_000, "ecn": False, "ce_threshold_ns": None}
    today = {"floor": "mtu", "forgets_when_empty": True}
    queues = {"flows": 1024, "quantum_bytes": 1514, "memory_limit_bytes": 32 << 20}
    assert qdisc == {
        "kind": "fq_codel",
        "limit_packets": 100,
        "control": {**control, **today},
        "queues": queues,
        "drop_batch": 64,
        "drops_raise_count": True,
    }
    old = queue(qdisc={"kind": "fq_codel", "limit": "100p", "ecn": False, "variant": "linux-3.10"})["qdisc"]
    assert old == {
        **qdisc,
        "control": {**control, "floor": "largest-seen", "forgets_when_empty": False},
        "queues": {**queues, "memory_limit_bytes": None},
        "drop_batch": 1,
        "drops_raise_count": False,
    }


def test_pie_and_its_old_variant():
    pie = queue(qdisc={"kind": "pie", "tupdate": "30ms", "ecn": True})["qdisc"]
    weights = {"target_ns": 15_000_000, "tupdate_ns": 30_000_000, "alpha": 2, "beta": 20}
    assert pie == {"kind": "pie", "limit_packets": 1000, "control": {**weights, "ecn": True, "bytemode": False, "dq_rate_estimator": False}}
    old = queue(qdisc={"kind": "pie", "tupdate": "30ms", "variant": 2013, "hz": 10_000})["qdisc"]
    assert old == {"kind": "pie2013", "limit_packets": 1000, "control": {**weights, "hz": 10_000}}


def test_the_kernel_engine_refuses_other_kernels():
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = {"kind": "codel", "variant": "linux-3.10"}
    runs = Scenario.model_validate({"name": "s", "path": path, "flows": [{"cc": "cubic"}], "duration": "10s"}).expand()
    line = r"path\.bottleneck\.qdisc\.variant: the engine kernel has no qdiscs of other kernels; expected engine: sim"
    with pytest.raises(ScenarioError, match=line):
        engine("kernel").refuse(runs)


RED = {"kind": "red", "limit": "120kB", "min": "30kB", "max": "90kB"}


def test_red_as_tc_is_told():
    assert queue(qdisc={**RED, "ecn": True})["qdisc"] == {
        "kind": "red",
        "limit_bytes": 120_000,
        "control": {
            "min_bytes": 30_000,
            "max_bytes": 90_000,
            "max_p": 85_899_345,
            "avpkt_bytes": 1000,
            "burst_packets": 50,
            "bandwidth_bps": 10_000_000,
            "ecn": True,
            "harddrop": False,
            "adaptive": False,
            "gentle": False,
        },
    }
    control = queue(qdisc={**RED, "probability": 1.0, "burst": "60p", "avpkt": "500B", "gentle": True})["qdisc"]["control"]
    assert (control["max_p"], control["burst_packets"], control["avpkt_bytes"], control["gentle"]) == (1 << 32, 60, 500, True)


def test_sfq_and_fq():
    sfq = {"kind": "sfq", "limit": "50p", "divisor": 16, "perturb": "10s", "headdrop": True}
    assert queue(qdisc=sfq)["qdisc"] == {
        "kind": "sfq",
        "limit_packets": 50,
        "divisor": 16,
        "quantum_bytes": 1514,
        "depth_packets": 127,
        "perturb_s": 10,
        "headdrop": True,
    }
    assert queue(qdisc={"kind": "fq", "ce_threshold": "5ms"})["qdisc"] == {
        "kind": "fq",
        "limit_packets": 10_000,
        "flow_limit_packets": 100,
        "quantum_bytes": 3028,
        "initial_quantum_bytes": 15_140,
        "ce_threshold_ns": 5_000_000,
    }


@pytest.mark.parametrize(
    ("qdisc", "key", "what"),
    [
        ({**RED, "adaptive": True}, "adaptive", "adaptive RED"),
        ({**RED, "gentle": True}, "gentle", "gentle RED"),
        ({"kind": "fq", "ce_threshold": "5ms"}, "ce_threshold", "ce_threshold of fq"),
    ],
)
def test_the_kernel_engine_refuses_what_would_not_be_what_is_asked_for(qdisc, key, what):
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = qdisc
    runs = Scenario.model_validate({"name": "s", "path": path, "flows": [{"cc": "cubic"}], "duration": "10s"}).expand()
    with pytest.raises(ScenarioError, match=rf"qdisc\.{key}: the engine kernel has no {what}; expected engine: sim"):
        engine("kernel").refuse(runs)


def test_thresholds_that_the_kernel_cannot_count_are_refused():
    path = copy.deepcopy(PATH)
    path["bottleneck"]["qdisc"] = {**RED, "max": "5MB", "burst": "2000p"}
    runs = Scenario.model_validate({"name": "s", "path": path, "flows": [{"cc": "cubic"}], "duration": "10s"}).expand()
    line = r"path\.bottleneck: red: max of 5000000 bytes is too much for a burst of 2000 packets; expected at most \d+$"
    with pytest.raises(ScenarioError, match=line):
        sim.ENGINE.refuse(runs)
