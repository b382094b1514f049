"""All commands that Linux gets for one run: batches for tc and ip, and the agent's script, which names them.

namespace, sysctl, offload, run, capture     sets up the hosts (`hosts`) and the ports (`devices`, `qdiscs`, `filters`)
tcp and other lines of `traffic`              ends, addresses, ports, times, what to send
at TIME ...                                  what happens while it runs
end ...                                      in real time: what stops all that is sent, so that the queues become empty and can be counted
port, egress, delay, hop                     what is sampled and counted
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dumbbell.engines.linux import applications, loaded
from dumbbell.engines.linux.captures import point_lines
from dumbbell.engines.linux.controls import changed
from dumbbell.engines.linux.devices import NET, Devices
from dumbbell.engines.linux.faults import distribution_files
from dumbbell.engines.linux.filters import filter_lines, hops
from dumbbell.engines.linux.hosts import Hosts, Namespace, addressed, lines, links
from dumbbell.engines.linux.qdiscs import link_delay, made_by_agent, queue_lines, rate_lines
from dumbbell.engines.linux.sources.arrivals import arrivals, coming
from dumbbell.engines.linux.sources.datagrams import drain_lines, list_files
from dumbbell.engines.linux.sources.draws import draw_files
from dumbbell.engines.linux.state import state_lines
from dumbbell.engines.linux.traffic import arrivals_file, coming_lines, end_lines, traffic_lines
from dumbbell.errors import BadInput
from dumbbell.files import read_regular
from dumbbell.plan import Outage, Plan, Queue, RateChange
from dumbbell.plan.addresses import address
from dumbbell.scenario.program import MOST_BYTES

SCRIPT = "script"
"""The file of the agent's script."""


@dataclass(frozen=True)
class Script:
    """Parts of a run: the files that the agent finds, and how to read its output."""

    files: dict[str, str]
    devices: Devices
    captures: tuple[str, ...]
    """Files with packets."""
    metadata: dict[str, Any]
    """Commands and settings, for run.json."""
    arrivals: dict[str, bytes]
    """More files: the connections that workloads make, see `arrivals`."""
    given: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """More files: those of programs, and those that the kernel loads, with path and SHA-256."""

    @property
    def text(self) -> str:
        """All files as one text."""
        lists = {name: hashlib.sha256(content).hexdigest() for name, content in self.arrivals.items()}
        given = {name: sha256 for name, (_, sha256) in self.given.items()}
        return json.dumps({**self.files, **lists, **given}, sort_keys=True)

    def write(self, folder: Path) -> None:
        """Puts all files into a folder."""
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="ascii")
        for name, content in self.arrivals.items():
            (folder / name).write_bytes(content)
        for name, (path, sha256) in self.given.items():
            content = read_regular(Path(path), MOST_BYTES)
            if hashlib.sha256(content).hexdigest() != sha256:
                raise BadInput(f"{path}: has changed since the run was prepared; expected the file with SHA-256 {sha256[:10]}...")
            (folder / name).write_bytes(content)


