"""Preflight: each check provoked by changing one fact of machines that are as they should be."""

from dataclasses import replace

import pytest
from engines.testbed.recorded import facts

from dumbbell.engines.testbed.facts import Feature
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.preflight import Measured, Needs, addresses_asked, check, check_after, interfaces, lines

HOSTS = """
control: {{known_hosts: known_hosts, key: key, user: {user}, sudo: {sudo}}}
clock: {{sync: {sync}, worst: 2ms}}
machines:
  router:
    at: ssh://192.0.2.2
    role: router
    left: {{device: vec1, address: 10.1.0.254/24}}
    right: {{device: vec2, address: 10.2.0.254/24}}
  left1: {{at: "ssh://192.0.2.11", role: left, data: {{device: vec1, address: 10.1.0.1/24}}}}
  right1: {{at: "ssh://192.0.2.131", role: right, data: {{device: vec1, address: 10.2.0.1/24}}}}
"""
MACHINES = ("router", "left1", "right1")
CHAIN = Needs(
    qdiscs=frozenset({"netem", "tbf", "cake", "clsact"}),
    filters=(frozenset({"flower", "matchall"}), frozenset({"u32"})),
    actions=frozenset({"mirred"}),
    rate_bps=10_000_000,
    bytes=1_000_000,
    kernel="6.12",
)
ENDS = Needs(controls=frozenset({"cubic", "vegas"}), rate_bps=10_000_000, without_offload=True, rcvbuf_bytes=1 << 30)
NEEDS = {"router": CHAIN, "left1": ENDS, "right1": ENDS}


@pytest.fixture
def hosts(tmp_path):
    """The hosts file of the recorded machines, with other settings."""

    def make(user="root", sudo="false", sync="agent"):
        for name in ("known_hosts", "key"):
            (tmp_path / name).touch()
        (tmp_path / "hosts.yaml").write_text(HOSTS.format(user=user, sudo=sudo, sync=sync))
        return Hosts.from_file(tmp_path / "hosts.yaml")

    return make


def hardware(facts, device, **changes):
    """Facts with other hardware of a device."""
    return device_with(facts, device, hardware=replace(facts.devices[device].hardware, **changes))


def device_with(facts, device, **changes):
    return replace(facts, devices={**facts.devices, device: replace(facts.devices[device], **changes)})


def fit(name):
    """A recorded machine with hardware of which there is nothing to be said."""
    found = facts(name)
    found = replace(
        found, processors=replace(found.processors, load=0.5, ticks=(100, 0, 0, 900, 0, 0, 0, 0, 0, 0)), sockets=(), firewall=()
    )
    for device in ("vec1", "vec2"):
        if device in found.devices:
            found = hardware(
                found, device, speed_mbps=1000, duplex="Full", coalescing={"rx-usecs": "3", "tx-usecs": "0"}, pause={"RX": "off"}
            )
    return found


def problems(hosts, needs=None, measured=None, **changed):
    """Return the problems of the machines as they should be, with changes of one or several."""
    machines = {name: changed.get(name, fit(name)) for name in MACHINES}
    return check(hosts, machines, {**NEEDS, **(needs or {})}, measured)


def only(found, level):
    """The text of the only problem."""
    (problem,) = found
    assert problem.level == level
    return str(problem)


def test_machines_that_are_fit_have_no_problems(hosts):
    assert problems(hosts()) == []


def test_what_is_asked_of_machines(hosts):
    assert addresses_asked(hosts(), "left1") == ["10.2.0.1"]
    assert addresses_asked(hosts(), "right1") == ["10.1.0.1"]
    assert addresses_asked(hosts(), "router") == ["10.1.0.1", "10.2.0.1"]
    assert [each.device for each in interfaces(hosts().by_name["router"])] == ["vec1", "vec2"]
    assert interfaces(None) == []


def test_all_problems_of_all_machines_come_at_once_errors_first(hosts):
    found = problems(
        hosts(),
        router=device_with(fit("router"), "vec2", mtu=9000),
        left1=replace(fit("left1"), firewall=("nftables filter/input",)),
        right1=device_with(fit("right1"), "vec1", mtu=1400, up=False),
    )
    assert [(each.machine, each.level) for each in found] == [
        ("router", "error"),
        ("right1", "error"),
        ("right1", "error"),
        ("left1", "warning"),
    ]
    assert lines(found, "warning") == [str(found[-1])]


