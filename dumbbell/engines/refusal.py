"""Where in a scenario that belongs which the simulator refuses."""

from __future__ import annotations

import re

from dumbbell.scenario import Bottleneck, flow_names
from dumbbell.scenario.model import Path, Settings

Location = tuple[str | int, ...]

_FLOW = re.compile(r"flow (?P<name>[^\s:]+): (?P<what>.*)", re.DOTALL)
_PORT = re.compile(r"port (?P<name>[^\s:]+): (?P<what>.*)", re.DOTALL)
_STACK = re.compile(r"stack [^\s:]+: (?P<what>.*)", re.DOTALL)
_OPTION = re.compile(r"option (?P<key>\w+) ")
_BOUND = re.compile(r"[;,] (?:expected |(?=at most |at least ))")


def placed(settings: Settings, message: str) -> tuple[Location, str]:
    """The setting that a message of the simulator is about, as far as it says, and `what is wrong; expected ...`."""
    location, what = _placed(settings, message)
    what = _BOUND.sub("; expected ", what)
    return location, what if "; expected" in what else f"{what}; expected what the simulator can run"


def _placed(settings: Settings, message: str) -> tuple[Location, str]:
    if flow := _FLOW.fullmatch(message):
        for i, names in enumerate(flow_names(settings.flows)):
            if flow["name"] in names:
                where, what = _of_flow(flow["what"])
                return ("flows", i, *where), what
    if port := _PORT.fullmatch(message):
        return _of_port(settings.path, port["name"]), port["what"]
    return (), message


def _of_flow(what: str) -> tuple[Location, str]:
    if stack := _STACK.fullmatch(what):
        option = _OPTION.match(stack["what"])
        return ("stack", option["key"]) if option else ("stack",), stack["what"]
    return ("bytes",) if what.startswith("a transfer of ") else (), what


def _of_port(path: Path, name: str) -> Location:
    """Names are those that the lowering of the path gives."""
    reverse = name.endswith("-reverse")
    if path.forward is None:
        if name.startswith("bottleneck"):
            return ("path", "reverse" if reverse and isinstance(path.reverse, Bottleneck) else "bottleneck")
        return ("path", "access" if name == "access" else "delay")
    listed = path.reverse if reverse and isinstance(path.reverse, list) else path.forward
    key = "reverse" if listed is path.reverse else "forward"
    plain = name.removesuffix("-reverse") if reverse else name
    for i, stage in enumerate(listed):
        if stage.name == plain or (stage.name is None and plain.endswith(f"-{i + 1}")):
            return ("path", key, i)
    return ("path", key)
