"""Where in a plan that belongs which the simulator refuses."""

from __future__ import annotations

import re

from dumbbell.plan import RUN, Place, Plan, Refusal

_FLOW = re.compile(r"flow (?P<name>[^\s:]+): (?P<what>.*)", re.DOTALL)
_PORT = re.compile(r"port (?P<name>[^\s:]+): (?P<what>.*)", re.DOTALL)
_STACK = re.compile(r"stack [^\s:]+: (?P<what>.*)", re.DOTALL)
_OPTION = re.compile(r"option (?P<key>\w+) ")
_BOUND = re.compile(r"[;,] (?:expected |(?=at most |at least ))")


def refusal(plan: Plan, message: str) -> Refusal:
    """A message of the simulator as data: the entry that it is about, as far as it says."""
    place, name, what = _placed(plan, message)
    found = _BOUND.split(what, maxsplit=1)
    return Refusal(place, name, found[0], found[1] if len(found) > 1 else "what the simulator can run")


def _placed(plan: Plan, message: str) -> tuple[Place, str, str]:
    if flow := _FLOW.fullmatch(message):
        for i, workload in enumerate(plan.tcp):
            if any(connection.name == flow["name"] for connection in workload.connections):
                return Place("workload", i), *_of_flow(flow["what"])
    if port := _PORT.fullmatch(message):
        for i, each in enumerate(plan.ports):
            if each.id == port["name"]:
                return Place("port", i), "", port["what"]
    return RUN, "", message


def _of_flow(what: str) -> tuple[str, str]:
    if stack := _STACK.fullmatch(what):
        option = _OPTION.match(stack["what"])
        return f"stack.options.{option['key']}" if option else "stack", stack["what"]
    return "transfer_bytes" if what.startswith("a transfer of ") else "", what
