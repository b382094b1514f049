"""Machines behind real ssh servers, which are guests with kernels of their own: what they are, and changes to them."""

import asyncio
import subprocess
import sys

import pytest
from waiting import HANG_S

from dumbbell.engines.testbed import journal
from dumbbell.engines.testbed.facts import collect, differences
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.journal import open_journal, recover
from dumbbell.engines.testbed.preflight import Needs, addresses_asked, check, interfaces, lines
from dumbbell.engines.testbed.transport.base import MachineFault
from dumbbell.engines.testbed.transport.ssh import connect, targets

CHAIN = Needs(
    qdiscs=frozenset({"netem", "tbf", "htb", "clsact"}),
    filters=(frozenset({"flower", "matchall"}),),
    actions=frozenset({"mirred", "gact"}),
    controls=frozenset({"cubic"}),
    rate_bps=10_000_000,
)


def on_guests(lab, work):
    """Runs a coroutine function with the hosts file and all machines."""

    async def main():
        hosts = Hosts.from_file(lab.hosts)
        machines = await connect(targets(hosts))
        try:
            return await work(hosts, machines)
        finally:
            await asyncio.gather(*(machine.close() for machine in machines.values()))

    return asyncio.run(main())


async def ask(hosts, machine, before=None):
    devices = [each.device for each in interfaces(hosts.by_name[machine.name])]
    return await collect(machine, devices, addresses_asked(hosts, machine.name), before)


def changes(facts):
    vec1 = facts.devices["vec1"]
    return [
        journal.veths([("p0", "q0"), ("x0", "y0")]),
        journal.Change(("tc", "qdisc", "add", "dev", "p0", "root", "netem", "delay", "10ms")),
        journal.clsact("vec1"),
        journal.segments("vec1", 1, vec1.gso_max_segs),
        *journal.offloads("vec1", {name: False for name, each in vec1.hardware.features.items() if each.on}, vec1.hardware.features),
        *journal.coalescing("vec1", {"tx-usecs": "0"}, vec1.hardware.coalescing),
        *journal.sysctls({"net.ipv4.ip_forward": "0", "net.ipv4.tcp_ecn": "1"}, facts.kernel.sysctls),
        journal.route("10.77.0.0/24", str(facts.devices["vec1"].addresses[0].replace(".254/24", ".1")), "vec1"),
        journal.namespace("dumbbell-test"),
        journal.folder("test"),
    ]


@pytest.fixture
def before(inside):
    """Return the facts of the guests, asked for once."""
    if inside.hosts not in ASKED:

        async def work(hosts, machines):
            return dict(zip(machines, await asyncio.gather(*(ask(hosts, machine) for machine in machines.values())), strict=True))

        ASKED[inside.hosts] = on_guests(inside, work)
    return ASKED[inside.hosts]


ASKED = {}


def test_guests_are_fit_for_a_run(inside, before):
    found = check(Hosts.from_file(inside.hosts), before, dict.fromkeys(before, CHAIN))
    assert lines(found, "error") == []
    assert len({each.kernel.boot_id for each in before.values()}) == 3
    assert len({each.account.controller for each in before.values()}) == 1


def test_changes_are_undone_when_a_session_ends(inside, before):
    was = before["router"]

    async def work(hosts, machines):
        router = machines["router"]
        opened = await open_journal(router, "a test")
        await opened.make(changes(was))
        await router.put(b"content", f"{journal.FOLDER}/test/plan")
        during = await ask(hosts, router, was)
        return during, await opened.close(), await ask(hosts, router, was)

    during, undone, after = on_guests(inside, work)
    assert undone == len(changes(was)) - 1
    found = differences(was, during)
    for line in (
        "sysctl net.ipv4.ip_forward",
        "gso_max_segs of vec1",
        "device p0",
        "namespace dumbbell-test",
        "qdisc of vec1 at ffff:fff1",
    ):
        assert any(each.startswith(f"{line}: ") for each in found)
    assert during.leftover.locked
    assert during.leftover.session == "a test"
    assert differences(was, after) == []
    assert (after.leftover.locked, after.leftover.session) == (False, None)


def test_a_program_that_is_killed_leaves_its_changes_to_recover(inside, before):
    was = before["router"]

    async def work(hosts, machines):
        router = machines["router"]
        opened = await open_journal(router, "a test")
        with pytest.raises(MachineFault, match=r"^router: a session is running \(a test\)"):
            await recover(router)
        await opened.make(changes(was))
        # Whoever holds the lock is the program that made the changes.
        assert (await router.run(["sh", "-s"], KILL)).status == 0
        with pytest.raises(MachineFault, match=r"^router: the journal has ended"):
            await opened.close()
        left = await ask(hosts, router, was)
        with pytest.raises(MachineFault, match=r"^router: a dead session \(a test\) has left [0-9]+ changes"):
            await open_journal(router, "the next")
        return left, await recover(router), await ask(hosts, router, was)

    left, undone, after = on_guests(inside, work)
    assert undone == left.leftover.changes > 0
    (line, *_) = lines(check(Hosts.from_file(inside.hosts), {"router": left}, {}), "error")
    assert line == f"router: a dead session (a test) has left {undone} changes; `dumbbell testbed recover` undoes them"
    assert differences(was, after) == []


KILL = b"""
for each in /proc/[0-9]*; do
	if [ "$(readlink "$each/fd/9")" = /run/dumbbell/lock ]; then kill -KILL "${each#/proc/}" && exit; fi
done
exit 1
"""

CONTROLLER = """
import asyncio, sys
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.journal import open_journal, sysctls, veths
from dumbbell.engines.testbed.transport.ssh import connect, targets

async def main():
    machines = await connect(targets(Hosts.from_file(sys.argv[1])))
    opened = [await open_journal(machine, "a controller") for machine in machines.values()]
    for each in opened:
        await each.make([veths([("p0", "q0")]), *sysctls({"net.ipv4.tcp_ecn": "1"}, {"net.ipv4.tcp_ecn": "2"})])
    print("changed", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_a_controller_that_is_killed_leaves_nothing(inside, before):
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, str(inside.hosts)], stdout=subprocess.PIPE)
    with controller.stdout:
        assert controller.stdout.readline() == b"changed\n"
    controller.kill()
    controller.wait()

    async def work(hosts, machines):
        for machine in machines.values():
            freed = await machine.run(["flock", "-w", str(HANG_S), "/run/dumbbell/lock", "true"])
            assert freed.status == 0, "the lock is still held"
        return await asyncio.gather(*(ask(hosts, machine, before[name]) for name, machine in machines.items()))

    for was, now in zip(before.values(), on_guests(inside, work), strict=True):
        assert differences(was, now) == []