DEVICES = {
    "down": ({"up": False}, "vec1 is down; ip link set dev vec1 up"),
    "carrier": ({"carrier": False}, "vec1 has no carrier; is its cable plugged in?"),
    "address": (
        {"addresses": ("10.9.0.1/24",)},
        "the address of vec1 is 10.9.0.1/24; expected 10.1.0.1/24: ip address add 10.1.0.1/24 dev vec1",
    ),
    "no address": ({"addresses": ()}, "the address of vec1 is none; expected 10.1.0.1/24: ip address add 10.1.0.1/24 dev vec1"),
    "mtu": (
        {"mtu": 9000},
        "the MTU of vec1 is 9000; expected 1500, since queues are counted in frames of 1514 bytes: ip link set dev vec1 mtu 1500",
    ),
}


@pytest.mark.parametrize("name", DEVICES)
def test_a_data_device_is_as_the_hosts_file_says(hosts, name):
    changes, text = DEVICES[name]
    assert only(problems(hosts(), left1=device_with(fit("left1"), "vec1", **changes)), "error") == f"left1: {text}"


def test_a_missing_data_device_is_named_with_those_that_are_there(hosts):
    found = fit("left1")
    devices = dict.fromkeys(("lo", "vec0", "eth9"), found.devices["vec0"])
    text = only(problems(hosts(), left1=replace(found, devices=devices)), "error")
    assert text == "left1: there is no device vec1; the devices are vec0, eth9"


HARDWARE = {
    "speed": (
        {"speed_mbps": 10},
        "error",
        "vec1 has 10 Mbit/s; expected at least twice the bottleneck's 10, else the queue is in the driver",
    ),
    "unknown speed": ({"speed_mbps": None}, "warning", "the speed of vec1 is unknown; expected at least twice the bottleneck's 10 Mbit/s"),
    "duplex": ({"duplex": "Half"}, "warning", "vec1 has duplex Half; expected Full"),
    "coalescing": (
        {"coalescing": {"rx-usecs": "101", "tx-usecs": "100", "adaptive-rx": "on"}},
        "warning",
        "vec1 holds interrupts back (adaptive-rx on, rx-usecs 101); expected at most 100 us: "
        "ethtool -C vec1 adaptive-rx off adaptive-tx off rx-usecs 0 tx-usecs 0",
    ),
    "pause": (
        {"pause": {"Autonegotiate": "on", "RX": "on", "TX": "on"}},
        "warning",
        "pause frames (RX and TX) are on at vec1, by which a slow receiver stops the sender; ethtool -A vec1 autoneg off rx off tx off",
    ),
    "offload": (
        {"features": {"generic-receive-offload": Feature(True, True), "tcp-segmentation-offload": Feature(True, False)}},
        "error",
        "generic-receive-offload of vec1 is on [fixed]; expected a driver that can turn it off: queues would count in bundles",
    ),
}


@pytest.mark.parametrize("machine", ["router", "left1"])
@pytest.mark.parametrize("name", HARDWARE)
def test_hardware_that_spoils_a_queue_is_named(hosts, name, machine):
    changes, level, text = HARDWARE[name]
    assert only(problems(hosts(), **{machine: hardware(fit(machine), "vec1", **changes)}), level) == f"{machine}: {text}"


def test_offloads_of_hosts_matter_if_the_scenario_is_without(hosts):
    changed = hardware(fit("left1"), "vec1", **HARDWARE["offload"][0])
    assert problems(hosts(), needs={"left1": replace(ENDS, without_offload=False)}, left1=changed) == []


def test_devices_without_ethtool_are_not_judged(hosts):
    assert problems(hosts(), left1=device_with(fit("left1"), "vec1", hardware=None)) == []


def test_the_control_connection_does_not_come_by_a_data_device(hosts):
    found = fit("left1")
    changed = replace(found, ways={**found.ways, "192.0.2.1": {"dst": "192.0.2.1", "dev": "vec1"}})
    assert only(problems(hosts(), left1=changed), "error") == (
        "left1: vec1 is a data device, and the control connection from 192.0.2.1 comes by it; expected another for one of them"
    )


ROUTES = {
    "none": (
        "left1",
        "10.2.0.1",
        None,
        "there is no route to 10.2.0.1; expected one by vec1 through 10.1.0.254: ip route add 10.2.0.0/24 via",
    ),
    "control": (
        "left1",
        "10.2.0.1",
        {"dev": "vec0", "gateway": "192.0.2.1"},
        "the route to 10.2.0.1 is by vec0 through 192.0.2.1; expected by vec1",
    ),
    "gateway": (
        "right1",
        "10.1.0.1",
        {"dev": "vec1", "gateway": "10.2.0.9"},
        "the route to 10.1.0.1 is by vec1 through 10.2.0.9; expected by vec1",
    ),
    "router": ("router", "10.2.0.1", {"dev": "vec1"}, "the route to 10.2.0.1 is by vec1; expected by vec2, without a gateway"),
}


