"""Flows that real programs make, iperf3 or FTP (vsftpd and curl): the commands at both ends, and the reports of the programs.

The end that connects is the client. Commands contain nothing of the scenario but numbers, addresses and the name of the congestion control.
iperf3 gets the congestion control as an option; FTP uses that of the route to the receiver (ip-route(8), `congctl`).

In virtual time programs are confined (agent/confine.c), and a program that waits by asking over and over again takes time, because time
would stand still otherwise.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from dumbbell.engines.linux import flent
from dumbbell.engines.linux.hosts import Ends, Hosts
from dumbbell.engines.linux.identity import Identity, identity
from dumbbell.engines.linux.programs import mptcp
from dumbbell.errors import shortened
from dumbbell.plan import Connection, Place, Plan, Refusal, Tcp, Workload
from dumbbell.plan.addresses import address
from dumbbell.scenario.connections import mss_option, segment_bytes
from dumbbell.scenario.program import Column, Scalar, filled
from dumbbell.scenario.ready_made import ELSEWHERE, NEEDED, PACKAGES, ready_made

_CONTROL = 50_000
"""Least port of FTP's control connections: `plan.addresses` has nothing from here to 60,000."""
_EACH_SIDE = 10_000
"""`plan.addresses`: within this, ports of one side do not repeat."""
_ENDS: tuple[Literal["server", "client"], ...] = ("server", "client")
_SPUN_STATUS = 128 + 24
"""The status of a program that SIGXCPU ended: the kernel ends one with it that spins in user space."""
_TERM, _KILL, _NONE = 15, 9, 0
"""The end of a program: a signal, or the program itself."""
_ENDLESS = 1 << 43
"""Size of a file of FTP whose transfer has no end, bytes: more than any run carries, and a file without content takes no room."""
_BLOCK = 128 << 10
"""Bytes that iperf3 writes at once (DEFAULT_TCP_BLKSIZE in iperf.h)."""
_MPTCP = "mptcp.so"
"""Name of the library that makes the TCP sockets of a program MPTCP's, in the home of the program (mptcp.c)."""
_HOME = "/run/home"
"""Home of a confined program (agent.h)."""
_FILES = "/mnt"
"""Folder of the agent's own files (program.c)."""
_EARLY_NS = 500_000_000
"""A client may end so much before the time in its command, because it rounds, or does not count how long it took to connect."""
_TOLD = ("size_download", "size_upload", "speed_download", "speed_upload", "time_connect", "time_pretransfer", "time_total")
_REPORT = "{" + ",".join(f'"{name}":%{{{name}}}' for name in _TOLD) + "}"
"""curl's report (--write-out). It is not curl's `json`, which includes its version: asking for that looks up this machine's name, and there
is no DNS."""
_BOX_BYTES = 64 << 20
"""Room for what a confined program writes, besides the files that it is given."""
_SPINNING = {"um.spin_free": 100, "um.spin_ns": 1000, "um.user_spin_s": 20}
"""Settings of a guest's kernel (patch 09 of the engine kernel): each system call takes a microsecond once a process has made 100 without
sleeping, and a program ends that computes for 20 s of a processor without any, because time stands still meanwhile."""
_VSFTPD = """\
listen=YES
listen_ipv6=NO
background=NO
listen_address={address}
listen_port={control}
pasv_min_port={data}
pasv_max_port={data}
anonymous_enable=YES
no_anon_password=YES
local_enable=NO
anon_root={files}/ftp
write_enable=YES
anon_upload_enable=YES
anon_other_write_enable=YES
secure_chroot_dir={files}/empty
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
xferlog_enable=YES
vsftpd_log_file={log}
"""
_VSFTPD_CONFINED = "run_as_launching_user=YES\n"
"""A confined program cannot become another user."""
"""vsftpd.conf(5): of an anonymous user, who can write to nothing but /dev/null."""


@dataclass(frozen=True)
class _Roles:
    """Roles of the two ends of a flow."""

    client: str
    """The end: `from` or `to`."""
    server: str
    client_address: str
    server_address: str
    client_port: int
    server_port: int

    @classmethod
    def of(cls, workload: Tcp, flow: Connection, ends: Ends) -> _Roles:
        both = [("from", ends.source_address, flow.ports[0]), ("to", ends.target_address, flow.ports[1])]
        (client, at, port), (server, server_at, server_port) = both if workload.opener == "from" else both[::-1]
        return cls(client, server, at, server_at, port, server_port)

    @property
    def control_port(self) -> int:
        """Return the server's control port, for FTP."""
        return _CONTROL + self.server_port % _EACH_SIDE


