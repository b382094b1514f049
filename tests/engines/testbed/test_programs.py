"""The agent with real programs, on this machine: two hosts that are namespaces of their own, and a link between them."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from engines.testbed.agents import in_time, started, tell
from required import missing
from support import planned
from waiting import HANG_S, wait_until

from dumbbell.engines.linux import applications, programs
from dumbbell.engines.linux.hosts import Hosts
from dumbbell.engines.linux.traffic import traffic_lines
from dumbbell.errors import EnvironmentFault

SETUP = """\
namespace l0
namespace r0
run init - ip link add e0 netns l0 type veth peer name e0 netns r0
run l0 - ip address add 10.1.0.1/16 dev e0
run r0 - ip address add 10.2.0.2/16 dev e0
run l0 - ip link set dev e0 up
run r0 - ip link set dev e0 up
run l0 - ip link set dev lo up
run r0 - ip link set dev lo up
run l0 - ip route add 10.2.0.0/16 dev e0
run r0 - ip route add 10.1.0.0/16 dev e0
"""
RATE_MBIT = 20
LINE = f"tc qdisc add dev e0 root tbf rate {RATE_MBIT}mbit burst 20000 limit 60000"


@pytest.fixture(scope="module")
def agent():
    if os.geteuid() or (lacking := [name for name in ("iperf3", "vsftpd", "curl") if shutil.which(name) is None]):
        missing("applications", "root is needed" if os.geteuid() else f"{', '.join(lacking)} is not installed")
    try:
        return str(programs.agent().path)
    except EnvironmentFault as fault:
        missing("compiler", fault)


def prepared(folder, duration="1500ms", **flow):
    """A folder for the agent with one flow; the plan."""
    plan = planned("testbed", flows=[{"cc": "reno", "stack": {"base": "host"}, **flow}], duration=duration, sample="50ms").plan
    hosts = Hosts(plan)
    lines = [*traffic_lines(plan, hosts, real_time=True), f"sample {plan.sample_ns}", f"duration {plan.duration_ns}", "traffic"]
    lines = [line for line in lines if not line.startswith(("at ", "run "))]
    lines[:0] = [f"run {name} - {LINE}" for name in ("l0", "r0")]
    (folder / "script").write_text(SETUP + "".join(f"{line}\n" for line in lines))
    for name, text in applications.files(plan, hosts, real_time=True).items():
        (folder / name).write_text(text)
    return plan


def carried_out(agent, folder):
    """The status of an agent that has carried out what the folder says."""

    def whole(lead_s):
        with started(agent, "local", folder, lead_s) as process:
            while (line := process.stdout.readline()) not in ("ended\n", ""):
                pass
            if line:
                tell(process, "finish")
            return process.wait(HANG_S)

    return in_time(whole, folder)


def counters(folder):
    lines = (line.split() for line in (folder / "counters").read_text().splitlines())
    return {words[2]: int(words[3]) for words in lines if words[0] == "flow"}


def running(space):
    """The programs in a mount namespace, which each agent has of its own."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().strip() in ("iperf3", "vsftpd", "curl") and space_of(path.parent.name) == space:
                found.add(int(path.parent.name))
        except OSError:  # it has ended
            continue
    return found


def space_of(process):
    return os.readlink(f"/proc/{process}/ns/mnt")


@pytest.mark.parametrize("opens", ["sender", "receiver"])
@pytest.mark.parametrize("application", ["iperf3", "ftp"])
def test_a_program_says_what_the_link_has_carried(agent, tmp_path, application, opens):
    plan = prepared(tmp_path, application=application, opens=opens)
    assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
    said = applications.outputs(plan, tmp_path)
    (columns,) = applications.reports(plan, said).values()
    found = counters(tmp_path)
    rows = np.fromfile(tmp_path / "flow-0").reshape(-1, 11)
    # However late the end comes on a busy machine: the rate of the link is kept.
    assert 0 < found["received"] < 1.1 * RATE_MBIT * 1e6 / 8 * (rows[-1, 0] / 1e9)
    # The client's data may still be in its socket: tcp_wmem has 4 MiB at most.
    assert 0.75 * found["received"] < columns["reported_bytes"] < 1.25 * found["received"] + (4 << 20)
    assert found["delivered"] <= found["arrived_packets"] + 1 <= found["sent_packets"] + 1
    assert np.all(np.diff(rows[:, 0]) > 0)
    assert np.all(np.diff(rows[:, 9]) >= 0)
    assert rows[-1, 1] > 1


