"""Congestion controls written in Python: functions that are called once a round trip. They live as long as the process that made them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, overload

from dumbbell.scenario.problems import Unfit


@dataclass(slots=True)
class Round:
    """What a control is told after each round trip of its connection."""

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
    """How long the round took."""
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


Answer = float | tuple[float | None, float | None] | None
"""A window, segments; or a window and a pacing rate, bit/s; None leaves what was."""


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
    """Which of this process it is."""
    place: str
    """File and line of its definition; empty if it has none."""

    def __str__(self) -> str:
        """The name as a coordinate of a sweep."""
        return self.name

    def __call__(self, told: Round) -> Answer:
        """What a connection that has just begun would do."""
        return self.make()(told)


_made: list[Function] = []


@overload
def control(function: Callable[..., Any], /) -> Function: ...


@overload
def control(*, paced: bool = False, name: str | None = None) -> Callable[[Callable[..., Any]], Function]: ...


def control(function: Callable[..., Any] | None = None, /, *, paced: bool = False, name: str | None = None) -> Any:
    """Makes a congestion control of a function, or of a class whose objects are called, one for each connection.

        @dumbbell.control
        def aimd(r: dumbbell.Round):
            return r.cwnd / 2 if r.lost else r.cwnd + 1

        dumbbell.Flow(cc=aimd)

    It is called after each round trip with a `Round`, and returns the window in segments (a fraction is cut off), or None to leave it; with
    `paced`, also a pair of window and pacing rate (bit/s). The window holds until the next call, losses or not; only after a
    retransmission timeout does the sender set it itself. What it raises, and an answer of nonsense, ends `dumbbell.run` with a
    `ControlFailed`; the exception itself is its cause, so that the traceback shows your line.

    Runs with it are computed in this process by threads, and are not stored. Raises `TypeError` if it cannot be called.
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
    """Where it, or the class of it, is defined; empty of what is not written in Python."""
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
