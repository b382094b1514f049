"""The report's results with dumbbell's, and the rerun without its limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from dumbbell import metrics
from dumbbell.comparing.tables import Cell, Table, fixed, short
from dumbbell_studies.fairness.hosts import scenario_names, senders
from dumbbell_studies.fairness.published import transfers as published
from dumbbell_studies.fairness.scenarios import MODERN
from dumbbell_studies.fairness.transfers import Transfer, Transfers, transfers

if TYPE_CHECKING:
    from dumbbell.results import Run

_GROUPS: Mapping[int, tuple[str, tuple[str, ...]]] = {
    1: ("one transfer at a time", tuple(name for name in scenario_names() if name.startswith("Baseline"))),
    2: ("with a SACK transfer at 100 ms", scenario_names()[8:20]),
    3: ("the same, everything lost for 100 ms at 4 s", scenario_names()[20:]),
}
"""Number of the report's group -> what it is, and its scenarios."""
_HEADS = [
    "scenario",
    "sender",
    "cc",
    "delay (ms)",
    "",
    "elapsed (s)",
    "Mbit/s",
    "RTT at the device (ms)",
    "TCP's RTT less the delay (ms)",
    "retransmitted",
    "window (bytes)",
]


def group_tables(runs: Sequence[Run]) -> Mapping[int, Table]:
    """Group -> its results as the report has them, dumbbell's (medians over seeds) above the published ones."""
    found = transfers(runs)
    return {
        number: Table(f"Group {number}: {title}", _HEADS, [row for name in names if found.has(name) for row in _rows(found, name)])
        for number, (title, names) in _GROUPS.items()
        if any(map(found.has, names))
    }


def _rows(found: Transfers, scenario: str) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for sender, setup in senders(scenario).items():
        repeats, theirs = found.of(scenario, sender), published()[scenario, sender]

        def middle(value: Callable[[Transfer], float], repeats: Sequence[Transfer] = repeats) -> float:
            return median(map(value, repeats))

        rows.append(
            [
                scenario,
                sender,
                setup.cc,
                short(setup.delay_ms),
                "dumbbell",
                fixed(middle(lambda each: each.elapsed_s), 2),
                fixed(middle(lambda each: each.mbit), 2),
                fixed(middle(lambda each: each.trace_rtt_ms), 1),
                # TCP's own RTT less the sender's delay. It includes the wait for the sender's line.
                fixed(middle(lambda each: each.srtt_ms) - setup.delay_ms, 1),
                fixed(short(middle(lambda each: each.retransmits)), 0),
                fixed(short(middle(lambda each: each.window_bytes)), 0),
            ]
        )
        measured = fixed(theirs.elapsed_s, 2), fixed(theirs.mbit, 2), fixed(theirs.rtt_ms, 1), None, theirs.retransmits, theirs.window_bytes
        rows.append([None, None, None, None, "published", *measured])
    return rows


def summaries(runs: Sequence[Run]) -> Mapping[str, Table]:
    """Tables by name, of what there are runs of."""
    found = transfers(runs)
    return {"fairness": fairness_table(found)} if found.all else {}


def fairness_table(found: Transfers) -> Table:
    """Shares of two transfers over the time that they have in common, published ones over each one's own time."""
    rows = []
    for scenario in scenario_names():
        if len(senders(scenario)) < 2 or not found.has(scenario):
            continue
        first, second = (found.of(scenario, sender) for sender in senders(scenario))
        index = median(metrics.jain([a.shared_mbit, b.shared_mbit]) for a, b in zip(first, second, strict=True))
        theirs = [published()[scenario, sender].mbit for sender in senders(scenario)]
        setup = senders(scenario)["S1"]
        rows.append(
            [
                scenario,
                setup.cc,
                f"{setup.delay_ms:g}",
                f"{median(each.shared_mbit for each in first):.2f}",
                f"{median(each.shared_mbit for each in second):.2f}",
                f"{index:.3f}",
                f"{metrics.jain(theirs):.3f}",
            ]
        )
    title = "Fairness to the SACK transfer at 100 ms, while both are there"
    if found.mode == MODERN.name:
        title += ": buffers that limit nobody, today's stack"
    return Table(
        title, ["scenario", "S1's cc", "its delay (ms)", "S1 (Mbit/s)", "S2 (Mbit/s)", "Jain", "Jain of the published means"], rows
    )
