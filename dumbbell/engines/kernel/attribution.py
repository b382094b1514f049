"""Which setting of a scenario made a guest fail: a sysctl or a command of tc, which only the kernel itself can check."""

from __future__ import annotations

import re

from dumbbell.scenario import Problem, ResolvedScenario, Tc, bottlenecks

_SYSCTL = re.compile(r"sysctl (?P<key>\S+): (?P<what>[^;]*)")
_TC = re.compile(r"tc -batch: failed")


def scenario_problem(resolved: ResolvedScenario, fault: str) -> Problem | None:
    """The scenario's problem behind what a guest failed with; None if the scenario is not the reason."""
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
