"""The runs: one or two transfers of 100 MiB over a router and 100 Mbit/s, each sender's packets delayed by its own netem.

    S1 -- [netem D1, 1000 packets | 100 Mbit/s] \\                                   / R1
                                                 [router 100 Mbit/s, 1000 packets]
    S2 -- [netem 100 ms, 1000 packets | 100 Mbit/s] /                                \\ R2

netem is the queue of the sender's own host: TCP gets back what exceeds its limit, takes this for congestion and sends it later, so
that no capture shows a loss. Half of the base RTT of 0.35 ms lies on either side of the router. An outage begins 4 s after the script that
cron started together with the transfers, which is known to a second: each seed draws it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.study.model import Request, overrides_of
from dumbbell.study.repeats import JITTER
from dumbbell_studies.fairness.hosts import CONTROLS, Setup, Words, has_outage, scenario_names, senders
from dumbbell_studies.fairness.published import FILE_BYTES

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario

SEEDS = 10
QUICK_NOTE = "one outage, at 4 s; every scenario"
RATE_MBIT = 100
_FRAME, _BESIDE = 1514, 24
"""A full frame as rates count it, and what Ethernet sends with it: preamble, check sequence, gap to the next frame (IEEE 802.3), bytes."""
LINE = f"{RATE_MBIT * 10**6 * _FRAME // (_FRAME + _BESIDE)}bit"
"""Rate of a line of 100 Mbit/s for full frames, without what Ethernet sends with them."""
BASE_RTT = "350us"
_ROUTER_LIMIT = "1000p"
"""The default queue of a Linux device (txqueuelen), in front of the line."""
OUTAGE_S, _SPREAD_S = 4.0, 1.0
OUTAGE = "107.5ms"
"""A sleep of 100 ms, and the 5 to 10 ms that it takes to start it and the tc after it."""
BOTTLENECK = "bottleneck"
TICK = "1ms"
"""Tick of the clock that netem's timer was bound to before Linux 2.6.22, as distributions for servers built it."""
_LONGEST_S = {"Combo22": 760, "Combo23": 760, "Combo24": 760, "Combo12": 300}
_LONG_S = 200
"""How long a run may take at most, s: it ends with its last transfer."""
LARGE = 64 << 20
"""Buffers of the rerun that limit nobody, bytes."""


@dataclass(frozen=True)
class Mode:
    """The hosts of a part of the study."""

    name: str
    stack: Words
    of_its_time: bool
    """Congestion controls and buffers are those of the report, else today's, and large."""


ERA = Mode(
    "2011",
    # An sk_buff of 176 bytes, as the listed rmem_default of 110,592 bytes says, and cache lines of 64; tcp_moderate_rcvbuf 0 as listed.
    {"base": "linux-2.6", "receive_tuning": "off", "send_truesize": 1904, "receive_truesize": 1776, "growth_beside": 400},
    of_its_time=True,
)
MODERN = Mode("modern", {"base": "linux-6.12"}, of_its_time=False)
MODES = {mode.name: mode for mode in (ERA, MODERN)}


