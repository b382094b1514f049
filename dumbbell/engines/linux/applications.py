"""Flows that real programs make, iperf3 or FTP (vsftpd and curl): the commands at both ends, and the reports of the programs.

The end that connects is the client. Commands contain nothing of the scenario but numbers, addresses and the name of the congestion control.
iperf3 gets the congestion control as an option; FTP uses that of the route to the receiver (ip-route(8), `congctl`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from dumbbell.engines.linux.hosts import Ends, Hosts
from dumbbell.plan import Connection, Place, Plan, Refusal, Tcp, Workload
from dumbbell.scenario.tcp import mss_option, segment_bytes

PACKAGES: Mapping[str, str] = {"iperf3": "iperf3", "vsftpd": "vsftpd", "curl": "curl"}
"""The programs, and the packages of Debian and Ubuntu that have them."""
PROGRAMS: Mapping[str, tuple[str, ...]] = {"iperf3": ("iperf3",), "ftp": ("curl", "vsftpd")}
"""By application."""
_CONTROL = 50_000
"""Least port of FTP's control connections: `plan.addresses` has nothing from here to 60,000."""
_EACH_SIDE = 10_000
"""`plan.addresses`: within this, ports of one side do not repeat."""
_TERM, _KILL, _NONE = 15, 9, 0
"""The end of a program: a signal, or the program itself."""
_ENDLESS = 1 << 43
"""Size of a file of FTP whose transfer has no end, bytes: more than any run carries, and a file without content takes no room."""
_BLOCK = 128 << 10
"""Bytes that iperf3 writes at once (DEFAULT_TCP_BLKSIZE in iperf.h)."""
_FILES = "/mnt"
"""Folder of the agent's own files (program.c)."""
_TOLD = ("size_download", "size_upload", "speed_download", "speed_upload", "time_connect", "time_pretransfer", "time_total")
_REPORT = "{" + ",".join(f'"{name}":%{{{name}}}' for name in _TOLD) + "}"
"""curl's report (--write-out). It is not curl's `json`, which includes its version: asking for that looks up this machine's name, and there
is no DNS."""
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


def setup_lines(plan: Plan) -> Iterator[str]:
    """The agent's lines before those of flows."""
    if any(workload.application == "ftp" for _, workload, _ in _numbered(plan)):
        yield "files"


def lines(plan: Plan, workload: Tcp, flow: Connection, i: int, ends: Ends) -> Iterator[str]:
    """The agent's lines for a flow of an application; an end that is on another machine has no program here."""
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
        if here[end] != "-":
            yield line


def _program(end: str, file: str, signal: int, *words: object) -> tuple[str, str]:
    return end, " ".join(map(str, ("program", end, file, signal, *words)))


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


def files(plan: Plan, hosts: Hosts) -> dict[str, str]:
    """Return the files that the programs read; those of the servers that are here."""
    found = {}
    for i, workload, flow in _numbered(plan):
        ends = hosts.ends(workload)
        roles = _Roles.of(workload, flow, ends)
        if workload.application == "ftp" and {"from": ends.source, "to": ends.target}[roles.server] != "-":
            numbers = {"address": roles.server_address, "control": roles.control_port, "data": roles.server_port}
            found[_config(i)] = _VSFTPD.format(**numbers, files=_FILES, log=_said(i, "server", "txt"))
    return found


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
        if workload.application == "ftp":
            yield roles.server, roles.control_port


def needed(plan: Plan) -> frozenset[str]:
    """The programs that a run takes."""
    return frozenset(chain.from_iterable(PROGRAMS[workload.application] for _, workload, _ in _numbered(plan) if workload.application))


# --- what cannot be --------------------------------------------------------------------------------------------------

_OF_BOTH = ("rcvbuf", "sndbuf", "reads_bps")
_OF_SOCKETS = ("nodelay", "max_pacing_bps")


def refusals(plan: Plan) -> Iterator[Refusal]:
    """Yield plans with options that the programs lack, and FTP whose congestion control the route would give to others."""
    for i, workload in enumerate(plan.workloads):
        if isinstance(workload, Tcp) and workload.application is not None:
            for name in _untold(plan, workload):
                what = f"is nothing that {' and '.join(PROGRAMS[workload.application])} can be told"
                yield Refusal(Place("workload", i), name, what, "a flow without it, or without application")
    known = controls(plan)
    for i, prefix, workload in plan.over_tcp:
        # The receiver of a bulk flow sends nothing that a congestion control has to do with.
        back = () if workload is plan.workloads[i] else ((workload.target, workload.source),)
        for pair in ((workload.source, workload.target), *back):
            if (cc := known.get(pair)) is not None and workload.cc["kind"] != cc:
                what = f"is {workload.cc['kind']!r}, and a flow by FTP between the same hosts has {cc!r} by the route"
                yield Refusal(Place("workload", i), f"{prefix}cc.kind", what, f"{cc}, or another src or dst")


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
        for path in sorted(folder.glob(f"application-{i}-*")):
            found[f"application-{flow.name}-{path.name.rpartition('-')[2]}"] = path.read_bytes()
    return found


def reports(plan: Plan, said: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Return columns of flows, by name, from the programs' outputs; empty for programs without readable output."""
    found: dict[str, dict[str, Any]] = {}
    for _, workload, flow in _numbered(plan):
        try:
            client, server = (json.loads(said[f"application-{flow.name}-{who}.json"]) for who in _speakers(workload))
            found[flow.name] = _of_ftp(client, workload) if workload.application == "ftp" else _of_iperf3(client, server, workload)
        except (KeyError, ValueError, TypeError):
            found[flow.name] = {}
    return found


def _speakers(workload: Tcp) -> Iterable[str]:
    return ("client", "client") if workload.application == "ftp" else ("client", "server")


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
