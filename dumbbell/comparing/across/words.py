"""The words of a question: how options are written, and the meaning of a word among the keys of sweeps and flows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dumbbell.comparing.across.coordinates import FLOW_LABELS, LABELS, NAME, WHOSE, Coordinate, RunSet, everywhere, swept_keys
from dumbbell.comparing.across.observations import Observation, observations
from dumbbell.errors import BadInput
from dumbbell.results.columns import SEED, find_key, is_meant, meant_keys, unknown_key

_PYTHON = {"window": "window_s", "from": "start_s", "to": "stop_s", "label": "labels", "x-label": "x_label", "y-label": "y_label"}
"""Options that functions call otherwise."""
TIME = ("time", "t")
"""The word for the time of a run in `--x`."""
_MOST_VALUES = 16
"""Maximum number of values that an error lists."""


@dataclass(frozen=True)
class Manner:
    """Way of writing options: on the command line or, `python`, as arguments of functions."""

    python: bool = False

    def name(self, option: str) -> str:
        """`--x`, or `x`."""
        return _PYTHON.get(option, option) if self.python else f"--{option}"

    def given(self, option: str, value: object) -> str:
        """An option as it was given: `--x 'rtt'`, or `x='rtt'`."""
        return f"{self.name(option)}{'=' if self.python else ' '}{value!r}"

    def offered(self, option: str, value: object = None) -> str:
        """Return the text to type, quoted for a shell if needed: `--x rtt`, `--samples`, or `x='rtt'`, `samples=True`."""
        if self.python:
            return f"{self.name(option)}={True if value is None else value!r}"
        return self.name(option) if value is None else f"{self.name(option)} {shlex.quote(str(value))}"

    def together(self, *options: str) -> str:
        """Several options in a row."""
        return (", " if self.python else " ").join(options)


COMMAND, PYTHON = Manner(), Manner(python=True)


class Words:
    """Meanings of words among the runs of a question."""

    def __init__(self, sources: Sequence[RunSet], per: str | None, manner: Manner = COMMAND, rows: str = "per") -> None:
        """`per`: the kind of row, if given; its labels then come before keys of the sweep. `rows`: the option that gives it."""
        self._sources, self._per, self._manner, self._rows = sources, per, manner, rows
        self._swept = swept_keys(sources)
        repeated = any(SEED in cell for source in sources for cell, _ in source.placed())
        self._of_runs = (*self._swept, *WHOSE, *([SEED] if repeated else []))

    def key(self, option: str, word: str, rest: str = "") -> str:
        """Return the key of the runs, or the label of flows, streams or ports, that a word stands for. The word is the key itself, or its
        end after a dot.

        If several keys end alike, the word means the one with several values, and the first if all have equal values in each run, as a
        queue at both ends of a link has. Raises `BadInput` for a word that means two keys, or none.
        `rest` follows the word in the error's suggestions: `=20ms`.
        """
        given = self._manner.given(option, word + rest)
        if word in self._of_runs:
            return word
        meant = meant_keys(word, self._swept)
        if len(meant) > 1:
            several = [key for key in meant if len({cell.get(key) for cell in self._cells()}) > 1]
            alike = bool(several) and all(cell.get(key) == cell.get(several[0]) for cell in self._cells() for key in several)
            meant = several[:1] if alike else meant
        owners = [per for per, labels in LABELS.items() if word in labels]
        if self._per in owners:
            return word
        if owners and meant and not self._per and not (len(meant) == 1 and self._says_the_same(word)):
            keys = " or ".join(self._manner.offered(option, key + rest) for key in meant)
            of_flows = self._manner.together(self._manner.offered(option, word + rest), self._manner.offered(*self._of_flows(owners[0])))
            raise BadInput(
                f"{given} is ambiguous: the sweep has {' and '.join(meant)}, and each flow has a {word}; expected {keys}, "
                f"or {of_flows} for that of the flows"
            )
        if not meant and owners and not self._per:
            return word
        if not meant and owners:
            raise BadInput(f"{given}: a {self._per} has no {word}; expected {self._manner.offered(*self._of_flows(owners[0]))}")
        if meant:
            return find_key(word, meant, given)
        known = self._known()
        raise unknown_key(word, [*known, *(TIME[:1] if known and option == "x" else ())], given)

    def _cells(self) -> Iterator[Mapping[str, Coordinate]]:
        """The coordinates of each run."""
        return (cell for source in self._sources for cell, _ in source.placed())

    def _of_flows(self, owner: str) -> tuple[str, str | None]:
        return (self._rows, owner) if self._rows == "per" else (self._rows, None)

    def _says_the_same(self, label: str) -> bool:
        """True if all flows of each run have one value of a label, so that a key that sweeps the label tells the same."""
        if label not in FLOW_LABELS:
            return False
        seen: dict[int, set[Coordinate]] = {}
        for each in observations(self._sources, "flow"):
            seen.setdefault(each.run, set()).add(each.at.get(label, ""))
        return all(len(values) == 1 for values in seen.values())

    def pers(self, keys: Iterable[str]) -> tuple[str, ...]:
        """The entities that the keys allow: the one that has all labels, or else the first.

        A value is of a whole group only where the group is named: `cc` alone tells flows apart.
        """
        labels = [key for key in keys if key not in self._of_runs]
        if not labels:
            return ()
        having = [per for per, known in LABELS.items() if all(label in known for label in labels) and (per != "group" or "group" in labels)]
        return tuple(having) or (next(per for per, known in LABELS.items() if labels[0] in known),)

    def _known(self) -> list[str]:
        """Return the names that may be used, keys with several values first."""
        values: dict[str, set[Coordinate]] = {key: set() for key in (*self._swept, *WHOSE)}
        for source in self._sources:
            for cell, run in source.placed():
                for key, value in everywhere(source, cell, run).items():
                    values.setdefault(key, set()).add(value)
        several = [key for key, found in values.items() if len(found) > 1 and key not in (NAME, SEED)]
        labels: Mapping[str, set[Coordinate]] = {label: set() for label in FLOW_LABELS}
        if self._per in (None, "flow", "group"):
            for each in observations(self._sources, "flow"):
                for label in labels:
                    labels[label].add(each.at.get(label, ""))
        return [*several, *(label for label, found in labels.items() if len(found) > 1 and label not in values)]


@dataclass(frozen=True)
class Condition:
    """`KEY=VALUE`: only these."""

    key: str
    value: str
    given: str
    """The condition as it was written, with its option."""


def conditions(where: Sequence[str], words: Words, manner: Manner) -> list[Condition]:
    """Return the conditions. Raises `BadInput` for a text that is no condition."""
    found = []
    for each in where:
        word, equals, value = each.partition("=")
        if not equals:
            raise BadInput(f"{manner.given('where', each)} has no =; expected KEY=VALUE")
        found.append(Condition(words.key("where", word, f"={value}"), value, manner.given("where", each)))
    return found


def narrowed(sources: Sequence[RunSet], wanted: Sequence[Condition]) -> tuple[list[RunSet], list[Condition]]:
    """Return the runs that fulfil the conditions on runs, and the other conditions: those on flows, streams and ports.

    Raises `BadInput` for a value that no run has, or if no run fulfils all.
    """
    values: dict[str, dict[Coordinate, None]] = {}
    for source in sources:
        for cell, run in source.placed():
            for key, value in everywhere(source, cell, run).items():
                values.setdefault(key, {})[value] = None
    of_runs = {each.key: _meant(each, wanted, values[each.key]) for each in wanted if each.key in values}
    found = [source.only(lambda cell: all(cell.get(key) in those for key, those in of_runs.items())) for source in sources]
    if of_runs and not any(source.runs for source in found):
        raise _nothing(wanted)
    return found, [each for each in wanted if each.key not in values]


def selected(found: Sequence[Observation], wanted: Sequence[Condition]) -> Sequence[Observation]:
    """Return the flows, streams or ports that fulfil the conditions on them. Raises `BadInput` as `narrowed` does."""
    keys = dict.fromkeys(each.key for each in wanted)
    values = {key: dict.fromkeys(one.at[key] for one in found if key in one.at) for key in keys}
    those = {each.key: _meant(each, wanted, values[each.key]) for each in wanted}
    chosen = [each for each in found if all(each.at.get(key) in meant for key, meant in those.items())]
    if wanted and not chosen:
        raise _nothing(wanted)
    return chosen


def _meant(condition: Condition, wanted: Sequence[Condition], there: Iterable[Coordinate]) -> set[Coordinate]:
    """Return the values that the conditions of one key allow: any value of a condition."""
    there = list(there)
    found: set[Coordinate] = set()
    for each in wanted:
        if each.key == condition.key:
            meant = {value for value in there if is_meant(value, each.value)}
            if not meant:
                listed = ", ".join(map(str, there[:_MOST_VALUES])) + (" ..." if len(there) > _MOST_VALUES else "")
                raise BadInput(f"{each.given}: {each.key} is never {each.value!r}; expected one of {listed}")
            found |= meant
    return found


def _nothing(wanted: Sequence[Condition]) -> BadInput:
    return BadInput(f"{' '.join(each.given for each in wanted)}: no run has all of these; expected values that occur together")
