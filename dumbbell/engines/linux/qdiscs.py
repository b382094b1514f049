"""tc's lines for a port (its shaper, its queue discipline, its delay), and all queue disciplines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dumbbell.catalogue import Entry, Parameter, entries
from dumbbell.engines.linux.faults import fault_words
from dumbbell.engines.linux.sce import ramp_lines
from dumbbell.plan import Link, Port, Queue
from dumbbell.scenario.discipline import CERTAIN

_LINK_BUCKET_NS = 100
"""Bucket of a link: the time that its timer may be late without losing capacity, and by which the link may take a packet too early. In
virtual time a timer is late by 1 ns for each reading of the clock.
"""
_NO_LIMIT = 100_000_000
"""Packets (netem) or bytes (tbf's own fifo, replaced at once): more than ever wait."""
_CHILD = "10:"
_ONLY_IF_ANY = ("drop_overmemory",)
"""Counters that tc shows only above 0."""

_BY_AGENT = ("dualpi2",)
"""Disciplines that a kernel may have and the machine's tc not know: the agent makes them (agent/dualpi2.c)."""
_NO_RATE = 10**16
"""Rate of a link that takes no time, bit/s: netem divides bits by it, in whole ns."""

_WEIGHT = 256
"""Units of a weight of dualpi2 in 1 Hz."""

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
        yield from ramp_lines(port.qdisc, f"dev {device} root handle 1:")
        return
    yield from _shaper(port.shaper, device, port.shaper["rate_bps"])
    parent = "1:" if kind == "tbf" else "1:1"
    yield f"qdisc add dev {device} parent {parent} handle {_CHILD} {tc_words(port.qdisc)}"
    yield from ramp_lines(port.qdisc, f"dev {device} parent {parent} handle {_CHILD}")


def made_by_agent(line: str) -> bool:
    """True if a line of tc's adds a discipline that the agent makes by itself, or changes what only the agent can."""
    words = line.split(" handle ")[-1].split()
    if line.startswith("qdisc change ") and words[1:3] == ["cake", "sce"]:
        return True
    return line.startswith("qdisc add ") and len(words) > 1 and words[1] in _BY_AGENT


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
    return _WORDS.get(qdisc["kind"], words)(qdisc)


def queue_on_a_link(qdisc: Parameters, device: str) -> list[str]:
    """tc's lines for a queue on a device whose own link is the bottleneck, so that no shaper is needed."""
    return [f"qdisc replace dev {device} root {tc_words(qdisc)}"]


def shaped_queue(qdisc: Parameters, device: str, rate: int) -> list[str]:
    """tc's lines for a queue on a device before a bottleneck that is elsewhere: cake shapes itself, others get an htb of this rate, whose
    bucket tc chooses."""
    if qdisc["kind"] == "cake":
        return queue_on_a_link({**qdisc, "rate_bps": rate}, device)
    return [
        f"qdisc replace dev {device} root handle 1: htb default 1",
        f"class replace dev {device} parent 1: classid 1:1 htb rate {rate}bit",
        f"qdisc replace dev {device} parent 1:1 handle {_CHILD} {tc_words(qdisc)}",
    ]


def overflow(statistics: Parameters, drops: int) -> int:
    """Return how many of the drops were for want of room, by tc's statistics of a queue discipline. The other drops are its own
    decisions."""
    known = _OVERFLOW.get(statistics["kind"])
    if known is None:
        return drops
    return min(drops, sum(int(statistics[counter]) for counter in known if counter not in _ONLY_IF_ANY or counter in statistics))


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


def words(qdisc: Parameters, instead: Mapping[str, str] | None = None) -> str:
    """tc's words for a queue discipline in a plan, by the catalogue. `instead`: words for parameters that this does not say."""
    entry, told = entries("qdisc")[qdisc["kind"]], dict(instead or {})
    for each in entry.parameters:
        if each.name in entry.tc and each.name not in told:
            told[each.name] = _words(each, qdisc)
    return " ".join(filter(None, (entry.name, *(told[name] for name in entry.tc))))


def _words(parameter: Parameter, qdisc: Parameters) -> str:
    value = parameter.of(qdisc)
    if value is None and parameter.kind in ("flag", "choice"):
        value = parameter.default
    if value is None:
        return ""
    if parameter.kind == "flag":
        return parameter.word.split("|")[not value]
    if "=" in parameter.word:
        return dict(word.split("=") for word in parameter.word.split("|"))[value]
    if parameter.kind == "duration":
        value //= 1000
    elif parameter.kind == "probability":
        value = f"{value / CERTAIN:.6f}"
    elif isinstance(value, list):
        value = "/".join(map(str, value))
    return parameter.word.format(value)


def _cake(qdisc: Parameters) -> str:
    rate = {"rate": "unlimited"} if qdisc["rate_bps"] is None else {}
    raw = {"overhead": "raw", "mpu": "", "framing": ""} if qdisc["overhead_bytes"] is None else {}
    return words(qdisc, rate | raw)


def _red(qdisc: Parameters) -> str:
    return words(qdisc, {"bandwidth": f"bandwidth {qdisc['control']['bandwidth_bps']}bit"})


def _dualpi2(qdisc: Parameters) -> str:
    step = {"step_thresh": ""} if qdisc["step_packets"] is not None else {}
    return words(qdisc, step | {name: f"{name} {qdisc[name] / _WEIGHT:.9g}" for name in ("alpha", "beta")})


_WORDS: Mapping[str, Callable[[Parameters], str]] = {
    "cake": _cake,
    "red": _red,
    "dualpi2": _dualpi2,
    "netem": lambda qdisc: netem(qdisc["delay_ns"], None, qdisc["limit_packets"]),
    "tc": lambda qdisc: str(qdisc["command"]),
}
"""Words of kinds that the catalogue alone does not give."""

_OVERFLOW: Mapping[str, tuple[str, ...]] = {
    # Does not tell them apart: all drops count as its own decisions.
    "cake": (),
    "codel": ("drop_overlimit",),
    "fq_codel": ("drop_overlimit", "drop_overmemory"),
    "pie": ("overlimit",),
    "fq_pie": ("overlimit",),
    "red": ("pdrop",),
    "dualpi2": ("overlimits",),
}
"""By kind the counters, as tc shows them, of drops for want of room; of others all drops are. Where a discipline counts its marks is in the
agent's sample.c."""

DISCIPLINES: Mapping[str, Entry] = {entry.name: entry for entry in entries("qdisc").values() if entry.since}
"""Disciplines of Linux, by name."""
