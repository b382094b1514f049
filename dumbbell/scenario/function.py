"""Congestion controls written in Python: functions that are called once a round trip. They live as long as the process that made them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, overload

from dumbbell.documents.problems import Unfit


@dataclass(slots=True)
class Round:
    """Facts that a congestion control gets after each round trip of its connection."""

    time_s: float
    """Virtual time."""
    cwnd: int
    """The window, segments."""
    ssthresh: int
    """Slow-start threshold, segments."""
    srtt_s: float
    """Smoothed RTT."""
    min_rtt_s: float
    """Least RTT of the last five minutes."""
    rtt_s: float | None
    """Least RTT of this round; None: nothing was measured."""
    elapsed_s: float
    """Duration of the round."""
    delivered: int
    """Segments delivered in it."""
    lost: int
    """Segments deemed lost in it."""
    marked: int
    """Segments delivered in it with an ECN echo."""
    in_flight: int
    """Segments in the network now."""
    state: str
    """Linux's congestion state: open, disorder, cwr, recovery or loss."""
    emitted: dict[str, float] = field(default_factory=dict)
    """Variables that `emit` was given in this round."""

    def emit(self, name: str, value: float) -> None:
        """Record a state variable, which is a series of the flow if the scenario has `series: [control]`. It has this value until the
        next. The name has its unit if it has one: `target_ms`. ValueError unless it has 1 to 40 printable characters of ASCII, no spaces.
        """
        if not (1 <= len(name) <= 40 and name.isascii() and name.isprintable() and " " not in name):
            raise ValueError(f"{name!r} is no name; expected 1 to 40 characters of ASCII without spaces")
        self.emitted[name] = float(value)


Answer = float | tuple[float | None, float | None] | None
"""A window, segments; or a window and a pacing rate, bit/s; None keeps the old values."""


@dataclass(frozen=True, eq=False)
class Function:
    """A congestion control of one's own, for `cc` of a flow."""

    name: str
    """With `.py` at the end, so that it is no built-in one."""
    make: Callable[[], Callable[[Round], Answer]]
    """Called for each connection."""
    paced: bool
    """It may return a pacing rate."""
    number: int
    """Its number among the functions of this process."""
    place: str
    """File and line of its definition; empty if it has none."""

    def __str__(self) -> str:
        """The name as a coordinate of a sweep."""
        return self.name

    def __call__(self, told: Round) -> Answer:
        """Return the answer of a connection that has just begun."""
        return self.make()(told)


_made: list[Function] = []


@overload
def control(function: Callable[..., Any], /) -> Function: ...


@overload
def control(*, paced: bool = False, name: str | None = None) -> Callable[[Callable[..., Any]], Function]: ...


def control(function: Callable[..., Any] | None = None, /, *, paced: bool = False, name: str | None = None) -> Any:
    """Make a congestion control from a function, or from a class whose objects are called, one for each connection.

        @dumbbell.control
        def aimd(r: dumbbell.Round):
            return r.cwnd / 2 if r.lost else r.cwnd + 1

        dumbbell.Flow(cc=aimd)

    dumbbell calls it after each round trip with a `Round`. It returns the window in segments (a fraction is cut off), or None to leave the
    window. With `paced` it may also return a pair of window and pacing rate (bit/s). The window holds until the next call, losses or not.
    Only after a retransmission timeout does the sender set the window itself. If the function raises an exception or gives a nonsensical
    answer, `dumbbell.run` ends with a `ControlFailed`. The exception itself is its cause, so that the traceback shows your line.

    Threads of this process compute runs with the function, and the runs are not stored. Raises `TypeError` if it cannot be called.
    """
    if function is None:
        return lambda decorated: _register(decorated, paced, name)
    return _register(function, paced, name)


def _register(function: Callable[..., Any], paced: bool, name: str | None) -> Function:
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called; expected a function or a class whose objects can be")
    called = name or getattr(function, "__name__", type(function).__name__).strip("<>_") or "control"
    make: Callable[[], Any] = function if inspect.isclass(function) else lambda: function
    made = Function(f"{called}.py", make, paced, len(_made), _place(function))
    _made.append(made)
    return made


def _place(function: Callable[..., Any]) -> str:
    """Return where it, or its class, is defined; empty if it is not written in Python."""
    try:
        known = function if inspect.isroutine(function) or inspect.isclass(function) else type(function)
        return f"{inspect.getsourcefile(known)}:{inspect.getsourcelines(known)[1]}"
    except (OSError, TypeError):
        return ""


def numbered(number: int) -> Function:
    """The function of that number. Raises `Unfit` if this process has made none."""
    if not isinstance(number, int) or not 0 <= number < len(_made):
        raise Unfit("the function is not of this process", "dumbbell.control(...) in it, and the executor threads")
    return _made[number]
