"""The simulator as an engine: lowers a scenario to the simulator's network and turns what comes back into a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell.engines.base import Engine, expected_packets, label
from dumbbell.engines.capabilities import Capabilities, Capability
from dumbbell.engines.lowering import PlannedImpairment, PlannedPort, PlannedUdp, plan
from dumbbell.engines.refusal import placed
from dumbbell.errors import BadInput, EnvironmentFault
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
    Problem,
    QueueStage,
    Red,
    ResolvedScenario,
    Scenario,
    ScenarioError,
    Sfq,
)

if TYPE_CHECKING:
    from types import ModuleType

    from dumbbell.results import Run

_NAME = "sim"
_NS_PER_S = 10**9
_BURST_BYTES = {"tbf": 1540, "htb": 1600}
"""Buckets, where the scenario names none."""
_SCE_RAMPS: dict[bool | str, int] = {False: 0, True: 1, "single": 65535, "single-steep": 65534}
"""What the keywords of the SCE ramp become."""
_FLOW_SERIES, _PORT_SERIES = 11, 8
"""Series of a flow and of a port."""
_MOST_VALUES = 50_000_000
"""Sampled values of a run, which are in memory at once."""
_RUN_CPU_S = 0.005
"""Beside the simulation: lowering, digest, writing."""


def native() -> ModuleType:
    """The native module. Raises `EnvironmentFault` if it is not built."""
    try:
        from dumbbell import _native
    except ImportError as error:
        raise EnvironmentFault(f"the simulator is not built ({error}); expected `make setup` to have run") from None
    return _native


# --- lowering ------------------------------------------------------------------------------------------------------


def lower(resolved: ResolvedScenario) -> dict[str, Any]:
    """The simulator's description of the run (`Network` of crates/sim): numbers in ns, bit/s, bytes and packets."""
    settings = resolved.settings
    planned = plan(resolved, ENGINE.capabilities())
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
    stack = ENGINE.capabilities().stack.get(flow.stack.base)
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


# --- running -------------------------------------------------------------------------------------------------------


class Sim(Engine):
    """The simulator."""

    name = _NAME

    def capabilities(self) -> Capabilities:
        """What the simulator can run."""
        return _capabilities()

    def require(self) -> None:
        """Raises `EnvironmentFault` if the native module is not built."""
        native()

    def refuse_details(self, runs: Sequence[ResolvedScenario]) -> None:
        """Raises `ScenarioError` with what the simulator itself refuses."""
        problems: dict[Problem, None] = {}
        for resolved in runs:
            if problem := _refusal(resolved):
                problems[problem] = None
        if problems:
            raise ScenarioError(list(problems))

    def key(self, resolved: ResolvedScenario) -> str:
        """The content hash of a run."""
        content = {
            "engine": _NAME,
            "sources": native().SOURCE_HASH,
            "scenario": resolved.dump(),
            "network": lower(resolved),
        }
        if resolved.settings.passive_rtt:
            content["measured_by"] = native().TRACE_HASH
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]

    def cpu_s(self, resolved: ResolvedScenario) -> float:
        """About what a run costs; the machine's speed is measured on a short run."""
        return expected_packets(resolved) / packets_per_cpu_second() + _RUN_CPU_S

    def produce(self, resolved: ResolvedScenario, run_key: str) -> Run:
        """Runs one scenario; the interpreter is released meanwhile."""
        import numpy as np

        from dumbbell.results import Block, Run, digest, judge
        from dumbbell.trace import with_passive_rtt

        facts: dict[str, Any] = {"name": _NAME, "sources": native().SOURCE_HASH}
        common: dict[str, Any] = {"key": run_key, "name": resolved.name, "cell": resolved.cell, "scenario": resolved.dump()}
        network = lower(resolved)
        try:
            output = native().simulate(json.dumps(network))
        except ValueError as error:
            raise BadInput(f"{label(resolved)}: the simulator refuses this: {error}") from None
        except RuntimeError as error:
            failure = (f"the simulator failed: {' '.join(str(error).split())}",)
            return Run(**common, status="invalid", reasons=failure, counters={}, digest=digest(()), engine=facts)
        blocks = []
        for table in output["tables"]:
            names = tuple(name for name, _ in table["columns"])
            units = tuple(unit for _, unit in table["columns"])
            t_ns = np.frombuffer(table["t_ns"], dtype="<i8")
            values = np.frombuffer(table["values"], dtype="<f8").reshape(len(t_ns), len(names))
            blocks.append(Block(table["entity"], names, units, t_ns, np.ascontiguousarray(values.T)))
        counters = {entity: dict(values) for entity, values in output["counters"]}
        for flow in network["flows"]:
            counters[f"flow/{flow['name']}"]["start_ns"] = flow["start_ns"]
        status, reasons = judge(counters, output["conservation"], {port["name"] for port in network["ports"] if port["kind"] == "delay"})
        facts |= {"events": output["events"], "delivered_packets": output["delivered_packets"]}
        run = Run(
            **common,
            status=status,
            reasons=reasons,
            counters=counters,
            digest=digest(blocks),
            engine=facts,
            samples=tuple(blocks),
            captures=output["captures"],
        )
        return with_passive_rtt(run) if resolved.settings.passive_rtt else run


ENGINE = Sim()


def _refusal(resolved: ResolvedScenario) -> Problem | None:
    settings = resolved.settings
    if (values := expected_samples(resolved)) > _MOST_VALUES:
        what = f"{settings.sample} takes {values} values in {settings.duration}"
        return resolved.problem(("sample",), f"{what}; expected at most {_MOST_VALUES}, by a longer interval")
    try:
        native().check(json.dumps(lower(resolved)))
    except ValueError as error:
        location, what = placed(settings, str(error))
        return resolved.problem(location, what)
    return None


@cache
def _capabilities() -> Capabilities:
    return Capabilities.from_table(_NAME, json.loads(native().capabilities()))


def expected_samples(resolved: ResolvedScenario) -> int:
    """Rows of a run's series: times x series."""
    settings = resolved.settings
    if not settings.sample:
        return 0
    planned = plan(resolved, ENGINE.capabilities())
    series = _FLOW_SERIES * len(planned.flows) + _PORT_SERIES * len(planned.ports)
    return (int(settings.duration) // int(settings.sample) + 1) * series


@cache
def packets_per_cpu_second() -> float:
    """Delivered data packets per CPU second of one cubic flow through a FIFO, measured now."""
    probe = Scenario.model_validate(
        {
            "name": "speed",
            "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
            "flows": [{"cc": "cubic"}],
            "duration": "10s",
        }
    )
    (resolved,) = probe.expand()
    network = json.dumps(lower(resolved))
    began = time.thread_time()
    output = native().simulate(network)
    return float(output["delivered_packets"]) / (time.thread_time() - began)
