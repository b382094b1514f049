"""The simulator as an engine: runs a plan and turns the output into a run."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dumbbell.engines.assembly import Measured, assembled
from dumbbell.engines.base import Engine, expected_packets, expected_samples, measuring
from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.labels import flow_labels, group_labels, tin_labels
from dumbbell.engines.prepared import Prepared
from dumbbell.engines.sim import apart
from dumbbell.engines.sim.capabilities import NAME, capabilities
from dumbbell.executor.interrupt import Aborted, abortable
from dumbbell.native import native
from dumbbell.plan import RUN, Kept, Plan, Refusal, Traffic, as_json, make
from dumbbell.scenario import Duration, Scenario

if TYPE_CHECKING:
    from dumbbell.metrics.datagrams import Datagrams
    from dumbbell.results import Block, Run, Table

_MOST_VALUES = 50_000_000
"""Sampled values of a run, which are in memory at once."""
_USUAL_SPEED = 10e6
"""Delivered data packets per CPU second of `packets_per_cpu_second` on a machine of usual speed."""
_SHORT_CPU_S = 2.0
"""Work that takes less is not worth a measurement of the machine's speed."""
_RUN_CPU_S = 0.001
"""CPU time after the simulation: its numbers as arrays and tables, and their digest."""
_SMALL_WINDOWS = 3.0
"""Extra cost of a packet if flows have windows of few packets: each packet then comes with an ACK, a timer or a loss of its own. The
cost rises by this, divided by the root of the window. Measured with 1 to 300 flows of cubic at 1 to 100 Mbit/s: windows of 0.2 to 330
packets."""


class Compiled:
    """A plan as JSON, which the simulator reads, and what its check made of it, so that the text is read once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._checked: Any = None

    def check(self) -> None:
        """Raises `Refused` with what cannot be run."""
        self._checked = native().check(self.text)

    @property
    def plan(self) -> Any:
        """The plan for `simulate`: what the check made, else the text."""
        return self.text if self._checked is None else self._checked

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Compiled) and self.text == other.text

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[Compiled], tuple[str]]:
        """For pickle: a run that goes to another process is read there."""
        return Compiled, (self.text,)


class Sim(Engine):
    """The simulator."""

    name = NAME
    refuses_seeds = False
    """Its checks do not depend on drawn numbers."""

    def capabilities(self) -> Capabilities:
        """Return the abilities of the simulator."""
        return capabilities()

    def require(self, _plan: Plan | None = None) -> None:
        """Raises `EnvironmentFault` if the native module is not built."""
        native()

    def compile(self, plan: Plan, kept: Kept | None = None) -> Compiled:
        """Return the plan as JSON, which the simulator reads."""
        return Compiled(as_json(plan, kept or Kept()))

    def as_text(self, compiled: Compiled) -> str:
        """The plan."""
        return compiled.text

    def sources(self, _plan: Plan | None = None) -> tuple[str, ...]:
        """The hash of the simulator's sources."""
        return (native().SOURCE_HASH,)

    def refusals(self, plan: Plan, compiled: Compiled) -> Iterator[Refusal]:
        """Yield the simulator's own refusals, and one if the samples do not fit in memory."""
        yield from super().refusals(plan, compiled)
        if (values := expected_samples(plan, NAME)) > _MOST_VALUES:
            what = f"{Duration(plan.sample_ns)} takes {values} values in {Duration(plan.duration_ns)}"
            yield Refusal(RUN, "sample_ns", what, f"at most {_MOST_VALUES}, by a longer interval")
            return
        try:
            compiled.check()
        except native().Refused as error:
            yield from map(Refusal.from_json, json.loads(error.args[0]))

    def cpu_s(self, plan: Plan) -> float:
        """Return the estimated cost of a run."""
        path, flows = max(plan.paths, key=lambda path: path.rate_bps), sum(len(each.flows) for each in plan.workloads)
        window = path.rate_bps * path.base_rtt_ns / (8e9 * plan.frame_bytes * max(flows, 1))
        packet_s = (1 + _SMALL_WINDOWS / math.sqrt(1 + window)) / _USUAL_SPEED
        return expected_packets(plan) * packet_s + _RUN_CPU_S

    def slowness(self, cpu_s: float) -> float:
        """Measured on a short run, unless the work itself is short."""
        return 1.0 if cpu_s < _SHORT_CPU_S else _USUAL_SPEED / packets_per_cpu_second()

    def produce(self, prepared: Prepared) -> Run:
        """Runs one scenario; the interpreter is released meanwhile. Raises as `apart.simulate` where it loads a library, `ScenarioError`
        if a capture grows too large, and `Aborted` if the user interrupts.
        """
        stop = native().Stop()
        with abortable(stop.set):
            return self._produced(prepared, stop)

    def _produced(self, prepared: Prepared, stop: Any) -> Run:
        facts: dict[str, Any] = {"name": NAME, "sources": native().SOURCE_HASH}
        cpu_s = None
        try:
            if prepared.libraries:
                output, cpu_s = apart.simulate(prepared, prepared.cpu_s * self.slowness(prepared.cpu_s))
            elif prepared.functions:
                output = apart.simulate_calling(prepared, stop)
            else:
                output = native().simulate(prepared.compiled.plan, None, None, stop)
        except native().Stopped:
            raise Aborted from None
        except native().Refused as error:
            raise prepared.refused(error.args[0]) from None
        except (apart.Failed, native().Misbehaved) as failure:
            return prepared.crashed(str(failure), facts)
        except RuntimeError as error:
            return prepared.crashed(f"the simulator failed: {' '.join(str(error).split())}", facts)
        return assembled(prepared, _measured(prepared.plan, output, facts, cpu_s))


