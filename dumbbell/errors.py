"""The errors that commands report in one line per problem, with the exit status of each kind."""

from __future__ import annotations

_LONGEST = 200


def printable(text: str) -> str:
    """The text with control characters and characters that are not UTF-8 escaped as in Python: one line that no terminal interprets."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def printable_lines(text: str) -> str:
    """As `printable`, but line breaks stay."""
    return "\n".join(map(printable, text.split("\n")))


def shortened(text: str, most: int = _LONGEST) -> str:
    """The text, or its beginning with `...` if it has more than `most` characters."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


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
    """A worker of a cluster is not used, or none is there yet, or what they computed is not put together yet."""


class EnvironmentFault(DumbbellError):
    """The machine lacks something: disk space, a native module, an engine."""

    exit_status = 3


class Interrupted(DumbbellError):
    """The user pressed Ctrl-C. The runs in the store are complete."""

    exit_status = 130
