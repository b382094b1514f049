"""Makes the plan of a run. The cost is about that of the plan's entries: it is linear in flows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dumbbell.documents.keys import values_at
from dumbbell.documents.problems import dotted
from dumbbell.plan.captures import captured_ports
from dumbbell.plan.hosts import Hosts
from dumbbell.plan.kept import Kept
from dumbbell.plan.model import Plan
from dumbbell.plan.paths import Paths
from dumbbell.plan.provenance import Origin, Provenance
from dumbbell.plan.refusal import Refusal
from dumbbell.plan.schedule import changes
from dumbbell.plan.series import series
from dumbbell.plan.workloads import EngineFacts, Workloads, redrawn
from dumbbell.scenario import Problem, ResolvedScenario


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan, and where everything in it is written."""

    plan: Plan
    provenance: Provenance

    def problem(self, resolved: ResolvedScenario, refusal: Refusal) -> Problem:
        """Return a refusal in words, at its line of the scenario. A key that is not written there is named."""
        location = self.provenance.location(refusal)
        is_default = refusal.what[:1].isdigit() and len(location) > 1 and not values_at(resolved.dump(), dotted(location))
        what = f"{location[-1]} is {refusal.what} by default" if is_default else refusal.what
        return resolved.problem(location, what, refusal.expected)

    def repeated(self, resolved: ResolvedScenario) -> Planned:
        """Make a plan like `make`, of a run that differs from this plan's run only in the seed."""
        settings = resolved.settings
        workloads = []
        for workload, origin in zip(self.plan.workloads, self.provenance.workloads, strict=True):
            where, i = origin.location
            assert isinstance(i, int)  # an entry of `flows` or `background`
            workloads.append(redrawn(workload, settings.flows[i] if where == "flows" else settings.background[i], settings))
        return Planned(replace(self.plan, seed=settings.seed, workloads=tuple(workloads)), self.provenance)


_PATH = Origin(("path",))


def make(resolved: ResolvedScenario, table: EngineFacts, kept: Kept | None = None) -> Planned:
    """Make the plan of a run for an engine. The engine's table says what a congestion control needs and what a stack does with sizes of
    buffers.

    Names that the engine does not know get the usual defaults, because checking them is not the plan's job. `kept` comes from other runs
    for this engine.
    """
    settings = resolved.settings
    hosts = Hosts(settings.hosts)
    paths = Paths(settings, hosts)
    kept = kept or Kept()
    workloads = Workloads(settings, table, paths, hosts, kept)
    schedule, schedule_origins = changes(settings, paths)
    ports = tuple(paths.ports.ports)
    chosen = settings.flows, settings.background, settings.series, settings.events, [port.id for port in ports]
    plan = Plan(
        seed=settings.seed,
        duration_ns=int(settings.duration),
        sample_ns=int(settings.sample),
        capture=settings.captures_hosts,
        captured_ports=captured_ports(resolved, paths.ports.stages, [host.egress for host in hosts.hosts if host.egress is not None]),
        mtu_bytes=settings.path.mtu,
        clock_s=settings.clock_s,
        modules=tuple(settings.modules),
        hosts=tuple(hosts.hosts),
        ports=ports,
        paths=tuple(paths.paths),
        workloads=tuple(workloads.workloads),
        schedule=tuple(schedule),
        series=kept.get("series", None, chosen, lambda: series(resolved, ports, workloads.origins)),
    )
    capture = (next(key for key in ("capture", "passive_rtt", "analyze") if getattr(settings, key) or key == "analyze"),)
    provenance = Provenance(
        run=Origin((), {"capture": capture, "workloads": ("background",)}),
        hosts=tuple(hosts.origins),
        ports=tuple(stage.origin for stage in paths.ports.stages),
        paths=(_PATH,) * len(paths.paths),
        workloads=tuple(workloads.origins),
        schedule=tuple(schedule_origins),
    )
    return Planned(plan, provenance)