ENGINE = Sim()


def _measured(plan: Plan, output: Mapping[str, Any], facts: Mapping[str, Any], cpu_s: float | None) -> Measured:
    """The simulator's output as tables and series."""
    from dumbbell.engines import datagrams

    groups = _table("groups", output["groups"], group_labels(plan, output["groups"]["names"]))
    made = _made(plan, groups, output["flows"]["names"])
    streams, workloads = _streams(plan, output["datagrams"]), measuring(plan)
    measured = {i: datagrams.columns(workloads[i], stream) for i, stream in streams.items()}
    flows = _table("flows", output["flows"], flow_labels(plan, made), measured)
    lost = [line for i, stream in streams.items() for line in datagrams.unaccounted(plan, flows.names[i], stream, flows.row(i))]
    return Measured(
        plan=plan,
        flows=flows,
        groups=groups,
        ports=_table("ports", output["ports"], {"port": output["ports"]["names"]}),
        tins=_table("tins", output["tins"], tin_labels(output["tins"]["names"])),
        samples=[*map(_block, output["tables"]), *datagrams.blocks(plan, streams), *map(_block, output["states"])],
        events=_events(output["happened"], flows.names),
        facts={**facts, "events": output["events"], "delivered_packets": output["delivered_packets"]},
        wrong=[*output["conservation"], *lost],
        short_lived={f"flow/{name}" for _, name in made},
        doubts=output["warnings"],
        captures=output["captures"],
        cpu_s=cpu_s,
    )


def _block(table: Mapping[str, Any]) -> Block:
    """The samples of an entity."""
    import numpy as np

    from dumbbell.results import Block

    t_ns = np.frombuffer(table["t_ns"], dtype="<i8")
    values = np.frombuffer(table["values"], dtype="<f8").reshape(len(t_ns), len(table["columns"]))
    return Block(table["entity"], tuple(table["columns"]), t_ns, np.ascontiguousarray(values.T))


def _events(happened: Mapping[str, Any] | None, flows: Sequence[str]) -> bytes | None:
    """The record of events as a file; None if there is none."""
    from dumbbell.results.events import to_parquet

    return None if happened is None else to_parquet(happened, flows)


def _made(plan: Plan, groups: Table, names: Sequence[str]) -> list[tuple[str, str]]:
    """Workload and name of each connection that workloads made and that has a row: they come last, workload by workload."""
    with_rows = {workload.id for workload in plan.workloads if isinstance(workload, Traffic) and workload.parameters.get("rows")}
    counts = zip(groups.names, groups.column("connections"), strict=True)
    workloads = [name for name, count in counts if name in with_rows for _ in range(int(count or 0))]
    return list(zip(workloads, names[len(names) - len(workloads) :], strict=True))


def _streams(plan: Plan, found: Sequence[Mapping[str, Any]]) -> dict[int, Datagrams]:
    """The datagrams of streams that measure, by their positions among all flows, in which order they are found."""
    import numpy as np

    from dumbbell.metrics.datagrams import Datagrams

    times = ([np.frombuffer(stream[name], dtype="<i8") for name in ("sent_ns", "there_ns", "back_ns")] for stream in found)
    return {i: Datagrams(*each) for i, each in zip(measuring(plan), times, strict=True)}


def _table(
    name: str,
    rows: Mapping[str, Any],
    labels: Mapping[str, Sequence[str | None]],
    some: Mapping[int, Mapping[str, Any]] | None = None,
) -> Table:
    """A table of the simulator's numbers, with names that only the plan has and columns that only some rows have."""
    import numpy as np

    from dumbbell.results import Table

    values = np.frombuffer(rows["values"], dtype="<f8").reshape(len(rows["names"]), len(rows["columns"]))
    return Table.of_numbers(name, labels, rows["columns"], values, some)


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
    compiled = ENGINE.compile(make(resolved, capabilities()).plan)
    began = time.thread_time()
    output = native().simulate(compiled.text)
    return float(output["delivered_packets"]) / (time.thread_time() - began)
