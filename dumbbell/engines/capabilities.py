"""What an engine can run, and the refusal of what it cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.scenario import Bottleneck, Problem, ResolvedScenario, ScenarioError, bottlenecks, nearest, one_of


@dataclass(frozen=True)
class Capability:
    """Something an engine knows by name."""

    summary: str
    needs_ecn: bool = False
    """For a congestion control: it works on marks."""
    wants_sce: bool = False
    """For a congestion control: it answers to SCE marks."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For a stack: the fields a scenario may override, and their values."""


@dataclass(frozen=True)
class Capabilities:
    """The table of an engine."""

    engine: str
    cc: Mapping[str, Capability]
    qdisc: Mapping[str, Capability]
    stack: Mapping[str, Capability]
    shaper: tuple[str, ...]

    @classmethod
    def from_table(cls, engine: str, table: Mapping[str, Any]) -> Capabilities:
        """From `{"cc": {name: {summary, needs_ecn, wants_sce}}, "qdisc": ..., "stack": {name: {summary, options}}, "shaper": [...]}`."""

        def entries(kind: str) -> dict[str, Capability]:
            return {
                name: Capability(entry["summary"], entry.get("needs_ecn", False), entry.get("wants_sce", False), entry.get("options", {}))
                for name, entry in table[kind].items()
            }

        return cls(engine, entries("cc"), entries("qdisc"), entries("stack"), tuple(table["shaper"]))

    def refuse(self, runs: Iterable[ResolvedScenario]) -> None:
        """Raises `ScenarioError` with everything in the runs that the engine cannot run; each problem once."""
        problems: dict[Problem, None] = {}
        for run in runs:
            for location, what in self._lacks(run):
                problems[run.problem(location, f"{what}; the engine is {self.engine}")] = None
        if problems:
            raise ScenarioError(list(problems))

    def _lacks(self, run: ResolvedScenario) -> Iterator[tuple[tuple[str | int, ...], str]]:
        settings = run.settings
        for i, flow in enumerate(settings.flows):
            if flow.cc not in self.cc:
                yield ("flows", i, "cc"), _unknown("cc", flow.cc, self.cc)
            elif flow.ecn is False and self.cc[flow.cc].needs_ecn:
                yield ("flows", i, "ecn"), f"false leaves {flow.cc} without the marks that it works on; expected true, or another cc"
            if flow.stack.base not in self.stack:
                yield ("flows", i, "stack", "base"), _unknown("stack", flow.stack.base, self.stack)
            else:
                for option in flow.stack.options:
                    if option not in (known := self.stack[flow.stack.base].options):
                        yield ("flows", i, "stack", option), _unknown("option of the stack", option, known)
        for location, bottleneck in bottlenecks(settings):
            for where, what in self._queue_lacks(bottleneck):
                yield location + where, what

    def _queue_lacks(self, bottleneck: Bottleneck) -> Iterator[tuple[tuple[str | int, ...], str]]:
        if bottleneck.qdisc.kind not in self.qdisc:
            yield ("qdisc", "kind"), _unknown("qdisc", bottleneck.qdisc.kind, self.qdisc)
        if bottleneck.shaper_kind not in self.shaper:
            yield ("shaper",), _unknown("shaper", bottleneck.shaper_kind, self.shaper)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    return f"unknown {what} {name!r}{nearest(name, known)}; expected {one_of(known)}"
