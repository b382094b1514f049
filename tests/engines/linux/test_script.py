"""Scripts and tc lines for Linux."""

import pytest
from support import PATH, planned

from dumbbell.engines.linux import SCRIPT, compile_plan, conflicts, host_conflicts


def compiled(**more):
    return compile_plan(planned("kernel", **more).plan)


def queue(rate="10mbit", **more):
    return {"rtt": "20ms", "reverse": "none", "bottleneck": {"rate": rate, **more}}


def tc(**more):
    return compiled(**more).files["net.tc"].splitlines()


@pytest.mark.parametrize(
    ("bottleneck", "expected"),
    [
        (
            {"shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "180p"}},
            [
                "qdisc add dev p1 root handle 1: tbf rate 10000000bit burst 1540 limit 100000000",
                "qdisc add dev p1 parent 1: handle 10: pfifo limit 180",
            ],
        ),
        (
            {"shaper": "htb", "burst": "3000B", "qdisc": {"kind": "bfifo", "limit": "1bdp"}},
            [
                "qdisc add dev p1 root handle 1: htb default 1",
                "class add dev p1 parent 1: classid 1:1 htb rate 10000000bit ceil 10000000bit burst 3000 cburst 3000",
                "qdisc add dev p1 parent 1:1 handle 10: bfifo limit 25738",
            ],
        ),
        (
            {"qdisc": {"kind": "cake", "isolation": "flows", "overhead": 18, "rtt": "30ms"}},
            ["qdisc add dev p1 root handle 1: cake bandwidth 10000000bit besteffort flows overhead 18 mpu 0 noatm rtt 30000us"],
        ),
        (
            {"qdisc": {"kind": "cake", "diffserv": "precedence", "framing": "docsis", "rtt": "lan", "wash": True, "ingress": True}},
            ["cake bandwidth 10000000bit precedence triple-isolate overhead 18 mpu 64 noatm rtt 1000us wash ingress"],
        ),
        (
            {"qdisc": {"kind": "fq_codel", "ce_threshold": "1ms", "ce_threshold_selector": "0x1/0x3"}},
            ["ecn ce_threshold 1000us ce_threshold_selector 1/3"],
        ),
        ({"qdisc": {"kind": "sfq", "flows": 40}}, ["sfq limit 127 divisor 1024 quantum 1514 depth 127 flows 40 perturb 0"]),
        (
            {"qdisc": {"kind": "fq", "refill_delay": "10ms"}},
            ["fq limit 10000 flow_limit 100 quantum 3028 initial_quantum 15140 refill_delay 10000us"],
        ),
        (
            {"qdisc": {"kind": "netem", "delay": "7.5ms", "limit": "60p"}},
            ["parent 1:1 handle 10: netem limit 60 delay 7500us"],
        ),
        (
            {"qdisc": {"kind": "red", "limit": "100kB", "min": "15kB", "max": "45kB", "ecn": True, "nodrop": True}},
            ["bandwidth 10000000bit ecn nodrop"],
        ),
        (
            {"qdisc": {"kind": "cake", "ack_filter": "aggressive", "autorate_ingress": True}},
            ["besteffort triple-isolate raw rtt 100000us ack-filter-aggressive autorate-ingress"],
        ),
        (
            {"shaper": "tbf", "qdisc": {"kind": "red", "limit": "100kB", "min": "15kB", "max": "45kB", "ecn": True}},
            ["handle 10: red limit 100000 min 15000 max 45000 avpkt 1000 burst 25 probability 0.020000 bandwidth 10000000bit ecn"],
        ),
    ],
)
def test_commands_of_queues(bottleneck, expected):
    lines = tc(path=queue(**bottleneck))
    for line in expected:
        assert any(written.endswith(line) for written in lines), lines


@pytest.mark.parametrize(("rate", "burst"), [("10mbit", 1), ("100mbit", 1), ("1gbit", 12)])
def test_a_line_takes_a_packet_a_byte_or_100_ns_too_early_at_most(rate, burst):
    line = next(line for line in tc(path=queue(rate, shaper="link", qdisc="fq_codel")) if " htb rate " in line)
    assert line.endswith(f" burst {burst} cburst {burst}")


def test_a_link_is_followed_by_a_line_of_its_rate_and_delay():
    path = {
        "rtt": "20ms",
        "delay": {"where": "after"},
        **{k: v for k, v in queue(qdisc={"kind": "pfifo", "limit": "9p"}).items() if k != "rtt"},
    }
    lines = tc(path=path)
    assert "qdisc add dev x0 root handle 1: netem limit 100000000 delay 10000us rate 10000000bit" in lines
    assert "filter add dev q0 ingress protocol ip prio 2000 matchall action mirred egress redirect dev x0" in lines


def test_flows_of_another_rtt_take_another_way():
    lines = tc(flows=[{"cc": "cubic", "count": 2}, {"cc": "reno", "rtt": "60ms"}])
    assert [line for line in lines if "flower" in line and "10002" in line and "dev hl" in line]
    assert not [line for line in lines if "flower" in line and "10000" in line and "dev hl" in line]


def test_hosts_that_differ_have_a_namespace_each():
    flows = [{"cc": "cubic"}, {"cc": "cubic", "name": "e", "ecn": True}, {"cc": "cubic", "name": "t", "host": {"offload": "tso"}}]
    plan = compiled(flows=flows).files[SCRIPT]
    assert {f"namespace {side}{k}" for side in "lr" for k in range(3)} <= set(plan.splitlines())
    assert "sysctl l1 net.ipv4.tcp_ecn 1" in plan
    assert "offload l2 eth0 tso" in plan
    assert "gso_max_segs 1" in compiled(flows=flows).files["l0.ip"]
    assert "gso_max_segs" not in compiled(flows=flows).files["l2.ip"]


def test_options_of_the_stack_are_settings_of_the_kernel():
    stack = {
        "base": "linux-6.12",
        "initial_cwnd": 4,
        "rto_min_ms": 50,
        "sack_compression": False,
        "limit_answers": False,
        "ecn_fallback": False,
        "tail_loss_probe": False,
        "slow_start_after_idle": False,
        "reordering": 5,
        "output_limit_bytes": 100_000,
    }
    host = {"sysctls": {"net.ipv4.tcp_notsent_lowat": 16384}}
    files = compiled(flows=[{"cc": "cubic", "stack": stack, "host": host}]).files
    assert "initcwnd 4 rto_min 50ms" in files["l0.ip"]
    for setting in (
        "tcp_comp_sack_nr 0",
        "tcp_invalid_ratelimit 0",
        "tcp_ecn_fallback 0",
        "tcp_early_retrans 0",
        "tcp_slow_start_after_idle 0",
        "tcp_reordering 5",
        "tcp_notsent_lowat 16384",
        "tcp_limit_output_bytes 100000",
    ):
        assert f"sysctl r0 net.ipv4.{setting}\n" in files[SCRIPT]


def test_a_flow_without_sack_has_hosts_without():
    script = compiled(flows=[{"cc": "cubic"}, {"cc": "cubic", "sack": "off"}]).files[SCRIPT]
    assert "sysctl l1 net.ipv4.tcp_sack 0" in script
    assert "sysctl l0 net.ipv4.tcp_timestamps 0" in compiled(flows=[{"cc": "cubic", "timestamps": "off"}]).files[SCRIPT]
    assert "sysctl l0 net.ipv4.tcp_sack" not in script


def test_what_applications_ask_of_their_sockets_follows_the_flow():
    flows = [{"cc": "cubic", "host": {"reads": "2mbit", "nodelay": True}}, {"cc": "cubic"}]
    lines = compiled(flows=flows).files[SCRIPT].splitlines()
    first, second = (i for i, line in enumerate(lines) if line.startswith("tcp "))
    assert lines[first + 1 : second] == ["option nodelay 1", "option reads 2000000"]
    assert not any(line.startswith("option ") for line in lines[second:])


def test_impairments_happen_at_their_time():
    path = {
        **PATH,
        "impairments": [
            {"at": "4s", "kind": "outage", "for": "100ms"},
            {"at": "5s", "kind": "rate", "rate": "5mbit", "direction": "both"},
        ],
    }
    lines = [line for line in compiled(path=path).files[SCRIPT].splitlines() if line.startswith("at ")]
    assert lines[:2] == [
        "at 4000000000 net - tc actions change action gact drop index 1",
        "at 4100000000 net - tc actions change action gact continue index 1",
    ]
    # tbf forgets the limit of a fifo below it.
    assert [line.rpartition("tc ")[2].split()[0:2] for line in lines[2:]] == [["qdisc", "change"]] * 4
    assert sum("tbf rate 5000000bit" in line for line in lines) == sum("pfifo limit 100" in line for line in lines) == 2


EGRESS = {"rate": "5mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "10p"}}


def test_a_hosts_own_queue_is_on_the_device_that_its_tcp_sends_by():
    flows = [{"cc": "cubic"}, {"cc": "dctcp", "src": "alice"}, {"cc": "cubic", "src": "bob", "name": "other"}]
    script = compiled(hosts={"left": {"egress": EGRESS}, "alice": {"egress": {**EGRESS, "shaper": "link"}}}, flows=flows)
    files, lines = script.files, script.files[SCRIPT].splitlines()
    ports = [port for port, on_host in enumerate(script.devices.on_host) if on_host]
    left, alice = (f"le{port}" for port in ports)
    assert files[f"{left}.tc"].splitlines() == [
        "qdisc add dev eth0 root handle 1: tbf rate 5000000bit burst 1540 limit 100000000",
        "qdisc add dev eth0 parent 1: handle 10: pfifo limit 10",
    ]
    assert f"run {left} - tc -batch {left}.tc" in lines
    assert f"egress {left} 16" in lines
    assert not any(
        f"dev p{port} " in line or f"add p{port} " in line for port in ports for text in files.values() for line in text.splitlines()
    )
    # A packet that leaves is routed before it gets on the link. There a delay with the link's rate stores and forwards it.
    assert f"qdisc add dev x{ports[1]} root handle 1: netem limit 100000000 delay 0us rate 5000000bit" in files["net.tc"]
    assert f"src_port 10001 action mirred egress redirect dev x{ports[1]}\n" in files["net.tc"]
    # Each host with a queue is a namespace to itself; bob shares one with whoever has his settings.
    assert [line.split()[1:3] for line in lines if line.startswith("tcp ")] == [[left, "r0"], [alice, "r1"], ["l0", "r0"]]
    assert f"sysctl {alice} net.ipv4.tcp_ecn 1" in lines
    assert f"sysctl {left} net.ipv4.tcp_ecn 0" in lines


def test_flows_of_a_host_with_a_queue_have_the_same_settings():
    hosts = {"left": {"egress": EGRESS}}
    (refusal,) = host_conflicts(planned("kernel", hosts=hosts, flows=[{"cc": "cubic"}, {"cc": "dctcp"}]).plan)
    assert (refusal.place.kind, refusal.place.index, refusal.field) == ("workload", 1, "host")
    assert not list(host_conflicts(planned("kernel", hosts=hosts, flows=[{"cc": "cubic"}, {"cc": "reno"}]).plan))


def test_captures_are_named_by_the_side():
    assert compiled(hosts={"left": {"egress": EGRESS}}, capture=True).captures == ("left.pcap", "right.pcap")


def test_a_flow_that_stops_early_is_cut_off():
    plan = compiled(flows=[{"cc": "cubic", "duration": "3s"}]).files[SCRIPT]
    assert "at 3000000000 l0 - tc filter add dev eth0 egress protocol ip prio 1 flower ip_proto tcp src_port 10000 action drop" in plan


def test_a_reverse_flow_sends_from_the_right():
    plan = compiled(flows=[{"cc": "cubic", "direction": "reverse"}]).files[SCRIPT]
    assert "tcp r0 l0 10.2.0.2 10.1.0.1 30000 10000 0 -1 cubic -1 0 0" in plan.splitlines()


def test_parameters_of_a_congestion_control_are_the_modules():
    flows = [{"cc": {"kind": "cubic", "hystart": "off", "hystart_detect": "delay"}}, {"cc": {"kind": "dctcp", "shift_g": 5}}]
    script = compiled(flows=flows)
    lines = script.files[SCRIPT].splitlines()
    assert "run init - cp cubic.hystart /sys/module/tcp_cubic/parameters/hystart" in lines
    assert script.files["cubic.hystart"] == "0\n"
    assert script.files["cubic.hystart_detect"] == "2\n"
    assert "run init - cp dctcp.shift_g /sys/module/tcp_dctcp/parameters/dctcp_shift_g" in lines
    assert len([line for line in lines if "/sys/module" in line]) == 3
    assert "/sys/module" not in compiled(flows=[{"cc": {"kind": "cubic", "hystart": "on"}}]).files[SCRIPT]


def test_a_module_has_one_value_for_all_flows():
    flows = [{"cc": {"kind": "cubic", "hystart": "off"}}, {"cc": {"kind": "cubic"}, "name": "other"}]
    (refusal,) = conflicts(planned("kernel", flows=flows).plan)
    assert (refusal.place.index, refusal.field) == (1, "cc.hystart")
    assert not list(conflicts(planned("kernel", flows=[{"cc": {"kind": "cubic", "hystart": "off"}}, {"cc": "reno"}]).plan))


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ({"loss": "1%"}, "delay 10000us loss random 1.00000000116%"),
        ({"loss": {"rate": "1%", "correlation": "25%"}}, "delay 10000us loss random 1.00000000116% 25.0000000058%"),
        ({"gilbert": {"p": "1%", "r": "30%"}}, "delay 10000us loss gemodel 1.00000000116% 29.9999999884% 100% 0%"),
        ({"jitter": {"uniform": "1500ns"}}, "delay 10000us 1.5us"),
        ({"jitter": {"normal": "2ms", "correlation": "50%"}}, "delay 10000us 2000us 50.0000000116% distribution normal"),
        ({"jitter": {"uniform": "2ms", "keep_order": True}}, "delay 10000us 2000us rate 10000000000000000bit"),
        ({"jitter": {"uniform": "2ms", "keep_order": True}, "rate": "1mbit"}, "delay 10000us 2000us rate 1000000bit"),
        ({"duplicate": "1%", "corrupt": "100%"}, "delay 10000us duplicate 1.00000000116% corrupt 100%"),
        ({"reorder": {"share": "50%", "gap": 5}}, "delay 10000us reorder 50.0000000116% gap 5"),
    ],
)
def test_words_of_faults(faults, expected):
    path = {"forward": [{"delay": "10ms", **faults}, {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "9p"}}], "reverse": "none"}
    assert f"qdisc add dev p0 root handle 1: netem limit 100000000 {expected}" in tc(path=path)