@pytest.mark.parametrize("opens", ["sender", "receiver"])
def test_an_ftp_server_reads_its_files_whatever_the_umask(agent, tmp_path, opens):
    before = os.umask(0o077)
    try:
        prepared(tmp_path, application="ftp", opens=opens)
        assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
    finally:
        os.umask(before)
    assert counters(tmp_path)["received"] > 0


LEAVES = """
import socket, sys
at = sys.argv[1], int(sys.argv[2])
server = socket.create_server(at)  # with SO_REUSEADDR, as the agent's sockets are
client = socket.create_connection(at)
server.accept()[0].close()
client.close()
"""
"""Leaves a connection in TIME_WAIT at an address and port."""


def test_ports_that_a_killed_run_has_left_can_be_taken(agent, tmp_path):
    plan = prepared(tmp_path)
    (tmp_path / "leaves.py").write_text(LEAVES)
    ports = zip(("l0", "r0"), ("10.1.0.1", "10.2.0.2"), next(plan.connections)[1].ports, strict=True)
    left = [f"run {name} - {sys.executable} leaves.py {address} {port}" for name, address, port in ports]
    script = (tmp_path / "script").read_text()
    (tmp_path / "script").write_text(SETUP + "".join(f"{line}\n" for line in left) + script.removeprefix(SETUP))
    assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
    assert counters(tmp_path)["received"] > 0


@pytest.mark.clock
@pytest.mark.parametrize("application", ["iperf3", "ftp"])
def test_a_program_fills_the_link(agent, tmp_path, application):
    prepared(tmp_path, application=application)
    assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
    assert counters(tmp_path)["received"] > 0.5 * 1.5 * RATE_MBIT * 1e6 / 8


@pytest.mark.parametrize("application", ["iperf3", "ftp"])
def test_a_sized_transfer_is_complete_to_the_byte(agent, tmp_path, application):
    whole = 500_000 if application == "ftp" else 4 * 131_072  # iperf3 writes whole blocks
    for duration_s in (1.5, 15, 150):  # as long as this machine needs
        plan = prepared(tmp_path, duration=f"{duration_s}s", application=application, opens="receiver", bytes="500kB")
        assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
        found = counters(tmp_path)
        if found["received"] >= whole:
            break
    assert found["received"] == whole
    if application == "ftp":
        assert b"OK DOWNLOAD" in applications.outputs(plan, tmp_path)["application-reno-server.txt"]
    assert 0.2e9 < found["completed_ns"] < duration_s * 1e9


def test_a_congestion_control_is_the_senders(agent, tmp_path):
    plan = prepared(tmp_path, application="iperf3", cc="cubic")
    assert carried_out(agent, tmp_path) == 0, (tmp_path / "error").read_text()
    client = json.loads(applications.outputs(plan, tmp_path)["application-cubic-client.json"])
    assert client["end"]["sender_tcp_congestion"] == "cubic"


def test_a_program_that_fails_is_told(agent, tmp_path):
    prepared(tmp_path, application="iperf3")
    script = (tmp_path / "script").read_text()
    (tmp_path / "script").write_text(script.replace("--cport 10000", "--cport 99999999"))
    assert carried_out(agent, tmp_path) == 1
    assert (tmp_path / "error").read_text() == "iperf3 of flow 0 ended early, with status 1; see the log"


def test_a_server_that_cannot_listen_is_told(agent, tmp_path):
    prepared(tmp_path, application="iperf3")
    script = (tmp_path / "script").read_text()
    (tmp_path / "script").write_text(script.replace("-s -1 -J -B 10.2.0.2", "-s -1 -J -B 10.9.0.1"))
    assert carried_out(agent, tmp_path) == 1
    assert (tmp_path / "error").read_text() == "iperf3 of flow 0 ended before it listened; see the log"


@pytest.mark.parametrize("application", ["iperf3", "ftp"])
@pytest.mark.parametrize("how", ["killed", "abandoned"])
def test_programs_go_with_the_agent(agent, tmp_path, application, how):
    prepared(tmp_path, duration="3600s", application=application)

    def ended(lead_s):
        with started(agent, "local", tmp_path, lead_s) as process:
            space = space_of(process.pid)
            wait_until(lambda: len(running(space)) >= 2 or process.poll() is not None)
            is_running = process.poll() is None
            if how == "killed":
                process.send_signal(signal.SIGKILL)
            else:
                process.stdin.close()
            process.wait(HANG_S)
            wait_until(lambda: not running(space))
        return is_running

    assert in_time(ended, tmp_path)
