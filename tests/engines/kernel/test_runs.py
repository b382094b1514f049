"""Runs that only the kernel engine can do."""

import re
import struct

import numpy as np
import pytest
from required import missing
from support import PATH

from dumbbell.engines import engine as find_engine
from dumbbell.engines.kernel import guest
from dumbbell.errors import EnvironmentFault
from dumbbell.executor import Threads
from dumbbell.running.execute import execute
from dumbbell.running.prepare import compute, prepare
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.trace.passive import EPOCH_NS

END_NS = 10**9


@pytest.fixture(scope="module")
def kernel():
    engine = find_engine("kernel")
    try:
        engine.require()
    except EnvironmentFault as fault:
        missing("kernel", fault)
    return engine


def resolved(**more):
    settings = {"name": "s", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "4s", "engine": "kernel", **more}
    return Scenario.model_validate(settings).expand()


def queue(qdisc, shaper="tbf"):
    return {"rtt": "20ms", "reverse": "none", "bottleneck": {"rate": "10mbit", "shaper": shaper, "qdisc": qdisc}}


def test_a_reply_in_time_to_a_datagram_that_was_noted_late_is_left_out(kernel, monkeypatch):
    """A busy machine of a testbed leaves it so: the last arrival is noted after the end, and not counted where it came."""

    def boot(binary, folder, **more):
        spent_s = usual(binary, folder, **more)
        times = np.fromfile(folder / "datagrams-0", dtype="<i8").reshape(-1, 3)
        last = np.flatnonzero((times[:, 2] >= 0) & (times[:, 2] <= END_NS))[-1]
        times[last, 1] = END_NS + 5
        times.tofile(folder / "datagrams-0")
        counted = (folder / "counters").read_text()
        for name in ("received", "reply_sent"):
            found = re.search(rf"^flow 0 {name} (\d+)$", counted, re.MULTILINE)
            counted = counted.replace(found[0], f"flow 0 {name} {int(found[1]) - 1}")
        (folder / "counters").write_text(counted)
        return spent_s

    usual = guest.boot
    (one,) = resolved(flows=[], background=[{"kind": "ping", "interval": "30ms"}], duration="1s")
    (row,) = compute(one, on=kernel.name).flows.rows()
    monkeypatch.setattr(guest, "boot", boot)
    found = compute(one, on=kernel.name)
    assert found.status == "ok", found.reasons
    (late,) = found.flows.rows()
    assert [row[name] - late[name] for name in ("sent_packets", "arrived_packets", "acks_sent", "acks_arrived")] == [0, 1, 1, 1]
    assert late["lost_packets"] == 0


@pytest.mark.parametrize("interval", ["1ms", "10ms", "20ms", "30ms"])
def test_packets_that_move_at_the_very_end_are_counted_once(kernel, interval):
    """Replies to what was sent some ms before are due at a queue in the instant in which the counters are read."""
    (one,) = resolved(flows=[], background=[{"kind": "ping", "interval": interval}], duration="1s")
    found = compute(one, on=kernel.name)
    assert found.status == "ok", found.reasons


def test_a_run_that_needs_more_memory_is_done_again_with_more(kernel, monkeypatch):
    given = []

    def boot(*arguments, memory, **more):
        given.append(memory)
        if memory == guest.MEMORY:
            raise guest.ShortOfMemory("too little memory", cpu_s=1000.0)
        return usual(*arguments, memory=memory, **more)

    usual = guest.boot
    monkeypatch.setattr(guest, "boot", boot)
    (one,) = resolved(duration="1s")
    run = compute(one, on=kernel.name)
    assert (run.status, run.engine["memory"], given) == ("ok", "1G", ["256M", "1G"])
    assert 1000 < run.cpu_s < 1100
    monkeypatch.setattr(guest, "MORE_MEMORY", ("256M",))
    with pytest.raises(guest.ShortOfMemory, match="too little memory"):
        compute(one, on=kernel.name)