def test_tc_finds_the_distributions_of_jitter():
    queue = {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "9p"}}
    script = compiled(path={"forward": [{"delay": "10ms", "jitter": {"pareto": "1ms"}}, queue]})
    entries = [int(word) for word in script.files["pareto.dist"].split()]
    assert (len(entries), entries[0], entries[-1]) == (4096, -5461, 32767)
    assert "run net - env TC_LIB_DIR=. tc -batch net.tc\n" in script.files[SCRIPT]


def test_a_discipline_that_an_older_tc_does_not_know_is_made_by_the_agent():
    qdisc = {"kind": "tc", "command": "dualpi2 limit 100p step_thresh 1ms"}
    made = compiled(path=queue(qdisc=qdisc), hosts={"left": {"egress": {"qdisc": qdisc, "rate": "5mbit"}}})
    assert "dualpi2" not in made.files["net.tc"] + made.files["le0.tc"]
    script = made.files[SCRIPT].splitlines()
    (first, second) = (script.index(f"run {name} - tc -batch {name}.tc") for name in ("net", "le0"))
    assert script[first + 1] == "qdisc net p2 1:1 10: dualpi2 limit 100p step_thresh 1ms"
    assert script[second + 1] == "qdisc le0 eth0 1:1 10: dualpi2 limit 100p step_thresh 1ms"
    assert any(line.endswith("handle 10: dualpi2 limit 100p step_thresh 1ms") for line in made.metadata["tc"])
