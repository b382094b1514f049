"""A scenario as the simulator's network: resolved to ns, bit/s, bytes and packets."""

from __future__ import annotations

from typing import Any

from dumbbell.engines.capabilities import Capability
from dumbbell.engines.lowering import PlannedImpairment, PlannedPort, PlannedUdp, plan
from dumbbell.engines.sim.extension import capabilities
from dumbbell.scenario import (
    Bfifo,
    Cake,
    Codel,
    DelayStage,
    Flow,
    Fq,
    FqCodel,
    FqPie,
    Outage,
    Pfifo,
    Pie,
    QueueStage,
    Red,
    ResolvedScenario,
    Sfq,
)

_NS_PER_S = 10**9
_BURST_BYTES = {"tbf": 1540, "htb": 1600}
"""Buckets, where the scenario names none."""
_SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""What the keywords of the SCE ramp become."""


def lower(resolved: ResolvedScenario) -> dict[str, Any]:
    """The simulator's description of the run (`Network` of crates/sim): numbers in ns, bit/s, bytes and packets."""
    settings = resolved.settings
    planned = plan(resolved, capabilities())
    indices = {name: i for i, name in enumerate(planned.ports)}
    return {
        "seed": settings.seed,
        "duration_ns": int(settings.duration),
        "sample_ns": int(settings.sample),
        "ports": [_port(port) for port in planned.ports.values()],
        "flows": [
            {
                "name": flow.name,
                "cc": flow.group.cc,
                "stack": {"name": flow.group.stack.base, "options": flow.group.stack.options},
                "host": _host(flow.group),
                "ecn": flow.ecn,
                "sce_echo": flow.sce_echo,
                "forward": [indices[name] for name in flow.forward],
                "reverse": [indices[name] for name in flow.reverse],
                "start_ns": flow.start_ns,
                "stop_ns": flow.stop_ns,
                "transfer_bytes": _number(flow.group.bytes),
                "first_write_bytes": _number(flow.group.first_write),
                "src_host": flow.src,
                "dst_host": flow.dst,
                "from_right": flow.group.direction == "reverse",
            }
            for flow in planned.flows
        ],
        "udp": [_udp(stream, indices) for stream in planned.udp],
        "impairments": [_impairment(each, indices) for each in planned.impairments],
        "capture": settings.captures,
    }


def _port(port: PlannedPort) -> dict[str, Any]:
    stage = port.stage
    if isinstance(stage, DelayStage):
        return {
            "kind": "delay",
            "name": stage.name,
            "delay_ns": int(stage.delay),
            "rate_bps": _number(stage.rate),
            "limit_packets": port.packets(stage.limit),
        }
    rate_bps = stage.rate_bps
    assert rate_bps is not None  # checked by the scenario
    return {
        "kind": "queue",
        "name": stage.name,
        "qdisc": _qdisc(port, stage, rate_bps),
        "shaper": _shaper(stage, rate_bps),
        "delay_ns": int(stage.delay),
    }


def _qdisc(port: PlannedPort, stage: QueueStage, rate_bps: int) -> dict[str, Any]:
    qdisc = stage.qdisc
    match qdisc:
        case Cake():
            return _cake(qdisc, rate_bps if stage.shaper_kind == "cake" else None)
        case Bfifo():
            return {"kind": "bfifo", "limit_bytes": port.bytes(qdisc.limit)}
        case Red():
            return _red(qdisc, port, rate_bps)
        case Pfifo() | Codel() | FqCodel() | Pie() | FqPie() | Sfq() | Fq():
            return {"kind": qdisc.kind, "limit_packets": port.packets(qdisc.limit), **_parameters(qdisc)}
    raise AssertionError(qdisc.kind)  # the table of capabilities has no other


def _cake(cake: Cake, rate_bps: int | None) -> dict[str, Any]:
    return {
        "kind": "cake",
        "rate_bps": rate_bps,
        "isolation": cake.isolation,
        "rtt_ns": int(cake.rtt),
        "overhead_bytes": cake.overhead,
        "mpu_bytes": cake.mpu,
        "framing": cake.framing,
        "memory_limit_bytes": _number(cake.memlimit),
        "sce": _SCE_RAMPS[cake.sce] if isinstance(cake.sce, bool | str) else cake.sce,
    }


