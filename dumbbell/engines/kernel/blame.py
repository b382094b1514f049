"""Which setting of a scenario a guest stumbled over: one of those that no check knows before, sysctls and commands of tc."""

from __future__ import annotations

import re

from dumbbell.scenario import Problem, ResolvedScenario, Tc, bottlenecks

_SYSCTL = re.compile(r"sysctl (?P<key>\S+): (?P<what>[^;]*)")
_TC = re.compile(r"tc -batch: failed")


def blame(resolved: ResolvedScenario, fault: str) -> Problem | None:
    """The problem with the scenario that a guest's fault comes from; None if it is not the scenario's."""
    settings = resolved.settings
    if found := _SYSCTL.search(fault):
        for i, flow in enumerate(settings.flows):
            if found["key"] in flow.host.sysctls:
                what = f"{found['key']}: {found['what']}; expected a setting that this kernel has, and a value that it takes"
                return resolved.problem(("flows", i, "host", "sysctls"), what)
    if _TC.search(fault):
        for location, bottleneck in bottlenecks(settings):
            if isinstance(bottleneck.qdisc, Tc):
                said = fault.partition("the log ends in: ")[2] or "no message"
                what = f"tc refuses {bottleneck.qdisc.command!r} ({said}); expected a qdisc and its parameters as `man tc` has them"
                return resolved.problem((*location, "qdisc", "command"), what)
    return None
