"""Answers of machines about themselves, recorded and here."""

import asyncio
import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from engines.testbed.recorded import facts, said
from required import missing

from dumbbell.engines.testbed import facts as asking
from dumbbell.engines.testbed.facts import Feature, collect, command, differences
from dumbbell.engines.testbed.facts_reading import read_facts
from dumbbell.engines.testbed.transport.base import Done
from dumbbell.engines.testbed.transport.local import LocalMachine
from dumbbell.errors import EnvironmentFault


def test_a_guest_is_read():
    router = facts("router")
    assert router.kernel.release.startswith("6.12.")
    assert router.kernel.architecture == "x86_64"
    assert router.kernel.sysctls["net.ipv4.ip_forward"] == "1"
    assert router.kernel.sysctls["net.ipv4.conf.vec1.rp_filter"] == "0"
    assert router.kernel.modules["tcp_cubic.beta"] == "717"
    assert router.processors.count == 1
    assert router.processors.governors == ()
    assert router.account.user == 0
    assert router.account.controller == "192.0.2.1"
    assert router.ways["192.0.2.1"]["dev"] == "vec0"
    assert router.ways["10.2.0.1"]["dev"] == "vec2"
    assert "gateway" not in router.ways["10.2.0.1"]
    assert facts("left1").ways["10.2.0.1"]["gateway"] == "10.1.0.254"
    vec1 = router.devices["vec1"]
    assert (vec1.up, vec1.carrier, vec1.mtu, vec1.addresses) == (True, True, 1500, ("10.1.0.254/24",))
    assert vec1.counters["rx.errors"] == 0
    assert vec1.hardware.driver["driver"] == "uml-vector"
    assert vec1.hardware.speed_mbps is None
    assert vec1.hardware.features["generic-receive-offload"] == Feature(True, False)
    assert vec1.hardware.coalescing["tx-usecs"] == "2000"
    assert vec1.hardware.rings["TX"] == "64"
    assert router.devices["vec0"].hardware is None
    assert router.leftover.changes == 0
    assert not router.leftover.locked
    assert not any(router.presence.qdiscs.values())
    assert not any(router.presence.filters.values())
    assert not any(router.presence.actions.values())
    assert not any(router.presence.controls.values())


def test_a_kernel_that_lacks_much_says_what():
    machine = facts("virtual")
    assert machine.presence.qdiscs["tbf"] == ""
    assert machine.presence.qdiscs["netem"] == "Specified qdisc kind is unknown"
    assert machine.presence.filters == {"flower": "TC classifier not found", "matchall": "TC classifier not found", "u32": ""}
    assert machine.presence.actions == {"mirred": "", "gact": "Failed to load TC action module"}
    assert machine.presence.controls["cubic"] == ""
    assert machine.presence.controls["vegas"] == "Unknown tcp congestion algorithm"
    assert machine.kernel.config["CONFIG_HZ"] == "250"
    assert machine.devices["eth0"].hardware.driver["driver"] == "virtio_net"
    assert machine.devices["eth0"].hardware.features["large-receive-offload"] == Feature(False, True)
    assert machine.devices["eth0"].hardware.pause is None
    assert machine.account.controller is None
    assert machine.firewall is None
    assert machine.processors.tracking is None


def test_facts_become_json():
    for name in ("router", "virtual"):
        assert json.loads(json.dumps(facts(name).plain()))["kernel"]["release"] == facts(name).kernel.release


@pytest.mark.parametrize("name", ["router", "virtual"])
def test_an_answer_that_is_cut_off_is_refused(name):
    text = said(name)
    for share in (0.0, 0.1, 0.5, 0.9, 0.999):
        with pytest.raises(ValueError, match=r"^(the answer ends behind|there is no answer|it does not say)"):
            read_facts(text[: int(len(text) * share)])


def without(section):
    """The router's answer without one section."""
    return b"\x1e".join(part for part in said("router").split(b"\x1e") if not part.startswith(section + b"\n"))


@pytest.mark.parametrize("section", [b"config", b"tools", b"chrony", b"neighbours", b"firewall", b"lock", b"space", b"mounts"])
def test_what_may_be_missing_may_be_missing(section):
    assert read_facts(without(section)).kernel == replace(
        facts("router").kernel, config=facts("router").kernel.config if section != b"config" else None
    )


