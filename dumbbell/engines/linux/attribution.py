"""Attributes an agent's failure to an entry of the plan: a sysctl or a tc command, which only the kernel itself can check."""

from __future__ import annotations

import re

from dumbbell.plan import Place, Plan, Queue, Refusal

_SYSCTL = re.compile(r"sysctl (?P<key>\S+): (?P<what>[^;]*)")
_TC = re.compile(r"tc -batch: failed")
_BY_AGENT = re.compile(r"qdisc (?P<kind>\w+): (?P<what>[^;]*)")


def refusal(plan: Plan, fault: str) -> Refusal | None:
    """Return the refusal of the entry that caused a fault; None if the plan is not the cause."""
    if found := _SYSCTL.search(fault):
        for i, prefix, workload in plan.over_tcp:
            if found["key"] in workload.host.sysctls:
                what = f"{found['key']}: {found['what']}"
                return Refusal(
                    Place("workload", i), f"{prefix}host.sysctls", what, "a setting that this kernel has, and a value that it takes"
                )
    if made := _BY_AGENT.search(fault):
        for i, port in enumerate(plan.ports):
            if isinstance(port, Queue) and made["kind"] in (port.qdisc["kind"], *str(port.qdisc.get("command", "")).split()[:1]):
                what = f"{made['kind']}: {made['what']}"
                return Refusal(Place("port", i), "qdisc", what, "a qdisc that the kernel has, and words that it takes")
    if _TC.search(fault):
        for i, port in enumerate(plan.ports):
            if isinstance(port, Queue) and port.qdisc["kind"] == "tc":
                said = fault.partition("the log ends in: ")[2] or "no message"
                what = f"tc refuses {port.qdisc['command']!r} ({said})"
                return Refusal(Place("port", i), "qdisc.command", what, "a qdisc and its parameters as `man tc` has them")
    return None
