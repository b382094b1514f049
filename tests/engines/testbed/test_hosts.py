"""The hosts file: what it says, and every way in which it is wrong, without any machine."""

import json
import random
import re
from pathlib import Path

import pytest

from dumbbell.engines.testbed import hosts
from dumbbell.engines.testbed.hosts import Endpoint, Hosts
from dumbbell.engines.testbed.laboratory import wiring
from dumbbell.errors import BadInput

GOOD = """\
control: {known_hosts: ./known_hosts, key: keys/lab, user: ann, sudo: true}
clock: {sync: ntp, worst: 500us}
machines:
  alice:  {at: ssh://192.0.2.11, role: left, data: {device: eth1, address: 10.1.0.1/24}}
  carol:  {at: "ssh://[2001:db8::7]:2222", role: left, data: {device: eth1.7, address: 10.1.0.2/24}}
  router:
    {at: ssh://lab.example:2022, role: router, left: {device: eth1, address: 10.1.0.254/24}, right: {device: eth2, address: 10.2.0.254/24}}
  bob:    {at: ssh://192.0.2.13, role: right, data: {device: eth1, address: 10.2.0.1/24}}
"""


@pytest.fixture
def written(tmp_path):
    """A function that writes a hosts file next to its keys."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "lab").touch()
    (tmp_path / "known_hosts").touch()

    def write(text):
        path = tmp_path / "lab.yaml"
        path.write_text(text)
        return path

    return write


def test_a_hosts_file_is_read(written):
    path = written(GOOD)
    found = Hosts.from_file(path)
    assert found.file == str(path)
    assert not found.is_local
    assert found.control.key == path.parent / "keys" / "lab"
    assert (found.control.user, found.control.sudo) == ("ann", True)
    assert (found.clock.sync, found.clock.worst) == ("ntp", 500_000)
    assert list(found.side("left")) == ["alice", "carol"]
    assert list(found.side("right")) == ["bob"]
    name, router = found.router
    assert (name, router.at, str(router.right.address)) == ("router", Endpoint("lab.example", 2022), "10.2.0.254/24")
    assert found.by_name["carol"].at == Endpoint("2001:db8::7", 2222)
    assert [str(each.at) for each in found.by_name.values()][:2] == ["192.0.2.11", "[2001:db8::7]:2222"]
    assert str(found.problem(("machines", "bob", "data", "device"), "eth1 is down", "one that is up")) == (
        f"{path}:8: machines.bob.data.device: eth1 is down; expected one that is up"
    )


def test_what_is_not_written_has_its_default(written):
    found = Hosts.from_file(written(GOOD.replace(", user: ann, sudo: true", "").replace("clock: {sync: ntp, worst: 500us}\n", "")))
    assert (found.control.user, found.control.sudo, found.clock.sync, found.clock.worst) == ("root", False, "agent", 2_000_000)


def test_all_may_be_in_one_machine(written):
    found = Hosts.from_file(written("machines: local\n"))
    assert found.is_local
    assert found.by_name == {}


@pytest.mark.parametrize(("left", "right"), [(1, 1), (3, 2), (wiring.MOST_HOSTS, wiring.MOST_HOSTS)])
def test_a_laboratory_has_a_hosts_file_that_can_be_read(written, left, right):
    machines = wiring.machines(left, right)
    path = written(wiring.hosts_file(machines))
    (path.parent / "id").touch()
    found = Hosts.from_file(path)
    assert (len(found.side("left")), len(found.side("right"))) == (left, right)
    macs = [machine.control_mac for machine in machines] + [port.mac for machine in machines for port in machine.ports]
    taps = [machine.control_tap for machine in machines] + [port.tap for machine in machines for port in machine.ports]
    assert len({*macs}) == len({*taps}) == 2 * len(machines) + 1
    assert max(map(len, taps)) < 16


SSH = "ssh://ADDRESS or ssh://ADDRESS:PORT"
NAME = "at most 15 of lower-case letters, digits and -, the first a letter"
DEVICE = "the name of a network device, at most 15 letters, digits and _ . -"
ADDRESS = "an IPv4 address with the length of its prefix, such as 10.1.0.1/24"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ssh://192.0.2.11", "192.0.2.11", f":4: machines.alice.at: '192.0.2.11' is no place; expected {SSH}"),
        ("ssh://192.0.2.11", "ssh://-oProxyCommand=x", f":4: machines.alice.at: 'ssh://-oProxyCommand=x' is no place; expected {SSH}"),
        ("ssh://192.0.2.11", "ssh://192.0.2.11:70000", f":4: machines.alice.at: 'ssh://192.0.2.11:70000' is no place; expected {SSH}"),
        ("ssh://192.0.2.11", "ssh://a/b", f":4: machines.alice.at: 'ssh://a/b' is no place; expected {SSH}"),
        ("ssh://192.0.2.11", "ssh://ann@a", f":4: machines.alice.at: 'ssh://ann@a' names a user; expected {SSH}, and control.user"),
        ("ssh://192.0.2.11", "5", f":4: machines.alice.at: 5 is no place; expected {SSH}"),
        ("[2001:db8::7]", "[2001:db8::g]", f":5: machines.carol.at: 'ssh://[2001:db8::g]:2222' is no place; expected {SSH}"),
        ("ssh://192.0.2.13", "ssh://192.0.2.11", ":8: machines.bob.at: 192.0.2.11 is given twice, to alice first; expected one of its own"),
        ("  alice:", "  Alice:", f":4: machines.Alice: 'Alice' is not fit; expected {NAME}"),
        ("device: eth1.7", "device: eth1/7", f":5: machines.carol.data.device: 'eth1/7' is not fit; expected {DEVICE}"),
        ("device: eth1.7", "device: ..", f":5: machines.carol.data.device: '..' is not fit; expected {DEVICE}"),
        ("device: eth1.7", "device: [a]", f":5: machines.carol.data.device: a list is not fit; expected {DEVICE}"),
        ("device: eth1.7", "device: eth1:7", f":5: machines.carol.data.device: 'eth1:7' is not fit; expected {DEVICE}"),
        *(
            (
                "device: eth1.7",
                f"device: {name}",
                f":5: machines.carol.data.device: {name} is no device of a data network; expected one such as",
            )
            for name in ("lo", "all", "default")
        ),
        *(
            ("[2001:db8::7]", f"[fe80::1%{scope}]", f":5: machines.carol.at: 'ssh://[fe80::1%{scope}]:2222' is no place; expected {SSH}")
            for scope in ("eth0;touch PWN", "", "-oX", "$(id)", "a b", "sixteen-letters-x")
        ),
        ("keys/lab", '"$(id)"', ":1: control.key: '$(id)' has characters that a shell interprets; expected a path of"),
        ("keys/lab", '"keys/lab\\n"', ":1: control.key: 'keys/lab\\n' has characters that a shell interprets; expected a path of"),
        ("10.1.0.1/24", "10.1.0.1", f":4: machines.alice.data.address: '10.1.0.1' is not an address; expected {ADDRESS}"),
        ("10.1.0.1/24", "10.1.0.256/24", f":4: machines.alice.data.address: '10.1.0.256/24' is not an address; expected {ADDRESS}"),
        ("10.1.0.1/24", "10.1.0.0/24", f":4: machines.alice.data.address: 10.1.0.0/24 is no host's address; expected {ADDRESS}"),
        (
            "10.1.0.1/24",
            "10.2.0.7/24",
            ":4: machines.alice.data.address: 10.2.0.7/24 is not on the router's network on the left; expected an address of 10.1.0.0/24",
        ),
        ("10.1.0.1/24", "10.1.0.2/24", ":5: machines.carol.data.address: 10.1.0.2 is given twice, to alice first; expected one of its own"),
        ("device: eth2", "device: eth1", ":7: machines.router.right.device: eth1 is on the left as well; expected a device of its own"),
        (
            "role: right",
            "role: rigth",
            ":8: machines.bob: unknown role 'rigth' (did you mean 'right'?); expected one of left, right, router",
        ),
        ("role: right, ", "", ":8: machines.bob: a mapping has no role; expected keys and values with one"),
        ("role: right", "role: left", ":3: machines: none has the role right; expected one or more"),
        ("data: {device: eth1, address: 10.2.0.1/24}", "", ":8: machines.bob.data: is missing; expected the key data"),
        ("sudo: true", "sudo: 1", ":1: control.sudo: 1 is not true or false, or on or off; expected true or false, or on or off"),
        ("user: ann", "user: -oX", ":1: control.user: '-oX' is not fit; expected the name of a user, such as root"),
        ("keys/lab", "keys/none", ":1: control.key: keys/none: no such file; expected a file, relative to the hosts file"),
        ("keys/lab", "~nobody-of-this-name/x", "no such file; expected a file, relative to the hosts file"),
        ("sync: ntp", "sync: ptp", ":2: clock.sync: 'ptp' is unknown"),
        ("worst: 500us", "worst: 500", ":2: clock.worst: 500 has no unit; expected a time such as 20ms (ns, us, ms, s, min, h)"),
        ("clock:", "clocks:", ":2: clocks: unknown key (did you mean 'clock'?); expected one of clock, control, machines"),
    ],
)
def test_an_error_names_file_line_and_key(written, old, new, expected):
    assert old in GOOD
    path = written(GOOD.replace(old, new))
    with pytest.raises(BadInput) as error:
        Hosts.from_file(path)
    said = str(error.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in said)
    assert expected in "\n".join(said)
    assert error.value.exit_status == 2


def test_an_address_may_have_a_device(written):
    found = Hosts.from_file(written(GOOD.replace("[2001:db8::7]", "[fe80::7%eth0.5]")))
    assert found.by_name["carol"].at == Endpoint("fe80::7%eth0.5", 2222)


PIECES = [*" ;&|<>$`'\"\\!*?()[]{}#~^%@:/-.=\t\n\x00\x1b\u202eé", "$(id)", "%eth0", "..", "[::1]", "-oProxyCommand=x", "lo", "a", "1"]


def test_nothing_that_a_shell_or_a_terminal_interprets_is_taken(written):
    """1,000 hosts files of a recorded seed: one of their texts has pieces more."""
    dice = random.Random(7)
    whole = GOOD.replace("[2001:db8::7]", "[fe80::7%eth0]")
    path = written(whole)
    texts = [
        "ssh://192.0.2.11",
        "ssh://[fe80::7%eth0]:2222",
        "ssh://lab.example:2022",
        "eth1.7",
        "eth2",
        "ann",
        "keys/lab",
        "./known_hosts",
    ]
    taken, said = 0, []
    for _ in range(1000):
        text = dice.choice(texts)
        changed = text
        for _ in range(dice.randint(1, 2)):
            at = dice.randint(0, len(changed))
            changed = changed[:at] + dice.choice(PIECES) + changed[at:]
        path.write_text(whole.replace(f'"{text}"' if f'"{text}"' in whole else text, json.dumps(changed)))
        try:
            found = Hosts.from_file(path)
        except BadInput as error:
            said.append(str(error))
            continue
        taken += 1
        machines = found.by_name.values()
        devices = [each.device for _, _, each in (each for name in found.by_name for each in hosts._interfaces(name, found.by_name[name]))]
        names = [found.control.user, *devices, *(each.at.host.replace("%", "") for each in machines)]
        assert not any(re.search(r"[^A-Za-z0-9_.:-]|^-", name) for name in names), names
        assert "lo" not in devices
    assert 20 < taken < 500
    assert all(line.isprintable() for each in said for line in each.splitlines())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("machines: locl\n", ":1: machines: 'locl' is unknown (did you mean 'local'?); expected local"),
        ("machines: [a]\n", ":1: machines: a list is not keys and values; expected keys and values"),
        ("{}", ":1: machines: is missing; expected the key machines"),
        ("", ":1: is empty; expected keys such as control and machines"),
        (
            "machines: {}\ncontrol: 1\n",
            ":2: control: 1 is not keys and values; expected keys and values, one of key, known_hosts, sudo, user",
        ),
        ("control: {known_hosts: known_hosts, key: keys/lab}\nmachines: local\n", ":1: control: cannot be used with machines: local; "),
        (GOOD.partition("\n")[2], ":1: control: is missing; expected known_hosts and key, to reach the machines"),
        ("control: {known_hosts: known_hosts, key: keys/lab}\nmachines: {}\n", ":2: machines: 0 have the role router; expected one"),
        ("machines: {a: 5}\n", ":1: machines.a: 5 "),
        ("machines:\n\t- a\n", ":2:"),
    ],
)
def test_another_file_altogether(written, text, expected):
    path = written(text)
    with pytest.raises(BadInput) as error:
        Hosts.from_file(path)
    assert f"{path}{expected}" in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(BadInput, match=r"none\.yaml: no such file; expected a hosts file$"):
        Hosts.from_file(tmp_path / "none.yaml")


def test_networks_of_both_sides_that_overlap(written):
    wide = GOOD.replace("10.2.0.254/24", "10.1.0.253/24").replace("10.2.0.1/24", "10.1.0.9/24")
    with pytest.raises(BadInput, match=r":7: machines\.router\.right\.address: 10\.1\.0\.253/24 is on the network of the left as well"):
        Hosts.from_file(written(wide))


def test_the_file_that_is_given_comes_before_that_of_the_environment(monkeypatch):
    monkeypatch.delenv(hosts.VARIABLE, raising=False)
    assert hosts.find(None) is None
    monkeypatch.setenv(hosts.VARIABLE, "")
    assert hosts.find(None) is None
    monkeypatch.setenv(hosts.VARIABLE, "/lab/hosts.yaml")
    assert hosts.find(None) == Path("/lab/hosts.yaml")
    assert hosts.find(Path("mine.yaml")) == Path("mine.yaml")
