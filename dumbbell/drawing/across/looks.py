"""Colours, markers and strokes of the things that a figure tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.drawing import style
from dumbbell.results.columns import as_numbers

# The palette of Okabe and Ito without its yellow, which is too pale for lines.
_PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p", "h", "*")
_STROKES: Sequence[Any] = ("-", (0, (4, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_HATCHES = ("", "", "////", "....")
_PALE = 0.45
"""Opacity of the filling of boxes."""
_DARK, _BRIGHT = 0.0, 0.88
"""The part of the map cividis that is seen on white. Nunez, Anderton, Renslow, PLOS ONE 13(7) (2018): even for colour-blind readers."""


@dataclass(frozen=True)
class Look:
    """Look of a curve, a box or a point."""

    colour: str
    marker: str
    stroke: Any = "-"
    hollow: bool = False
    hatch: str = ""
    """Hatch of boxes."""

    def filling(self) -> dict[str, Any]:
        """Return the filling as matplotlib's patches take it."""
        return {"facecolor": "white" if self.hollow else (self.colour, _PALE), "edgecolor": self.colour, "hatch": self.hatch}


def looks(key: str, values: Sequence[object]) -> list[Look]:
    """A look for each value of a key: congestion controls have their own, numbers a scale from dark to bright, others a palette.

    No two are alike: of more values than the palette has, further ones are paler and have other strokes.
    """
    words = [str(value).split(" ")[0] for value in values]
    if key.rpartition(".")[2] == "cc" or (values and all(style.is_control(word) for word in words)):
        found = [Look(colour, style.marker(word)) for colour, word in zip(style.colours(words), words, strict=True)]
    elif len(values) > 2 and as_numbers(list(values)) is not None:
        found = [Look(colour, _MARKERS[i % len(_MARKERS)]) for i, colour in enumerate(_scale(len(values)))]
    else:
        found = [Look(_PALETTE[i % len(_PALETTE)], _MARKERS[i % len(_MARKERS)]) for i in range(len(values))]
    seen: Counter[str] = Counter()
    for i, each in enumerate(found):
        earlier = seen[each.colour]
        seen[each.colour] += 1
        if earlier:
            pale = style.paler(each.colour, 0.3 * ((earlier - 1) % 2 + 1))
            found[i] = replace(each, colour=pale, stroke=stroke(earlier), marker=_MARKERS[(i + earlier) % len(_MARKERS)])
    return found


def beside(look: Look, number: int, of_points: bool) -> Look:
    """The look of a value of a second key, by its number, in the colour of one of the first: a marker of its own where there are points,
    else a style of lines, and a filling of boxes."""
    if of_points:
        return Look(look.colour, _MARKERS[number % len(_MARKERS)], stroke(number))
    hatch = _HATCHES[number % len(_HATCHES)]
    return Look(look.colour, look.marker, stroke(number), hollow=number % 2 == 1, hatch=hatch)


def stroke(number: int) -> Any:
    """The style of lines of a number."""
    return _STROKES[number % len(_STROKES)]


def _scale(count: int) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    cividis = colormaps["cividis"]
    return [to_hex(cividis(_DARK + (_BRIGHT - _DARK) * i / (count - 1))) for i in range(count)]
