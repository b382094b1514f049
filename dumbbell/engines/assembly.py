"""Assembles a run from the measurements of an engine: the same for every engine."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Prepared
    from dumbbell.plan import Plan
    from dumbbell.results import Block, Run, Table


@dataclass(frozen=True)
class Measured:
    """The measurements of an engine in a run."""

    plan: Plan
    """The plan as it was run."""
    flows: Table
    groups: Table
    ports: Table
    tins: Table
    samples: Sequence[Block]
    facts: Mapping[str, Any]
    """Facts of the engine, for run.json."""
    wrong: Sequence[str]
    """Packets that are not accounted for, a line each."""
    short_lived: Container[str]
    """The entities of connections that workloads made."""
    doubts: Sequence[str] = ()
    """Reasons why numbers may not mean what their names say."""
    captures: Mapping[str, bytes] = field(default_factory=dict)
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    """Output of programs that made flows, by file."""
    events: bytes | None = None
    """The record of events, as the file that is stored."""
    cpu_s: float | None = None
    """CPU seconds of the engine's own processes; None if it ran in this one."""


def assembled(prepared: Prepared, found: Measured) -> Run:
    """Return the run, judged by its counters, with what the scenario asks to be read from its captures."""
    from dumbbell.results import Run, digest, judge
    from dumbbell.results.tables import counters
    from dumbbell.trace import with_analysis, with_passive_rtt, without_unasked

    status, reasons = judge(counters(found.flows, found.ports), found.wrong, found.plan.links, found.short_lived, found.doubts)
    run = Run(
        **prepared.asked,
        status=status,
        reasons=reasons,
        flows=found.flows,
        groups=found.groups,
        ports=found.ports,
        tins=found.tins,
        digest=digest(found.samples),
        engine=dict(found.facts),
        samples=tuple(found.samples),
        captures=found.captures,
        outputs=found.outputs,
        happened=found.events,
        plan=found.plan.plain(),
        cpu_s=found.cpu_s,
    )
    settings = prepared.resolved.settings
    if settings.passive_rtt:
        run = with_passive_rtt(run)
    if settings.analyze:
        run = with_analysis(run)
    return without_unasked(run) if settings.captures_hosts else run