def _numbered(plan: Plan) -> Iterator[tuple[int, Tcp, Connection]]:
    """Flows of applications, with their positions."""
    for i, (workload, flow) in enumerate(plan.connections):
        if workload.application is not None:
            yield i, workload, flow


def has_programs(plan: Plan) -> bool:
    """True if programs make flows of a plan."""
    return any(workload.application is not None for workload in plan.tcp)


def setup_lines(plan: Plan, hosts: Hosts, real_time: bool) -> Iterator[str]:
    """The agent's lines before those of flows."""
    if any(workload.application == "ftp" for _, workload, _ in _numbered(plan)):
        yield "files"
    if has_programs(plan) and not real_time:
        yield f"confined {_BOX_BYTES}"
        yield from (f"sysctl-if-there init {key} {value}" for key, value in _SPINNING.items())
        # Users may choose them, as root may.
        yield f"sysctl init net.ipv4.tcp_allowed_congestion_control {' '.join(sorted({'reno', *_named_controls(plan)}))}"
        for host in hosts.namespaces:
            yield f"run {host.name} - ip link set lo up"
            yield f"sysctl {host.name} net.ipv4.ip_unprivileged_port_start 0"
            yield f"sysctl {host.name} net.ipv4.ping_group_range 0 65534"


def _named_controls(plan: Plan) -> Iterator[str]:
    """The congestion controls of the flows that programs make."""
    return (workload.cc["kind"] for _, workload, _ in _numbered(plan))


def end_lines(plan: Plan, real_time: bool) -> Iterator[str]:
    """The agent's lines after a run in virtual time, once all is counted: programs end, and say what they have to say."""
    if has_programs(plan) and not real_time:
        yield "programs-end"


def lines(plan: Plan, workload: Tcp, flow: Connection, i: int, ends: Ends, real_time: bool) -> Iterator[str]:
    """The agent's lines for a flow of an application; an end that is on another machine has no program here."""
    if workload.program is not None:
        yield from _own_lines(plan, workload, flow, i, ends)
        return
    roles, here = _Roles.of(workload, flow, ends), {"from": ends.source, "to": ends.target}
    ftp = workload.application == "ftp"
    # The port of FTP's client is known only once the client has it.
    ports = [0 if ftp and roles.client == end else port for end, port in zip(("from", "to"), flow.ports, strict=True)]
    stop_ns = -1 if flow.stop_ns is None else flow.stop_ns
    size = -1 if workload.transfer_bytes is None else workload.transfer_bytes
    listens = roles.control_port if ftp else roles.server_port
    where = (ends.source, ends.target, ends.source_address, ends.target_address, *ports)
    yield " ".join(map(str, ("application", *where, flow.start_ns, stop_ns, size, workload.opener, listens)))
    programs = _ftp(plan, workload, flow, i, roles) if ftp else _iperf3(plan, workload, i, roles)
    for end, line in programs:
        if here[end] != "-" and not (real_time and line.startswith(_CONFINED_ONLY)):
            yield line


def _own_lines(plan: Plan, workload: Tcp, flow: Connection, i: int, ends: Ends) -> Iterator[str]:
    """The agent's lines for a flow of a program that is described by words."""
    program, roles = workload.program, _Roles.of(workload, flow, ends)
    assert program is not None  # so it is
    ports = dict(zip(("from", "to"), flow.ports, strict=True))
    if not program.has_one_connection:
        ports = {roles.client: 0, roles.server: 0 if program.transport in ("icmp", "any") else roles.server_port}
    stop_ns = -1 if flow.stop_ns is None else flow.stop_ns
    size = -1 if workload.transfer_bytes is None else workload.transfer_bytes
    listens = 0 if program.listens_by == "none" else roles.server_port
    options = [word for word, there in (("udp", program.listens_by == "udp"), ("many", not program.has_one_connection)) if there]
    if program.transport == "any":
        options.append("all")
    where = (ends.source, ends.target, ends.source_address, ends.target_address, ports["from"], ports["to"])
    yield " ".join(map(str, ("application", *where, flow.start_ns, stop_ns, size, workload.opener, listens, *options)))
    yield from (f"passes {end} {way} eth0 {_FIRST_COUNTER + i}" for end, way in _WAYS)
    values = values_of(plan, workload, flow, roles)
    for who in _ENDS:
        end = roles.server if who == "server" else roles.client
        signal = _KILL if who == "server" else _NONE if program.ends_by_itself else _TERM
        if words := program.command(who):
            given = [(given_name(file.sha256), 755 if file.executable else 644, file.name) for file in program.files]
            words, environment = _runnable(filled(words, values), program.environment)
            if program.transport == "mptcp":
                environment = {"LD_PRELOAD": f"{_HOME}/{_MPTCP}", **environment}
                given = [*given, (given_name(_preloaded()[1]), 644, _MPTCP)]
            yield _program(end, _said(i, who, "txt"), signal, *words)[1]
            for name, value in environment.items():
                yield f"environment {end} {quoted(f'{name}={value}')}"
            for kept, mode, name in given:
                yield f"given {end} {kept} {mode} {quoted(name)}"
            yield from (f"kept {end} {quoted(pattern)}" for pattern in program.keep)


