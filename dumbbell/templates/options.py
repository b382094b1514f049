"""The options that a ready-made test declares in the comment of its file, and the settings that they stand for.

A line `#   --down RATE: rate of the downlink (path.bottleneck.rate).` below `# Options:` declares `--down`, which sets the keys in the
parentheses. A placeholder in the plural, such as NAMES, takes values with commas between them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache

from dumbbell.errors import BadInput
from dumbbell.templates import file, names

_OPTION = re.compile(r"#   --(?P<name>[a-z][a-z-]*) (?P<metavar>[A-Z]+): (?P<help>.+) \((?P<keys>[^()]+)\)\.")


@dataclass(frozen=True)
class Option:
    """An option of a test."""

    name: str
    """`--down`."""
    metavar: str
    help: str
    keys: Sequence[str]
    """Dotted keys that it sets, all to the same value."""

    @property
    def is_list(self) -> bool:
        """True if it takes several values."""
        return self.metavar.endswith("S")

    def settings(self, value: str) -> list[str]:
        """Return KEY=VALUE for each key."""
        return [f"{key}={f'[{value}]' if self.is_list else value}" for key in self.keys]


@cache
def options(name: str) -> tuple[Option, ...]:
    """Return the options of a test."""
    found = map(_OPTION.fullmatch, file(name).read_text(encoding="utf-8").splitlines())
    return tuple(
        Option(f"--{each['name']}", each["metavar"], each["help"], tuple(each["keys"].split(", "))) for each in found if each is not None
    )


def named_in(arguments: Sequence[str], flags: Collection[str] = ()) -> str | None:
    """Return the test that arguments of a command name; None if there is none among them. The value of an option does not count. `flags`:
    the options without a value."""
    for before, word in zip(("", *arguments), arguments, strict=False):
        if word in names() and (before in flags or not before.startswith("--") or "=" in before):
            return word
    return None


def as_settings(name: str, arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the test's own options as `--set KEY=VALUE`. Raises `BadInput` for an option without a value."""
    known = {option.name: option for option in options(name)}
    found: list[str] = []
    left = list(arguments)
    while left:
        word = left.pop(0)
        called, equals, value = word.partition("=")
        option = known.get(called)
        if option is None:
            found.append(word)
            continue
        if not equals:
            if not left or left[0].startswith("--"):
                raise BadInput(f"{called} needs a value: {option.help}; expected {called} {option.metavar}")
            value = left.pop(0)
        found += [part for setting in option.settings(value) for part in ("--set", setting)]
    return found