@pytest.mark.parametrize(
    "qdisc",
    [
        {"kind": "codel"},
        {"kind": "fq_codel", "ce_threshold": "1ms"},
        {"kind": "pie", "ecn": True},
        {"kind": "fq_pie", "dq_rate_estimator": True},
        {"kind": "red", "limit": "200kB", "min": "15kB", "max": "45kB", "ecn": True, "harddrop": True},
        {"kind": "sfq", "limit": "60p", "perturb": "1s"},
        {"kind": "fq", "flow_limit": "50p"},
        {"kind": "netem", "delay": "20ms", "limit": "60p"},
        {"kind": "tc", "command": "hhf limit 100"},
    ],
    ids=lambda qdisc: qdisc["kind"],
)
@pytest.mark.parametrize("shaper", ["tbf", "htb", "link"])
def test_every_queue_of_the_kernel_carries_traffic(kernel, qdisc, shaper):
    (one,) = resolved(path=queue(qdisc, shaper), flows=[{"cc": "cubic", "ecn": True}, {"cc": "reno"}])
    run = compute(one, on=kernel.name)
    assert (run.status, run.reasons) == ("ok", ())
    received = sum(values["rx_bytes"] for entity, values in run.counters.items() if entity.startswith("flow/"))
    assert 0.7 * 10e6 / 8 * 4 < received < 10e6 / 8 * 4
    kind = qdisc["command"].split()[0] if qdisc["kind"] == "tc" else qdisc["kind"]
    assert any(f" {kind} " in command for command in run.engine["tc"])


@pytest.mark.parametrize("control", [{"ecn": True}, {"ecn": False, "ce_threshold": "2ms"}], ids=["episodes", "threshold"])
def test_marks_of_a_queue_are_counted(kernel, control):
    (one,) = resolved(path=queue({"kind": "codel", **control}), flows=[{"cc": "dctcp"}])
    run = compute(one, on=kernel.name)
    marks = run.counters["port/bottleneck"]["ce_marks"]
    assert marks > 0
    assert run.counters["flow/dctcp"]["delivered_ce"] == pytest.approx(marks, abs=0.2 * marks)
    assert run.series("port/bottleneck", "ce_marks")[1][-1] == marks


@pytest.mark.parametrize("offload", ["none", "tso", "on"])
def test_offload_decides_what_the_network_sees(kernel, offload):
    flows = [{"cc": "cubic", "host": {"offload": offload}}]
    (one,) = resolved(path=queue({"kind": "pfifo", "limit": "100p"}), flows=flows, capture=True)
    run = compute(one, on=kernel.name)
    longest = max(length for _, length in packets(run.captures["left.pcap"]))
    assert longest > 1514 if offload == "on" else longest == 1514
    assert run.engine["offload"] == {"host 0": offload}


def packets(capture):
    """(time in ns, length) of each packet of a pcap file with ns."""
    magic, _, _, _, snaplen, _ = struct.unpack("<IIIIII", capture[:24])
    assert magic == 0xA1B23C4D
    at = 24
    while at < len(capture):
        seconds, ns, captured, length = struct.unpack("<IIII", capture[at : at + 16])
        assert captured == min(length, snaplen)
        yield seconds * 10**9 + ns - EPOCH_NS, length
        at += 16 + captured


def test_captures_hold_every_packet_at_its_time(kernel):
    start = {"start": {"first": "300ms"}}
    (one,) = resolved(flows=[{"cc": "cubic", **start}], capture=True)
    run = compute(one, on=kernel.name)
    left, right = (list(packets(run.captures[f"{side}.pcap"])) for side in ("left", "right"))
    assert left[0][0] == pytest.approx(300_000_000, abs=20_000)
    assert right[0][0] - left[0][0] == pytest.approx(10_000_000, abs=200_000)
    assert np.all(np.diff([time for time, _ in left]) >= 0)
    full = sum(length == 1514 for _, length in left)
    syn_and_ack = 2
    assert full + syn_and_ack == run.counters["flow/cubic"]["sent_packets"]