def _runnable(words: list[str], environment: Mapping[str, Scalar]) -> tuple[list[str], Mapping[str, Scalar]]:
    """A command and its environment, as another user can run it."""
    if words[0] != flent.NAME or (found := flent.installed(_PATH)) is None:
        return words, environment
    return [*found.words, *words[1:]], {**environment, **dict(found.environment)}


_WAYS = (("from", "out"), ("from", "in"), ("to", "out"), ("to", "in"))
"""Ends of a flow and ways through their devices, at which packets are counted."""
_FIRST_COUNTER = 20_000
"""Priority of the filter that counts the packets of the first flow: after those that cut flows off."""


def counter_lines(workload: Tcp, flow: Connection, i: int, ends: Ends, hooked: set[str]) -> Iterator[str]:
    """The agent's lines for filters that count the packets of a flow at its hosts; `hooked` are the namespaces with a place for filters."""
    program, roles = workload.program, _Roles.of(workload, flow, ends)
    if program is None:
        return
    protocol = {"mptcp": "tcp", "any": ""}.get(program.transport, program.transport)
    port = {roles.server: f" {{}}_port {roles.server_port}"} if protocol in ("tcp", "udp") else {}
    addresses = {"from": ends.source_address, "to": ends.target_address}
    for end, way in _WAYS:
        namespace, other = (ends.source, "to") if end == "from" else (ends.target, "from")
        sender, receiver = (end, other) if way == "out" else (other, end)
        match = f"flower{f' ip_proto {protocol}' if protocol else ''} src_ip {addresses[sender]} dst_ip {addresses[receiver]}"
        match += "".join(words.format("src" if server == sender else "dst") for server, words in port.items())
        if namespace not in hooked:
            hooked.add(namespace)
            yield f"run {namespace} - tc qdisc add dev eth0 clsact"
        hook = "egress" if way == "out" else "ingress"
        yield f"run {namespace} - tc filter add dev eth0 {hook} protocol ip prio {_FIRST_COUNTER + i} {match} action continue"


