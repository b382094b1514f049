"""Runs over the guests of a laboratory, in real time."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support import resolved
from waiting import wait_until

from dumbbell.engines.testbed import fleet, remote
from dumbbell.engines.testbed.deployment import deploy
from dumbbell.engines.testbed.facts import differences
from dumbbell.engines.testbed.hosts import VARIABLE, Hosts
from dumbbell.engines.testbed.transport.ssh import connect, targets
from dumbbell.errors import EnvironmentFault
from dumbbell.running.prepare import compute

PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "shaper": "tbf", "burst": "12500B", "qdisc": {"kind": "pfifo", "limit": "100p"}}}
RUN = {"path": PATH, "flows": [{"cc": "cubic"}], "background": [{"kind": "ping", "interval": "50ms"}], "duration": "4s"}


@pytest.fixture
def hosts(inside, monkeypatch):
    path = inside.folder / "hosts.yaml"
    monkeypatch.setenv(VARIABLE, str(path))
    return Hosts.from_file(path)


def facts(hosts, before=None):
    async def ask():
        machines = await connect(targets(hosts))
        try:
            return await fleet.facts_of(hosts, machines, before)
        finally:
            await asyncio.gather(*(machine.close() for machine in machines.values()))

    return asyncio.run(ask())


@pytest.fixture
def before(hosts):
    """Return the facts of the guests, asked for once: each test leaves them so."""
    key = str(hosts)
    if key not in ASKED:
        ASKED[key] = facts(hosts)
    return ASKED[key]


ASKED = {}


def left_over(hosts, before):
    """Return the facts that are not as before, in lines."""
    now = facts(hosts, before)
    return [f"{name}: {line}" for name in before for line in differences(before[name], now[name])]


def test_a_run_over_machines_counts_every_packet_and_leaves_nothing(hosts, before):
    run = compute(resolved(**RUN, capture=["hosts", "bottleneck"]), on="testbed")
    assert run.status in ("ok", "warn"), run.reasons
    assert not [reason for reason in run.reasons if "not as before" in reason]
    assert left_over(hosts, before) == []
    assert set(run.captures) == {"left.pcap", "right.pcap", "port-bottleneck.pcap"}
    port = run.counters["port/bottleneck"]
    assert port["arrived_packets"] == port["sent_packets"] + port["dropped_overflow"]
    assert np.all(np.diff(run.series("flow/cubic", "rx_bytes")[1]) >= 0)
    ping = next(row for row in run.flows.rows() if row["flow"] == "ping")
    assert 0 < ping["arrived_packets"] <= ping["sent_packets"] <= 80


@pytest.mark.clock
@pytest.mark.usefixtures("hosts")
def test_a_run_over_machines_is_that_of_the_kernel():
    run, reference = (compute(resolved(**RUN, engine=name), on=name) for name in ("testbed", "kernel"))
    ours, theirs = (each.counters["flow/cubic"]["rx_bytes"] for each in (run, reference))
    assert ours == pytest.approx(theirs, rel=0.02)
    srtt_ms = [np.nanmean(each.series("flow/cubic", "srtt_ms")[1][20:]) for each in (run, reference)]
    assert srtt_ms[0] == pytest.approx(srtt_ms[1], rel=0.1, abs=1)
    assert np.max(np.diff(run.series("flow/cubic", "rx_bytes")[0])) < 0.3
    ping = next(row for row in run.flows.rows() if row["flow"] == "ping")
    assert ping["arrived_packets"] >= 75


SENT = {"path": PATH, "flows": [{"cc": "cubic", "bytes": "1MB"}], "duration": "2s", "capture": ["hosts", "bottleneck"], "passive_rtt": True}


@pytest.mark.usefixtures("hosts")
def test_packets_of_a_run_are_those_of_its_captures_and_make_round_trips(dumbbell, tmp_path):
    """Questions about the path before the run count nowhere. RTTs need no clocks; delays are as good as the recorded offset of the
    clocks."""
    run = compute(resolved(**SENT), on="testbed")
    for name, content in run.captures.items():
        (tmp_path / name).write_bytes(content)
    left, right, bottleneck = (str(tmp_path / f"{name}.pcap") for name in ("left", "right", "port-bottleneck"))
    sent = {each["direction"]: each["packets"] for each in json.loads(dumbbell("analyze", "--json", left).out)["connections"]}
    assert run.counters["port/delay"]["arrived_packets"] == sent["forward"]
    passive_ms = run.series("flow/cubic", "passive_rtt_ms")[1]
    assert np.mean(passive_ms) == pytest.approx(np.nanmean(run.series("flow/cubic", "srtt_ms")[1]), rel=0.2)
    whole = json.loads(dumbbell("analyze", "--pair", "--json", left, right).out)
    assert whole["rtt"][0]["p50_ms"] == pytest.approx(np.median(passive_ms), rel=0.05)
    uncertain_ms = sum(each["clock"]["uncertainty_us"] for each in run.engine["machines"].values()) / 1000
    least = {each["source"].partition(":")[0]: each["delay_min_ms"] for each in whole["ways"]}
    assert [least["10.1.0.1"], least["10.2.0.1"]] == pytest.approx([10, 10], abs=1 + uncertain_ms)
    # Clocks of a wrong difference would make one of them shorter than its delay.
    assert 20 <= sum(least.values()) <= whole["rtt"][0]["p50_ms"]
    (rest,) = json.loads(dumbbell("analyze", "--pair", "--json", bottleneck, right).out)["rtt"]
    assert 10 <= rest["p50_ms"] < whole["rtt"][0]["p50_ms"], "without the bottleneck and its queue"


def test_a_path_that_is_not_the_plan_s_is_refused(hosts, before, monkeypatch):
    def wrong(*arguments):
        found = deploy(*arguments)
        part = found.parts["router"]
        changes = [replace(each, do=tuple(word.replace("delay 10000us", "delay 17000us") for word in each.do)) for each in part.changes]
        return replace(found, parts={**found.parts, "router": replace(part, changes=tuple(changes))})

    monkeypatch.setattr(remote, "deploy", wrong)
    line = (
        r"a round trip to \w+ \(path\) takes (3[4-9]|[4-9]\d|\d{3,})\.\d ms without other traffic; "
        r"expected 20 to 2[0-9.]+ ms: the path is not as configured"
    )
    with pytest.raises(EnvironmentFault, match=rf"^left1: {line}\nright1: {line}$"):
        compute(resolved(**SENT), on="testbed")
    assert left_over(hosts, before) == []


@pytest.mark.usefixtures("hosts")
def test_what_a_machine_refuses_is_told_by_name():
    path = {**PATH, "bottleneck": {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "tc", "command": "nonsense limit 3"}}}
    with pytest.raises(EnvironmentFault, match=r"^router: qdisc add dev p1 parent 1: handle 10: nonsense limit 3: "):
        compute(resolved(path=path, duration="1s"), on="testbed")


COUNT = "ps -e -o comm= | grep -c -x -E 'iperf3|curl|vsftpd' || true"
"""Command that counts the running ones of these programs."""
KILLED = """
import sys
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario
print("begun", flush=True)
compute(Scenario.model_validate({"name": "s", "path": %r, "flows": %r, "duration": "3600s"}).expand()[0], on="testbed")
"""


KILLED_FLOWS = [{"cc": "cubic", "application": "iperf3"}, {"cc": "cubic", "application": "ftp"}]


def test_a_controller_that_is_killed_leaves_nothing(hosts, before, answer):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED % (PATH, KILLED_FLOWS)], stdout=subprocess.PIPE, start_new_session=True
    ) as controller:
        controller.stdout.readline()
        wait_until(lambda: answer("left1", COUNT) == "2")
        os.killpg(controller.pid, signal.SIGKILL)
    wait_until(lambda: not left_over(hosts, before))
    assert [answer("left1", COUNT), answer("right1", COUNT)] == ["0", "0"]


TRAFFIC = [
    {"kind": "exchange", "cc": "cubic", "request": {"exponential": "500B"}, "response": {"exponential": "20kB"}, "count": 5},
    {"kind": "exchange", "name": "early", "cc": "cubic", "request": "1B", "response": "10kB", "count": 5, "opens": "server"},
    {"kind": "onoff", "cc": "cubic", "rate": "1mbit", "write": "1000B", "on": {"exponential": "300ms"}, "off": {"exponential": "200ms"}},
    {"kind": "page", "cc": "cubic", "objects": 6, "size": {"exponential": "10kB"}, "first": "5kB", "pages": 2},
    {"kind": "streaming", "cc": "cubic", "bitrate": "500kbit", "chunk": "500ms", "chunks": 3},
    {"kind": "transfers", "cc": "cubic", "size": {"exponential": "9kB"}, "arrivals": {"kind": "poisson", "every": "90ms"}, "count": 9},
    {"kind": "udp", "interval": {"exponential": "20ms"}, "size": "200B"},
]
OWN_QUEUE = {"left": {"egress": {"rate": "8mbit", "shaper": "tbf", "burst": "10000B", "qdisc": {"kind": "fq_codel"}}}}


@pytest.mark.usefixtures("hosts")
def test_all_kinds_of_traffic_are_those_of_the_kernel_and_hosts_have_queues():
    """Two machines draw the same numbers, or tell each other, so that sizes are the same to the byte."""
    ftp = {"cc": "cubic", "name": "two", "application": "ftp", "bytes": "200kB"}
    programs = [{"cc": "cubic", "name": "one", "application": "iperf3"}, ftp]
    settings = {"path": PATH, "flows": [], "background": TRAFFIC, "hosts": OWN_QUEUE, "duration": "3s"}
    run = compute(resolved(**{**settings, "flows": programs}), on="testbed")
    assert run.status in ("ok", "warn"), run.reasons
    assert not [reason for reason in run.reasons if "not as before" in reason]
    reference = compute(resolved(**settings, engine="kernel"), on="kernel")
    ours, theirs = ({row["group"]: row for row in each.groups.rows()} for each in (run, reference))
    for name in ("exchange", "early", "page", "streaming", "transfers"):
        assert [ours[name][key] for key in ("completed", "rx_bytes")] == [theirs[name][key] for key in ("completed", "rx_bytes")]
    assert ours["onoff"]["rx_bytes"] == pytest.approx(theirs["onoff"]["rx_bytes"], abs=5000)
    port, first = run.counters["port/left-egress"], run.counters["port/delay"]
    assert port["arrived_packets"] == port["sent_packets"] + port["dropped_overflow"] + port["dropped_aqm"]
    # Packets that are not IP, the requests for an address, are counted by no filter.
    assert 0 <= port["sent_packets"] - first["arrived_packets"] <= 4
    assert len(run.series("port/left-egress", "backlog_packets")[0]) >= 28
    flows = {row["flow"]: row for row in run.flows.rows()}
    assert flows["one"]["reported_bytes"] == pytest.approx(flows["one"]["rx_bytes"], rel=0.1)
    assert (flows["two"]["reported_bytes"], flows["two"]["rx_bytes"]) == (200_000, 200_000)
    said = ("one-client.json", "one-server.json", "two-client.json", "two-server.txt")
    assert set(run.outputs) == {f"application-{name}" for name in said}