def _parameters(qdisc: Pfifo | Codel | FqCodel | Pie | FqPie | Sfq | Fq) -> dict[str, Any]:
    match qdisc:
        case Codel():
            return {"control": _codel(qdisc)}
        case FqCodel():
            today = qdisc.variant == "linux-6.12"
            batch = {"drop_batch": qdisc.drop_batch if today else 1, "drops_raise_count": today}
            return {"control": _codel(qdisc), "queues": _queues(qdisc, today), **batch}
        case Pie(variant="2013"):
            return {"kind": "pie2013", "control": {**_pie_weights(qdisc), "hz": qdisc.hz}}
        case Pie():
            return {"control": _pie(qdisc)}
        case FqPie():
            return {"control": _pie(qdisc), "queues": _queues(qdisc, True), "ecn_prob": qdisc.ecn_prob}
        case Sfq():
            return {
                "divisor": qdisc.divisor,
                "quantum_bytes": int(qdisc.quantum),
                "depth_packets": int(qdisc.depth),
                "perturb_s": int(qdisc.perturb) // _NS_PER_S,
                "headdrop": qdisc.headdrop,
            }
        case Fq():
            return {
                "flow_limit_packets": int(qdisc.flow_limit),
                "quantum_bytes": int(qdisc.quantum),
                "initial_quantum_bytes": int(qdisc.initial_quantum),
                "ce_threshold_ns": _number(qdisc.ce_threshold),
            }
    return {}


def _queues(qdisc: FqCodel | FqPie, limits_memory: bool) -> dict[str, Any]:
    memory = int(qdisc.memory_limit) if limits_memory else None
    return {"flows": qdisc.flows, "quantum_bytes": int(qdisc.quantum), "memory_limit_bytes": memory}


def _codel(qdisc: Codel | FqCodel) -> dict[str, Any]:
    today = qdisc.variant == "linux-6.12"
    return {
        "target_ns": int(qdisc.target),
        "interval_ns": int(qdisc.interval),
        "ecn": qdisc.ecn,
        "ce_threshold_ns": _number(qdisc.ce_threshold),
        "floor": "mtu" if today else "largest-seen",
        "forgets_when_empty": today,
    }


def _pie(qdisc: Pie | FqPie) -> dict[str, Any]:
    flags = {"ecn": qdisc.ecn, "bytemode": qdisc.bytemode, "dq_rate_estimator": qdisc.dq_rate_estimator}
    return {**_pie_weights(qdisc), **flags}


def _pie_weights(qdisc: Pie | FqPie) -> dict[str, Any]:
    return {"target_ns": int(qdisc.target), "tupdate_ns": int(qdisc.tupdate), "alpha": qdisc.alpha, "beta": qdisc.beta}


def _red(red: Red, port: PlannedPort, rate_bps: int) -> dict[str, Any]:
    made = port.red(red)
    control = {
        "min_bytes": made.min,
        "max_bytes": made.max,
        "max_p": int(float(made.probability) * 2**32),
        "avpkt_bytes": int(red.avpkt),
        "burst_packets": made.burst,
        "bandwidth_bps": rate_bps,
        "ecn": red.ecn,
        "harddrop": red.harddrop,
        "adaptive": red.adaptive,
        "gentle": red.gentle,
    }
    return {"kind": "red", "limit_bytes": made.limit, "control": control}


def _shaper(stage: QueueStage, rate_bps: int) -> dict[str, Any]:
    if stage.shaper_kind == "cake":
        return {"kind": "own"}
    if stage.shaper_kind == "link":
        return {"kind": "link", "rate_bps": rate_bps}
    return {"kind": stage.shaper_kind, "rate_bps": rate_bps, "burst_bytes": int(stage.burst or _BURST_BYTES[stage.shaper_kind])}


def _udp(stream: PlannedUdp, indices: dict[str, int]) -> dict[str, Any]:
    return {
        "name": stream.name,
        "interval_ns": int(stream.traffic.size) * 8 * _NS_PER_S // int(stream.traffic.rate),
        "size_bytes": int(stream.traffic.size),
        "forward": [indices[name] for name in stream.forward],
        "start_ns": stream.start_ns,
        "stop_ns": stream.stop_ns,
        "src_host": stream.src,
        "dst_host": stream.dst,
        "from_right": stream.src > stream.dst,
    }


def _impairment(planned: PlannedImpairment, indices: dict[str, int]) -> dict[str, Any]:
    what = planned.what
    common = {"kind": what.kind, "port": indices[planned.port], "at_ns": int(what.at)}
    return {**common, "for_ns": int(what.for_)} if isinstance(what, Outage) else {**common, "rate_bps": int(what.rate)}


def _host(flow: Flow) -> dict[str, Any]:
    host = flow.host
    stack = capabilities().stack.get(flow.stack.base)
    factor = stack.buffer_factor if stack else Capability.buffer_factor
    return {
        "tso": host.offload != "none",
        "rmem": [int(size) for size in host.rmem],
        "rcvbuf": None if host.rcvbuf is None else factor * host.rcvbuf,
        "wmem": [int(size) for size in host.wmem],
        "sndbuf": None if host.sndbuf is None else factor * host.sndbuf,
        "cached_ssthresh": _number(host.cached_ssthresh),
    }


def _number(quantity: int | None) -> int | None:
    return None if quantity is None else int(quantity)
