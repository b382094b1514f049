"""The journal, with real devices in a namespace: changes, their undo, and sessions that are killed at any moment."""

import asyncio
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from required import missing
from waiting import HANG_S, wait_until

from dumbbell.engines.testbed import journal
from dumbbell.engines.testbed.facts import Feature
from dumbbell.engines.testbed.journal import Change, open_journal, recover
from dumbbell.engines.testbed.transport.base import MachineFault
from dumbbell.engines.testbed.transport.local import LocalMachine

FORWARD, ECN = "net.ipv4.ip_forward", "net.ipv4.tcp_ecn"
STATE = """
ip -o link | sed 's/^[0-9]*: //'; tc qdisc show; ip route; ls /run/dumbbell | grep -v lock; ls -A /run/netns 2>/dev/null
cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/tcp_ecn; ethtool -k data | grep -E '^(tcp-seg|generic)'
"""


class Namespace:
    """Network, mounts and /run of our own, with a device `data`."""

    def __init__(self, pid):
        self.prefix = ["nsenter", "-t", str(pid), "-U", "-n", "-m", "--preserve-credentials"]

    def sh(self, command):
        return subprocess.run([*self.prefix, "sh", "-c", command], capture_output=True, text=True, check=False).stdout

    def state(self):
        return self.sh(STATE)

    def run(self, work):
        """Runs a coroutine function with the namespace as a machine."""

        async def main():
            machine = LocalMachine("alice", self.prefix)
            try:
                return await work(machine)
            finally:
                await machine.close()

        return asyncio.run(main())

    def session(self, *made):
        """Opens a session, makes changes; the state in it, and how many were undone."""

        async def work(machine):
            opened = await open_journal(machine, "a test")
            await opened.make(made)
            return self.state(), await opened.close()

        return self.run(work)

    def popen(self, *arguments):
        words = [*self.prefix, "sh", "-s", "--", *arguments]
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)


