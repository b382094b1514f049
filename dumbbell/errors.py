"""What can go wrong on the user's side of the house, with the exit status each kind of trouble ends in."""

from __future__ import annotations


class DumbbellError(Exception):
    """Trouble that is told in one line per problem, without a traceback."""

    exit_status = 1


class BadInput(DumbbellError):
    """What the user gave cannot be used: a scenario, a results folder, a destination."""

    exit_status = 2


class EnvironmentFault(DumbbellError):
    """The machine does not provide what is needed: disk space, a native module, an engine."""

    exit_status = 3


class Interrupted(DumbbellError):
    """The user pressed Ctrl-C; what is in the store is whole."""

    exit_status = 130
