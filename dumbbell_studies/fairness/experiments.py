"""Experiments that take away one mechanism each, compared with the report's own runs: what explains its numbers.

- `wide-buffers`: the send buffer that holds 133 segments becomes one that limits nobody. Full, a buffer bounds a transfer to two thirds of
  what it holds, as its writer is woken only when a third is free.
- `scaled-window`: at 400 ms the receiver's 65,535 bytes become the listed buffer.
- `deep-delay`: netem holds 100,000 packets, so that it drops none.
- `no-fack`: losses are counted by SACKs alone (tcp_fack 0), after an outage that takes a whole window.
- `swapped`: the two senders exchange their congestion controls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from dumbbell.comparing.tables import Table
from dumbbell.study.model import Request
from dumbbell_studies.fairness.hosts import CONTROLS, senders
from dumbbell_studies.fairness.published import transfers as published
from dumbbell_studies.fairness.scenarios import ERA, LARGE, run_of
from dumbbell_studies.fairness.transfers import transfers

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

SWAPPED = "swapped"
QUICK_NOTE = "one outage, at 4 s"
_WIDE = {"rmem": ["4096B", f"{LARGE}B", f"{LARGE}B"], "wmem": ["4096B", "16384B", f"{LARGE}B"]}
_DEEP = "100000p"


@dataclass(frozen=True)
class Experiment:
    """A change, and the scenarios of the report that it is made in."""

    name: str
    title: str
    scenarios: Sequence[str]
    sender: str
    """Whose elapsed time shows it."""
    changes: Mapping[str, Any]
    """Dotted key of the scenario -> value."""


def _swapped(scenario: str) -> Experiment:
    first, second = (CONTROLS[setup.cc].era for setup in senders(scenario).values())
    title = f"{senders(scenario)['S1'].cc} and SACK exchanged"
    return Experiment(SWAPPED, title, (scenario,), "S1", {"flows.0.cc": dict(second), "flows.1.cc": dict(first)})


EXPERIMENTS = (
    Experiment("wide-buffers", "S2's buffers limit nobody", ("Combo1", "Combo4"), "S2", {"flows.1.host": _WIDE}),
    Experiment("wide-buffers", "S1's buffers limit nobody", ("Combo17",), "S1", {"flows.0.host": _WIDE}),
    Experiment(
        "scaled-window", "S1's receiver scales its window", ("Combo22", "Combo23", "Combo24"), "S1", {"flows.0.window_scaling": True}
    ),
    Experiment(
        "deep-delay",
        "S1's netem refuses nothing",
        ("Baseline5", "Baseline6", "Baseline7", "Baseline8", "Combo7", "Combo8", "Combo9", "Combo10", "Combo11", "Combo12"),
        "S1",
        {"hosts.s1.egress.qdisc.limit": _DEEP},
    ),
    Experiment(
        "no-fack",
        "S2 without FACK",
        tuple(f"Combo{number}" for number in range(16, 25)),
        "S2",
        {"flows.1.stack.loss_detection": "sack"},
    ),
    *(_swapped(f"Combo{number}") for number in range(16, 25)),
)


def experiments(request: Request) -> list[ResolvedScenario]:
    """The runs of all experiments, and the report's own next to them."""
    seeds = range(1, request.seeds + 1)
    own = dict.fromkeys(scenario for each in EXPERIMENTS for scenario in each.scenarios)
    runs = [run_of(scenario, ERA, seed) for scenario in own for seed in seeds]
    for each in EXPERIMENTS:
        runs += [run_of(scenario, ERA, seed, each.changes, each.name) for scenario in each.scenarios for seed in seeds]
    return runs


def summaries(runs: Sequence[Run]) -> Mapping[str, Table]:
    """One row per experiment and scenario: elapsed time as published, of our own runs, and of the experiment's."""
    found = transfers(runs)
    rows = []
    for each in EXPERIMENTS:
        for scenario in each.scenarios:
            if not (found.has(scenario, each.name) and found.has(scenario)):
                continue
            ours, changed = (median(t.elapsed_s for t in found.of(scenario, each.sender, name)) for name in ("", each.name))
            theirs = published()[scenario, each.sender].elapsed_s
            rows.append([each.title, scenario, each.sender, f"{theirs:.2f}", f"{ours:.2f}", f"{changed:.2f}"])
    heads = ["experiment", "scenario", "sender", "published (s)", "dumbbell (s)", "experiment's (s)"]
    return {"experiments": Table("Experiments that explain the report's numbers: elapsed time", heads, rows)} if rows else {}
