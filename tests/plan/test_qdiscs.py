"""Queue disciplines, shapers and limits in ns, bit/s, bytes and packets."""

import copy

import pytest
from pydantic import ValidationError
from support import PATH, plain_plan

from dumbbell.scenario import ScenarioError


def queue(name="bottleneck", **bottleneck):
    path = copy.deepcopy(PATH)
    path["bottleneck"].update(bottleneck)
    for key in [key for key, value in bottleneck.items() if value is None]:
        del path["bottleneck"][key]
    return next(port for port in plain_plan(path=path)["ports"] if port["id"] == name)


@pytest.mark.parametrize(
    ("shaper", "lower"),
    [
        ({"shaper": None}, {"kind": "link", "rate_bps": 10_000_000}),
        ({"shaper": "tbf", "burst": "3kB"}, {"kind": "tbf", "rate_bps": 10_000_000, "burst_bytes": 3000}),
        ({"shaper": "htb"}, {"kind": "htb", "rate_bps": 10_000_000, "burst_bytes": 1600}),
        ({"shaper": "htb", "burst": "3kB"}, {"kind": "htb", "rate_bps": 10_000_000, "burst_bytes": 3000}),
        ({"shaper": None, "qdisc": {"kind": "cake"}}, {"kind": "own"}),
        ({"shaper": "link", "qdisc": {"kind": "cake"}}, {"kind": "link", "rate_bps": 10_000_000}),
        ({"shaper": None, "qdisc": {"kind": "dummynet", "limit": "1MiB"}}, {"kind": "own"}),
    ],
)
def test_shapers(shaper, lower):
    assert queue(**shaper)["shaper"] == lower


@pytest.mark.parametrize(("limit", "packets"), [("180p", 180), ("1bdp", 17), ("0.5bdp", 9), ("2bdp", 34)])
def test_limits_in_packets(limit, packets):
    assert queue(qdisc={"kind": "pfifo", "limit": limit})["qdisc"] == {"kind": "pfifo", "limit_packets": packets}


@pytest.mark.parametrize(("limit", "count"), [("64KiB", 65536), ("1bdp", 17 * 1514)])
def test_limits_in_bytes(limit, count):
    assert queue(qdisc={"kind": "bfifo", "limit": limit})["qdisc"] == {"kind": "bfifo", "limit_bytes": count}


def test_dummynet_counts_bytes_and_has_the_rate():
    pipe = {"kind": "dummynet", "rate_bps": 10_000_000, "limit_bytes": 1 << 20}
    assert queue(shaper=None, qdisc={"kind": "dummynet", "limit": "1MiB"})["qdisc"] == pipe
    assert queue(shaper=None, qdisc={"kind": "dummynet", "limit": "1MiB", "tick": "1ms"})["qdisc"] == {**pipe, "tick_ns": 1_000_000}


@pytest.mark.parametrize(
    ("bottleneck", "wrong"),
    [
        ({"shaper": "tbf", "qdisc": {"kind": "dummynet", "limit": "1MiB"}}, "dummynet shapes behind the shaper tbf"),
        ({"shaper": "dummynet", "qdisc": {"kind": "bfifo", "limit": "1MiB"}}, "bfifo cannot shape"),
        ({"shaper": None, "qdisc": {"kind": "dummynet", "limit": "100p"}}, "100p is in packets"),
        ({"shaper": None, "qdisc": {"kind": "dummynet", "limit": "1MiB", "tick": "0s"}}, "0s is too short"),
        ({"shaper": None, "rate": None, "qdisc": {"kind": "dummynet", "limit": "1MiB"}}, "is missing"),
        (
            {
                "shaper": None,
                "rate": None,
                "trace": {"file": "examples/traces/cellular.down"},
                "qdisc": {"kind": "dummynet", "limit": "1MiB"},
            },
            "cannot be combined with dummynet",
        ),
    ],
)
def test_what_dummynet_cannot_be(bottleneck, wrong):
    with pytest.raises(ScenarioError, match=wrong):
        queue(**bottleneck)


def test_netem_holds_for_its_delay():
    netem = {"kind": "netem", "delay_ns": 100_000_000, "limit_packets": 1000}
    assert queue(qdisc={"kind": "netem", "delay": "100ms"})["qdisc"] == netem
    assert queue(qdisc={"kind": "netem", "delay": "100ms", "limit": "9p", "tick": "1ms"})["qdisc"] == {
        **netem,
        "limit_packets": 9,
        "tick_ns": 1_000_000,
    }