@pytest.mark.parametrize("section", [b"system", b"values", b"load", b"ticks", b"network", b"qdiscs", b"user", b"version"])
def test_what_has_to_be_there_is_named(section):
    with pytest.raises(ValueError, match=r"^it does not say its "):
        read_facts(without(section))


def test_without_tools_there_is_less_to_know():
    failed = said("router").replace(b"\x1ffeatures", b"")
    for name in (b"features", b"coalescing", b"statistics", b"driver", b"rings", b"pause", b"timestamping"):
        head, _, rest = failed.partition(b"\x1e" + name + b" vec1\n")
        failed = head + b"\x1e" + name + b" vec1\n\x1d127\n\x1e" + rest.partition(b"\x1e")[2]
    found = read_facts(failed)
    assert found.devices["vec1"].hardware is None
    assert found.devices["vec2"].hardware is not None


def patched(*changes, name="router"):
    """The answer with texts exchanged, each of which is there."""
    text = said(name)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return read_facts(text)


def test_a_lock_is_held_if_the_kernel_lists_it():
    free, held = b"\x1elock\n\x1d1\n", b"\x1elock\n14 77\n1: FLOCK  ADVISORY  WRITE 123 00:14:%s 0 EOF\n\x1d0\n"
    assert patched((free, held % b"77")).leftover.locked
    assert not patched((free, held % b"78")).leftover.locked
    waiting = b"\x1elock\n14 77\n1: -> FLOCK  ADVISORY  WRITE 123 00:14:77 0 EOF\n\x1d0\n"
    assert not patched((free, waiting)).leftover.locked


def test_leftovers_are_found():
    found = patched(
        (b"\x1ejournal\n\x1d1\n", b"\x1ejournal\nip\x1flink\x1fdel\x1fp0\x1f.\nrm\x1fx\x1f.\n\x1d0\n"),
        (b"\x1esession\n\x1d1\n", b"\x1esession\nof alice\n\x1d0\n"),
        (b"\x1enamespaces\n\x1d0\n", b"\x1enamespaces\nours\ndumbbell-1-left\n\x1d0\n"),
    ).leftover
    assert (found.session, found.changes, found.namespaces) == ("of alice", 2, ("dumbbell-1-left",))


def test_firewalls_and_other_users_are_found():
    rules = b'{"nftables":[{"metainfo":{}},{"table":{"name":"filter"}},{"rule":{"table":"filter","chain":"input"}}]}'
    local, remote = b"0101010A:1F90", b"0201010A:C350"
    line = b"/proc/net/tcp:   0: %s %s %s 00000000:00000000 00:00000000 00000000     0        0 1 1 0 20 4 30 10 -1\n"
    mapped = b"/proc/net/tcp6:   0: 0000000000000000FFFF0000%s 0000000000000000FFFF0000%s 01 0 0\n"
    found = patched(
        (b"\x1efirewall\n\x1d127\n", b"\x1efirewall\n" + rules + b"\x1d0\n"),
        (b"\x1evalues\n", b"\x1evalues\n" + line % (local, remote, b"01") + line % (remote, local, b"06") + mapped % (local, remote)
         + b"/proc/net/ip_tables_names:nat\n"),
    )  # fmt: skip
    assert found.firewall == ("nftables filter/input", "iptables nat")
    assert [each for each in found.sockets if "10.1.1.1" in each] == 2 * ["tcp 10.1.1.1:8080 10.1.1.2:50000"]


def test_steal_is_a_share_of_the_time_between_two_readings():
    before = facts("virtual").processors
    after = replace(before, ticks=tuple(each + more for each, more in zip(before.ticks, (50, 0, 30, 15, 0, 0, 0, 5, 9, 0), strict=True)))
    assert after.steal_since(before.ticks) == 0.05
    assert before.steal_since(before.ticks) == 0.0
    assert 0 <= before.steal < 1


@pytest.mark.parametrize("word", ["a b", "$(id)", "eth1;", "", "-", "x" * 16])
def test_only_names_and_addresses_become_words(word):
    with pytest.raises(ValueError):
        command([word], [])
    with pytest.raises(ValueError):
        command([], [word])


