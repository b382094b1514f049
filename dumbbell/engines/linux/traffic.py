"""The agent's script about traffic: a line for each flow, and the lines that cut it off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dumbbell.engines.linux import applications
from dumbbell.engines.linux.hosts import Hosts
from dumbbell.engines.linux.sources.arrivals import KIND, coming
from dumbbell.engines.linux.sources.datagrams import HEADERS, cut_off, is_listed, list_name
from dumbbell.engines.linux.sources.draws import Amount, amounts
from dumbbell.plan import Connection, Plan, Tcp, Traffic, Workload
from dumbbell.scenario.connections import mss_option, segment_bytes
from dumbbell.scenario.generated.kinds import KINDS

_PLENTY, _MOST_WAITING = 1 << 18, 65_535
"""More than the connections of a run."""
_LAST = 65_535
"""Priority of a filter behind all others; `drain_lines` has one of its own, because a second with the same priority is an error in tc."""
_DOUBLED = 2
"""Factor by which Linux raises a requested size of a socket buffer; a plan has the result."""


def traffic_lines(plan: Plan, hosts: Hosts, real_time: bool) -> Iterator[str]:
    """Connections that are stopped early are cut off by filters on their hosts: packets end there, as if the host had been unplugged."""
    cut: set[str] = set()
    yield from applications.setup_lines(plan, hosts, real_time)
    for source in dict.fromkeys(hosts.ends(workload).source for workload in plan.workloads if workload.transport == "icmp"):
        if real_time or not applications.has_programs(plan):
            yield f"sysctl {source} net.ipv4.ping_group_range 0 0"
    flows = ((workload, which, flow) for workload in plan.workloads for which, flow in enumerate(workload.flows))
    for i, (workload, which, flow) in enumerate(flows):
        if isinstance(workload, Tcp) and workload.application is not None:
            yield from applications.lines(plan, workload, flow, i, hosts.ends(workload), real_time)
            yield from applications.counter_lines(workload, flow, i, hosts.ends(workload), cut)
            if workload.program is None:
                yield from _cut_off(hosts, workload, flow, i, cut)
            continue
        leader = i - which % workload.connections_each if isinstance(workload, Traffic) else i
        numbers = [each.word(leader) if isinstance(each, Amount) else each for each in _LINES[workload.kind](workload, which)]
        listed = (list_name(i),) if is_listed(workload) else ()
        times = (flow.start_ns, _or_never(flow.stop_ns))
        yield _words(_WORDS.get(workload.kind, workload.kind), *_ends(hosts, workload, flow), *times, *numbers, *listed)
        yield from (f"option {option}" for option in _options(workload, plan.mtu_bytes))
        yield from _cut_off(hosts, workload, flow, i, cut)


def _cut_off(hosts: Hosts, workload: Workload, flow: Connection, i: int, cut: set[str]) -> Iterator[str]:
    """Yield the lines that cut flow `i` off when it stops. `cut` are the namespaces that have the hook for filters; it is extended by those
    that get it here."""
    if flow.stop_ns is None or workload.transport != "tcp":
        return
    for name, port in zip(_stopped(hosts, workload), flow.ports, strict=False):
        if name not in cut:
            cut.add(name)
            yield f"run {name} - tc qdisc add dev eth0 clsact"
        # Nobody knows the port of a program's client yet.
        by_client = isinstance(workload, Tcp) and workload.application is not None and workload.opener == "from"
        match = f"flower ip_proto tcp {f'dst_port {flow.ports[1]}' if by_client else f'src_port {port}'}"
        yield f"at {flow.stop_ns} {name} - tc filter add dev eth0 egress protocol ip prio {i + 1} {match} action drop"


def _stopped(hosts: Hosts, workload: Workload) -> tuple[str, ...]:
    """Return the namespaces whose packets go nowhere once a workload has stopped: the receiver of a bulk flow acknowledges the data under
    way."""
    ends = hosts.ends(workload)
    return (ends.source,) if isinstance(workload, Tcp) else (ends.source, ends.target)


def end_line(namespace: str, device: str) -> str:
    """Cuts TCP off when a run in real time is over, whose datagrams end by themselves, so that the queues become empty."""
    return f"end {namespace} - {cut_off(device, _LAST)}"


def end_lines(plan: Plan, hosts: Hosts) -> Iterator[str]:
    """Yield the lines that cut off every host when the run is over. The hosts of flows that stop early have the hook for filters
    already."""
    early = [
        workload for workload in plan.workloads if workload.transport == "tcp" and any(each.stop_ns is not None for each in workload.flows)
    ]
    hooked = {name for workload in early for name in _stopped(hosts, workload)}
    for host in hosts.namespaces:
        if host.name not in hooked:
            yield f"run {host.name} - tc qdisc add dev eth0 clsact"
        yield end_line(host.name, "eth0")


_ECT = {0: 2, 1: 1}
"""The bits of ECT(0) and ECT(1) in the ECN field (RFC 3168, section 5)."""


def _options(workload: Workload, mtu: int) -> Iterator[str]:
    """Yield the options of sockets that differ from the defaults."""
    tcp = workload.over
    if tcp is not None and tcp.segment_bytes != segment_bytes(mtu, tcp.timestamps):
        yield f"mss {mss_option(tcp.segment_bytes, tcp.timestamps)}"
    if codepoint := _codepoint(workload):
        yield f"dscp {codepoint}"
    if isinstance(workload, Traffic) and (ect := workload.parameters.get("ect")) is not None:
        yield f"ecn {_ECT[ect]}"
    if tcp is not None and tcp.host.nodelay:
        yield "nodelay 1"
    if tcp is not None and tcp.host.max_pacing_bps is not None:
        yield f"max_pacing_rate {tcp.host.max_pacing_bps // 8}"
    if tcp is not None and tcp.host.reads_bps is not None:
        yield f"reads {tcp.host.reads_bps}"


def _codepoint(workload: Workload) -> int:
    """The DSCP of all its packets, 0 to 63."""
    if workload.over is not None:
        return workload.over.dscp
    assert isinstance(workload, Traffic)  # datagrams are
    codepoint: int = workload.parameters.get("dscp", 0)
    return codepoint


def arrivals_file(workload: int) -> str:
    """The file of the connections that a workload makes."""
    return f"arrivals-{workload}"


def came_file(workload: int) -> str:
    """Return the name of the file with their results."""
    return f"came-{workload}"


def coming_lines(plan: Plan, hosts: Hosts) -> Iterator[str]:
    """Workloads whose connections come and go, and room for the TIME_WAITs and for all who want to connect at a time."""
    for i, workload in coming(plan):
        assert workload.tcp is not None  # they are over TCP
        ends = hosts.ends(workload)
        for name in (ends.source, ends.target):
            yield from (f"sysctl {name} net.{key} {_PLENTY}" for key in ("ipv4.tcp_max_tw_buckets", "ipv4.tcp_max_syn_backlog"))
            yield f"sysctl {name} net.core.somaxconn {_MOST_WAITING}"
        where = (ends.source, ends.target, ends.source_address, ends.target_address)
        files, options = (arrivals_file(i), came_file(i)), _options(workload, plan.mtu_bytes)
        yield _words(workload.kind, *where, workload.tcp.cc["kind"], *_buffers(workload.tcp), *files, *options)


def _tcp(tcp: Tcp, _which: int) -> Iterable[object]:
    """Congestion control, size, buffers. A transfer that has an end is closed there."""
    opens = () if tcp.opener == "from" else ("opened-by-receiver",)
    closes = () if tcp.transfer_bytes is None else ("close",)
    return (tcp.cc["kind"], _or_never(tcp.transfer_bytes), *_buffers(tcp), *opens, *closes)


def _session(session: Traffic, *particular: object) -> Iterable[object]:
    """Yield congestion control, buffers and opener of connections that an application uses, and the parameters of its kind."""
    assert session.tcp is not None  # it is over TCP
    return (session.tcp.cc["kind"], *_buffers(session.tcp), session.tcp.opener, *particular)


def _exchange(exchange: Traffic, _which: int) -> Iterable[object]:
    """Sizes, number, time of thinking."""
    found = amounts(exchange)
    return _session(exchange, found["request"], found["response"], exchange.parameters["count"], found["think"])


def _onoff(onoff: Traffic, _which: int) -> Iterable[object]:
    """Size and interval of writes, and how long they go on and pause."""
    parameters, found = onoff.parameters, amounts(onoff)
    on = parameters["on"]
    period = ("always", 0) if on is None else (on["kind"], found["on" if on["kind"] == "time" else "burst"])
    return _session(onoff, parameters["write_bytes"], parameters["interval_ns"], *period, found["off"])


def _page(page: Traffic, which: int) -> Iterable[object]:
    """Return its number among its browser's connections and how many there are, sizes, numbers, time of thinking."""
    parameters, found, each = page.parameters, amounts(page), page.connections_each
    numbers = (found["request"], found["first"], parameters["objects"], found["size"], _or_never(parameters["count"]), found["think"])
    return _session(page, which % each, each, *numbers)


