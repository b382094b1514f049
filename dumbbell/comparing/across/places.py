"""Assignment of keys with several values to places in a figure: an axis, colours, panels, styles of lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dumbbell.comparing.across.coordinates import ENGINE, FOLDER, LABELS, NAME, WHOSE, Coordinate
from dumbbell.comparing.across.observations import Observation
from dumbbell.results.columns import as_numbers

MOST_COLOURS, MOST_PANELS, MOST_STROKES = 12, 16, 4
"""Values of a key that is given colours, panels and styles of lines without having been named for it."""


def left_over(found: Sequence[Observation], keys: Mapping[str, Sequence[Coordinate]], named: Sequence[str], axis: str = "") -> list[str]:
    """Return the keys that still have several values when each named key has one. A key that says the same as another is left out.

    The group is enough of a flow's labels, and stays only if no label is named. Folders and engines stay apart even if each has its own
    values of the x axis, `axis`, so that no line leads from one to the other.
    """
    chosen = [key for key in named if key]
    left: list[str] = []
    labels = {label for listed in LABELS.values() for label in listed}
    of_flows = [key for key in keys if key in labels]
    one_of_them = any(key in labels for key in chosen)
    for key in sorted(keys, key=_preference):
        if key == NAME and _determined(found, NAME, [other for other in keys if other != NAME]):
            continue  # the scenarios are named after their cells
        if key in chosen or key == "flow" or (key in labels and (one_of_them or key != next(iter(of_flows), None)) and key != "port"):
            continue
        by_axis = key not in (FOLDER, ENGINE) or axis in WHOSE
        if not _determined(found, key, [each for each in (*chosen, *left) if by_axis or each != axis]):
            left.append(key)
    return left


def _preference(key: str) -> int:
    """Return the rank of a key: congestion controls first, then folder, engine and name, then the rest."""
    word = key.rpartition(".")[2]
    return 0 if word == "cc" else 1 + WHOSE.index(key) if key in WHOSE else 1 + len(WHOSE)


def _determined(found: Sequence[Observation], key: str, others: Sequence[str]) -> bool:
    seen: dict[tuple[Coordinate, ...], Coordinate] = {}
    return all(
        seen.setdefault(tuple(each.at.get(other, "") for other in others), each.at.get(key, "")) == each.at.get(key, "") for each in found
    )


def axis_of(left: Sequence[str], keys: Mapping[str, Sequence[Coordinate]]) -> str:
    """The key for an axis: numbers before words, many values before few."""
    return max(left, key=lambda key: (as_numbers(keys[key]) is not None, len(keys[key])))


def placed(
    kind: str,
    by: list[str],
    panels: str,
    left: list[str],
    rest: Callable[[Sequence[str]], list[str]],
    keys: Mapping[str, Sequence[Coordinate]],
) -> tuple[list[str], str, list[str]]:
    """Gives keys that are left a colour, panels or a style of lines, and says which are left then."""
    while left:
        key, count = left[0], len(keys[left[0]])
        if not by and count <= MOST_COLOURS:
            by = [key]
        elif key in WHOSE and len(by) == 1 and kind != "heat" and count <= MOST_STROKES:
            by = [*by, key]  # laid over each other rather than side by side
        elif not panels and count <= MOST_PANELS:
            panels = key
        elif len(by) == 1 and kind != "heat" and count <= MOST_STROKES:
            by = [*by, key]
        else:
            return by, panels, left
        left = rest([*by, panels])
    return by, panels, left
