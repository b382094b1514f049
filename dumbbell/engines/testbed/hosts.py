"""The hosts file: the machines of a testbed, how they are reached, and which of their devices are on the data network.

It is no part of a scenario, so that a scenario runs on any testbed. Errors are those of scenario files: one line with file, line, key and
what was expected, before any machine is asked.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Interface, IPv6Address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Discriminator, Field, PlainValidator, PrivateAttr, Tag, ValidationInfo

from dumbbell.documents.model import Flag, Model, validated
from dumbbell.documents.problems import Location, Problem, ScenarioError, Unfit
from dumbbell.documents.source import FOLDER, Kind, Source, read
from dumbbell.errors import shortened
from dumbbell.scenario.units import Duration

VARIABLE = "DUMBBELL_HOSTS"
"""Environment variable that names the hosts file."""
LOCAL = "local"
_KIND = Kind("a hosts file", "control and machines")
_SSH_PORT = 22
_AT = "ssh://ADDRESS or ssh://ADDRESS:PORT"
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(\.(?!-)[A-Za-z0-9-]{1,63})*\.?")
_ADDRESS = "an IPv4 address with the length of its prefix, such as 10.1.0.1/24"
_DEVICE = "the name of a network device, at most 15 letters, digits and _ . -"
_DEVICE_NAME = re.compile(r"(?!\.{1,2}$|-)[A-Za-z0-9_.-]{1,15}")
_NO_DEVICES = ("lo", "all", "default")
"""The loopback, and the word for every device in the names of settings."""
_PATH = re.compile(r"~?[\w./ @%+,:=-]+")
"""Characters without those that a shell interprets."""
_LONGEST_PREFIX = 30
"""Maximum prefix length of a network with room for two."""

Wrong = Iterator[tuple[Location, str, str]]


def find(given: Path | None) -> Path | None:
    """The hosts file: the one that is given, else that of $DUMBBELL_HOSTS; None if there is neither."""
    named = os.environ.get(VARIABLE, "")
    return given if given is not None or not named else Path(named)


def _text(pattern: str, expected: str) -> Callable[[Any], Any]:
    """A validator of text that matches a pattern as a whole."""
    compiled = re.compile(pattern)

    def check(value: Any) -> Any:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Unfit(f"{_shown(value)} is not fit", expected)
        return value

    return check


def _shown(value: object) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else str(value).lower() if isinstance(value, bool) else shortened(repr(value))


@dataclass(frozen=True)
class Endpoint:
    """Address of a machine's ssh server."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the address as in known_hosts."""
        return self.host if self.port == _SSH_PORT else f"[{self.host}]:{self.port}"


def _endpoint(value: Any) -> Endpoint:
    if not isinstance(value, str):
        raise Unfit(f"{_shown(value)} is no place", _AT)
    try:
        parts = urlsplit(value)
        host, port = parts.hostname, parts.port
        bracketed = parts.netloc.startswith("[")
        if bracketed:
            _check_ipv6(host or "")
    except ValueError:
        raise Unfit(f"{_shown(value)} is no place", _AT) from None
    if parts.scheme != "ssh" or host is None or parts.path or parts.query or parts.fragment or port == 0:
        raise Unfit(f"{_shown(value)} is no place", _AT)
    if "@" in parts.netloc:
        raise Unfit(f"{_shown(value)} names a user", f"{_AT}, and control.user")
    if not (bracketed or _HOST_NAME.fullmatch(host)):
        raise Unfit(f"{_shown(value)} is no place", _AT)
    return Endpoint(host, port or _SSH_PORT)


def _check_ipv6(host: str) -> None:
    """Raises `ValueError` unless the host is an address, perhaps with a device: `IPv6Address` takes any text for that."""
    address, percent, device = host.partition("%")
    IPv6Address(address)
    if percent and not _DEVICE_NAME.fullmatch(device):
        raise ValueError(device)


def _device(value: Any) -> str:
    if not isinstance(value, str) or not _DEVICE_NAME.fullmatch(value):
        raise Unfit(f"{_shown(value)} is not fit", _DEVICE)
    if value in _NO_DEVICES:
        raise Unfit(f"{value} is no device of a data network", "one such as eth1")
    return value


def _address(value: Any) -> IPv4Interface:
    try:
        found = IPv4Interface(value) if isinstance(value, str) and "/" in value else None
    except ValueError:
        found = None
    if found is None:
        raise Unfit(f"{_shown(value)} is not an address", _ADDRESS)
    network = found.network
    if network.prefixlen > _LONGEST_PREFIX or found.ip in (network.network_address, network.broadcast_address):
        raise Unfit(f"{value} is no host's address", _ADDRESS)
    return found


def _file(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, str) or not value:
        raise Unfit(f"{_shown(value)} is not a path", "a file")
    if not _PATH.fullmatch(value):
        raise Unfit(f"{_shown(value)} has characters that a shell interprets", "a path of letters, digits, spaces and . / _ - @ % + , : =")
    try:
        path = Path((info.context or {}).get(FOLDER) or ".") / Path(value).expanduser()
        there = path.is_file()
    except (RuntimeError, ValueError):  # no home directory; a null character
        there = False
    if not there:
        raise Unfit(f"{shortened(value)}: no such file", "a file, relative to the hosts file")
    return path


MachineName = Annotated[
    str, AfterValidator(_text(r"[a-z][a-z0-9-]{0,14}", "at most 15 of lower-case letters, digits and -, the first a letter"))
]
Device = Annotated[str, PlainValidator(_device)]
User = Annotated[str, PlainValidator(_text(r"[a-z_][a-z0-9_-]{0,31}", "the name of a user, such as root"))]
At = Annotated[Endpoint, PlainValidator(_endpoint)]
Address = Annotated[IPv4Interface, PlainValidator(_address)]
File = Annotated[Path, PlainValidator(_file)]


