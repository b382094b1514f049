"""The simulator as an engine: runs a scenario's network and turns what comes back into a run."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell.engines.base import Engine, expected_packets, label
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.lowering import plan
from dumbbell.engines.refusal import placed
from dumbbell.engines.sim.extension import NAME, capabilities
from dumbbell.engines.sim.network import lower
from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.scenario import Problem, ResolvedScenario, Scenario, ScenarioError, Settings

if TYPE_CHECKING:
    from dumbbell.results import Run

_FLOW_SERIES, _PORT_SERIES = 11, 8
"""Series of a flow and of a port."""
_MOST_VALUES = 50_000_000
"""Sampled values of a run, which are in memory at once."""
_RUN_CPU_S = 0.005
"""Beside the simulation: lowering, digest, writing."""


class Sim(Engine):
    """The simulator."""

    name = NAME

    def capabilities(self) -> Capabilities:
        """What the simulator can run."""
        return capabilities()

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
            "engine": NAME,
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

        facts: dict[str, Any] = {"name": NAME, "sources": native().SOURCE_HASH}
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
    network = lower(resolved)
    ports, flows = len(network["ports"]), len(network["flows"])
    if (values := _values(settings, flows, ports)) > _MOST_VALUES:
        what = f"{settings.sample} takes {values} values in {settings.duration}"
        return resolved.problem(("sample",), f"{what}; expected at most {_MOST_VALUES}, by a longer interval")
    try:
        native().check(json.dumps(network))
    except ValueError as error:
        location, what = placed(settings, str(error))
        return resolved.problem(location, what)
    return None


def expected_samples(resolved: ResolvedScenario) -> int:
    """Values of a run's series, on any engine."""
    planned = plan(resolved, capabilities())
    return _values(resolved.settings, len(planned.flows), len(planned.ports))


def _values(settings: Settings, flows: int, ports: int) -> int:
    """Times x series."""
    if not settings.sample:
        return 0
    return (int(settings.duration) // int(settings.sample) + 1) * (_FLOW_SERIES * flows + _PORT_SERIES * ports)


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
