"""Queue disciplines and shapers with every default filled in, in ns, bit/s, bytes and packets."""

from __future__ import annotations

from typing import Any

from dumbbell.scenario import Bfifo, Bottleneck, Cake, Codel, Fq, FqCodel, FqPie, Limit, Pfifo, Pie, Red, Sfq, Tc

_NS_PER_S = 10**9
_BURST_BYTES = {"tbf": 1540, "htb": 1600}
"""Buckets, where the scenario names none: the kernel oracle's."""
_SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""What the keywords of the SCE ramp become."""
_CERTAIN = 1 << 32
"""RED's probability 1."""


def shaper(bottleneck: Bottleneck, rate_bps: int) -> dict[str, Any]:
    """What paces a queue; `own`: its discipline does."""
    kind = bottleneck.shaper_kind
    if kind == "cake":
        return {"kind": "own"}
    if kind == "link":
        return {"kind": "link", "rate_bps": rate_bps}
    return {"kind": kind, "rate_bps": rate_bps, "burst_bytes": int(bottleneck.burst or _BURST_BYTES[kind])}


def qdisc(bottleneck: Bottleneck, rate_bps: int, base_rtt_ns: int) -> dict[str, Any]:
    """A queue discipline; what it means by `bdp` is the rate times the base RTT."""
    written = bottleneck.qdisc

    def packets(limit: Limit) -> int:
        return limit.packets(rate_bps, base_rtt_ns)

    match written:
        case Pfifo():
            return {"kind": "pfifo", "limit_packets": packets(written.limit)}
        case Bfifo():
            return {"kind": "bfifo", "limit_bytes": written.limit.bytes(rate_bps, base_rtt_ns)}
        case Cake():
            return _cake(written, rate_bps if bottleneck.shaper_kind == "cake" else None)
        case Codel():
            return {"kind": "codel", "limit_packets": packets(written.limit), "control": _codel(written)}
        case FqCodel():
            return {"kind": "fq_codel", "limit_packets": packets(written.limit), **_fq_codel(written)}
        case Pie(variant="2013"):
            return {"kind": "pie2013", "limit_packets": packets(written.limit), "control": {**_weights(written), "hz": written.hz}}
        case Pie():
            return {"kind": "pie", "limit_packets": packets(written.limit), "control": _pie(written)}
        case FqPie():
            law = {"control": _pie(written), "queues": _queues(written, limits_memory=True), "ecn_prob": written.ecn_prob}
            return {"kind": "fq_pie", "limit_packets": packets(written.limit), **law}
        case Red():
            return _red(written, rate_bps, base_rtt_ns)
        case Sfq():
            return {"kind": "sfq", "limit_packets": packets(written.limit), **_sfq(written)}
        case Fq():
            return {"kind": "fq", "limit_packets": packets(written.limit), **_fq(written)}
        case Tc():
            return {"kind": "tc", "command": written.command}


def _cake(cake: Cake, rate_bps: int | None) -> dict[str, Any]:
    return {
        "kind": "cake",
        "rate_bps": rate_bps,
        "isolation": cake.isolation,
        "rtt_ns": int(cake.rtt),
        "overhead_bytes": cake.overhead,
        "mpu_bytes": cake.mpu,
        "framing": cake.framing,
        "memory_limit_bytes": number(cake.memlimit),
        "sce": _SCE_RAMPS[cake.sce] if isinstance(cake.sce, bool | str) else cake.sce,
    }


def _codel(qdisc: Codel | FqCodel) -> dict[str, Any]:
    today = qdisc.variant == "linux-6.12"
    return {
        "target_ns": int(qdisc.target),
        "interval_ns": int(qdisc.interval),
        "ecn": qdisc.ecn,
        "ce_threshold_ns": number(qdisc.ce_threshold),
        "floor": "mtu" if today else "largest-seen",
        "forgets_when_empty": today,
    }


def _fq_codel(qdisc: FqCodel) -> dict[str, Any]:
    today = qdisc.variant == "linux-6.12"
    return {
        "control": _codel(qdisc),
        "queues": _queues(qdisc, limits_memory=today),
        "drop_batch": qdisc.drop_batch if today else 1,
        "drops_raise_count": today,
    }


def _queues(qdisc: FqCodel | FqPie, *, limits_memory: bool) -> dict[str, Any]:
    memory = int(qdisc.memory_limit) if limits_memory else None
    return {"flows": qdisc.flows, "quantum_bytes": int(qdisc.quantum), "memory_limit_bytes": memory}


def _weights(qdisc: Pie | FqPie) -> dict[str, Any]:
    return {"target_ns": int(qdisc.target), "tupdate_ns": int(qdisc.tupdate), "alpha": qdisc.alpha, "beta": qdisc.beta}


def _pie(qdisc: Pie | FqPie) -> dict[str, Any]:
    flags = {"ecn": qdisc.ecn, "bytemode": qdisc.bytemode, "dq_rate_estimator": qdisc.dq_rate_estimator}
    return {**_weights(qdisc), **flags}


def _red(red: Red, rate_bps: int, base_rtt_ns: int) -> dict[str, Any]:
    limit, low, high = (value.bytes(rate_bps, base_rtt_ns) for value in (red.limit, red.min, red.max))
    burst = (2 * low + high) // (3 * int(red.avpkt)) if red.burst is None else int(red.burst)
    control = {
        "min_bytes": low,
        "max_bytes": high,
        "max_p": int(round(red.probability, 6) * _CERTAIN),  # tc is told six digits
        "avpkt_bytes": int(red.avpkt),
        "burst_packets": max(1, burst),
        "bandwidth_bps": rate_bps,
        "ecn": red.ecn,
        "harddrop": red.harddrop,
        "adaptive": red.adaptive,
        "gentle": red.gentle,
    }
    return {"kind": "red", "limit_bytes": limit, "control": control}


def _sfq(qdisc: Sfq) -> dict[str, Any]:
    return {
        "divisor": qdisc.divisor,
        "quantum_bytes": int(qdisc.quantum),
        "depth_packets": int(qdisc.depth),
        "perturb_s": int(qdisc.perturb) // _NS_PER_S,
        "headdrop": qdisc.headdrop,
    }


def _fq(qdisc: Fq) -> dict[str, Any]:
    return {
        "flow_limit_packets": int(qdisc.flow_limit),
        "quantum_bytes": int(qdisc.quantum),
        "initial_quantum_bytes": int(qdisc.initial_quantum),
        "ce_threshold_ns": number(qdisc.ce_threshold),
    }


def number(quantity: int | None) -> int | None:
    """A quantity without its unit."""
    return None if quantity is None else int(quantity)
