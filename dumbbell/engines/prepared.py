"""Prepared runs: planned, compiled for their engine, checked by it, and with the key under which they are stored.

A run is prepared once. The same value serves for its cost, for a look into the store, and for its computation. Only a run of a large sweep
is prepared again when it is its turn, see dumbbell.engines.sweep.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.collector import collector_paused as collector_paused
from dumbbell.documents.problems import Unfit
from dumbbell.engines import ENGINES, default, engine, unknown
from dumbbell.engines.doubts import doubts
from dumbbell.errors import BadInput
from dumbbell.native import native
from dumbbell.plan import Kept, Plan, Planned, Refusal, make
from dumbbell.scenario import Problem, ResolvedScenario, ScenarioError
from dumbbell.scenario.function import Function

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine
    from dumbbell.engines.capabilities import Capabilities
    from dumbbell.results import Run
    from dumbbell.scenario import Scenario


@dataclass(frozen=True)
class Prepared:
    """A run that its engine can do."""

    resolved: ResolvedScenario
    engine: str
    planned: Planned
    compiled: Any = field(repr=False)
    """The engine's compiled form of the plan."""
    scenario: Mapping[str, Any] = field(repr=False)
    """The resolved scenario in plain data."""
    key: str
    """The content hash: the request (with seed and sampling), its compiled form, and the engine's sources."""
    may_load: bool = False
    """Computing it may load its libraries, as the user allows."""

    @property
    def plan(self) -> Plan:
        """Return the plan that the engine was given."""
        return self.planned.plan

    @property
    def libraries(self) -> dict[str, str]:
        """The paths of libraries that computing it loads, by SHA-256."""
        return self.resolved.settings.libraries

    @property
    def functions(self) -> dict[int, Function]:
        """The functions in Python that are its congestion controls, by number. Raises `BadInput` for those of another process."""
        try:
            return self.resolved.settings.functions
        except Unfit as error:
            raise BadInput(str(error)) from None

    @property
    def cpu_s(self) -> float:
        """Estimated cost of the run on this machine, CPU seconds."""
        return engine(self.engine).cpu_s(self.plan)

    def produce(self) -> Run:
        """Computes the run; a crash gives one of status `invalid` without counters."""
        run, odd = engine(self.engine).produce(self), tuple(doubts(self.planned, self.scenario))
        return replace(run, status="warn" if run.status == "ok" else run.status, reasons=(*run.reasons, *odd)) if odd else run

    def refused(self, found: str) -> ScenarioError:
        """Return the error for a refusal of the native module: a JSON list of refusals."""
        refusals = map(Refusal.from_json, json.loads(found))
        return ScenarioError([self.planned.problem(self.resolved, refusal) for refusal in refusals])

    def crashed(self, reason: str) -> Run:
        """The run that there is none of."""
        from dumbbell.results import Run

        known = {"key": self.key, "name": self.resolved.name, "cell": self.resolved.cell, "scenario": self.scenario}
        return Run.crashed(reason, **known, engine={"name": self.engine})


def not_allowed(paths: Iterable[str]) -> str:
    """Return the error line about libraries that may not be loaded."""
    return f"{', '.join(sorted(paths))} would be loaded and run; expected --allow-library (in Python allow_library=True) if you trust it"


def not_storable(names: Iterable[str]) -> str:
    """Return the error line about runs with functions of these names, which cannot be stored."""
    what = f"{', '.join(sorted(names))}: runs with congestion controls in Python are not stored, as nobody else could make them again"
    return f"{what}; expected no results folder, or a library"


def prepare(runs: Iterable[ResolvedScenario], keyed: bool = True) -> list[Prepared]:
    """Prepares runs, each for the engine that its scenario names.

    Raises `ScenarioError` with everything in the runs that their engines cannot run, each problem once, and `EnvironmentFault` if an
    engine is not there; unless `keyed` is false, then keys are empty, and the engines are not needed.
    """
    with collector_paused():
        return list(prepared_each(runs, keyed))


def prepared_each(runs: Iterable[ResolvedScenario], keyed: bool = True) -> Iterator[Prepared]:
    """Prepare like `prepare`, one by one. Errors are raised at the end. After an error no further run is given."""
    for run, found, planned, compiled in _compiled(runs):
        yield Prepared(run, found.name, planned, compiled, run.dump(), _key(found, run, compiled) if keyed else "")


def refuse(runs: Iterable[ResolvedScenario]) -> None:
    """Raises `ScenarioError` as `prepare` does; the engines need not be there."""
    for _ in _compiled(runs):
        pass


def _compiled(runs: Iterable[ResolvedScenario]) -> Iterator[tuple[ResolvedScenario, Engine, Planned, Any]]:
    """The runs that their engines can do. Raises `ScenarioError` at the end, with all that is wrong."""
    problems: dict[Problem, None] = {}
    kept: dict[str, Kept] = defaultdict(Kept)
    passed: dict[str, Plan] = {}
    before: tuple[ResolvedScenario, Planned] | None = None
    """The first run of the last cell, and the plan of a run of that cell, if it can be run."""
    for resolved in runs:
        name = resolved.settings.engine or default()
        if name not in ENGINES:
            problems[resolved.problem(("engine",), *unknown(name))] = None
            continue
        run, found = resolved if resolved.settings.engine == name else resolved.on(name), engine(name)
        first = resolved.first or resolved
        if before is not None and before[0] is first and not found.refuses_seeds:
            planned = before[1].repeated(run)
            yield run, found, planned, found.compile(planned.plan, kept[name])
            continue
        before, table = None, found.capabilities()
        planned = make(run, table, kept[name])
        if run.settings.passive_rtt and not all(path.base_rtt_ns for path in planned.plan.paths):
            what = "true has nothing to measure: packets are at both ends of a path without delay at the same time"
            problems[run.problem(("passive_rtt",), what, "an rtt above 0s, or false")] = None
        if run.origin is not None and run.origin.most_repeats > 1 and not found.depends_on_seed(run.settings):
            problems[_identical(run, run.origin)] = None
        refusals = list(table.refusals(planned.plan, partial(_others, found.name), passed.get(name)))
        if not refusals:
            passed[name] = planned.plan
            made = found.compile(planned.plan, kept[name])
            refusals = list(found.refusals(planned.plan, made))
            if not refusals and not problems:
                before = first, planned
                yield run, found, planned, made
        for refusal in refusals:
            problems[planned.problem(run, refusal)] = None
    if problems:
        raise ScenarioError(list(problems))


def _identical(run: ResolvedScenario, scenario: Scenario) -> Problem:
    """The problem of repeats that nothing tells apart."""
    key, instead = ("repeat", "repeat: 1") if scenario.until is None else ("until", "no until")
    what = f"{scenario.most_repeats} runs would be identical"
    return run.problem((key,), what, f"start.jitter in a flow, a queue or a cc that draws random numbers, or {instead}")


def _others(name: str) -> list[Capabilities]:
    return [engine(other).capabilities() for other in ENGINES if other != name]


def _key(found: Engine, run: ResolvedScenario, compiled: Any) -> str:
    parts = [found.name, *found.sources(), run.content.text, found.as_text(compiled)]
    if run.settings.passive_rtt:
        parts.append(native().TRACE_HASH)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