def test_nothing_differs_from_itself():
    assert differences(facts("router"), facts("router")) == []


def test_every_setting_that_is_not_as_before_is_named():
    before = facts("router")
    vec1 = before.devices["vec1"]
    features = {**vec1.hardware.features, "generic-receive-offload": Feature(False, False)}
    changed = replace(
        vec1, mtu=1400, gso_max_segs=1, hardware=replace(vec1.hardware, features=features), filters={"ingress": (1,), "egress": ()}
    )
    after = replace(
        before,
        kernel=replace(
            before.kernel, sysctls={**before.kernel.sysctls, "net.ipv4.ip_forward": "0"}, modules={**before.kernel.modules, "tcp_x.y": "1"}
        ),
        devices={**before.devices, "vec1": changed, "p0": replace(vec1, name="p0", kind="veth", hardware=None, filters=None)},
        qdiscs=(*before.qdiscs, {"kind": "clsact", "dev": "vec1", "handle": "ffff:", "parent": "ffff:fff1"}),
        routes=before.routes[1:],
        leftover=replace(before.leftover, namespaces=("dumbbell-x",)),
    )
    lines = differences(before, after)
    for line in (
        "sysctl net.ipv4.ip_forward: 1 before, 0 after",
        "mtu of vec1: 1500 before, 1400 after",
        f"gso_max_segs of vec1: {vec1.gso_max_segs} before, 1 after",
        "generic-receive-offload of vec1: on before, off after",
        "ingress filters of vec1: absent before, 1 after",
        "qdisc of vec1 at ffff:fff1: absent before, clsact {} after",
        "namespace dumbbell-x: absent before, there after",
        "mtu of p0: absent before, 1500 after",
    ):
        assert line in lines
    assert any(line.startswith(f"route to {before.routes[0]['dst']}") and line.endswith("absent after") for line in lines)
    assert not any("tcp_x" in line for line in lines)
    assert differences(before, replace(after, kernel=replace(after.kernel, boot_id="x"))) == ["the machine has been booted in between"]


class Silent(LocalMachine):
    """A machine that says something else."""

    async def run(self, argv, stdin=b"", timeout=None):  # noqa: ARG002
        return Done(1, b"", b"sh: no such luck\n")


def test_a_machine_that_cannot_say_what_it_is_is_a_fault():
    with pytest.raises(EnvironmentFault, match=r"^alice: cannot say what it is: there is no answer \(sh: no such luck\)$"):
        asyncio.run(collect(Silent("alice")))


@pytest.fixture
def here():
    if not all(map(shutil.which, ("ip", "tc", "ethtool", "unshare"))):
        missing("namespaces", "there is no ip, tc, ethtool or unshare")
    return LocalMachine("here")


def test_this_machine_is_read_and_left_as_it_is(here):
    devices = [path.name for path in Path("/sys/class/net").iterdir()]
    before = subprocess.run("ip -d link; tc qdisc", shell=True, capture_output=True, check=True).stdout
    found = asyncio.run(collect(here, devices, ["127.0.0.1"]))
    assert set(found.devices) == set(devices)
    assert found.kernel.release == os.uname().release
    assert found.processors.count == os.cpu_count()
    assert found.ways["127.0.0.1"]["dev"] == "lo"
    assert found.presence is None or found.presence.qdiscs["pfifo"] == ""
    assert subprocess.run("ip -d link; tc qdisc", shell=True, capture_output=True, check=True).stdout == before
    again = asyncio.run(collect(here, devices, ["127.0.0.1"], found))
    assert differences(found, again) == []
    assert again.presence == found.presence
    assert again.kernel.config == found.kernel.config


def test_what_is_tried_leaves_no_namespace_even_if_it_is_killed(here):
    nap = f"3600.{os.getpid()}"  # its own: somebody else may run this test
    slow = asking.script().replace(b"tc -force -batch -", f"sleep {nap}; tc -force -batch -".encode())
    named = list(Path("/run").glob("netns/*"))
    with pytest.raises(EnvironmentFault, match=r"^here: sh did not end within 0\.5 s$"):
        asyncio.run(here.run(command([], []), slow, 0.5))
    # A namespace without a name is gone with the last process in it.
    assert f"sleep {nap}" not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert list(Path("/run").glob("netns/*")) == named
