"""The sets of scenarios on which two engines are compared."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml import YAML

from dumbbell.agreement import state
from dumbbell.agreement.highspeed import controls_of, high_speed
from dumbbell.agreement.precision import Precision
from dumbbell.agreement.qdiscs import is_randomised, with_defaults
from dumbbell.agreement.shared import USUAL_STACK, Shared
from dumbbell.agreement.space import alone, jitter, pair, run_seconds, scenario, usual
from dumbbell.errors import BadInput, all_of, nearest
from dumbbell.scenario import Scenario
from dumbbell.scenario.units import FRAME_BYTES

STARTS = {"smoke": 3, "standard": 10, "random": 10, "pairs": 10, "stability": 5, state.SET: 10}
"""Set -> default number of runs with jittered starts, for scenarios with several flows or a randomised qdisc."""
_SEED = 1
"""The default seed of a set."""
_COUNTS = {"random": 100, "pairs": 40, "stability": 20, state.SET: 50}
"""The sets that are drawn -> default number of scenarios."""

_STANDARD = 150
"""Approximate number of scenarios in `standard`; larger if there are more pairs of congestion control and qdisc."""
_CONDITIONS = [(mbit, ms) for mbit in (1, 10, 50, 100) for ms in (2, 20, 80, 200)]
_STRIDE = 7
"""Coprime to the number of conditions, so that stepping by it visits all of them."""
_LONGEST_S = 30
_LEAST_QUEUE = 20
"""Minimum limit of a FIFO, packets, for small bandwidth-delay products."""
_SMOKE_CONDITIONS = ((10, 20), (5, 80), (20, 10))
_SMOKE_S = 8


@dataclass(frozen=True)
class ScenarioSet:
    """The scenarios that two engines are compared on."""

    name: str
    seeds: tuple[int, ...]
    """Seeds of a drawn set, whose scenarios are pooled; of a fixed set the first seed of the jittered starts, or none for the default."""
    starts: int
    """Number of runs with jittered starts of a scenario with several flows or a randomised qdisc."""
    scenarios: tuple[Scenario, ...]
    precision: Precision | None = None
    """How well the reference must be known; None: a scenario with several starts has always `starts`."""

    @property
    def title(self) -> str:
        """Name and seeds, usable as a file name."""
        return "-".join([self.name, *map(str, self.seeds)])


def find_set(
    name: str,
    shared: Shared,
    seeds: Sequence[int] = (),
    count: int | None = None,
    starts: int | None = None,
    ccs: Sequence[str] | None = None,
) -> ScenarioSet:
    """The set with this name, whose flows have the stack that the engines share; `_found` has the details.

    Raises `BadInput` if there is no such set, or the engines share no such control.
    """
    found = _found(name, shared, seeds, count, starts, ccs)
    if shared.stack == USUAL_STACK:
        return found
    return replace(found, scenarios=tuple(_on_stack(each, shared.stack) for each in found.scenarios))


def _on_stack(scenario: Scenario, stack: str) -> Scenario:
    """The scenario whose connections have this stack, with their options."""
    written = scenario.dump()
    for where in ("flows", "background"):
        for flow, model in zip(written.get(where, ()), getattr(scenario, where), strict=True):
            if "stack" in type(model).model_fields:
                own = flow.get("stack")
                flow["stack"] = {**own, "base": stack} if isinstance(own, dict) else stack
    return Scenario.model_validate(written)


def _found(
    name: str, shared: Shared, seeds: Sequence[int], count: int | None, starts: int | None, ccs: Sequence[str] | None
) -> ScenarioSet:
    """The set with this name; several `seeds`, `count` and `ccs` are allowed for the drawn ones only. Each seed has `count` scenarios.

    With one of `ccs` the scenarios of `random` have one flow, with this control, and all of them have `starts` if these are given. Those of
    `pairs` have two flows with different `cc`, drawn from `ccs` or from all that are shared; the high-speed flows of a scenario of
    `stability` have one, drawn likewise. Those of `state` record the state of what they draw, see `dumbbell.agreement.state`.

    Raises `BadInput` if there is no such set, or the engines share no such control.
    """
    if name not in STARTS:
        raise BadInput(f"set {name!r} is unknown{nearest(name, STARTS)}; expected one of {', '.join(STARTS)}")
    repeats = STARTS[name] if starts is None else starts
    for cc in ccs or ():
        if cc not in shared.cc:
            raise BadInput(f"congestion control {cc!r} is not shared{nearest(cc, shared.cc)}; expected one of {', '.join(shared.cc)}")
    if name not in _COUNTS:
        for option, given in (("--count", count), ("--cc", ccs)):
            if given is not None:
                sets = all_of(list(_COUNTS))
                raise BadInput(f"the set {name} has always the same scenarios; expected {option} with the sets {sets} alone")
        if len(seeds) > 1:
            raise BadInput(f"the set {name} has always the same scenarios; expected one --seed, of its jittered starts")
        made = _smoke(shared, repeats) if name == "smoke" else _standard(shared, repeats)
        return ScenarioSet(
            name, tuple(seeds), repeats, tuple(each.model_copy(update={"seed": seeds[0] if seeds else _SEED}) for each in made)
        )
    seeds = tuple(dict.fromkeys(seeds)) or (_SEED,)
    draws = [(seed, index) for seed in seeds for index in range(_COUNTS[name] if count is None else count)]
    if name == state.SET:
        numbers = _COUNTS[name] if count is None else count
        found = [each for seed in seeds for each in state.scenarios(seed, numbers, shared, repeats, ccs)]
        return ScenarioSet(name, seeds, repeats, tuple(found))
    if name == "pairs":
        controls = tuple(dict.fromkeys(ccs or shared.cc))
        if len(controls) < 2:
            raise BadInput(f"--cc {','.join(controls)!r}: expected two congestion controls or more with the set pairs")
        return ScenarioSet(name, seeds, repeats, tuple(pair(*draw, shared, controls, repeats) for draw in draws))
    if name == "stability":
        controls = controls_of(shared, ccs)
        return ScenarioSet(name, seeds, repeats, tuple(high_speed(*draw, shared, controls, repeats) for draw in draws))
    if ccs is None:
        return ScenarioSet(name, seeds, repeats, tuple(scenario(*draw, shared, repeats) for draw in draws))
    if len(ccs) != 1:
        raise BadInput(f"--cc {','.join(ccs)!r}: expected one congestion control with the set random")
    single = tuple(alone(*draw, shared, ccs[0], repeats, always=starts is not None) for draw in draws)
    return ScenarioSet(f"{name}-{ccs[0]}", seeds, repeats, single)


def as_yaml(scenario: Scenario) -> str:
    """A scenario as the text of a file for `dumbbell run`."""
    yaml, text = YAML(), io.StringIO()
    yaml.default_flow_style = False
    yaml.dump(scenario.dump(), text)
    return text.getvalue()


def _smoke(shared: Shared, starts: int) -> Iterator[Scenario]:
    ccs, qdiscs = usual(shared), shared.qdisc
    longest = max(len(ccs), len(qdiscs))
    for i in range(max(9, longest)):
        # Pairs both lists cyclically: every name occurs, and repeated names of one list meet different names of the other.
        cc, qdisc = (names[(i if len(names) == longest else i + i // longest) % len(names)] for names in (ccs, qdiscs))
        mbit, ms = _SMOKE_CONDITIONS[i // 3 % len(_SMOKE_CONDITIONS)]
        flow: dict[str, Any] = {"cc": cc}
        if i == 0:
            flow["bytes"] = "2MB"
        if i == 1:
            flow["ecn"] = True
        yield _made("smoke", [flow], qdisc, mbit, ms, shared, _SMOKE_S, starts)
    pair = [{"cc": ccs[0]}, {"cc": ccs[1 % len(ccs)]}]
    yield _made("smoke", pair, qdiscs[0], 10, 20, shared, _SMOKE_S, starts)


def _standard(shared: Shared, starts: int) -> Iterator[Scenario]:
    """All conditions for every pair if the total allows it; otherwise a subset for each pair, with all conditions equally frequent."""
    ccs = usual(shared)
    pairs = [(cc, qdisc) for cc in ccs for qdisc in shared.qdisc]
    each = max(1, min(len(_CONDITIONS), round(_STANDARD / len(pairs))))
    for p, (cc, qdisc) in enumerate(pairs):
        other = ccs[(ccs.index(cc) + 1) % len(ccs)]
        for j in range(each):
            condition = ((p * each + j) * _STRIDE) % len(_CONDITIONS)
            mbit, ms = _CONDITIONS[condition]
            count = 1 + (p + condition + condition // 4) % 4
            flows = [{"cc": cc}] if count == 1 else [{"cc": cc, "count": 2}] if count == 2 else _mixed(cc, other, count)
            yield _made("standard", flows, qdisc, mbit, ms, shared, run_seconds(1000 * mbit, _LONGEST_S), starts)


def _mixed(cc: str, other: str, count: int) -> list[dict[str, Any]]:
    """Three or four flows of two congestion controls, or of one if there is only one."""
    if other == cc:
        return [{"cc": cc, "count": count}]
    others: dict[str, Any] = {"cc": other} if count == 3 else {"cc": other, "count": 2}
    return [{"cc": cc, "count": 2}, others]


def _made(prefix: str, flows: list[dict[str, Any]], qdisc: str, mbit: int, ms: int, shared: Shared, seconds: int, starts: int) -> Scenario:
    """A scenario with one bottleneck behind a netem delay. The qdisc has its defaults; a FIFO's limit is a bandwidth-delay product."""
    packets = max(_LEAST_QUEUE, -(-mbit * ms * 1000 // (8 * FRAME_BYTES)))
    total = sum(flow.get("count", 1) for flow in flows)
    names = "+".join(flow["cc"] + (f"x{flow['count']}" if "count" in flow else "") for flow in flows)
    kind = "-sized" if "bytes" in flows[0] else "-ecn" if "ecn" in flows[0] else ""
    settings: dict[str, Any] = {
        "name": f"{prefix}-{names}-{qdisc}-{mbit}mbit-{ms}ms{kind}",
        "path": {
            "rtt": f"{ms}ms",
            "bottleneck": {"rate": f"{mbit}mbit", "shaper": _shaper(shared, qdisc), "qdisc": with_defaults(qdisc, packets)},
        },
        "flows": flows,
        "duration": f"{seconds}s",
    }
    if total > 1 or is_randomised(qdisc):
        settings["repeat"] = starts
        settings["flows"] = [{**flow, "start": {"jitter": jitter(1000 * ms)}} for flow in flows]
    return Scenario.model_validate(settings)


def _shaper(shared: Shared, qdisc: str) -> str:
    """The shaper of a bottleneck: cake's own for cake, otherwise tbf if both engines have it."""
    known = shared.shapers(qdisc)
    return "tbf" if "tbf" in known and known[0] != "cake" else known[0]
