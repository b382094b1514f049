"""tc's commands for a port: its shaper, its queue discipline, its delay."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.engines.lowering import PlannedPort
from dumbbell.scenario import (
    Bfifo,
    Cake,
    Codel,
    DelayStage,
    Duration,
    Fq,
    FqCodel,
    FqPie,
    Pfifo,
    Pie,
    QueueStage,
    Red,
    Sfq,
    Tc,
)

_TBF_BURST, _HTB_BURST = 1540, 1600
"""Buckets, bytes, where the scenario names none: the kernel oracle's."""
_LINK_BUCKET_US = 2
"""Of a line: what its timer may be late without losing capacity."""
_NO_LIMIT = 100_000_000
"""Packets (netem) or bytes (tbf's own fifo, replaced at once): more than ever wait."""
_CHILD = "10:"


def leaf(port: PlannedPort) -> str:
    """The handle of the qdisc that drops and marks."""
    stage = port.stage
    return "1:" if isinstance(stage, DelayStage) or stage.shaper_kind == "cake" else _CHILD


def queue_commands(port: PlannedPort, device: str) -> Iterator[str]:
    """tc's commands for the queue of a port."""
    stage = port.stage
    if isinstance(stage, DelayStage):
        yield f"qdisc add dev {device} root handle 1: {netem(int(stage.delay), stage.rate, port.packets(stage.limit))}"
        return
    rate = stage.rate_bps
    assert rate is not None  # checked by the scenario
    if stage.shaper_kind == "cake":
        yield f"qdisc add dev {device} root handle 1: {_qdisc(port, stage, f'bandwidth {rate}bit')}"
        return
    yield from _shaper(stage, device, rate)
    parent = "1:" if stage.shaper_kind == "tbf" else "1:1"
    yield f"qdisc add dev {device} parent {parent} handle {_CHILD} {_qdisc(port, stage, 'unlimited')}"


