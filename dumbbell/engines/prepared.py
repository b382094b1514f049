"""Prepared runs: planned, compiled for their engine, checked by it, and with the key under which they are stored.

A run is prepared once. The same value serves for its cost, for a look into the store, and for its computation. Only a run of a large sweep
is prepared again when it is its turn, see dumbbell.running.sweep.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dumbbell.collector import collector_paused as collector_paused
from dumbbell.documents.problems import Unfit
from dumbbell.engines import engine
from dumbbell.engines.doubts import doubts
from dumbbell.errors import BadInput, shortened
from dumbbell.plan import Plan, Planned, Refusal
from dumbbell.scenario import ResolvedScenario, ScenarioError
from dumbbell.scenario.function import Function

if TYPE_CHECKING:
    from dumbbell.results import Run


class Allowed(NamedTuple):
    """Permissions of the user for a run."""

    library: bool = False
    """The libraries that the scenario names."""
    program: bool = False
    """The programs that the scenario describes."""
    module: bool = False
    """The files that the scenario has a kernel load as congestion controls."""


NOTHING = Allowed()


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
    sources: tuple[str, ...] = ()
    """Hashes of the sources that compute it; none if it was prepared without a key."""
    allowed: Allowed = NOTHING
    """Permissions of the user."""

    @property
    def plan(self) -> Plan:
        """Return the plan that the engine was given."""
        return self.planned.plan

    @property
    def libraries(self) -> dict[str, str]:
        """The paths of libraries that computing it loads, by SHA-256."""
        return self.resolved.settings.libraries

    @property
    def own_programs(self) -> dict[str, str]:
        """The programs of the scenario's own that computing it runs, with their commands."""
        return self.resolved.settings.own_programs

    @property
    def in_kernel(self) -> dict[str, str]:
        """The paths of congestion controls that the kernel loads, by SHA-256."""
        return self.resolved.settings.in_kernel

    @property
    def functions(self) -> dict[int, Function]:
        """The functions in Python that are its congestion controls, by number. Raises `BadInput` for those of another process."""
        try:
            return self.resolved.settings.functions
        except Unfit as error:
            raise BadInput(str(error)) from None

    @property
    def cpu_s(self) -> float:
        """Estimated cost of the run on a machine of usual speed, CPU seconds."""
        return engine(self.engine).cpu_s(self.plan)

    def produce(self) -> Run:
        """Computes the run; a crash gives one of status `invalid` without counters."""
        if self.own_programs and not self.allowed.program:
            raise BadInput(programs_not_allowed(self.own_programs))
        if self.in_kernel and not self.allowed.module:
            raise BadInput(modules_not_allowed(self.in_kernel.values()))
        run, odd = engine(self.engine).produce(self), tuple(doubts(self.planned, self.scenario))
        return replace(run, status="warn" if run.status == "ok" else run.status, reasons=(*run.reasons, *odd)) if odd else run

    def refused(self, found: str) -> ScenarioError:
        """Return the error for a refusal of the native module: a JSON list of refusals."""
        refusals = map(Refusal.from_json, json.loads(found))
        return ScenarioError([self.planned.problem(self.resolved, refusal) for refusal in refusals])

    @property
    def asked(self) -> dict[str, Any]:
        """The fields of its result that are known before it is computed."""
        return {"key": self.key, "name": self.resolved.name, "cell": self.resolved.cell, "scenario": self.scenario}

    def crashed(self, reason: str, facts: Mapping[str, Any] | None = None) -> Run:
        """Return the run if computing it gave no result. `facts`: those of the engine, by default its name."""
        from dumbbell.results import Run

        return Run.crashed(reason, **self.asked, engine={"name": self.engine} if facts is None else facts)


def programs_not_allowed(programs: Mapping[str, str]) -> str:
    """Return the error line about programs of a scenario's own that may not be run."""
    listed = ", ".join(f"{name} ({shortened(command, 60)})" for name, command in sorted(programs.items()))
    return f"{listed} would be run; expected --allow-program (in Python allow_program=True) if you trust it"


def modules_not_allowed(paths: Iterable[str]) -> str:
    """Return the error line about files that no kernel may load."""
    what = f"{', '.join(sorted(paths))} would be loaded into the guest's kernel"
    return f"{what}; expected --allow-module (in Python allow_module=True) if you trust it"


def refuse_unallowed(libraries: Collection[str], programs: Mapping[str, str], in_kernel: Collection[str], allowed: Allowed) -> None:
    """Raises `BadInput` if computing runs takes more than the user allows."""
    if libraries and not allowed.library:
        raise BadInput(not_allowed(libraries))
    if programs and not allowed.program:
        raise BadInput(programs_not_allowed(programs))
    if in_kernel and not allowed.module:
        raise BadInput(modules_not_allowed(in_kernel))


def not_allowed(paths: Iterable[str]) -> str:
    """Return the error line about libraries that may not be loaded."""
    return f"{', '.join(sorted(paths))} would be loaded and run; expected --allow-library (in Python allow_library=True) if you trust it"
