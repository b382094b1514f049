"""The differences between the cells of a sweep beyond chance, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dumbbell.comparing.across.coordinates import NAME, Coordinate, RunSet, completed, everywhere
from dumbbell.comparing.across.estimates import Estimate, estimate
from dumbbell.comparing.across.measures import Measure, measured
from dumbbell.results.columns import SEED, quantity, short

Cell = tuple[tuple[str, Coordinate], ...]
"""Keys and values of a cell, without the seed."""
Values = Mapping[Measure, Mapping[Cell, Sequence[float]]]
"""Measure -> cell -> its values over seeds."""
_MOST_NAMED = 3
"""Maximum number of values that a group is named by."""
_RTT = "rtt"
"""The last word of the key of base RTTs."""
_WIDE = 2
"""Measures that a sentence has at most."""
_TOO = 1.05
"""Minimum ratio between groups of a second measure."""
_CLEAR = 1.1
"""Minimum ratio between groups of single runs."""


def sentence_of(sources: Sequence[RunSet]) -> str | None:
    """The sentence about the runs of these sources."""
    return sentence(values_of(sources))


def values_of(sources: Sequence[RunSet]) -> Values:
    """The values measured in each cell. Folder and engine are keys if they vary; runs that are not good are left out."""
    found: dict[Measure, dict[Cell, list[float]]] = {}
    placed = [(everywhere(source, cell, run), run) for source in completed(sources) for cell, run in source.placed()]
    several = {key for key in {key for cell, _ in placed for key in cell} if len({cell.get(key) for cell, _ in placed}) > 1}
    for at, run in placed:
        if run.summary.status == "invalid":
            continue
        cell = tuple((key, value) for key, value in at.items() if key in several and key not in (NAME, SEED))
        for measure, value in measured(run.summary).items():
            found.setdefault(measure, {}).setdefault(cell, []).append(value)
    return found


def axes(cells: Iterable[Cell]) -> list[tuple[str, ...]]:
    """The keys with several values. Keys that follow from each other, as zipped ones do, are one axis."""
    listed = [dict(cell) for cell in cells]
    found: list[list[str]] = []
    for key in dict.fromkeys(key for cell in listed for key in cell):
        values = {cell.get(key, "") for cell in listed}
        if len(values) < 2:
            continue
        for axis in found:
            pairs = {(cell.get(axis[0], ""), cell.get(key, "")) for cell in listed}
            if len(pairs) == len(values) == len({one for one, _ in pairs}):
                axis.append(key)
                break
        else:
            found.append([key])
    return [tuple(axis) for axis in found]


def sentence(values: Values, single: bool = False) -> str | None:
    """One sentence, such as `fq_codel and cake keep the ping at 31 ms; pfifo has 319 ms.` None if nothing differs beyond chance.

    `single`: true for cells with one run each, which have no intervals: it says differences of at least a tenth.

    A key's values are split in two groups. The groups differ beyond chance if, whatever the other keys are, the 95 % intervals of all
    values of one group lie below those of all of the other. Among such splits, those over names come before those over quantities, and
    then the one with the largest ratio between the groups is said, with a second measure that splits alike.
    """
    splits = [split for measure, cells in values.items() for axis in axes(cells) if (split := _split(measure, cells, axis, single))]
    splits = sorted(
        (each for each in splits if each.is_seen and each.ratio >= (_CLEAR if single else 0)),
        key=lambda each: (each.of_quantities, -each.ratio),
    )
    if not splits:
        return None
    first = splits[0]
    alike = [each for each in splits[1:] if each.axis == first.axis and set(each.groups) == set(first.groups)]
    told = [first, *(each for each in alike if each.what != first.what and each.ratio >= _TOO)][:_WIDE]
    better, worse = first.groups
    at = [f"the {each.measure.noun} at {each.text(better)}" for each in told]
    also = [each.text(worse) for each in told]
    link = " and " if all(each.groups == first.groups for each in told) else ", but "
    swept = [axis[0] for axis in axes(values[first.measure])]
    always = [short(key, swept) for key in swept if key != first.axis]
    where = f" at every {_listed(always)}" if always else ""
    one, other = first.named(better), first.named(worse)
    return f"{_listed(one)} {_verb(better, 'keep')} {link.join(at)}{where}; {_listed(other)} {_verb(worse, 'have')} {' and '.join(also)}."


@dataclass(frozen=True)
class _Split:
    measure: Measure
    axis: str
    """The key."""
    groups: tuple[tuple[Coordinate, ...], tuple[Coordinate, ...]]
    """The better values of the key, and the worse ones."""
    centres: Mapping[Coordinate, Sequence[float]]
    ratio: float
    """Least ratio of a value of one group to one of the other."""

    @property
    def what(self) -> str:
        """The measure without the group that it is of."""
        return self.measure.column.rpartition(".")[2]

    @property
    def of_quantities(self) -> bool:
        """True if the values of the key are numbers."""
        return all(quantity(value) is not None or isinstance(value, int | float) for value in self.centres)

    @property
    def is_seen(self) -> bool:
        """True if the numbers differ as they are printed. Ranges over quantities that overlap say nothing, and neither does that delays are
        longer on a longer path."""
        if self.axis.rpartition(".")[2] == _RTT and self.measure.unit == "ms":
            return False
        if self.of_quantities:
            low, high = ([centre for value in group for centre in self.centres[value]] for group in self.groups)
            if not (max(low) < min(high) or max(high) < min(low)):
                return False
        return self.text(self.groups[0]) != self.text(self.groups[1])

    def text(self, group: Sequence[Coordinate]) -> str:
        """The numbers of a group: `31 ms`, or `31 to 92 ms`."""
        there = [centre for value in group for centre in self.centres[value]]
        low, high = _range(min(there), max(there))
        return f"{low if low == high else f'{low} to {high}'}{f' {self.measure.unit}' if self.measure.unit else ''}"

    def named(self, group: Sequence[Coordinate]) -> list[str]:
        """The names of a group: the first word of each value where that tells it from the others."""
        if len(group) > _MOST_NAMED and group is self.groups[1]:
            return ["the others"]
        first = {value: str(value).split(" ")[0] for value in self.centres}
        names = [first[value] if list(first.values()).count(first[value]) == 1 else str(value) for value in group]
        if self.of_quantities:
            names[0] = f"{short(self.axis, [self.axis])} {names[0]}"
        return names if len(names) <= _MOST_NAMED else [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]


def _split(measure: Measure, cells: Mapping[Cell, Sequence[float]], axis: tuple[str, ...], single: bool = False) -> _Split | None:
    """The split of a key's values with the largest ratio between the groups that is beyond chance in all conditions."""
    conditions: dict[Cell, dict[Coordinate, Estimate]] = {}
    for cell, repeats in cells.items():
        if (found := estimate(repeats, "mean")).count > (0 if single else 1):
            conditions.setdefault(_rest(cell, axis), {})[dict(cell).get(axis[0], "")] = found
    known = [each for each in conditions.values() if len(each) > 1]
    values = list(dict.fromkeys(value for each in known for value in each))
    if not known or any(len(each) != len(values) for each in known) or len(known) < len({_rest(cell, axis) for cell in cells}):
        return None
    if not single and not any(number.has_interval for each in known for number in each.values()):
        return None
    centres = {value: [each[value].centre for each in known] for value in values}
    by_size = sorted(values, key=lambda value: math.fsum(centres[value]))
    best: _Split | None = None
    for count in range(1, len(values)):
        low, high = (tuple(sorted(part, key=values.index)) for part in (by_size[:count], by_size[count:]))
        if not all(max(limits(each[value])[1] for value in low) < min(limits(each[value])[0] for value in high) for each in known):
            continue
        ratio = min(_ratio(max(each[value].centre for value in low), min(each[value].centre for value in high)) for each in known)
        if best is None or ratio > best.ratio:
            best = _Split(measure, axis[0], (high, low) if measure.more_is_better else (low, high), centres, ratio)
    return best


def _rest(cell: Cell, axis: tuple[str, ...]) -> Cell:
    return tuple((key, value) for key, value in cell if key not in axis)


def limits(number: Estimate) -> tuple[float, float]:
    """The interval; of runs that are all equal, as a MOS at its minimum, their value."""
    return (number.low, number.high) if number.has_interval else (number.centre, number.centre)


def _ratio(low: float, high: float) -> float:
    return high / low if low > 0 else math.inf


def _range(low: float, high: float) -> tuple[str, str]:
    """Both ends of a range as text: with two digits if they are alike in two but not in three, else with three."""
    three, two = (_number(low), _number(high)), (_number(low, 2), _number(high, 2))
    return two if three[0] != three[1] and two[0] == two[1] else three


def _number(value: float, digits: int = 3) -> str:
    """Up to three digits, or all before the point."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _verb(group: Sequence[Coordinate], verb: str) -> str:
    return {"keep": "keeps", "have": "has"}[verb] if len(group) == 1 else verb