def _shaper(stage: QueueStage, device: str, rate: int, verb: str = "add") -> Iterator[str]:
    if stage.shaper_kind in ("htb", "link"):
        burst = int(stage.burst or _HTB_BURST) if stage.shaper_kind == "htb" else max(1, rate * _LINK_BUCKET_US // (8 * 10**6))
        if verb == "add":
            yield f"qdisc add dev {device} root handle 1: htb default 1"
        yield f"class {verb} dev {device} parent 1: classid 1:1 htb rate {rate}bit ceil {rate}bit burst {burst} cburst {burst}"
        return
    yield f"qdisc {verb} dev {device} root handle 1: tbf rate {rate}bit burst {int(stage.burst or _TBF_BURST)} limit {_NO_LIMIT}"


def link_delay(port: PlannedPort) -> str:
    """What follows the queue of a port: netem with its propagation delay and the store and forward of a link; empty without either."""
    stage = port.stage
    if isinstance(stage, DelayStage):
        return ""
    rate = stage.rate_bps if stage.shaper_kind == "link" else None
    return netem(int(stage.delay), rate, None) if stage.delay or rate else ""


def netem(delay_ns: int, rate: int | None, limit: int | None) -> str:
    """netem with a delay, behind a line of a rate if that is given; tc takes whole microseconds."""
    line = "" if rate is None else f" rate {int(rate)}bit"
    return f"netem limit {_NO_LIMIT if limit is None else limit} delay {round(delay_ns / 1000)}us{line}"


def rate_commands(port: PlannedPort, device: str, delay_device: str | None, rate: int) -> Iterator[str]:
    """tc's commands that change the rate of a port while it works."""
    stage = port.stage
    assert isinstance(stage, QueueStage)  # impairments are of queue stages
    if stage.shaper_kind == "cake":
        yield f"qdisc change dev {device} root handle 1: cake bandwidth {rate}bit"
        return
    yield from _shaper(stage, device, rate, "change")
    if stage.shaper_kind == "tbf" and isinstance(stage.qdisc, Pfifo | Bfifo):
        # Changing tbf gives its own limit to a fifo below it.
        yield f"qdisc change dev {device} parent 1: handle {_CHILD} {_qdisc(port, stage, '')}"
    if stage.shaper_kind == "link":
        yield f"qdisc change dev {delay_device} root handle 1: {netem(int(stage.delay), rate, None)}"


def _qdisc(port: PlannedPort, stage: QueueStage, cake_rate: str) -> str:
    qdisc = stage.qdisc
    match qdisc:
        case Pfifo():
            return f"pfifo limit {port.packets(qdisc.limit)}"
        case Bfifo():
            return f"bfifo limit {port.bytes(qdisc.limit)}"
        case Cake():
            return _cake(qdisc, cake_rate)
        case Codel():
            return f"codel limit {port.packets(qdisc.limit)} {_codel(qdisc)}"
        case FqCodel():
            sizes = f"quantum {int(qdisc.quantum)} memory_limit {int(qdisc.memory_limit)} drop_batch {qdisc.drop_batch}"
            return f"fq_codel limit {port.packets(qdisc.limit)} flows {qdisc.flows} {sizes} {_codel(qdisc)}"
        case Pie():
            return f"pie limit {port.packets(qdisc.limit)} {_pie(qdisc)}"
        case FqPie():
            sizes = f"quantum {int(qdisc.quantum)} memory_limit {int(qdisc.memory_limit)} ecn_prob {qdisc.ecn_prob}"
            return f"fq_pie limit {port.packets(qdisc.limit)} flows {qdisc.flows} {sizes} {_pie(qdisc)}"
        case Red():
            return _red(port, qdisc)
        case Sfq():
            perturb = int(qdisc.perturb) // 10**9
            head = " headdrop" if qdisc.headdrop else ""
            sizes = f"limit {port.packets(qdisc.limit)} divisor {qdisc.divisor} quantum {int(qdisc.quantum)} depth {int(qdisc.depth)}"
            return f"sfq {sizes} perturb {perturb}{head}"
        case Fq():
            sizes = f"quantum {int(qdisc.quantum)} initial_quantum {int(qdisc.initial_quantum)}"
            return f"fq limit {port.packets(qdisc.limit)} flow_limit {int(qdisc.flow_limit)} {sizes}"
        case Tc():
            return qdisc.command


def _cake(cake: Cake, rate: str) -> str:
    overhead = "raw" if cake.overhead is None else f"overhead {cake.overhead} mpu {cake.mpu} {cake.framing}"
    memory = "" if cake.memlimit is None else f" memlimit {int(cake.memlimit)}"
    return f"cake {rate} besteffort {cake.isolation} {overhead} rtt {_us(cake.rtt)}{memory}"


def _codel(qdisc: Codel | FqCodel) -> str:
    threshold = "" if qdisc.ce_threshold is None else f" ce_threshold {_us(qdisc.ce_threshold)}"
    return f"target {_us(qdisc.target)} interval {_us(qdisc.interval)} {_flag('ecn', qdisc.ecn)}{threshold}"


def _pie(qdisc: Pie | FqPie) -> str:
    times = f"target {_us(qdisc.target)} tupdate {_us(qdisc.tupdate)} alpha {qdisc.alpha} beta {qdisc.beta}"
    flags = [_flag("ecn", qdisc.ecn), _flag("bytemode", qdisc.bytemode), _flag("dq_rate_estimator", qdisc.dq_rate_estimator)]
    return " ".join((times, *flags))


def _red(port: PlannedPort, red: Red) -> str:
    made = port.red(red)
    flags = "".join(f" {name}" for name in ("ecn", "harddrop") if getattr(red, name))
    rate = port.stage.rate_bps if isinstance(port.stage, QueueStage) else None
    sizes = f"limit {made.limit} min {made.min} max {made.max} avpkt {int(red.avpkt)} burst {made.burst}"
    return f"red {sizes} probability {made.probability} bandwidth {rate}bit{flags}"


def _flag(name: str, on: bool) -> str:
    return name if on else f"no_{name}" if "_" in name else f"no{name}"


def _us(time: Duration) -> str:
    return f"{int(time) // 1000}us"