def values_of(plan: Plan, workload: Tcp, flow: Connection, roles: _Roles) -> dict[str, object]:
    """The values of the words in braces of a flow's commands."""
    lasts_ns = (plan.duration_ns if flow.stop_ns is None else flow.stop_ns) - flow.start_ns
    return {
        **workload.arguments,
        "server": roles.server_address,
        "client": roles.client_address,
        "port": roles.server_port,
        "control_port": roles.control_port,
        "client_port": roles.client_port,
        "duration": f"{lasts_ns / 1e9:.9g}",
        "seconds": -(-lasts_ns // 10**9),
        "bytes": workload.transfer_bytes,
        "cc": workload.cc["kind"],
        "name": flow.name,
        "seed": plan.seed,
        "mss": mss_option(workload.segment_bytes, workload.timestamps),
        "tos": workload.dscp << 2,
    }


def given_name(sha256: str) -> str:
    """The name of a program's file in the folder of the run."""
    return f"given-{sha256[:32]}"


def given_files(plan: Plan) -> dict[str, tuple[str, str]]:
    """The files that programs of a plan are given, by their names in the folder of the run: path and SHA-256."""
    found = {}
    for workload in plan.tcp:
        for file in () if workload.program is None else workload.program.files:
            found[given_name(file.sha256)] = (file.path, file.sha256)
        if workload.program is not None and workload.program.transport == "mptcp":
            path, sha256 = _preloaded()
            found[given_name(sha256)] = (path, sha256)
    return found


@lru_cache(maxsize=1)
def _preloaded() -> tuple[str, str]:
    """The path and SHA-256 of the library that makes TCP sockets MPTCP's. Raises `EnvironmentFault` if it cannot be compiled."""
    path = mptcp().path
    return str(path), hashlib.sha256(path.read_bytes()).hexdigest()


_CONFINED_ONLY = ("given ", "kept ")
"""Lines that only a confined program needs: another one is in the folder of the run."""


def quoted(word: str) -> str:
    """A word of a program's command as the agent's script has it: without blanks, and never empty."""
    return re.sub(r"[^!-$&-~]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), word) or "%00"


def _program(end: str, file: str, signal: int, *words: object) -> tuple[str, str]:
    return end, " ".join(("program", end, file, str(signal), *(quoted(str(word)) for word in words)))


def _iperf3(plan: Plan, workload: Tcp, i: int, roles: _Roles) -> Iterator[tuple[str, str]]:
    port, size, host = ("-p", roles.server_port), workload.transfer_bytes, workload.host
    yield _program(roles.server, _said(i, "server"), _TERM, "iperf3", "-s", "-1", "-J", "-B", roles.server_address, *port)
    options: list[object] = ["-C", workload.cc["kind"]]
    options += ["-t", 0] if size is None else ["-n", size, "-l", min(size, _BLOCK)]
    if roles.client == "to":
        options.append("-R")
    if workload.segment_bytes != segment_bytes(plan.mtu_bytes, workload.timestamps):
        options += ["-M", mss_option(workload.segment_bytes, workload.timestamps)]
    if workload.dscp:
        options += ["-S", workload.dscp << 2]
    if host.nodelay:
        options.append("-N")
    if host.max_pacing_bps is not None:
        options += ["--fq-rate", host.max_pacing_bps]
    where = ("-c", roles.server_address, "-B", roles.client_address, *port, "--cport", roles.client_port)
    yield _program(roles.client, _said(i, "client"), _TERM, "iperf3", "-J", *where, *options)


def _ftp(plan: Plan, workload: Tcp, flow: Connection, i: int, roles: _Roles) -> Iterator[tuple[str, str]]:
    """The server's log is its report. Without a size the client ends by itself after as long as the flow lasts."""
    size, end_ns = workload.transfer_bytes, plan.duration_ns if flow.stop_ns is None else flow.stop_ns
    url = f"ftp://{roles.server_address}:{roles.control_port}"
    yield _program(roles.server, f"vsftpd-{i}", _KILL, "vsftpd", _config(i))
    yield roles.server, f"given {roles.server} {_config(i)} 644 {_config(i)}"
    yield roles.server, f"kept {roles.server} {_said(i, 'server', 'txt')}"
    ways: tuple[str, ...]
    if roles.client == "from":
        file, ways = f"upload-{i}", ("--append", "--upload-file", f"{_FILES}/upload-{i}", f"{url}/sink")
    else:
        file, ways = f"ftp/data-{i}", ("-o", "/dev/null", f"{url}/data-{i}")
    yield "from", f"file {file} {_ENDLESS if size is None else size}"
    lasts = () if size is not None else ("-m", f"{(end_ns - flow.start_ns) / 1e9:.3f}")
    # Its report is not to wait in a buffer while it waits for the server to say goodbye.
    first = ("stdbuf", "-o0", "curl", "-q", "-s", "-S", "--interface", roles.client_address, "-w", _REPORT)
    yield _program(roles.client, _said(i, "client"), _NONE, *first, *lasts, *ways)


def files(plan: Plan, hosts: Hosts, real_time: bool) -> dict[str, str]:
    """Return the files that the programs read; those of the servers that are here."""
    found = {} if real_time or not has_programs(plan) else {"hosts": _names(plan)}
    for i, workload, flow in _numbered(plan):
        ends = hosts.ends(workload)
        roles = _Roles.of(workload, flow, ends)
        if workload.application == "ftp" and {"from": ends.source, "to": ends.target}[roles.server] != "-":
            numbers = {"address": roles.server_address, "control": roles.control_port, "data": roles.server_port}
            config = _VSFTPD.format(**numbers, files=_FILES, log=_said(i, "server", "txt"))
            found[_config(i)] = config if real_time else config + _VSFTPD_CONFINED
    return found


def _names(plan: Plan) -> str:
    """A file hosts(5)."""
    known = [f"{address(host.side, host.number)} {host.id}" for host in plan.hosts]
    return "".join(f"{line}\n" for line in ("127.0.0.1 localhost", *known))


def _config(i: int) -> str:
    return f"vsftpd-{i}.conf"


def _said(i: int, who: str, suffix: str = "json") -> str:
    return f"application-{i}-{who}.{suffix}"


def controls(plan: Plan) -> dict[tuple[int, int], str]:
    """Congestion controls that routes have to have: by the positions of the sending and the receiving host."""
    return {(workload.source, workload.target): workload.cc["kind"] for _, workload, _ in _numbered(plan) if workload.application == "ftp"}


def served_ports(workload: Workload, flow: Connection) -> Iterator[tuple[str, int]]:
    """Return the ports of a program's server, to which the client connects from any port, with the server's end."""
    if isinstance(workload, Tcp) and workload.application is not None:
        roles = _Roles.of(workload, flow, Ends("", "", "", ""))
        yield roles.server, roles.server_port
        if workload.application == "ftp" or workload.program is not None:
            yield roles.server, roles.control_port


def by_address(workload: Tcp) -> Literal["ip", "icmp"] | None:
    """Return the protocol, `ip` for any, of a program whose packets only the addresses of its hosts tell from others; None if ports do."""
    transport = None if workload.program is None else workload.program.transport
    return "ip" if transport == "any" else "icmp" if transport == "icmp" else None


def needed(plan: Plan) -> frozenset[str]:
    """The programs of the machine that a run takes."""
    return frozenset(chain.from_iterable(_needed_by(workload) for _, workload, _ in _numbered(plan)))


def _needed_by(workload: Tcp) -> Iterable[str]:
    if workload.program is None or workload.program == ready_made(str(workload.application)):
        return NEEDED[str(workload.application)]
    commands = (workload.program.command("server"), workload.program.command("client"))
    return [words[0] for words in commands if words and not words[0].startswith("./")]


_PATH = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where a program is looked for (program.c)."""


def missing(plan: Plan) -> list[str]:
    """Return a line for each program of a plan that is not installed here."""
    return [not_installed(name) for name in sorted(needed(plan)) if not is_installed(name)]


def is_installed(name: str) -> bool:
    """True if programs of a run can run this one."""
    return flent.installed(_PATH) is not None if name == flent.NAME else shutil.which(name, path=_PATH) is not None


def identities(plan: Plan) -> dict[str, Identity]:
    """Return the programs of a plan that the machine has, by their names, each with what is mapped with it."""
    own = [workload.program for workload in plan.tcp if workload.program is not None]
    given = {f"./{file.name}": file.path for program in own for file in program.files if file.executable}
    wanted = {name: name for name in needed(plan)} | {
        name: given[name] for program in own for who in _ENDS for name in program.command(who)[:1] if name in given
    }
    found = {name: each for name, path in sorted(wanted.items()) if (each := identity(path, _PATH)) is not None}
    if flent.NAME in wanted and (there := flent.installed(_PATH)) is not None and (python := identity(there.program, _PATH)) is not None:
        found[flent.NAME] = replace(python, mapped=(*python.mapped, ("flent", there.package)))
    return found


def not_installed(name: str) -> str:
    """Return what to do about a program that is not installed."""
    if name in ELSEWHERE:
        return f"{name} is not installed; {ELSEWHERE[name]}"
    return f"{name} is not installed" + (f"; on Debian or Ubuntu: apt-get install {PACKAGES[name]}" if name in PACKAGES else f" in {_PATH}")


# --- what cannot be --------------------------------------------------------------------------------------------------

_OF_BOTH = ("rcvbuf", "sndbuf", "reads_bps")
_OF_SOCKETS = ("nodelay", "max_pacing_bps")


def refusals(plan: Plan) -> Iterator[Refusal]:
    """Yield plans with options that the programs lack, and FTP whose congestion control the route would give to others."""
    for i, workload in enumerate(plan.workloads):
        if isinstance(workload, Tcp) and workload.program is not None:
            yield from _own_refusals(plan, i, workload)
        elif isinstance(workload, Tcp) and workload.application is not None:
            for name in _untold(plan, workload):
                what = f"cannot be passed to {' and '.join(NEEDED[workload.application])}"
                yield Refusal(Place("workload", i), name, what, "a flow without it, or without application")
    known = controls(plan)
    for i, prefix, workload in plan.over_tcp:
        # The receiver of a bulk flow sends nothing that a congestion control has to do with.
        back = () if workload is plan.workloads[i] else ((workload.target, workload.source),)
        for pair in ((workload.source, workload.target), *back):
            if (cc := known.get(pair)) is not None and workload.cc["kind"] != cc:
                what = f"is {workload.cc['kind']!r}, and a flow by FTP between the same hosts has {cc!r} by the route"
                yield Refusal(Place("workload", i), f"{prefix}cc.kind", what, f"{cc}, or another src or dst")


def _own_refusals(plan: Plan, i: int, workload: Tcp) -> Iterator[Refusal]:
    """Yield options of sockets that no program gets, and packets that filters could not tell apart."""
    for name in (*_OF_BOTH, *_OF_SOCKETS):
        if getattr(workload.host, name):
            yield Refusal(Place("workload", i), f"host.{name}", "cannot be passed to a program", "a flow without it, or without program")
    if by_address(workload) is not None:
        yield from _mistaken(plan, i, workload)


def _mistaken(plan: Plan, i: int, workload: Tcp) -> Iterator[Refusal]:
    """Yield a flow whose packets nobody can tell from those of another between the same hosts: they have no ports of their own."""
    program = workload.program
    kind = "ICMP" if program is not None and program.transport == "icmp" else "packets of any protocol"
    pair = {workload.source, workload.target}
    alike = (
        other.id
        for other in plan.workloads
        if {other.source, other.target} == pair
        and (other is not workload or len(workload.flows) > 1)
        and (kind != "ICMP" or other.transport == "icmp" or (isinstance(other, Tcp) and other.program and other.program.transport == "any"))
    )
    if (other := next(alike, None)) is not None:
        what = f"has {kind} between two hosts, which filters cannot tell from those of {other!r}"
        yield Refusal(Place("workload", i), "program", what, "a flow with a src or dst of its own")


def _untold(plan: Plan, workload: Tcp) -> Iterator[str]:
    host, own = workload.host, workload.application == "ftp"
    names = _OF_BOTH + (_OF_SOCKETS if own else ())
    yield from (f"host.{name}" for name in names if getattr(host, name))
    if own and workload.dscp:
        yield "dscp"
    if own and workload.segment_bytes != segment_bytes(plan.mtu_bytes, workload.timestamps):
        yield "segment_bytes"


# --- what they say ---------------------------------------------------------------------------------------------------


def outputs(plan: Plan, folder: Path) -> dict[str, bytes]:
    """Return the outputs of the programs by file, unchanged."""
    found = {}
    for i, _, flow in _numbered(plan):
        for path in sorted((*folder.glob(f"application-{i}-*"), *folder.glob(f"vsftpd-{i}.kept.*"))):
            name = path.name.partition(_KEPT)[2] if path.name.startswith("vsftpd") else path.name
            name = name.removeprefix(f"application-{i}-").replace(f".txt{_KEPT}", ".")
            if _SOUND.fullmatch(name):
                found[f"application-{flow.name}-{name}"] = path.read_bytes()
    return found


_SOUND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,200}")
"""Names of files that the run takes over from a program."""
_KEPT = ".kept."
"""In names of files that the agent has taken out of a program's home: what is before it is the program's output."""


def reports(plan: Plan, said: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return columns of flows, by name, from the programs' outputs; empty for programs without readable output."""
    found: dict[str, dict[str, Any]] = {}
    for _, workload, flow in _numbered(plan):
        if workload.program is not None:
            if workload.program.report:
                found[flow.name] = dict(_own_report(workload.program.report, flow.name, said))
            continue
        try:
            client, server = (json.loads(said[f"application-{flow.name}-{who}.json"]) for who in _speakers(workload))
            found[flow.name] = _of_ftp(client, workload) if workload.application == "ftp" else _of_iperf3(client, server, workload)
        except (KeyError, ValueError, TypeError):
            found[flow.name] = {}
    return found


def _own_report(columns: Mapping[str, Column], name: str, said: Mapping[str, bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the columns of a flow that its program has reported."""
    from dumbbell.results import schema

    whole = {column.removeprefix("reported_") for column, quantity in schema().flows.items() if quantity.is_whole}
    for key, column in columns.items():
        output = said.get(f"application-{name}-{column.of}.{column.file or 'txt'}", b"")
        value = _number(column, output.decode(errors="replace"))
        if value is not None and math.isfinite(value * column.times):
            value *= column.times
            yield f"reported_{key}", round(value) if key in whole else value


def _number(column: Column, text: str) -> float | None:
    """A number in the output of a program; None if it is not there."""
    if column.count is not None:
        return len(re.findall(column.count, text, re.MULTILINE))
    try:
        if column.regex is not None:
            *_, last = re.finditer(column.regex, text, re.MULTILINE)
            return float(last[1])
        found: Any = json.loads(text)
        for word in str(column.json_).split("."):
            found = found[int(word)] if isinstance(found, list) else found[word]
        return None if isinstance(found, bool) else float(found)
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _speakers(workload: Tcp) -> Iterable[str]:
    return ("client", "client") if workload.application == "ftp" else ("client", "server")


def failures(plan: Plan, ended: Iterable[tuple[int, str, int, int]], said: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a line for each program that has failed, and for each client that ended before the time in its command.

    The line says how much virtual time of the flow passed without the program.

    Args:
        plan: The plan.
        ended: Programs that ended while their flows went on: flow, end, status, time (ns).
        said: The outputs of the programs.
    """
    flows = {i: (workload, flow) for i, workload, flow in _numbered(plan)}
    for i, end, status, at_ns in ended:
        workload, flow = flows[i]
        who, lost = "client" if end == workload.opener else "server", _lost(plan, workload, flow, at_ns)
        if status == _SPUN_STATUS:
            what = f"computed for {_SPINNING['um.user_spin_s']} s of a processor without a system call"
            yield f"flow/{flow.name}: its {who} {what} at {at_ns / 1e9:.3f} s, and the guest's kernel ended it{lost}"
        elif status:
            lines = next(
                (said[name] for name in said if name.startswith(f"application-{flow.name}-{who}.") and name.endswith(".errors")), b""
            )
            last = lines.decode(errors="replace").strip().splitlines()[-1:]
            why = f": {shortened(' '.join(repr(line)[1:-1] for line in last), 200)}" if last else ""
            yield f"flow/{flow.name}: its {who} ended at {at_ns / 1e9:.3f} s with status {status}{why}{lost}"
        elif who == "client" and _is_told_how_long(workload) and _left_ns(plan, flow, at_ns) > _EARLY_NS:
            yield f"flow/{flow.name}: its client ended early, at {at_ns / 1e9:.3f} s{lost}"


def _is_told_how_long(workload: Tcp) -> bool:
    """True if the command of a flow's client says how long to run. With `ends: true` the time in its command is only a limit."""
    program = workload.program
    return program is not None and program.ends is None and program.ends_by_itself and workload.transfer_bytes is None


def _left_ns(plan: Plan, flow: Connection, at_ns: int) -> int:
    """Return the time from a moment to the end of a flow."""
    return max((plan.duration_ns if flow.stop_ns is None else flow.stop_ns) - at_ns, 0)


def _lost(plan: Plan, workload: Tcp, flow: Connection, at_ns: int) -> str:
    """Return how much virtual time a flow goes on without its program, as part of a line. Empty if a given number of bytes ends it."""
    left_ns = 0 if workload.transfer_bytes is not None else _left_ns(plan, flow, at_ns)
    return f"; {left_ns / 1e9:.3f} s of virtual time are lost" if left_ns else ""


def _of_iperf3(client: Any, server: Any, workload: Tcp) -> dict[str, Any]:
    """Payload and time are those of the receiving end."""
    sender, receiver = (client, server) if workload.opener == "from" else (server, client)
    got, sent = receiver["end"]["sum_received"], sender["end"]["sum_sent"]
    return _columns(got["bytes"], got["seconds"], got["bits_per_second"]) | {"reported_retransmits": int(sent["retransmits"])}


def _of_ftp(client: Any, workload: Tcp) -> dict[str, Any]:
    """Return the columns from an FTP client's report, with the time of logging in (curl(1), --write-out)."""
    way = "upload" if workload.opener == "from" else "download"
    return _columns(client[f"size_{way}"], client["time_total"], 8 * client[f"speed_{way}"])


def _columns(size: float, seconds: float, rate_bps: float) -> dict[str, Any]:
    return {"reported_bytes": int(size), "reported_ms": 1e3 * seconds, "reported_bps": round(rate_bps)}
