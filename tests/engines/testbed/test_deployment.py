"""Deployment on each machine, by recorded facts of a laboratory; and merging of its results."""

import numpy as np
from engines.testbed.recorded import MACHINES, deployed, facts
from support import PATH, planned

from dumbbell.engines.testbed.deployment import SCRIPT, unseated
from dumbbell.engines.testbed.elsewhere import needs
from dumbbell.engines.testbed.merging import merge


def script(found, name):
    return found.parts[name].files[SCRIPT].splitlines()


def done(found, name, program):
    """The changes of a machine that a program makes."""
    return [" ".join(change.do) for change in found.parts[name].changes if change.do[0] == program]


def test_each_host_has_its_half_of_a_flow(hosts):
    _, found = deployed(hosts)
    assert found.ends == {"cubic": ("left1", "right1")}
    (left,) = (line for line in script(found, "left1") if line.startswith("tcp "))
    (right,) = (line for line in script(found, "right1") if line.startswith("tcp "))
    assert left.split()[1:5] == ["init", "-", "10.1.0.1", "10.2.0.1"]
    assert right.split()[1:3] == ["-", "init"]
    assert left.split()[3:] == right.split()[3:]
    assert not any(line.startswith("tcp ") for line in script(found, "router"))


def test_hosts_set_nothing_themselves(hosts):
    flows = [{"cc": "cubic", "duration": "2s", "host": {"sysctls": {"net.ipv4.tcp_sack": 0}}}]
    _, found = deployed(hosts, flows=flows, background=[{"kind": "ping", "interval": "100ms"}])
    lines = script(found, "left1")
    assert not [line for line in lines if line.split()[0] in ("sysctl", "run", "namespace", "offload")]
    settings = found.parts["left1"].settings
    assert (settings["net.ipv4.tcp_sack"], settings["net.ipv4.ping_group_range"]) == ("0", "0 0")
    assert settings["net.ipv4.tcp_max_tw_buckets"] == "0"
    stops = [line for line in lines if line.startswith("at ")]
    assert [line.split()[1:3] for line in stops] == [["2000000000", "init"]]
    assert all(" dev vec1 " in line for line in stops)
    assert not [line for line in script(found, "right1") if line.startswith("at ")]


def test_the_router_has_the_ports_between_its_devices(hosts):
    _, found = deployed(hosts)
    tc = [f"tc {line}" for line in found.parts["router"].tc]
    assert "tc filter add dev vec1 ingress protocol ip prio 2000 matchall action mirred egress redirect dev p0" in tc
    # A packet that comes out of the last port is for the machine itself, which routes it on.
    assert not [line for line in tc if " dev q1 " in line and "redirect" in line]
    # dumbbell adds only the place for filters to data devices.
    assert not [line for line in tc if line.startswith(("tc qdisc add dev vec1", "tc qdisc add dev vec2"))]
    assert done(found, "router", "tc") == ["tc qdisc add dev vec1 clsact", "tc qdisc add dev vec2 clsact"]
    addresses = [word for change in found.parts["router"].changes for word in change.do if " address " in word]
    router = facts("router")
    assert addresses == [
        f"link set dev q1 address {router.devices['vec1'].mac} mtu 1500 arp off up",
        f"link set dev q3 address {router.devices['vec2'].mac} mtu 1500 arp off up",
    ]
    hops = [line.split()[1] for line in script(found, "router") if line.startswith("hop ")]
    assert {"vec1", "vec2"} < set(hops)


def test_what_is_not_undone_is_of_devices_that_go(hosts):
    _, found = deployed(hosts)
    kept = [change for name in MACHINES for change in found.parts[name].changes if not change.undo]
    assert [change.do[2].split()[-3] for change in kept] == ["ip", "tc"]
    for change in kept:
        lines = [line.split() for line in change.do[4:]]
        assert all(words[words.index("dev") + 1][0] in "pqxy" or words[:2] == ["filter", "add"] for words in lines)


def test_more_hosts_than_there_are_are_refused(hosts):
    plan = planned("testbed", flows=[{"cc": "cubic"}, {"cc": "dctcp"}]).plan
    assert [each.what for each in unseated(plan, hosts)] == [
        "take 2 hosts on the left, by their settings and names, and the testbed has 1",
        "take 2 hosts on the right, by their settings and names, and the testbed has 1",
    ]


