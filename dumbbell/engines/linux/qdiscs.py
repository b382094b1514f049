"""tc's lines for a port: its shaper, its queue discipline, its delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.plan import Link, Port, Queue

_LINK_BUCKET_US = 2
"""Of a line: what its timer may be late without losing capacity."""
_NO_LIMIT = 100_000_000
"""Packets (netem) or bytes (tbf's own fifo, replaced at once): more than ever wait."""
_CHILD = "10:"
_CERTAIN = 1 << 32
"""RED's probability 1 in a plan."""

Parameters = Mapping[str, Any]


def leaf(port: Port) -> str:
    """The handle of the qdisc that drops and marks."""
    return "1:" if isinstance(port, Link) or port.shaper["kind"] == "own" else _CHILD


def queue_lines(port: Port, device: str) -> Iterator[str]:
    """The queue of a port."""
    if isinstance(port, Link):
        yield f"qdisc add dev {device} root handle 1: {netem(port.delay_ns, port.rate_bps, port.limit_packets)}"
        return
    kind = port.shaper["kind"]
    if kind == "own":
        yield f"qdisc add dev {device} root handle 1: {_qdisc(port.qdisc)}"
        return
    yield from _shaper(port.shaper, device, port.shaper["rate_bps"])
    parent = "1:" if kind == "tbf" else "1:1"
    yield f"qdisc add dev {device} parent {parent} handle {_CHILD} {_qdisc(port.qdisc)}"


def _shaper(shaper: Parameters, device: str, rate: int, verb: str = "add") -> Iterator[str]:
    if shaper["kind"] == "tbf":
        yield f"qdisc {verb} dev {device} root handle 1: tbf rate {rate}bit burst {shaper['burst_bytes']} limit {_NO_LIMIT}"
        return
    burst = shaper["burst_bytes"] if shaper["kind"] == "htb" else max(1, rate * _LINK_BUCKET_US // (8 * 10**6))
    if verb == "add":
        yield f"qdisc add dev {device} root handle 1: htb default 1"
    yield f"class {verb} dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst}"


def link_delay(port: Port) -> str:
    """What follows the queue of a port: netem with its propagation delay and the store and forward of a link; empty without either."""
    if isinstance(port, Link):
        return ""
    rate = port.shaper["rate_bps"] if port.shaper["kind"] == "link" else None
    return netem(port.delay_ns, rate, None) if port.delay_ns or rate else ""


def netem(delay_ns: int, rate: int | None, limit: int | None) -> str:
    """netem with a delay, behind a line of a rate if that is given; tc takes whole microseconds."""
    line = "" if rate is None else f" rate {rate}bit"
    return f"netem limit {_NO_LIMIT if limit is None else limit} delay {round(delay_ns / 1000)}us{line}"


def rate_lines(port: Queue, device: str, delay_device: str | None, rate: int) -> Iterator[str]:
    """What changes the rate of a port while it works."""
    kind = port.shaper["kind"]
    if kind == "own":
        yield f"qdisc change dev {device} root handle 1: cake bandwidth {rate}bit"
        return
    yield from _shaper(port.shaper, device, rate, "change")
    if kind == "tbf" and port.qdisc["kind"] in ("pfifo", "bfifo"):
        # Changing tbf gives its own limit to a fifo below it.
        yield f"qdisc change dev {device} parent 1: handle {_CHILD} {_qdisc(port.qdisc)}"
    if kind == "link":
        yield f"qdisc change dev {delay_device} root handle 1: {netem(port.delay_ns, rate, None)}"


def _qdisc(qdisc: Parameters) -> str:
    match qdisc["kind"]:
        case "pfifo":
            return f"pfifo limit {qdisc['limit_packets']}"
        case "bfifo":
            return f"bfifo limit {qdisc['limit_bytes']}"
        case "cake":
            return _cake(qdisc)
        case "codel":
            return f"codel limit {qdisc['limit_packets']} {_codel(qdisc['control'])}"
        case "fq_codel":
            sizes = f"{_queues(qdisc)} drop_batch {qdisc['drop_batch']}"
            return f"fq_codel limit {qdisc['limit_packets']} {sizes} {_codel(qdisc['control'])}"
        case "pie":
            return f"pie limit {qdisc['limit_packets']} {_pie(qdisc['control'])}"
        case "fq_pie":
            return f"fq_pie limit {qdisc['limit_packets']} {_queues(qdisc)} ecn_prob {qdisc['ecn_prob']} {_pie(qdisc['control'])}"
        case "red":
            return _red(qdisc)
        case "sfq":
            head = " headdrop" if qdisc["headdrop"] else ""
            sizes = f"quantum {qdisc['quantum_bytes']} depth {qdisc['depth_packets']}"
            return f"sfq limit {qdisc['limit_packets']} divisor {qdisc['divisor']} {sizes} perturb {qdisc['perturb_s']}{head}"
        case "fq":
            sizes = f"quantum {qdisc['quantum_bytes']} initial_quantum {qdisc['initial_quantum_bytes']}"
            return f"fq limit {qdisc['limit_packets']} flow_limit {qdisc['flow_limit_packets']} {sizes}"
        case "tc":
            return str(qdisc["command"])
    raise AssertionError(qdisc["kind"])  # no table of capabilities has another


def _cake(cake: Parameters) -> str:
    rate = "unlimited" if cake["rate_bps"] is None else f"bandwidth {cake['rate_bps']}bit"
    raw = cake["overhead_bytes"] is None
    overhead = "raw" if raw else f"overhead {cake['overhead_bytes']} mpu {cake['mpu_bytes']} {cake['framing']}"
    memory = "" if cake["memory_limit_bytes"] is None else f" memlimit {cake['memory_limit_bytes']}"
    return f"cake {rate} besteffort {cake['isolation']} {overhead} rtt {_us(cake['rtt_ns'])}{memory}"


def _queues(qdisc: Parameters) -> str:
    queues = qdisc["queues"]
    return f"flows {queues['flows']} quantum {queues['quantum_bytes']} memory_limit {queues['memory_limit_bytes']}"


def _codel(control: Parameters) -> str:
    threshold = "" if control["ce_threshold_ns"] is None else f" ce_threshold {_us(control['ce_threshold_ns'])}"
    return f"target {_us(control['target_ns'])} interval {_us(control['interval_ns'])} {_flag('ecn', control['ecn'])}{threshold}"


def _pie(control: Parameters) -> str:
    times = f"target {_us(control['target_ns'])} tupdate {_us(control['tupdate_ns'])} alpha {control['alpha']} beta {control['beta']}"
    return " ".join((times, *(_flag(name, control[name]) for name in ("ecn", "bytemode", "dq_rate_estimator"))))


def _red(red: Parameters) -> str:
    control = red["control"]
    flags = "".join(f" {name}" for name in ("ecn", "harddrop") if control[name])
    sizes = f"min {control['min_bytes']} max {control['max_bytes']} avpkt {control['avpkt_bytes']} burst {control['burst_packets']}"
    law = f"probability {control['max_p'] / _CERTAIN:.6f} bandwidth {control['bandwidth_bps']}bit"
    return f"red limit {red['limit_bytes']} {sizes} {law}{flags}"


def _flag(name: str, on: bool) -> str:
    return name if on else f"no_{name}" if "_" in name else f"no{name}"


def _us(time_ns: int) -> str:
    return f"{time_ns // 1000}us"