@pytest.mark.parametrize(
    ("qdisc", "wrong"),
    [
        ({"delay": "0s"}, r"qdisc\.delay: 0s is too short; expected at least 1ns"),
        ({"delay": "1001s"}, r"qdisc\.delay: 1001s is too long; expected at most 1000s"),
        ({"delay": "1ms", "tick": "0s"}, r"qdisc\.tick: 0s is too short; expected at least 1ns"),
        ({"delay": "1ms", "tick": "2s"}, r"qdisc\.tick: 2s is too long; expected at most 1s"),
        ({"delay": "1ms", "limit": "64KiB"}, r"qdisc\.limit: 64KiB is in bytes, netem counts packets"),
    ],
)
def test_what_netem_cannot_be(qdisc, wrong):
    with pytest.raises(ScenarioError, match=wrong):
        queue(qdisc={"kind": "netem", **qdisc})


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


@pytest.mark.parametrize(
    ("keys", "charged"),
    [
        ({"framing": "raw"}, (None, 0, "noatm")),
        ({"framing": "docsis"}, (18, 64, "noatm")),
        ({"framing": "ethernet"}, (38, 84, "noatm")),
        ({"framing": "pppoe_vcmux"}, (32, 0, "atm")),
        ({"framing": ["pppoe_ptm", "ether_vlan"]}, (34, 0, "ptm")),
        ({"framing": ["ethernet", "ether_vlan"], "mpu": 68}, (42, 68, "noatm")),
        ({"framing": "conservative"}, (48, 0, "atm")),
        ({"framing": "atm", "overhead": 40}, (40, 0, "atm")),
    ],
)
def test_words_for_kinds_of_lines(keys, charged):
    cake = queue(shaper=None, qdisc={"kind": "cake", **keys})["qdisc"]
    assert (cake["overhead_bytes"], cake["mpu_bytes"], cake["framing"]) == charged


@pytest.mark.parametrize(("word", "ns"), [("datacentre", 10**5), ("metro", 10**7), ("oceanic", 3 * 10**8), ("interplanetary", 10**12)])
def test_words_for_round_trip_times(word, ns):
    assert queue(shaper=None, qdisc={"kind": "cake", "rtt": word})["qdisc"]["rtt_ns"] == ns


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"wash": True, "nat": True}, {"wash": True}),
        ({"ack_filter": "on", "ingress": True}, {"ingress": True, "ack_filter": "on"}),
        ({"ack_filter": True}, {"ack_filter": "on"}),
        ({"ack_filter": "aggressive", "autorate_ingress": True}, {"ack_filter": "aggressive", "autorate_ingress": True}),
    ],
)
def test_what_few_use_is_in_a_plan_if_it_is_asked_for(keys, more):
    assert queue(shaper=None, qdisc={"kind": "cake", **keys})["qdisc"]["more"] == more
    assert "more" not in queue(shaper=None, qdisc={"kind": "cake", "ack_filter": "off", "nat": True})["qdisc"]


@pytest.mark.parametrize(
    ("keys", "wrong"),
    [
        ({"framing": "docsis", "overhead": 8}, "docsis has an overhead of its own; expected one of both"),
        ({"framing": ["raw", "ether_vlan"]}, "raw cannot be combined with other words; expected raw alone"),
        ({"framing": "cable"}, "framing"),
        ({"autorate_ingress": True, "shaper": "htb"}, "cake has no rate of its own behind the shaper htb; expected the shaper cake"),
        ({"rtt": "continental"}, "continental"),
        ({"kind": "fq_codel", "ce_threshold_selector": "1/3"}, "there is no ce_threshold that it could be for"),
        ({"kind": "fq_codel", "ce_threshold": "1ms", "ce_threshold_selector": "0x1/0x1ff"}, "ce_threshold_selector"),
        ({"kind": "fq_codel", "ce_threshold": "1ms", "ce_threshold_selector": "1/300"}, "more than eight bits"),
        ({"kind": "red", "limit": "1bdp", "min": "3kB", "max": "9kB", "nodrop": True}, "without ecn nothing is marked"),
    ],
)
def test_words_that_cannot_be(keys, wrong):
    with pytest.raises((ScenarioError, ValidationError), match=wrong):
        queue(shaper=keys.get("shaper"), qdisc={"kind": "cake", **{key: value for key, value in keys.items() if key != "shaper"}})


def test_cake_behind_a_link_does_not_shape():
    assert queue(shaper="link", qdisc={"kind": "cake"})["qdisc"]["rate_bps"] is None


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