def test_a_setting_of_the_kernel_matters(kernel):
    plain, without = (
        compute(
            *resolved(flows=[{"cc": "cubic", "host": {"sysctls": sysctls}}], path=queue({"kind": "pfifo", "limit": "20p"})), on=kernel.name
        )
        for sysctls in ({}, {"net.ipv4.tcp_sack": 0})
    )
    assert without.counters != plain.counters
    assert without.engine["sysctls"]["host 0"]["net.ipv4.tcp_sack"] == "0"


def test_an_unknown_setting_is_one_line(kernel):
    (one,) = resolved(flows=[{"cc": "cubic", "host": {"sysctls": {"net.ipv4.tcp_nonsense": 1}}}])
    with pytest.raises(ScenarioError, match=r"flows\.0\.host\.sysctls: net\.ipv4\.tcp_nonsense: this kernel has no such setting; expected"):
        compute(one, on=kernel.name)


@pytest.mark.parametrize("command", ["nonsense limit 3", "hhf limit many"])
def test_a_command_that_tc_refuses_is_one_line(kernel, command):
    (one,) = resolved(path=queue({"kind": "tc", "command": command}))
    with pytest.raises(ScenarioError, match=rf"path\.bottleneck\.qdisc\.command: tc refuses '{command}' .*; expected"):
        compute(one, on=kernel.name)


def test_guests_do_not_disturb_each_other(kernel):
    runs = resolved(duration="2s", sweep={"path.rtt": ["20ms", "30ms", "40ms"]}, flows=[{"cc": "cubic", "count": 2}])
    alone = [compute(run, on=kernel.name).digest for run in runs]
    together = [run.digest for run in execute(prepare(runs, on=kernel.name), executor=Threads(3))]
    assert together == alone
    assert len(set(alone)) == 3


def test_the_seed_seeds_the_kernel(kernel):
    runs = [
        compute(*resolved(seed=seed, flows=[{"cc": "cubic", "count": 3}], path=queue({"kind": "pie"})), on=kernel.name)
        for seed in (1, 1, 2)
    ]
    assert runs[0].digest == runs[1].digest
    assert runs[2].digest != runs[0].digest


def test_a_parameter_of_a_congestion_control_takes_effect(kernel):
    """Without HyStart slow start ends in losses."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "50mbit", "qdisc": {"kind": "pfifo", "limit": "200p"}}}
    ccs = ["cubic", {"kind": "cubic", "hystart": "off", "hystart_detect": "delay", "initial_ssthresh": 0}]
    runs = [compute(*resolved(path=path, flows=[{"cc": cc}], duration="2s"), on=kernel.name) for cc in ccs]
    few, many = (run.counters["flow/cubic"]["retransmits"] for run in runs)
    assert few < 100 < many
    assert runs[1].engine["parameters"] == {"cubic.hystart": "0", "cubic.hystart_detect": "2"}


@pytest.mark.usefixtures("kernel")
def test_only_the_chosen_series_are_kept_and_the_run_is_the_same():
    flows = [{"cc": "cubic", "count": 2}, {"cc": "reno", "bytes": "100kB"}]
    whole, some = (
        execute(prepare(resolved(flows=flows, duration="1s", **more)), executor=Threads(1))[0]
        for more in ({}, {"series": {"flows": ["reno"], "ports": ["bottleneck"]}})
    )
    assert list(dict.fromkeys(some.frame["entity"])) == ["flow/reno", "port/bottleneck"]
    assert (some.flows, some.ports) == (whole.flows, whole.ports)
    for entity, name in (("flow/reno", "cwnd"), ("port/bottleneck", "sent_bytes")):
        assert [values.tolist() for values in some.series(entity, name)] == [values.tolist() for values in whole.series(entity, name)]