def document(
    scenario: str, mode: Mode, seed: int, changes: Mapping[str, Any] | None = None, override: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The scenario of a run, as a user would write it. `changes`: other values of some dotted keys.

    `override`: `stack.OPTION` of all transfers, `CC.PARAMETER` of those with a congestion control of the report, `netem.KEY`, `outage.KEY`.
    """
    from dumbbell.documents.keys import assigned_at

    setups = senders(scenario)
    router = {"rate": LINE, "qdisc": {"kind": "pfifo", "limit": _ROUTER_LIMIT}}
    written: dict[str, Any] = {
        "name": f"fairness-{mode.name}-{scenario.lower()}",
        "path": {"rtt": BASE_RTT, BOTTLENECK: router},
        "hosts": {_host(sender): {"egress": _egress(setup, mode, override or {})} for sender, setup in setups.items()},
        "flows": [_flow(sender, setup, mode, override or {}, jitter=seed > 1) for sender, setup in setups.items()],
        "duration": f"{_LONGEST_S.get(scenario, _LONG_S)}s",
        "sample": "100ms",
        "analyze": True,
        "seed": seed,
    }
    if has_outage(scenario):
        written["path"]["impairments"] = [
            {"kind": "outage", "at": f"{outage_s(seed):.3f}s", "for": OUTAGE, **overrides_of("outage", override or {})}
        ]
    for key, value in (changes or {}).items():
        written = assigned_at(written, key.split("."), value)
    return written


def outage_s(seed: int) -> float:
    """When the outage of a run begins; of the first at the time that the script waits."""
    return OUTAGE_S if seed == 1 else OUTAGE_S + float(np.random.default_rng(seed).uniform(-_SPREAD_S, _SPREAD_S))


def runs(request: Request, mode: Mode = ERA) -> list[ResolvedScenario]:
    """The requested runs of every scenario of the report."""
    seeds = range(1, request.seeds + 1)
    return [run_of(scenario, mode, seed, override=request.override) for scenario in scenario_names() for seed in seeds]


def run_of(
    scenario: str,
    mode: Mode,
    seed: int,
    changes: Mapping[str, Any] | None = None,
    experiment: str = "",
    override: Mapping[str, Any] | None = None,
) -> ResolvedScenario:
    """One run; of an experiment if that has a name. See `document`."""
    from dumbbell.scenario import Scenario

    (found,) = Scenario.model_validate(document(scenario, mode, seed, changes, override)).expand()
    cell: dict[str, str | int | float] = {
        "mode": mode.name,
        "scenario": scenario,
        **({"experiment": experiment} if experiment else {}),
        "seed": seed,
    }
    return replace(found, cell=cell)


def _host(sender: str) -> str:
    return sender.lower()


def _egress(setup: Setup, mode: Mode, override: Mapping[str, Any]) -> dict[str, Any]:
    """The queue of a sender's own device."""
    if not setup.delay_ms:
        return {"rate": LINE, "qdisc": {"kind": "pfifo", "limit": _ROUTER_LIMIT}}
    # netem's default limit, and the clock of the kernels that it had no finer timers in; in the rerun room for twice what the path holds.
    of_mode = {"limit": "1000p", "tick": TICK} if mode.of_its_time else {"limit": f"{_twice_the_path(setup.delay_ms)}p"}
    netem = {"kind": "netem", "delay": f"{setup.delay_ms:g}ms", **of_mode, **overrides_of("netem", override)}
    return {"rate": LINE, "qdisc": {key: value for key, value in netem.items() if value is not None}}


def _twice_the_path(delay_ms: float) -> int:
    return round(2 * delay_ms / 1e3 * RATE_MBIT * 1e6 / 8 / _FRAME)


def _flow(sender: str, setup: Setup, mode: Mode, override: Mapping[str, Any], *, jitter: bool) -> dict[str, Any]:
    control = CONTROLS[setup.cc]
    send, receive = (setup.send_buffer, setup.receive_buffer) if mode.of_its_time else (LARGE, LARGE)
    return {
        "name": sender,
        "src": _host(sender),
        "dst": f"r{sender[1:]}",
        "cc": {**(control.era if mode.of_its_time else {"kind": control.today}), **overrides_of(setup.cc.lower(), override)},
        "stack": {**mode.stack, **overrides_of("stack", override)},
        "bytes": f"{FILE_BYTES}B",
        "window_scaling": setup.window_scaling or not mode.of_its_time,
        "host": {
            "rmem": ["4096B", f"{receive}B", f"{receive}B"],
            "wmem": ["4096B", "16384B", f"{send}B"],
            **(
                {"sender_rmem": ["4096B", f"{own}B", f"{own}B"]}
                if (own := setup.own_receive_buffer) != receive and mode.of_its_time
                else {}
            ),
        },
        **({"start": {"jitter": JITTER}} if jitter else {}),
    }
