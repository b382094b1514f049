"""Sets of scenarios for comparisons with an engine in real time: with the same buckets on both, and what its machines can have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dumbbell.engines import engine
from dumbbell.errors import BadInput
from dumbbell.scenario import Bottleneck, Scenario, ScenarioError
from dumbbell.scenario.units import FRAME_BYTES

if TYPE_CHECKING:
    from dumbbell.agreement.sets import ScenarioSet

BUCKET_MS = 10
"""How long a bucket lasts at its rate: timers that are late by as much lose no capacity."""
_FILLED_BY_TIMERS = ("link", "tbf", "htb")


def in_real_time(engines: Sequence[str]) -> list[str]:
    """Return the engines whose runs take as long as they last, and are not the same twice."""
    return [name for name in engines if engine(name).in_real_time]


def for_machines(scenario_set: ScenarioSet, engines: Sequence[str]) -> tuple[ScenarioSet, list[str]]:
    """The set with buckets that real time allows, without the scenarios that the machines cannot have, and why not: a line for each reason
    with the number of its scenarios. As it was if no engine is in real time.

    Raises `BadInput` if nothing is left.
    """
    from dumbbell.running.prepare import refuse

    if not (names := in_real_time(engines)):
        return scenario_set, []
    kept, reasons = [], Counter[str]()
    for scenario in map(_with_buckets, scenario_set.scenarios):
        try:
            for name in names:
                refuse([run.on(name) for run in scenario.expand()])
        except ScenarioError as error:
            reasons["; ".join(dict.fromkeys(f"{each.key}: {each.what}, expected {each.expected}" for each in error.problems))] += 1
        else:
            kept.append(scenario)
    left_out = [f"{count} {'scenario is' if count == 1 else 'scenarios are'} left out: {reason}" for reason, count in reasons.items()]
    if not kept:
        raise BadInput(f"the engine {names[0]} can run no scenario of the set {scenario_set.name}: {'; '.join(left_out)}")
    return replace(scenario_set, scenarios=tuple(kept)), left_out


def _with_buckets(scenario: Scenario) -> Scenario:
    return Scenario.model_validate(_longer(scenario.dump()))


def _longer(value: Any) -> Any:
    """Every queue below has a bucket of `BUCKET_MS` at least; a line that takes a packet when it is free is one, too."""
    if isinstance(value, list):
        return [_longer(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _longer(each) for key, each in value.items()}
    if "qdisc" not in found:
        return found
    queue = Bottleneck.model_validate({key: each for key, each in found.items() if key in Bottleneck.model_fields})
    if queue.shaper_kind in _FILLED_BY_TIMERS and queue.rate_bps is not None:
        least = queue.rate_bps * BUCKET_MS // 8000
        found["shaper"] = "htb" if queue.shaper_kind == "htb" else "tbf"
        found["burst"] = f"{max(least, int(queue.burst or 0), FRAME_BYTES)}B"
    return found