def test_a_host_has_its_own_queue_on_its_data_device(hosts):
    egress = {"left": {"egress": {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "10p"}}}}
    plan, found = deployed(hosts, hosts=egress)
    (port,) = (i for i, port in enumerate(plan.ports) if port.id == "left-egress")
    assert found.queues == {port: ("left1", "vec1")}
    change = found.parts["left1"].changes[-1]
    assert change.undo == ("tc", "qdisc", "del", "dev", "vec1", "root")
    assert change.do[-1] == "qdisc add dev vec1 parent 1: handle 10: pfifo limit 10"
    assert f"egress init 16 vec1 le{port}" in script(found, "left1")
    router = script(found, "router")
    assert not [line for line in router if line.startswith("egress ")]
    assert len([line for line in router if line.startswith("port ")]) == len(plan.ports) - 1
    assert not found.parts["right1"].tc
    assert {"pfifo", "tbf"} <= needs(plan, hosts)["left1"].qdiscs


def test_both_hosts_know_what_the_other_draws(hosts):
    background = [
        {"kind": "exchange", "cc": "cubic", "request": {"exponential": "500B"}, "response": "1kB", "count": 3},
        {"kind": "transfers", "cc": "cubic", "size": "10kB", "arrivals": {"kind": "poisson", "every": "1s"}},
        {"kind": "udp", "interval": {"exponential": "1s"}, "size": "200B"},
    ]
    _, found = deployed(hosts, background=background)
    left, right = (found.parts[name].files for name in ("left1", "right1"))
    assert {"draws-1-request", "arrivals-2", "datagrams-of-2"} < set(left)
    assert {key: text for key, text in left.items() if key != SCRIPT} == {key: text for key, text in right.items() if key != SCRIPT}
    assert "net.core.somaxconn" in found.parts["right1"].settings
    (line,) = (line for line in script(found, "right1") if line.startswith("transfers "))
    assert line.split()[1:3] == ["-", "init"]


def test_programs_are_run_where_their_ends_are(hosts):
    flows = [{"cc": "vegas", "application": "ftp"}, {"cc": "vegas", "application": "iperf3", "opens": "receiver"}]
    plan, found = deployed(hosts, flows=flows)
    run = {name: [line.split()[4] for line in script(found, name) if line.startswith("program ")] for name in ("left1", "right1")}
    assert run == {"left1": ["stdbuf", "iperf3"], "right1": ["vsftpd", "iperf3"]}
    assert [name for name in ("left1", "right1") if "vsftpd-0.conf" in found.parts[name].files] == ["right1"]
    assert [line for line in done(found, "left1", "ip") if "congctl vegas" in line]
    assert not [line for line in done(found, "right1", "ip") if "congctl" in line]
    assert {"curl", "iperf3", "vsftpd"} <= needs(plan, hosts)["left1"].tools


def test_needs_name_what_a_run_takes(hosts):
    path = {**PATH, "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "fq_codel"}}}
    found = needs(planned("testbed", path=path, flows=[{"cc": "vegas", "stack": {"base": "host"}}]).plan, hosts)
    assert "fq_codel" in found["router"].qdiscs
    assert found["left1"].controls == {"vegas"}
    assert found["left1"].kernel is None


def test_halves_become_flows(hosts, tmp_path):
    plan, found = deployed(hosts, background=[{"kind": "ping", "interval": "100ms"}])
    place, into = tmp_path / "machines", tmp_path / "merged"
    into.mkdir()
    counters = {
        "left1": "flow 0 sent_packets 7\nflow 0 received 0\nflow 1 sent 3\nflow 1 reply_received 2\nflow 1 received 0\n",
        "right1": "flow 0 sent_packets 0\nflow 0 received 99\nflow 1 sent 0\nflow 1 reply_received 0\nflow 1 received 3\n",
        "router": "queue p0 1 2 3 4 5\n",
    }
    for name in MACHINES:
        (place / name).mkdir(parents=True)
        (place / name / "counters").write_text(counters[name])
    (place / "router" / "end.json").write_text("[]")
    for i in range(len(plan.ports)):
        (place / "router" / f"port-{i}").touch()
    np.array([range(11)], dtype="<f8").tofile(place / "left1" / "flow-0")
    np.array([[1, -1, 9], [2, -1, -1], [3, -1, 12]], dtype="<i8").tofile(place / "left1" / "datagrams-1")
    np.array([[-1, 5, -1], [-1, 6, -1]], dtype="<i8").tofile(place / "right1" / "datagrams-1")
    merge(plan, found, "router", place, into)
    lines = (into / "counters").read_text().splitlines()
    assert {"queue p0 1 2 3 4 5", "flow 0 sent_packets 7", "flow 0 received 99", "flow 1 sent 3", "flow 1 received 3"} <= set(lines)
    assert len([line for line in lines if line.startswith("flow 0 received")]) == 1
    assert np.fromfile(into / "flow-0").tolist() == list(range(11))
    times = np.fromfile(into / "datagrams-1", dtype="<i8").reshape(-1, 3).tolist()
    assert times == [[1, 5, 9], [2, 6, -1], [3, -1, 12]]
