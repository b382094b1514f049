"""tc's lines for a port (its shaper, its queue discipline, its delay), and all queue disciplines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.engines.linux.faults import fault_words
from dumbbell.plan import Link, Port, Queue

_LINK_BUCKET_NS = 100
"""Bucket of a link: the time that its timer may be late without losing capacity, and by which the link may take a packet too early. In
virtual time a timer is late by 1 ns for each reading of the clock.
"""
_NO_LIMIT = 100_000_000
"""Packets (netem) or bytes (tbf's own fifo, replaced at once): more than ever wait."""
_CHILD = "10:"
_CERTAIN = 1 << 32
"""RED's probability 1 in a plan."""

_ONLY_IF_ANY = ("drop_overmemory",)
"""Counters that tc shows only above 0."""

_NO_RATE = 10**16
"""Rate of a link that takes no time, bit/s: netem divides bits by it, in whole ns."""

Parameters = Mapping[str, Any]


def leaf(port: Port) -> str:
    """The handle of the qdisc that drops and marks."""
    return "1:" if isinstance(port, Link) or port.shaper["kind"] == "own" else _CHILD


def queue_lines(port: Port, device: str) -> Iterator[str]:
    """The queue of a port."""
    if isinstance(port, Link):
        yield f"qdisc add dev {device} root handle 1: {netem(port.delay_ns, port.rate_bps, port.limit_packets, port.faults)}"
        return
    kind = port.shaper["kind"]
    if kind == "own":
        yield f"qdisc add dev {device} root handle 1: {tc_words(port.qdisc)}"
        return
    yield from _shaper(port.shaper, device, port.shaper["rate_bps"])
    parent = "1:" if kind == "tbf" else "1:1"
    yield f"qdisc add dev {device} parent {parent} handle {_CHILD} {tc_words(port.qdisc)}"


def _shaper(shaper: Parameters, device: str, rate: int, verb: str = "add") -> Iterator[str]:
    if shaper["kind"] == "tbf":
        yield f"qdisc {verb} dev {device} root handle 1: tbf rate {rate}bit burst {shaper['burst_bytes']} limit {_NO_LIMIT}"
        return
    burst = shaper["burst_bytes"] if shaper["kind"] == "htb" else max(1, rate * _LINK_BUCKET_NS // (8 * 10**9))
    if verb == "add":
        yield f"qdisc add dev {device} root handle 1: htb default 1"
    yield f"class {verb} dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst}"


def link_delay(port: Port) -> str:
    """Return the discipline after the queue of a port: netem with its propagation delay and the store and forward of a link. Empty without
    either."""
    if isinstance(port, Link):
        return ""
    rate = port.shaper["rate_bps"] if port.shaper["kind"] == "link" else None
    return netem(port.delay_ns, rate, None) if port.delay_ns or rate else ""


def netem(delay_ns: int, rate: int | None, limit: int | None, faults: Parameters | None = None) -> str:
    """netem with a delay and faults, behind a line of a rate if that is given; tc takes whole microseconds."""
    words = {} if faults is None else fault_words(faults)
    # A rate beyond all, at which a packet takes 0 ns, has netem keep the order.
    line = f" rate {_NO_RATE if rate is None else rate}bit" if rate is not None or "order" in words else ""
    jitter, others = words.get("jitter", ""), "".join(text for name, text in words.items() if name not in ("jitter", "order"))
    return f"netem limit {_NO_LIMIT if limit is None else limit} delay {round(delay_ns / 1000)}us{jitter}{others}{line}"


def rate_lines(port: Queue, device: str, delay_device: str | None, rate: int) -> Iterator[str]:
    """Yield the lines that change the rate of a port during the run."""
    kind = port.shaper["kind"]
    if kind == "own":
        # A bandwidth ends autorate unless that is asked for again.
        autorate = " autorate-ingress" if "autorate_ingress" in port.qdisc.get("more", {}) else ""
        yield f"qdisc change dev {device} root handle 1: cake bandwidth {rate}bit{autorate}"
        return
    yield from _shaper(port.shaper, device, rate, "change")
    if kind == "tbf" and port.qdisc["kind"] in ("pfifo", "bfifo"):
        # Changing tbf gives its own limit to a fifo below it.
        yield f"qdisc change dev {device} parent 1: handle {_CHILD} {tc_words(port.qdisc)}"
    if kind == "link":
        yield f"qdisc change dev {delay_device} root handle 1: {netem(port.delay_ns, rate, None)}"


def tc_words(qdisc: Parameters) -> str:
    """Return tc's words for a queue discipline with its parameters."""
    return DISCIPLINES[qdisc["kind"]].words(qdisc)


def overflow(statistics: Parameters, drops: int) -> int:
    """Return how many of the drops were for want of room, by tc's statistics of a queue discipline. The other drops are its own
    decisions."""
    known = DISCIPLINES.get(statistics["kind"])
    if known is None or known.overflow is None:
        return drops
    counters = (int(statistics[counter]) for counter in known.overflow if counter not in _ONLY_IF_ANY or counter in statistics)
    return min(drops, sum(counters))


def _fifo(qdisc: Parameters) -> str:
    limit = qdisc["limit_packets"] if qdisc["kind"] == "pfifo" else qdisc["limit_bytes"]
    return f"{qdisc['kind']} limit {limit}"


def _cake(cake: Parameters) -> str:
    rate = "unlimited" if cake["rate_bps"] is None else f"bandwidth {cake['rate_bps']}bit"
    raw = cake["overhead_bytes"] is None
    overhead = "raw" if raw else f"overhead {cake['overhead_bytes']} mpu {cake['mpu_bytes']} {cake['framing']}"
    memory = "" if cake["memory_limit_bytes"] is None else f" memlimit {cake['memory_limit_bytes']}"
    more = "".join(f" {_MORE_OF_CAKE.get((key, value), key)}" for key, value in cake.get("more", {}).items())
    tins = cake.get("diffserv", "besteffort")
    return f"cake {rate} {tins} {cake['isolation']} {overhead} rtt {_us(cake['rtt_ns'])}{memory}{more}"


_MORE_OF_CAKE = {
    ("ack_filter", "on"): "ack-filter",
    ("ack_filter", "aggressive"): "ack-filter-aggressive",
    ("autorate_ingress", True): "autorate-ingress",
}
"""tc's words for keys that few use, where they are not the key itself."""


def tins(qdisc: Parameters, statistics: Parameters) -> Iterator[dict[str, Any]]:
    """Yield tc's statistics of each tin of a cake, as columns of the table of tins; `tin` is its name in its port.

    Yields nothing if the port's own row says it all: for a cake with one tin and no keyword that few use.
    """
    diffserv = qdisc.get("diffserv", "besteffort")
    if qdisc["kind"] != "cake" or (diffserv == "besteffort" and "more" not in qdisc):
        return
    for i, tin in enumerate(statistics["tins"]):
        row = {column: tin[shown] for column, shown in _OF_TINS.items()}
        row |= {f"{name}_ms": tin[f"{shown}_us"] / 1000 for name, shown in _TIMES_OF_TINS.items()}
        yield {"tin": _NAMES_OF_TINS[diffserv][i], "threshold_bps": tin["threshold_rate"] * 8, **row}


_NUMBERED = tuple(f"tin{i}" for i in range(8))
_NAMES_OF_TINS: Mapping[str, tuple[str, ...]] = {
    "besteffort": _NUMBERED,
    "diffserv3": ("bulk", "best_effort", "voice"),
    "diffserv4": ("bulk", "best_effort", "video", "voice"),
    "diffserv8": _NUMBERED,
    "precedence": _NUMBERED,
}
"""tc's names of the tins, in tc's order."""
_OF_TINS = {
    "arrived_packets": "sent_packets",  # counted when they are queued
    "arrived_bytes": "sent_bytes",
    "dropped_packets": "drops",
    "ack_drops": "ack_drops",
    "ce_marks": "ecn_mark",
    "backlog_bytes": "backlog_bytes",
    "sparse_flows": "sparse_flows",
    "bulk_flows": "bulk_flows",
    "unresponsive_flows": "unresponsive_flows",
    "flow_quantum_bytes": "flow_quantum",
}
_TIMES_OF_TINS = {
    "target": "target",
    "interval": "interval",
    "peak_delay": "peak_delay",
    "average_delay": "avg_delay",
    "base_delay": "base_delay",
}


def _queues(qdisc: Parameters) -> str:
    queues = qdisc["queues"]
    return f"flows {queues['flows']} quantum {queues['quantum_bytes']} memory_limit {queues['memory_limit_bytes']}"


def _codel(qdisc: Parameters) -> str:
    return f"codel limit {qdisc['limit_packets']} {_codel_law(qdisc['control'])}"


def _fq_codel(qdisc: Parameters) -> str:
    sizes = f"{_queues(qdisc)} drop_batch {qdisc['drop_batch']}"
    return f"fq_codel limit {qdisc['limit_packets']} {sizes} {_codel_law(qdisc['control'])}"


def _codel_law(control: Parameters) -> str:
    threshold = "" if control["ce_threshold_ns"] is None else f" ce_threshold {_us(control['ce_threshold_ns'])}"
    if "ce_threshold_selector" in control:
        value, mask = control["ce_threshold_selector"]
        threshold += f" ce_threshold_selector {value}/{mask}"
    return f"target {_us(control['target_ns'])} interval {_us(control['interval_ns'])} {_flag('ecn', control['ecn'])}{threshold}"


def _pie(qdisc: Parameters) -> str:
    return f"pie limit {qdisc['limit_packets']} {_pie_law(qdisc['control'])}"


def _fq_pie(qdisc: Parameters) -> str:
    return f"fq_pie limit {qdisc['limit_packets']} {_queues(qdisc)} ecn_prob {qdisc['ecn_prob']} {_pie_law(qdisc['control'])}"


def _pie_law(control: Parameters) -> str:
    times = f"target {_us(control['target_ns'])} tupdate {_us(control['tupdate_ns'])} alpha {control['alpha']} beta {control['beta']}"
    return " ".join((times, *(_flag(name, control[name]) for name in ("ecn", "bytemode", "dq_rate_estimator"))))


def _red(red: Parameters) -> str:
    control = red["control"]
    flags = "".join(f" {name}" for name in ("ecn", "harddrop", "nodrop") if control.get(name))
    sizes = f"min {control['min_bytes']} max {control['max_bytes']} avpkt {control['avpkt_bytes']} burst {control['burst_packets']}"
    law = f"probability {control['max_p'] / _CERTAIN:.6f} bandwidth {control['bandwidth_bps']}bit"
    return f"red limit {red['limit_bytes']} {sizes} {law}{flags}"


def _sfq(qdisc: Parameters) -> str:
    head = " headdrop" if qdisc["headdrop"] else ""
    flows = f" flows {qdisc['flows']}" if "flows" in qdisc else ""
    sizes = f"quantum {qdisc['quantum_bytes']} depth {qdisc['depth_packets']}{flows}"
    return f"sfq limit {qdisc['limit_packets']} divisor {qdisc['divisor']} {sizes} perturb {qdisc['perturb_s']}{head}"


def _fq(qdisc: Parameters) -> str:
    sizes = f"quantum {qdisc['quantum_bytes']} initial_quantum {qdisc['initial_quantum_bytes']}"
    refill = f" refill_delay {_us(qdisc['refill_delay_ns'])}" if "refill_delay_ns" in qdisc else ""
    return f"fq limit {qdisc['limit_packets']} flow_limit {qdisc['flow_limit_packets']} {sizes}{refill}"


def _netem(qdisc: Parameters) -> str:
    return netem(qdisc["delay_ns"], None, qdisc["limit_packets"])


def _flag(name: str, on: bool) -> str:
    return name if on else f"no_{name}" if "_" in name else f"no{name}"


def _us(time_ns: int) -> str:
    return f"{time_ns // 1000}us"


@dataclass(frozen=True)
class LinuxQdisc:
    """A queue discipline of Linux."""

    summary: str
    words: Callable[[Parameters], str]
    """tc's words for one in a plan."""
    overflow: tuple[str, ...] | None = None
    """The counters, as tc shows them, of drops for want of room; None: all drops are."""


DISCIPLINES: Mapping[str, LinuxQdisc] = {
    "pfifo": LinuxQdisc("tail drop by packets", _fifo),
    "bfifo": LinuxQdisc("tail drop by bytes", _fifo),
    # Does not tell them apart: all drops count as its own decisions.
    "cake": LinuxQdisc("CAKE: shaper, tins, COBALT, DRR++, flow and host isolation", _cake, ()),
    "codel": LinuxQdisc("CoDel", _codel, ("drop_overlimit",)),
    "fq_codel": LinuxQdisc("FlowQueue-CoDel", _fq_codel, ("drop_overlimit", "drop_overmemory")),
    "pie": LinuxQdisc("PIE", _pie, ("overlimit",)),
    "fq_pie": LinuxQdisc("FlowQueue-PIE", _fq_pie, ("overlimit",)),
    "red": LinuxQdisc("RED", _red, ("pdrop",)),
    "sfq": LinuxQdisc("stochastic fairness queueing", _sfq),
    "fq": LinuxQdisc("fair queue", _fq),
    "netem": LinuxQdisc("delays every packet by the same time; tail drop by packets", _netem),
    "tc": LinuxQdisc("any queue discipline of Linux by its command", lambda qdisc: str(qdisc["command"])),
}
"""By kind. Where a discipline counts its marks is in the agent's sample.c."""