@pytest.mark.parametrize("name", ROUTES)
def test_routes_lead_through_the_router(hosts, name):
    machine, address, way, text = ROUTES[name]
    found = fit(machine)
    ways = {key: value for key, value in found.ways.items() if key != address} | ({address: way} if way else {})
    assert only(problems(hosts(), **{machine: replace(found, ways=ways)}), "error").startswith(f"{machine}: {text}")


def lacking(name, kind, *missing, said="it is unknown"):
    found = fit(name)
    table = {**getattr(found.presence, kind), **dict.fromkeys(missing, said)}
    return replace(found, presence=replace(found.presence, **{kind: table}))


LACKING = {
    "qdisc": ("router", "qdiscs", ["netem"], "netem is not in this kernel (it is unknown); modprobe sch_netem, or choose another machine"),
    "clsact": (
        "router",
        "qdiscs",
        ["clsact"],
        "clsact is not in this kernel (it is unknown); modprobe sch_ingress, or choose another machine",
    ),
    "action": (
        "router",
        "actions",
        ["mirred"],
        "mirred is not in this kernel (it is unknown); modprobe act_mirred, or choose another machine",
    ),
    "control": (
        "left1",
        "controls",
        ["vegas"],
        "vegas is not in this kernel (it is unknown); modprobe tcp_vegas, or choose another machine",
    ),
    "filters": (
        "router",
        "filters",
        ["flower", "u32"],
        "of the classifiers flower with matchall or u32 is not in this kernel; modprobe cls_flower, or choose another machine",
    ),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_a_kernel_lacks_is_named_with_its_module(hosts, name):
    machine, kind, missing, text = LACKING[name]
    assert only(problems(hosts(), **{machine: lacking(machine, kind, *missing)}), "error") == f"{machine}: {text}"


def test_one_set_of_classifiers_is_enough_and_what_is_not_needed_may_lack(hosts):
    assert problems(hosts(), router=lacking("router", "filters", "flower", "matchall"), left1=lacking("left1", "qdiscs", "netem")) == []


def test_a_kernel_in_which_nothing_can_be_tried_is_an_error_where_something_is_needed(hosts):
    text = only(problems(hosts(), router=replace(fit("router"), presence=None)), "error")
    assert text.startswith("router: what its kernel has cannot be tried; expected tc and unshare")
    assert problems(hosts(), needs={"left1": Needs()}, left1=replace(fit("left1"), presence=None)) == []


def test_a_stack_of_another_kernel_is_an_error(hosts):
    for release, fits in (("6.12.117", True), ("6.12-rc1", True), ("6.1.12", False), ("6.120.1", False)):
        found = fit("router")
        text = [str(each) for each in problems(hosts(), router=replace(found, kernel=replace(found.kernel, release=release)))]
        expected = f"router: its kernel is {release}; the scenario's stack is that of 6.12 (stack: {{base: host}} takes what there is)"
        assert text == ([] if fits else [expected])


QUEUES = {
    "qdisc": (
        {"kind": "tbf", "handle": "1:", "root": True},
        "tbf 1: is left on vec1; expected the kernel's default there: "
        "`dumbbell testbed recover` if dumbbell left it, else tc qdisc del dev vec1 root",
    ),
    "default by hand": (
        {"kind": "pfifo_fast", "handle": "8001:", "root": True},
        "pfifo_fast 8001: is left on vec1; expected the kernel's default there: "
        "`dumbbell testbed recover` if dumbbell left it, else tc qdisc del dev vec1 root",
    ),
    "clsact": (
        {"kind": "clsact", "handle": "ffff:", "parent": "ffff:fff1"},
        "clsact ffff: is left on vec1; expected the kernel's default there: "
        "`dumbbell testbed recover` if dumbbell left it, else tc qdisc del dev vec1 clsact",
    ),
    "another default": (
        {"kind": "fq", "handle": "0:", "root": True},
        "the queue of vec1 is fq; expected one of noqueue, noop, pfifo_fast, fq_codel, mq: "
        "set net.core.default_qdisc, and the device down and up",
    ),
    "another default below mq": (
        {"kind": "fq", "handle": "0:", "parent": ":1"},
        "the queue of vec1 is fq; expected one of noqueue, noop, pfifo_fast, fq_codel, mq: "
        "set net.core.default_qdisc, and the device down and up",
    ),
}


@pytest.mark.parametrize("name", QUEUES)
def test_queues_that_somebody_has_put_on_a_data_device_are_errors(hosts, name):
    qdisc, text = QUEUES[name]
    found = fit("left1")
    others = tuple(each for each in found.qdiscs if each["dev"] != "vec1")
    changed = replace(found, qdiscs=(*others, {"dev": "vec1", "options": {}, **qdisc}))
    assert only(problems(hosts(), left1=changed), "error") == f"left1: {text}"


def test_queues_of_other_devices_are_not_ours_to_judge(hosts):
    found = fit("left1")
    changed = replace(found, qdiscs=(*found.qdiscs, {"dev": "vec0", "kind": "tbf", "handle": "1:", "root": True}))
    assert problems(hosts(), left1=changed) == []


LEFT = {
    "lock": ({"locked": True, "session": "of bob"}, "a session is running (of bob); expected its end"),
    "journal": (
        {"changes": 3, "session": "of bob"},
        "a dead session (of bob) has left 3 changes; `dumbbell testbed recover` undoes them",
    ),
    "namespace": (
        {"namespaces": ("dumbbell-1-left",)},
        "the namespace dumbbell-1-left is left of a session; `dumbbell testbed recover`, or ip netns del dumbbell-1-left",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_of_a_session_is_an_error(hosts, name):
    changes, text = LEFT[name]
    found = fit("router")
    assert only(problems(hosts(), router=replace(found, leftover=replace(found.leftover, **changes))), "error") == f"router: {text}"


def test_devices_with_the_names_of_the_chain_are_errors_on_the_router(hosts):
    text = "router: the device p0 is there, a name that the chain of queues needs; ip link del dev p0"
    for machine in ("router", "left1"):
        found = fit(machine)
        devices = {**found.devices, "p0": replace(found.devices["vec0"], name="p0", kind="veth")}
        assert [str(each) for each in problems(hosts(), **{machine: replace(found, devices=devices)})] == [text] * (machine == "router")


def account(name, **changes):
    found = fit(name)
    return replace(found, account=replace(found.account, **changes))


def test_privilege_is_needed_or_sudo(hosts):
    changed = account("left1", user=1000, capabilities=0)
    found = [str(each) for each in problems(hosts(user="alice"), left1=changed)]
    assert found[0] == "left1: user 1000 may not configure the network; expected control.user: root, or control.sudo: true"
    assert found[1].startswith("left1: net.core.rmem_max is ")
    assert found[1].endswith("; expected at least the rcvbuf of 1073741824, which only root may exceed")
    assert problems(hosts(user="alice", sudo="true"), left1=changed) == []


def test_tools_that_are_missing_are_named_with_their_packages(hosts):
    tools = {name: path for name, path in fit("left1").account.tools.items() if name not in ("ethtool", "iperf3")}
    found = problems(hosts(), needs={"left1": replace(ENDS, tools=frozenset({"iperf3"}))}, left1=account("left1", tools=tools))
    assert [str(each) for each in found] == [
        "left1: ethtool is not installed (package ethtool)",
        "left1: iperf3 is not installed (package iperf3)",
    ]


def test_the_session_has_a_folder_with_room_for_programs(hosts):
    text = only(problems(hosts(), router=account("router", free_bytes=999_999)), "error")
    assert text == "router: /run has room for 999999 bytes; the run writes about 1000000"
    text = only(problems(hosts(), router=account("router", noexec=True)), "error")
    assert text == "router: /run is mounted noexec, so that the agent cannot be run there; mount -o remount,exec /run"


def processors(name, **changes):
    found = fit(name)
    return replace(found, processors=replace(found.processors, **changes))


BUSY = {
    "governor": ({"governors": ("performance", "powersave")}, "the processors' governor is powersave; expected performance"),
    "load": ({"load": 9.5}, "the load is 9.5 on 1 processors; expected at most one each"),
    "steal": (
        {"ticks": (900, 0, 0, 0, 0, 0, 0, 100)},
        "other machines have had its processors for 10.0% of the time (steal); expected at most 2%",
    ),
}


@pytest.mark.parametrize("name", BUSY)
def test_busy_or_slow_processors_are_warnings(hosts, name):
    changes, text = BUSY[name]
    assert only(problems(hosts(), left1=processors("left1", **changes)), "warning").startswith(f"left1: {text}")


def test_firewalls_tracking_and_other_users_are_warnings(hosts):
    text = only(problems(hosts(), left1=replace(fit("left1"), firewall=("nftables filter/input",))), "warning")
    assert text.startswith("left1: there are firewall rules (nftables filter/input); expected none")
    text = only(problems(hosts(), left1=replace(fit("left1"), connections_tracked=5)), "warning")
    assert text == "left1: connections are tracked (nf_conntrack has 5); expected none"
    sockets = ("tcp 10.1.0.1:22 10.2.0.1:40000", "tcp 192.0.2.11:22 192.0.2.1:999")
    text = only(problems(hosts(), left1=replace(fit("left1"), sockets=sockets)), "warning")
    assert text == "left1: the data network has another user, tcp 10.1.0.1:22 10.2.0.1:40000; expected none during runs"


def test_what_was_measured_is_judged(hosts):
    def measured(**values):
        return problems(hosts(), needs={"router": replace(CHAIN, burst_us=2000.0)}, measured={"router": Measured(**values)})

    assert measured(lateness_p99_us=1000, clock_uncertainty_ns=2_000_000, clock_drift_ns=-2_000_000) == []
    text = only(measured(lateness_p99_us=1001.0), "warning")
    assert text == "router: this machine is too busy: 1 % of timers are late by 1001 us or more; expected at most 1000"
    late, burst = measured(lateness_p99_us=2500)
    assert (late.level, burst.level) == ("warning", "warning")
    assert (
        burst.text == "the shaper's burst lasts 2000 us, and timers are late by 2500 us (p99): it will lose rate; expected a larger burst"
    )
    text = only(measured(clock_uncertainty_ns=3_000_000), "warning")
    assert text == "router: its clock is known to 3 ms; expected at most clock.worst, 2 ms"
    assert only(measured(clock_drift_ns=-3_000_000), "warning").startswith("router: its clock drifts by 3 ms; expected")
    assert only(measured(clock_uncertainty_ns=51_000_000), "error").startswith("router: its clock is known to 51 ms")


TRACKING = "C0000201,192.0.2.1,3,1700000000.0,0.000001,0.0,0.0,0.0,0.0,0.0,0.01,0.001,64.0,%s"


def test_clocks_are_synchronised_if_the_hosts_file_says_so(hosts):
    def by(tracking):
        return {name: processors(name, tracking=tracking) for name in MACHINES}

    assert problems(hosts(sync="ntp"), **by(TRACKING % "Normal")) == []
    found = problems(hosts(sync="ntp"), **by(TRACKING % "Not synchronised"))
    assert [each.level for each in found] == ["error"] * 3
    assert found[0].text == "chrony says of its clock: Not synchronised; expected it to be synchronised (clock.sync: ntp)"
    found = problems(hosts(sync="ntp"), **by(None))
    assert found[0].text == "chrony does not say that its clock is synchronised (clock.sync: ntp); expected chronyd to run"


def test_a_machine_for_all_roles_is_judged_without_devices(tmp_path):
    (tmp_path / "hosts.yaml").write_text("machines: local\n")
    hosts = Hosts.from_file(tmp_path / "hosts.yaml")
    assert check(hosts, {"local": fit("router")}, {"local": CHAIN}) == []
    found = check(hosts, {"local": lacking("router", "qdiscs", "netem")}, {"local": CHAIN})
    assert only(found, "error").startswith("local: netem is not in this kernel")


def test_after_a_run_everything_is_as_before():
    before = {name: fit(name) for name in MACHINES}
    assert check_after(before, before) == []


def test_after_a_run_losses_in_devices_steal_and_what_is_left_are_warnings():
    before = {"left1": fit("left1")}
    found = before["left1"]
    vec1 = found.devices["vec1"]
    counters = {**vec1.counters, "rx.dropped": vec1.counters["rx.dropped"] + 3, "rx.packets": vec1.counters["rx.packets"] + 10}
    after = device_with(found, "vec1", counters=counters, mtu=1400)
    ticks = tuple(each + more for each, more in zip(found.processors.ticks, (80, 0, 0, 10, 0, 0, 0, 10, 0, 0), strict=True))
    after = replace(after, processors=replace(after.processors, ticks=ticks))
    assert [str(each) for each in check_after(before, {"left1": after})] == [
        "left1: not as before: mtu of vec1: 1500 before, 1400 after",
        f"left1: rx.dropped of vec1 grew by 3 to {counters['rx.dropped']}; packets were lost outside the queues",
        "left1: other machines had its processors for 10.0% of the time (steal); expected at most 2%",
    ]
    assert {each.level for each in check_after(before, {"left1": after})} == {"warning"}
