"""The errors that commands report in one line per problem, with the exit status of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

_LONGEST = 200
_MOST_NAMES = 200
"""Names among which a similar one is looked for, and which are listed."""
_SIMILAR = 0.6
"""Least likeness of a name that is suggested: twice the characters in common over all characters."""
_FEWEST_CHARACTERS = 3
"""Minimum length of a name that is looked for within others."""


def printable(text: str) -> str:
    """The text with control characters and characters that are not UTF-8 escaped as in Python: one line that no terminal interprets."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    """Return text like `printable`, but keep line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(text: str, most: int = _LONGEST) -> str:
    """The text, or its beginning with `...` if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint ` (did you mean 'cubic'?)` if one of the first `_MOST_NAMES` known names is close to `name`, or has it in it, else nothing."""
    import difflib

    text, names = shortened(str(name)), list(dict.fromkeys(islice(known, _MOST_NAMES)))
    close = difflib.get_close_matches(text, names, n=1, cutoff=_SIMILAR)
    if not close and len(text) >= _FEWEST_CHARACTERS:
        close = [each for each in names if text.lower() in each.lower()]
    return f" (did you mean {close[0]!r}?)" if close else ""


def one_of(known: Iterable[str], most: int = _MOST_NAMES) -> str:
    """`one of a, b, c`, or `a` alone; of more names than `most` the first of them."""
    names = list(known)
    more = len(names) - most
    return ("one of " if len(names) > 1 else "") + ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def all_of(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


class DumbbellError(Exception):
    """An error that is reported without a traceback."""

    exit_status = 1


class BadInput(DumbbellError):
    """The user's input cannot be used: a scenario, a results folder, a destination."""

    exit_status = 2

    def __init__(self, *problems: str) -> None:
        """A line for each problem."""
        super().__init__("\n".join(map(printable, problems)))


class ControlFailed(BadInput):
    """A congestion control in Python raised an exception, which is the cause of this one, or returned nonsense."""


class DamagedRun(BadInput):
    """A stored run is not as it was written."""

    exit_status = 1

    def __init__(self, problem: str, key: str) -> None:
        """`key` is that of the run."""
        super().__init__(problem)
        self.key = key

    def __reduce__(self) -> tuple[type[DamagedRun], tuple[str, str]]:
        return type(self), (str(self), self.key)


class DamagedRunWarning(UserWarning):
    """A stored run is not as it was written, and left out."""


class WorkerWarning(UserWarning):
    """A worker of a cluster is not used, or none is there yet, or their results are not joined yet."""


class EnvironmentFault(DumbbellError):
    """The machine lacks something: disk space, a native module, an engine."""

    exit_status = 3


class Interrupted(DumbbellError):
    """The user pressed Ctrl-C. The runs in the store are complete."""

    exit_status = 130
