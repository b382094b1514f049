"""The runs: long-lived flows, web traffic in both directions, a dummynet bottleneck and a second box that delays.

    senders -- [dummynet 400 Mbit/s, 1 to 8 MiB] [RTT/2] -- receivers          (data of the high-speed flows, web, ACKs)
    senders -- [RTT/2] [dummynet 400 Mbit/s, as large] ---- receivers          (ACKs, web, two long-lived SACK flows)

Rate and queue count IP packets. The way back has a queue of its own, which web traffic and two long-lived SACK flows fill: ACKs wait in it.
Half of the high-speed flows start at 0 s, the others at 10 s, each up to 0.1 s later. RTTs that the page has exponential are drawn from the
seed: all protocols have the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.scenario.values.web import LEAST_RTT_MS, MEAN_RTT_MS, MOST_RTT_MS, RATE_MBIT
from dumbbell.study.model import Request, overrides_of
from dumbbell.study.repeats import JITTER
from dumbbell_studies.ordering.background import LAWS, calibrated
from dumbbell_studies.ordering.conditions import PRINTED, Condition, distinct
from dumbbell_studies.ordering.controls import ERA, JUDGED, LARGE_BUFFERS, PROTOCOLS, Mode, Words, validated

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

SEEDS = 10
QUICK_NOTE = f"one seed, every cell of {', '.join(JUDGED)}, whole length"
NOBODY = "none"
"""In place of a protocol: there are no high-speed flows."""
HIGH_SPEED = "highspeed"
"""Name of the high-speed flows."""
BOTTLENECK = "bottleneck"
TICK = "1ms"
"""Tick of dummynet's clock. At FreeBSD's own 10 ms it would serve a third of the smallest queue at once. Its manual asks for 1 ms."""
_REVERSE_FLOWS, _FORWARD_FLOWS = 2, 12
_BACKGROUND_JITTER = "1s"
_WEB, _DUMMYNET = "web", "dummynet"
"""In place of a protocol in an override."""
_OF_HIGH_SPEED, _OF_REVERSE, _OF_FORWARD = range(3)
"""Random streams of RTTs."""


def document(
    condition: Condition,
    protocol: str,
    mode: Mode,
    seed: int,
    control: Words | None = None,
    web: str | None = None,
    tick: str | None = TICK,
) -> dict[str, Any]:
    """The scenario of a run, as a user would write it; `control` replaces the protocol's own, `web` the type of the background,
    `tick` the clock of the routers (None: they serve their queues without one).

    RTTs are of the seed, and so is everything that the run draws itself.
    """
    dummynet = {"kind": "dummynet", "limit": f"{condition.buffer_mib}MiB", **({} if tick is None else {"tick": tick})}
    queue = {"rate": f"{RATE_MBIT}mbit", "qdisc": dummynet}
    times = condition.times
    reverse = _long_lived("reverse", _rtts(_OF_REVERSE, seed, _REVERSE_FLOWS), mode, direction="reverse")
    forward = _long_lived("forward", _rtts(_OF_FORWARD, seed, _FORWARD_FLOWS), mode) if condition.congested else []
    fast = [] if protocol == NOBODY else _high_speed(condition, control or mode.control(protocol), mode, seed)
    return {
        "name": f"ordering-{mode.name}-{protocol.lower()}-{condition.name}",
        "path": {"rtt": f"{condition.rtt_ms or MEAN_RTT_MS:g}ms", "delay": {"where": "after"}, "bottleneck": queue},
        "flows": [*fast, *forward, *reverse],
        "background": [calibrated(web or condition.background, mode)],
        "duration": f"{times.to_s:g}s",
        "sample": "1s",
        "series": {
            "flows": [entry["name"] for entry in fast] or "none",
            "groups": "none",
            "ports": "all",
            "shares": [BOTTLENECK] if fast else "none",
        },
        "seed": seed,
    }


def runs(request: Request, wanted: Iterable[Condition], mode: Mode = ERA, protocols: Iterable[str] | None = None) -> list[ResolvedScenario]:
    """The requested runs of some conditions.

    An override `PROTOCOL.PARAMETER` changes a parameter of a protocol's congestion control, and only runs of that protocol are made;
    `web.TYPE` is another type of background traffic in the place of TYPE, `dummynet.tick` another clock of the routers.
    """
    overridden = {key.partition(".")[0] for key in request.override} - {_WEB, _DUMMYNET}
    chosen = [name for name in (protocols or (JUDGED if request.quick else PROTOCOLS)) if not overridden or name.lower() in overridden]
    return [
        run_of(
            condition,
            protocol,
            mode,
            seed,
            {**mode.control(protocol), **overrides_of(protocol.lower(), request.override)},
            web=request.override.get(f"{_WEB}.{condition.background}"),
            tick=request.override.get(f"{_DUMMYNET}.tick", TICK),
        )
        for condition in wanted
        for protocol in chosen
        for seed in range(1, request.seeds + 1)
    ]


def printed(request: Request, mode: Mode = ERA) -> list[ResolvedScenario]:
    """The requested runs of every row with numbers; rows of one condition share them."""
    return runs(request, distinct(PRINTED), mode)


def alone(request: Request, wanted: Iterable[Condition], mode: Mode = ERA) -> list[ResolvedScenario]:
    """The requested runs without high-speed flows."""
    return [run_of(condition, NOBODY, mode, seed) for condition in wanted for seed in range(1, request.seeds + 1)]


def run_of(
    condition: Condition,
    protocol: str,
    mode: Mode,
    seed: int,
    control: Words | None = None,
    changes: Mapping[str, Any] | None = None,
    experiment: str = "",
    web: str | None = None,
    tick: str | None = TICK,
) -> ResolvedScenario:
    """One run. `changes`: other values of keys of the scenario, for an experiment with a name of its own."""
    from dumbbell.documents.keys import assigned_at

    written = document(condition, protocol, mode, seed, control, web, tick)
    for key, value in (changes or {}).items():
        written = assigned_at(written, key.split("."), value)
    (found,) = validated(written, str(LAWS)).expand()
    return replace(found, cell=cell_of(condition, protocol, mode.name, seed, experiment))


def cell_of(condition: Condition, protocol: str, mode: str, seed: int, experiment: str = "") -> dict[str, Any]:
    """Return the coordinates that tell a run from the others of the study."""
    return {
        "mode": mode,
        "protocol": protocol,
        "rtt_ms": condition.rtt,
        "buffer_mib": condition.buffer_mib,
        "flows": condition.flows,
        "background": condition.background,
        "congested": str(condition.congested).lower(),
        **({"experiment": experiment} if experiment else {}),
        "seed": seed,
    }


def _high_speed(condition: Condition, control: Words, mode: Mode, seed: int) -> list[dict[str, Any]]:
    """The entries of the high-speed flows: of each sending host one, or one for each flow if they have RTTs of their own."""
    times = condition.times

    def entry(name: str, start_s: float, **more: Any) -> dict[str, Any]:
        start = {"first": f"{start_s:g}s", "jitter": JITTER}
        return {
            "name": f"{HIGH_SPEED}-{name}",
            "cc": dict(control),
            "stack": mode.stack,
            "host": dict(LARGE_BUFFERS),
            "start": start,
            **more,
        }

    if condition.rtt_ms is not None:
        half = condition.flows // 2
        return [entry("a", times.first_s, count=half), entry("b", times.second_s, count=condition.flows - half)]
    return [
        entry(str(i), times.second_s if i % 2 else times.first_s, rtt=rtt)
        for i, rtt in enumerate(_rtts(_OF_HIGH_SPEED, seed, condition.flows))
    ]


def _long_lived(name: str, rtts: Iterable[str], mode: Mode, **more: Any) -> list[dict[str, Any]]:
    """The entries of long-lived SACK flows."""
    start = {"jitter": _BACKGROUND_JITTER}
    common = {"cc": "reno", "stack": mode.stack, "host": dict(LARGE_BUFFERS), "start": start, **more}
    return [{"name": f"{name}-{i}", "rtt": rtt, **common} for i, rtt in enumerate(rtts)]


def _rtts(stream: int, seed: int, count: int) -> list[str]:
    """RTTs of long-lived flows, from the distribution of those of the background."""
    drawn = np.random.default_rng([stream, seed]).exponential(MEAN_RTT_MS, count).clip(LEAST_RTT_MS, MOST_RTT_MS)
    return [f"{round(1e3 * rtt)}us" for rtt in drawn]