class Interface(Model):
    """A device on the data network."""

    device: Device
    address: Address


class Host(Model):
    """A machine that flows begin or end at."""

    at: At
    role: Literal["left", "right"]
    data: Interface


class Router(Model):
    """The machine between both sides."""

    at: At
    role: Literal["router"]
    left: Interface
    right: Interface


class Control(Model):
    """Way of reaching the machines."""

    known_hosts: File
    key: File
    user: User = "root"
    sudo: Flag = False
    """True if programs are run by sudo there."""


class Clock(Model):
    """Requirements of the machines' clocks."""

    sync: Literal["agent", "ntp"] = "agent"
    """`agent`: offsets are measured at each run; `ntp`: the machines must say so, too."""
    worst: Duration = Duration.parse("2ms")


Machine = Annotated[Host | Router, Field(discriminator="role")]


def _machines_tag(value: Any) -> str:
    return "Word" if isinstance(value, str) else "Machines"


# The tags begin with a capital letter, which the name of no machine does.
Machines = Annotated[
    Annotated[Literal["local"], Tag("Word")] | Annotated[dict[MachineName, Machine], Tag("Machines")], Discriminator(_machines_tag)
]


class Hosts(Model):
    """The machines of a testbed."""

    control: Control | None = None
    """None if the machines are local."""
    clock: Clock = Clock()
    machines: Machines
    """Machines by name; `local`: all in one machine, by namespaces."""
    _source: Source = PrivateAttr(default=Source(None, {}))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Reads a hosts file. Raises `ScenarioError` with the file, line and key of every problem."""
        data, origin = read(path, _KIND)
        hosts = validated(cls, data, origin)
        hosts._source = origin
        if problems := [origin.problem(*found) for found in _wrong(hosts)]:
            raise ScenarioError(problems)
        return hosts

    @property
    def file(self) -> str | None:
        """The file, as it was named."""
        return self._source.file

    @property
    def is_local(self) -> bool:
        """True if the machines are namespaces of this one."""
        return self.machines == LOCAL

    @property
    def by_name(self) -> dict[str, Host | Router]:
        """The machines; none if they are local."""
        return {} if isinstance(self.machines, str) else self.machines

    @property
    def router(self) -> tuple[str, Router]:
        """The router and its name; not if the machines are local."""
        return next((name, machine) for name, machine in self.by_name.items() if isinstance(machine, Router))

    def side(self, role: Literal["left", "right"]) -> dict[str, Host]:
        """The hosts of a side by name, as they are listed."""
        return {name: machine for name, machine in self.by_name.items() if isinstance(machine, Host) and machine.role == role}

    def problem(self, location: Location, what: str, expected: str) -> Problem:
        """Return a problem at a place, such as `("machines", "alice", "data")`."""
        return self._source.problem(location, what, expected)


def _wrong(hosts: Hosts) -> Wrong:
    """Yield the errors in settings that are right by themselves."""
    if isinstance(hosts.machines, str):
        if hosts.control is not None:
            yield ("control",), "cannot be used with machines: local", "no control, or machines to reach by it"
        return
    if hosts.control is None:
        yield ("control",), "is missing", "known_hosts and key, to reach the machines"
    roles = Counter(machine.role for machine in hosts.machines.values())
    if roles["router"] != 1:
        yield ("machines",), f"{roles['router']} have the role router", "one"
    for role in ("left", "right"):
        if not roles[role]:
            yield ("machines",), f"none has the role {role}", "one or more"
    yield from _twice((("machines", name, "at"), str(machine.at)) for name, machine in hosts.machines.items())
    interfaces = [found for name, machine in hosts.machines.items() for found in _interfaces(name, machine)]
    yield from _twice(((*place, "address"), str(interface.address.ip)) for place, _, interface in interfaces)
    if roles["router"] == 1:
        yield from _networks(*hosts.router, interfaces)


def _interfaces(name: str, machine: Host | Router) -> Iterator[tuple[Location, str, Interface]]:
    """The place of each data interface, its side, and itself."""
    if isinstance(machine, Host):
        yield ("machines", name, "data"), machine.role, machine.data
    else:
        yield ("machines", name, "left"), "left", machine.left
        yield ("machines", name, "right"), "right", machine.right


def _twice(written: Iterator[tuple[Location, str]]) -> Wrong:
    """Yield the values that two machines have although only one can have them."""
    seen: dict[str, str] = {}
    for location, value in written:
        if value in seen:
            yield location, f"{value} is given twice, to {seen[value]} first", "one of its own"
        seen.setdefault(value, str(location[1]))


def _networks(name: str, router: Router, interfaces: list[tuple[Location, str, Interface]]) -> Wrong:
    """All of a side are on one network with the router, the sides on two."""
    if router.left.device == router.right.device:
        yield ("machines", name, "right", "device"), f"{router.right.device} is on the left as well", "a device of its own"
    if router.left.address.network.overlaps(router.right.address.network):
        what = f"{router.right.address} is on the network of the left as well"
        yield ("machines", name, "right", "address"), what, f"one outside {router.left.address.network}"
    for place, side, interface in interfaces:
        expected = getattr(router, side).address.network
        if interface.address.network != expected:
            yield (*place, "address"), f"{interface.address} is not on the router's network on the {side}", f"an address of {expected}"
