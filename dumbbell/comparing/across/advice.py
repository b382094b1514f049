"""Finds the best queue of a sweep, as far as the runs can tell.

Two queues are compared measure by measure, in each condition (a cell of the other swept keys). A measure counts if the 95 % intervals do
not overlap and the means differ by at least `RELEVANT`. The ratios of the measures that count are averaged (geometric mean) over goodputs
and over the rest (delays, completion times, MOS), each by itself, and the two are multiplied. One queue beats another if the product is in
its favour in some condition and against it in none. The best queue is the one that no other beats. If there are several, the runs cannot
decide.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dumbbell.comparing.across.answer import Answer, written
from dumbbell.comparing.across.coordinates import Coordinate
from dumbbell.comparing.across.estimates import Estimate, estimate
from dumbbell.comparing.across.measures import Measure
from dumbbell.comparing.across.sentence import Cell, limits

RELEVANT = 1.05
"""Minimum ratio of two means that counts."""
_RATE = "Mbit/s"
_MOST_TOLD = 4
"""Measures that a line names."""
Queue: TypeAlias = Cell
"""Swept keys of queues, with their values."""
Numbers: TypeAlias = Mapping[Measure, Mapping[Queue, Mapping[Cell, Estimate]]]
"""Measure -> queue -> condition -> its mean over the seeds."""


@dataclass(frozen=True)
class Advice:
    """The result of the comparison."""

    best: Sequence[Queue]
    """The queues that no other beats; one if the runs decide."""
    lines: Sequence[str]
    """The reasons, a sentence each."""


def is_of_queue(key: str) -> bool:
    """True if a swept key is of a queue: the discipline, or one of its parameters."""
    return "qdisc" in key.split(".")


def advise(answer: Answer) -> Advice | None:
    """Compare the queues of a sweep; None if no key of a queue has several values."""
    numbers = _numbers(answer)
    queues = list(dict.fromkeys(queue for of in numbers.values() for queue in of))
    if len(queues) < 2:
        return None
    if not any(each.has_interval for of in numbers.values() for found in of.values() for each in found.values()):
        few = answer.runs < 2
        why = "each cell has one run" if few else "the runs of each cell are equal"
        return Advice(queues, [f"Cannot decide: {why}, so that nothing tells a difference from chance."])
    best = [queue for queue in queues if not any(_beats(numbers, other, queue) for other in queues if other is not queue)] or queues
    if len(best) == 1:
        return Advice(best, [_against(numbers, best[0], other) for other in queues if other != best[0]])
    return Advice(best, [*_undecided(numbers, best), *(_against(numbers, best[0], other) for other in queues if other not in best)])


def named(queue: Queue) -> str:
    """The name of a queue: its values, once each."""
    return " ".join(dict.fromkeys(str(value) for _, value in queue))


def _numbers(answer: Answer) -> Numbers:
    found: dict[Measure, dict[Queue, dict[Cell, Estimate]]] = {}
    for measure, cells in answer.judged.items():
        for cell, values in cells.items():
            queue = tuple((key, value) for key, value in cell if is_of_queue(key) and key in answer.varied)
            rest = tuple((key, value) for key, value in cell if not is_of_queue(key))
            found.setdefault(measure, {}).setdefault(queue, {})[rest] = estimate(values, "mean")
    return found


def _beats(numbers: Numbers, one: Queue, other: Queue) -> bool:
    gains = [_gain(numbers, one, other, condition) for condition in _conditions(numbers, one, other)]
    return bool(gains) and min(gains) >= 0 < max(gains)


def _conditions(numbers: Numbers, one: Queue, other: Queue) -> list[Cell]:
    return list(dict.fromkeys(rest for of in numbers.values() for rest in of.get(one, {}) if rest in of.get(other, {})))


def _gain(numbers: Numbers, one: Queue, other: Queue, condition: Cell) -> float:
    """The logarithm of the factor by which the first is better; 0 if nothing counts."""
    counted = _counted(numbers, one, other, condition)
    kinds = [[gain for measure, gain in counted.items() if (measure.unit == _RATE) is rates] for rates in (True, False)]
    return math.fsum(math.fsum(gains) / len(gains) for gains in kinds if gains)


def _counted(numbers: Numbers, one: Queue, other: Queue, condition: Cell) -> dict[Measure, float]:
    """The measures that count, each with the logarithm of the ratio in favour of the first."""
    found = {}
    for measure, of in numbers.items():
        first, second = of.get(one, {}).get(condition), of.get(other, {}).get(condition)
        if first is None or second is None or not first.count or not second.count:
            continue
        (low, high), (low_2, high_2) = limits(first), limits(second)
        if (high < low_2 or high_2 < low) and first.centre > 0 and second.centre > 0:
            gain = math.log(first.centre / second.centre)
            if abs(gain) >= math.log(RELEVANT):
                found[measure] = gain if measure.more_is_better else -gain
    return found


def _against(numbers: Numbers, best: Queue, other: Queue) -> str:
    """`Against pfifo limit=1000p: ping 30.7±0.1 instead of 304±74 ms.` It names what counts most, over all conditions."""
    told: dict[Measure, tuple[float, Cell]] = {}
    for condition in _conditions(numbers, best, other):
        for measure, gain in _counted(numbers, best, other, condition).items():
            if abs(gain) > abs(told.get(measure, (0.0, ()))[0]):
                told[measure] = gain, condition
    most = sorted(told, key=lambda measure: -abs(told[measure][0]))[:_MOST_TOLD]
    if not most:
        return f"Against {named(other)}: no measure differs beyond chance by {_percent()} or more."
    parts = [
        f"{measure.noun} {written(numbers[measure][best][at])} instead of {written(numbers[measure][other][at])}"
        f"{f' {measure.unit}' if measure.unit else ''}{_where(at)}"
        for measure in most
        for at in (told[measure][1],)
    ]
    return f"{named(best)} against {named(other)}: {', '.join(parts)}."


def _undecided(numbers: Numbers, best: Sequence[Queue]) -> list[str]:
    names = [named(queue) for queue in best]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    pairs = [(one, other) for i, one in enumerate(best) for other in best[i + 1 :]]
    differ = [(one, other, at) for one, other in pairs for at in _conditions(numbers, one, other) if _counted(numbers, one, other, at)]
    if not differ:
        return [f"Cannot decide between {listed}: the intervals overlap, or the means differ by less than {_percent()}, in every measure."]
    lines = []
    for one, other, at in differ[:_MOST_TOLD]:
        gains = _counted(numbers, one, other, at)
        better = [measure.noun for measure, gain in gains.items() if gain > 0]
        worse = [measure.noun for measure, gain in gains.items() if gain < 0]
        said = [f"{named(queue)} has the better {' and '.join(nouns)}" for queue, nouns in ((one, better), (other, worse)) if nouns]
        lines.append(f"{'; '.join(said)}{_where(at)}.")
    return [f"Cannot decide between {listed}: neither is better throughout.", *lines]


def _where(condition: Sequence[tuple[str, Coordinate]]) -> str:
    told = ", ".join(f"{key.rpartition('.')[2]} {value}" for key, value in condition)
    return f" (at {told})" if told else ""


def _percent() -> str:
    return f"{100 * (RELEVANT - 1):.0f} %"
