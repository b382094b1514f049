"""Preparing runs: each is planned, compiled for its engine, checked by it, and given the key under which it is stored.

A run is prepared once. The same value serves for its cost, for a look into the store, and for its computation. Only a run of a large sweep
is prepared again when it is its turn, see dumbbell.running.sweep.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dumbbell.collector import collector_paused
from dumbbell.engines import ENGINES, default, engine, find
from dumbbell.engines.prepared import Prepared
from dumbbell.native import native
from dumbbell.plan import Kept, Plan, Planned, make
from dumbbell.scenario import Problem, ResolvedScenario, ScenarioError

if TYPE_CHECKING:
    from dumbbell.engines.base import Engine
    from dumbbell.engines.capabilities import Capabilities
    from dumbbell.results import Run
    from dumbbell.scenario import Scenario


def compute(resolved: ResolvedScenario, on: str | None = None) -> Run:
    """Prepare a run and compute it; nothing is stored. Raises as `prepare`, and `EnvironmentFault` if the machine lacks something.

    `on`: see `prepare`.
    """
    (prepared,) = prepare([resolved], on=on)
    engine(prepared.engine).require(prepared.plan)
    return prepared.produce()


def not_storable(names: Iterable[str]) -> str:
    """Return the error line about runs with functions of these names, which cannot be stored."""
    what = f"{', '.join(sorted(names))}: runs with congestion controls in Python are not stored, as nobody else could make them again"
    return f"{what}; expected no results folder, or a library"


def prepare(runs: Iterable[ResolvedScenario], keyed: bool = True, on: str | None = None) -> list[Prepared]:
    """Prepare runs, each for the engine that its scenario names, or all for the engine `on`.

    Raises `ScenarioError` with everything in the runs that their engines cannot run, each problem once, and `EnvironmentFault` if an
    engine is not there; unless `keyed` is false, then keys are empty, and the engines are not needed.
    """
    with collector_paused():
        return list(prepared_each(runs if on is None else (run.on(on) for run in runs), keyed))


def prepared_each(runs: Iterable[ResolvedScenario], keyed: bool = True) -> Iterator[Prepared]:
    """Prepare like `prepare`, one by one. Errors are raised at the end. After an error no further run is given."""
    for run, found, planned, compiled in _compiled(runs):
        sources = found.sources(planned.plan) if keyed else ()
        key = _key(found, sources, run, compiled) if keyed else ""
        yield Prepared(run, found.name, planned, compiled, run.dump(), key, sources)


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
        found = find(name)
        if isinstance(found, tuple):
            problems[resolved.problem(("engine",), *found)] = None
            continue
        run = resolved if resolved.settings.engine == found.name else resolved.on(found.name)
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
    """The problem of runs that nothing tells apart."""
    key, instead = ("repeat", "repeat: 1") if scenario.until is None else ("until", "no until")
    what = f"{scenario.most_repeats} runs would be identical"
    return run.problem((key,), what, f"start.jitter in a flow, a queue or a cc that draws random numbers, or {instead}")


def _others(name: str) -> list[Capabilities]:
    return [engine(other).capabilities() for other in ENGINES if other != name]


def _key(found: Engine, sources: Iterable[str], run: ResolvedScenario, compiled: Any) -> str:
    parts = [found.name, *sources, run.content.text, found.as_text(compiled)]
    if run.settings.passive_rtt or run.settings.analyze:
        parts.append(native().TRACE_HASH)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