@pytest.fixture(scope="module")
def namespace():
    command = (
        "mount -t tmpfs none /run && ip link set dev lo up && ip link add dev data type veth peer name other && echo ready && exec cat"
    )
    if not all(map(shutil.which, ("unshare", "nsenter", "ip", "tc", "ethtool"))):
        missing("namespaces", "there is no unshare, nsenter, ip, tc or ethtool")
    process = subprocess.Popen(
        ["unshare", "-rnm", "sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if process.stdout.readline() != b"ready\n":
        missing("namespaces", f"this machine does not allow namespaces: {process.communicate()[1].decode().strip()}")
    yield Namespace(process.pid)
    process.communicate()


def changes():
    """One of each kind that needs no hardware."""
    return [
        journal.veths([("p0", "q0")]),
        Change(("ip", "link", "set", "dev", "p0", "up")),
        Change(("tc", "qdisc", "add", "dev", "p0", "root", "tbf", "rate", "1mbit", "burst", "2000", "limit", "10000")),
        journal.clsact("data"),
        journal.segments("data", 1, 65535),
        *journal.offloads(
            "data", {"generic-receive-offload": True, "tcp-segmentation-offload": False}, features(off="generic-receive-offload")
        ),
        *journal.sysctls({FORWARD: "1", ECN: "1"}, {FORWARD: "0", ECN: "2"}),
        *journal.sysctls({ECN: "0"}, {ECN: "1"}),
        journal.folder("session"),
        Change(("sh", "-c", "echo content >/run/dumbbell/session-file"), ("rm", "-f", "/run/dumbbell/session-file")),
    ]


def features(off):
    names = ("generic-receive-offload", "tcp-segmentation-offload", "generic-segmentation-offload")
    return {name: Feature(name != off, False) for name in names}


def test_changes_are_made_and_undone_from_the_last(namespace):
    before = namespace.state()
    during, undone = namespace.session(*changes())
    assert undone == 8
    assert "p0@q0" in during
    assert "qdisc tbf" in during
    assert "qdisc clsact" in during
    assert "generic-receive-offload: on\n" in during
    assert "tcp-segmentation-offload: off\n" in during
    assert "session\n" in during
    assert namespace.state() == before


def test_a_change_that_fails_says_why_and_those_before_it_are_undone(namespace):
    before = namespace.state()
    with pytest.raises(MachineFault, match=r"^alice: tc qdisc add dev nothing clsact: Cannot find device \"nothing\"$"):
        namespace.session(journal.veths([("p0", "q0")]), journal.clsact("nothing"), journal.veths([("p1", "q1")]))
    assert namespace.state() == before


def test_what_was_there_before_is_neither_taken_nor_removed(namespace):
    namespace.sh("ip link add dev p0 type veth peer name q9; tc qdisc add dev data clsact")
    before = namespace.state()
    for one in (journal.veths([("p0", "q0")]), journal.clsact("data")):
        with pytest.raises(MachineFault, match=r"it is there already$"):
            namespace.session(one)
        assert namespace.state() == before
    namespace.sh("ip link del dev p0; tc qdisc del dev data clsact")


def test_undoing_what_is_gone_is_no_fault(namespace):
    before = namespace.state()

    async def work(machine):
        opened = await open_journal(machine, "a test")
        await opened.make([*changes(), *journal.sysctls({"net.ipv4.conf.p0.rp_filter": "1"}, {"net.ipv4.conf.p0.rp_filter": "0"})])
        namespace.sh("ip link del dev p0; tc qdisc del dev data clsact; rm -r /run/dumbbell/session")
        return await opened.close()

    assert namespace.run(work) == 9
    assert namespace.state().replace("session\n", "") == before.replace("session\n", "")


def test_what_cannot_be_undone_is_named_and_stays_in_the_journal(namespace):
    namespace.sh("echo 1 >/run/broken")
    change = Change(("true",), ("sh", "-c", '[ ! -e /run/broken ] || { echo "it is broken"; exit 1; }', "undo me"))
    with pytest.raises(MachineFault, match=r"^alice: could not be undone: sh -c .* undo me : it is broken$"):
        namespace.session(change, journal.veths([("p0", "q0")]))
    assert "p0" not in namespace.state()
    with pytest.raises(
        MachineFault, match=r"^alice: a dead session \(a test\) has left 2 changes; `dumbbell testbed recover` undoes them$"
    ):
        namespace.session()
    namespace.sh("rm /run/broken")
    assert namespace.run(recover) == 2
    assert namespace.run(recover) == 0


def test_a_machine_belongs_to_one_session(namespace):
    async def work(machine):
        first = await open_journal(machine, "the first, of alice")
        with pytest.raises(MachineFault, match=r"^alice: a session is running \(the first, of alice\); expected its end$"):
            await open_journal(machine, "the second")
        with pytest.raises(MachineFault, match="a session is running"):
            await recover(machine)
        await first.make([journal.veths([("p0", "q0")])])
        assert await first.close() == 1
        await (await open_journal(machine, "the third")).close()

    namespace.run(work)


def test_silence_ends_a_session(namespace, monkeypatch):
    monkeypatch.setattr(journal, "DEADLINE", 2.0)

    async def work(machine):
        opened = await open_journal(machine, "a test")
        await opened.make([journal.veths([("p0", "q0")])])
        # A controller that has stopped: it does nothing else while it waits here.
        wait_until(lambda: "p0" not in namespace.state())
        assert await opened.close() == 1

    namespace.run(work)


@pytest.mark.clock
def test_a_session_lasts_while_its_controller_says_something(namespace, monkeypatch):
    monkeypatch.setattr(journal, "DEADLINE", 2.0)
    monkeypatch.setattr(journal, "KEEPALIVE", 0.1)

    async def work(machine):
        opened = await open_journal(machine, "a test")
        await opened.make([journal.veths([("p0", "q0")])])
        await asyncio.sleep(2.5)
        assert "p0" in namespace.state()
        assert await opened.close() == 1

    namespace.run(work)


def test_a_folder_that_cannot_be_written_is_a_fault(namespace):
    with pytest.raises(MachineFault, match=r"^alice: cannot be claimed: .*mkdir.*/proc/nothing"):
        namespace.run(lambda machine: open_journal(machine, "a test", parent="/proc/nothing"))


def test_a_full_disk_is_a_fault_and_nothing_is_changed(namespace):
    namespace.sh("mkdir /run/small && mount -t tmpfs -o size=8k none /run/small && mkdir /run/small/dumbbell")
    before = namespace.state()

    async def work(machine):
        opened = await open_journal(machine, "a test", parent="/run/small/dumbbell")
        namespace.sh("head -c 8192 /dev/zero >/run/small/file")
        try:
            await opened.make([Change(("ip", "link", "add", "dev", "p0", "type", "dummy"), ("false", "x" * 5000))])
        finally:
            await opened.close()

    with pytest.raises(MachineFault, match=r"(No space left|I/O error)"):
        namespace.run(work)
    assert namespace.state() == before
    namespace.sh("umount /run/small")


AWKWARD = ["a b", "it's", '"', "$HOME", "`id`", "\\", "\\n", "*", "", "--", "ü", ";", "a\tb", "%s", "", ""]


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_words_arrive_as_they_are(namespace, shell, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell}")
    words = ("sh", "-c", f'printf "<%s>" "$@" >>{tmp_path}/words', "print", *AWKWARD)
    process = subprocess.Popen([*namespace.prefix, shell, "-s", "--", "run", "/run/dumbbell", str(HANG_S)], stdin=-1, stdout=-1)
    process.stdin.write(journal.script())
    process.stdin.flush()
    assert process.stdout.readline() == b"ready\n"
    process.stdin.write(f"change{Change(words, words).line()}\n".encode())
    out, _ = process.communicate()
    assert out == b"done\x1f1\nundone\x1f1\n"
    assert (tmp_path / "words").read_text() == 2 * "".join(f"<{word}>" for word in AWKWARD)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=5))
