"""The texts of a figure that a user sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dumbbell.comparing.across.observations import is_rate
from dumbbell.comparing.across.questions import DISTRIBUTIONS, Settled
from dumbbell.errors import BadInput, nearest, one_of, printable, shortened
from dumbbell.results.columns import bare, is_meant
from dumbbell.results.words import column_words, key_words

NONE = "none"
"""The title of a figure that is to have none."""
_LONGEST = 40
"""Characters of a label."""


@dataclass(frozen=True)
class Wording:
    """Texts that a user sets; dumbbell makes empty ones."""

    title: str | None = None
    """None: dumbbell makes a title. Empty, or `NONE`: the figure has neither a title nor the description below it."""
    x_label: str = ""
    y_label: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """A value as results have it, a key or a column -> its name in figures."""

    def of(self, value: object) -> str:
        """Return the name of a value."""
        text = str(value)
        return self.names.get(text, printable(shortened(text, _LONGEST)) if text else "all")

    def key(self, settled: Settled, key: str) -> str:
        """Return the name of a key."""
        return self.names[key] if key in self.names else key_words(key, settled.named)

    def column(self, settled: Settled, name: str) -> str:
        """Return the name of a column or a series, with the window that goodput is averaged over."""
        window = f"\nover {settled.window_s:.3g} s" if is_rate(name) and settled.window_s else ""
        return f"{self.names.get(name, settled.titles.get(name) or column_words(name))}{window}"


def applied(settled: Settled, wording: Wording) -> Wording:
    """Return the wording with names in full. Raises `BadInput` for a text that the figure has no place for."""
    manner = settled.manner
    several = len(settled.y) > 1
    across = settled.kind in DISTRIBUTIONS
    for option, text, places in (("y-label", wording.y_label, not across), ("x-label", wording.x_label, across)):
        if text and places and several:
            label = manner.offered("label", {settled.y[0]: "..."} if manner.python else f"{settled.y[0]}=TEXT")
            raise BadInput(f"{manner.name(option)} was given with {len(settled.y)} columns; expected {label} for each")
    known = list(dict.fromkeys(_shown(settled)))
    names = {}
    for name, text in wording.names.items():
        called = [*(each for each in known if is_meant(each, name)), *(each for each in known if _brief(settled, each, name))]
        if not called:
            raise BadInput(
                f"{manner.given('label', name)} is nothing that this figure names{nearest(name, known)}; expected {one_of(known)}"
            )
        names[called[0]] = text
    return replace(wording, names=names, title="" if wording.title == NONE else wording.title)


def _shown(settled: Settled) -> Iterator[str]:
    """Yield the names in a figure: values of keys, keys, and columns."""
    keys = [*settled.by, *([settled.panels] if settled.panels else [])]
    if settled.x and not settled.over_time and settled.kind != "scatter":
        keys.append(settled.x)
    for key in keys:
        yield from (str(each.at.get(key, "")) for found in settled.data.values() for each in found)
    yield from keys
    yield from settled.y
    if settled.kind == "scatter":
        yield settled.x


def _brief(settled: Settled, full: str, name: str) -> bool:
    """True if a name is that of a key by its last words, or of a column without its unit."""
    return (full in settled.keys and full.endswith(f".{name}")) or (full in (*settled.y, settled.x) and bare(full) == name)