def _streaming(streaming: Traffic, _which: int) -> Iterable[object]:
    """Sizes, playing times, number of chunks."""
    names = ("request_bytes", "chunk_ns", "chunk_bytes", "buffer_ns", "start_at_ns")
    return _session(streaming, *(streaming.parameters[name] for name in names), _or_never(streaming.parameters["count"]))


def _datagrams(datagrams: Traffic, _which: int) -> Iterable[object]:
    """Return interval, payload, number and options."""
    parameters = datagrams.parameters
    options = [word for word, name in (("reply", "reply"), ("measure", "measured")) if parameters[name]]
    # Datagrams that are listed need none of these numbers.
    interval_ns, bytes_ = (1, HEADERS) if is_listed(datagrams) else (parameters["interval_ns"], parameters["size_bytes"])
    return (interval_ns, bytes_ - HEADERS, _or_never(parameters["count"]), *options)


_LINES: Mapping[str, Callable[[Any, int], Iterable[object]]] = {
    "tcp": _tcp,
    "exchange": _exchange,
    "onoff": _onoff,
    "page": _page,
    "streaming": _streaming,
    "ping": _datagrams,
    "udp": _datagrams,
    "voip": _datagrams,
}
"""By kind of workload: the words after ends and times, for each of its flows."""
_WORDS: Mapping[str, str] = {"voip": "udp"}
"""The agent's word for a kind of workload, where it is another one."""
FEATURES = tuple(KINDS[kind].feature for kind in (*_LINES, KIND) if kind in KINDS)
"""Names of these kinds in tables of capabilities."""


def _ends(hosts: Hosts, workload: Workload, flow: Connection) -> Iterable[object]:
    ends = hosts.ends(workload)
    return (ends.source, ends.target, ends.source_address, ends.target_address, *flow.ports)


def _buffers(tcp: Tcp) -> Iterable[int]:
    return [0 if size is None else size // _DOUBLED for size in (tcp.host.sndbuf, tcp.host.rcvbuf)]


def _or_never(number: int | None) -> int:
    return -1 if number is None else number


def _words(*words: object) -> str:
    return " ".join(map(str, words))