def test_words_are_taken_or_refused_but_never_confused(words):
    try:
        line = Change(tuple(words)).line()
    except ValueError:
        assert set("".join(words)) & set("\x1d\x1e\x1f\n\0")
    else:
        assert line.split("\x1d")[2].split("\x1f")[:-1] == words
        assert "\n" not in line


def test_an_undo_that_was_not_written_to_its_end_is_left_out(namespace):
    namespace.sh("mkdir -p /run/dumbbell; printf 'touch\\037/run/whole\\037.\\ntouch\\037/run/ha' >/run/dumbbell/journal")
    assert namespace.run(recover) == 1
    assert namespace.sh("cd /run; ls -d whole ha*") == "whole\n"
    namespace.sh("rm /run/whole")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc"])
def test_folders_of_sessions_are_below_theirs(name):
    with pytest.raises(ValueError):
        journal.folder(name)


def test_only_what_can_and_must_be_is_changed():
    former = {"a": Feature(True, False), "b": Feature(True, True), "c": Feature(False, False)}
    (change,) = journal.offloads("eth1", {"a": False, "b": False, "c": False, "d": False}, former)
    assert change.do == ("ethtool", "-K", "eth1", "a", "off")
    assert change.undo == ("ethtool", "-K", "eth1", "a", "on")
    assert journal.offloads("eth1", {"c": False}, former) == []
    (change,) = journal.coalescing("eth1", {"rx-usecs": "0", "tx-usecs": "0", "adaptive-rx": "off"}, {"rx-usecs": "50", "tx-usecs": "n/a"})
    assert change.do[-3:] == ("eth1", "rx-usecs", "0")
    assert change.undo[-3:] == ("eth1", "rx-usecs", "50")
    assert journal.coalescing("eth1", {"rx-usecs": "0"}, None) == []


def in_session(leader):
    """Processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, number, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(number) == leader and state != "Z":
                found.append(int(entry.name))
    return found


def requests(made):
    lines = [change.line() for change in made]
    return "".join("change" + "\x1e".join(lines[i : i + 4]) + "\n" for i in range(0, len(lines), 4)).encode()


def begun(namespace, request):
    """A session that makes the changes of a request."""
    process = namespace.popen("run", "/run/dumbbell", str(HANG_S))
    process.stdin.write(journal.script())
    process.stdin.flush()
    assert process.stdout.readline() == b"ready\n"
    process.stdin.write(request)
    process.stdin.flush()
    return process


def killed_at_a_step(namespace, chance, folder):
    """Ends a session that waits within its changes, or while it undoes them: the same step on every machine. Returns its shell."""
    kind, made, waits = chance.choice(KINDS), changes(), folder / "waits"
    os.mkfifo(waits)
    wait = ("cat", str(waits))
    made.insert(chance.randint(0, len(made)), Change(("true",), wait) if kind == "undoing" else Change(wait))
    process = begun(namespace, requests(made))
    if kind == "undoing":
        process.stdin.close()
    with waits.open("w"):  # comes when the session waits, which then goes on if it can
        end(process, kind)
    waits.unlink()
    return process


def killed_by_the_clock(namespace, chance, _folder):
    """Ends a session at a random moment. Returns its shell."""
    process = begun(namespace, requests(changes()))
    time.sleep(chance.uniform(0, 0.25))
    kind = chance.choice(KINDS)
    if kind == "undoing":
        process.stdin.close()
        time.sleep(chance.uniform(0, 0.1))
    end(process, kind)
    return process


KINDS = ("controller", "journal", "undoing")
"""The process that is killed: the controller; the session, while it makes changes or while it undoes them."""


def end(process, kind):
    if kind != "controller":
        process.kill()
        process.wait()
    process.stdout.close()
    process.stdin.close()


@pytest.mark.parametrize("kill", [killed_at_a_step, pytest.param(killed_by_the_clock, marks=pytest.mark.clock)])
def test_after_a_kill_recover_leaves_everything_as_it_was(kill, namespace, pytestconfig, tmp_path):
    chance = random.Random(pytestconfig.getoption("--seed"))
    before = namespace.state()
    left = set()
    for _ in range(pytestconfig.getoption("--kills") // 2):
        process = kill(namespace, chance, tmp_path)
        process.wait()
        wait_until(lambda leader=process.pid: not in_session(leader))
        left.add(namespace.state())
        namespace.run(recover)
        assert namespace.state() == before
    assert len(left) > 3, "the kills were all at the same moment"