def compile_plan(plan: Plan, real_time: bool = False) -> Script:
    """Return all files for Linux for one run, in virtual time or on a machine in real time."""
    devices, hosts = Devices.of(plan), Hosts(plan)
    files = {f"{NET}.ip": _text(links(hosts, devices, plan.mtu_bytes))}
    files |= {f"{host.name}.ip": _text([*addressed(host, plan.mtu_bytes), *_routes(plan, host)]) for host in hosts.namespaces}
    files |= applications.files(plan, hosts, real_time)
    files[f"{NET}.tc"] = _text((*qdisc_lines(plan, devices), *filter_lines(plan, devices, hosts)))
    own = {name: port for name, port, on_host in zip(devices.queues, plan.ports, devices.on_host, strict=True) if on_host}
    files |= {f"{name}.tc": _text(queue_lines(port, "eth0")) for name, port in own.items()}
    files["end.tc"] = "qdisc show\n"
    files |= draw_files(plan)
    files |= list_files(plan)
    distributions = distribution_files(plan)
    files |= distributions
    # The folder that tc looks for distributions in.
    folder = "env TC_LIB_DIR=. " if distributions else ""
    commands = {name: files[f"{name}.tc"].splitlines() for name in (NET, *own)}
    parameters = changed(plan)
    files |= {name: value for name, (value, _) in parameters.items()}
    captures = [*(hosts.captures() if plan.capture else ()), *point_lines(plan, devices)]
    script = [
        *lines(hosts, real_time),
        *loaded.lines(plan),
        *(f"run init - cp {name} {path}" for name, (_, path) in parameters.items()),
        *traffic_lines(plan, hosts, real_time),
        *coming_lines(plan, hosts),
        *(end_lines(plan, hosts) if real_time else ()),
        *change_lines(plan, devices),
        *port_lines(devices),
        *(f"delay {NET} {device} 1" for device in devices.delays if device),
        *(f"hop {device}" for device in hops(devices)),
        *(f"capture {' '.join(words)}" for words in captures),
        f"sample {plan.sample_ns}",
        f"duration {plan.duration_ns}",
        *state_lines(plan),
        *discipline_lines(NET, files, folder),
        *(line for name in own for line in discipline_lines(name, files)),
        "traffic",
        f"run {NET} end.json tc -s -j -batch end.tc",
        *(f"run {name} {name}.json tc -s -j -batch end.tc" for name in own),
        *applications.end_lines(plan, real_time),
    ]
    script += drain_lines(plan, hosts, script)
    files |= {SCRIPT: _text(script), **loaded.scripts(plan)}
    lists = {arrivals_file(i): arrivals(plan, workload) for i, workload in coming(plan)}
    numbered = list(enumerate(hosts.profiles))
    metadata = {
        "sysctls": {f"host {k}": dict(profile.sysctls) | {"net.ipv4.tcp_ecn": str(int(profile.ecn))} for k, profile in numbered},
        "offload": {f"host {k}": profile.offload for k, profile in numbered},
        "tc": commands[NET],
        **({"tc on hosts": {name: commands[name] for name in own}} if own else {}),
        "later": [line for line in script if line.startswith("at ")],
        **({"parameters": {name: value.strip() for name, (value, _) in parameters.items()}} if parameters else {}),
        "ports": {port.id: device for port, device in zip(plan.ports, devices.queues, strict=True)},
    }
    return Script(
        files, devices, tuple(file for _, file, *_ in captures), metadata, lists, applications.given_files(plan) | loaded.files(plan)
    )


def discipline_lines(namespace: str, files: dict[str, str], folder: str = "") -> Iterator[str]:
    """The agent's lines that make the disciplines of a namespace by its batch for tc.

    The agent makes those that an older tc does not know itself, when their parents are there. They are taken out of the batch.
    """
    name = f"{namespace}.tc"
    own = [line for line in files[name].splitlines() if made_by_agent(line)]
    files[name] = _text(line for line in files[name].splitlines() if line not in own)
    yield f"run {namespace} - {folder}tc -batch {name}"
    for line in own:
        place, _, words = line.partition(" dev ")[2].partition(" handle ")
        yield f"qdisc {namespace} {place.replace(' parent ', ' ')} {words}"


def _routes(plan: Plan, host: Namespace) -> Iterator[str]:
    """ip's lines for the routes of a host that have a congestion control."""
    for (source, target), cc in applications.controls(plan).items():
        there, here = (address(plan.hosts[i].side, plan.hosts[i].number) for i in (target, source))
        if here in host.addresses:
            yield f"route add {there}/32 dev eth0{host.profile.metrics} congctl {cc}"


def port_lines(devices: Devices) -> Iterator[str]:
    """The agent's lines for the queues of all ports."""
    for device, leaf, on_host in zip(devices.queues, devices.leaves, devices.on_host, strict=True):
        yield f"egress {device} {_major(leaf)}" if on_host else f"port {NET} {device} {_major(leaf)}"


def qdisc_lines(plan: Plan, devices: Devices) -> Iterator[str]:
    """tc's lines for the queues and delays of all ports that are on no host."""
    for port, device, delay, on_host in zip(plan.ports, devices.queues, devices.delays, devices.on_host, strict=True):
        if not on_host:
            yield from queue_lines(port, device)
        if delay:
            yield f"qdisc add dev {delay} root handle 1: {link_delay(port)}"


def change_lines(plan: Plan, devices: Devices) -> Iterator[str]:
    """Yield the agent's lines for changes of ports during the run."""
    for i, change in enumerate(plan.schedule):
        if isinstance(change, Outage):
            for time, action in ((change.at_ns, "drop"), (change.at_ns + change.for_ns, "continue")):
                yield f"at {time} {NET} - tc actions change action gact {action} index {i + 1}"
            continue
        port = plan.ports[change.port]
        assert isinstance(port, Queue)  # only the rates of queues change
        assert isinstance(change, RateChange)  # the engine does not choose packets
        for command in rate_lines(port, devices.queues[change.port], devices.delays[change.port], change.rate_bps):
            yield f"at {change.at_ns} {NET} - tc {command}"


def _major(handle: str) -> int:
    return int(handle.rstrip(":"), 16)


def _text(listed: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in listed)
