"""Progress of a command, on stderr: a progress bar on a terminal, otherwise nothing."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dumbbell.cli.output import human_count, human_time
from dumbbell.errors import printable
from dumbbell.executor.interrupt import is_interrupted
from dumbbell.executor.progress_state import Progress, ProgressState

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


_WIDEST, _NARROWEST = 40, 8
"""Limits of a progress bar's width, columns. Without room for the narrowest there is none."""
_TYPED = "^C"
"""Text that a terminal echoes on Ctrl-C; the progress line leaves room for it."""


@contextmanager
def progress_bar(what: str, unit: str = "runs", *, auto_refresh: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Gives a callback for (done, total); the time left is extrapolated from the time since the call with done = 0.

    Args:
        what: Label of the progress bar.
        unit: Name of the items, in the plural.
        auto_refresh: Redraw the progress bar between calls too. False where time is measured, which redrawing would disturb.
    """
    meter = _Counts(what, unit)
    with _display(meter, auto_refresh) as refresh:

        def update(done: int, total: int) -> None:
            meter.moved = time.monotonic()
            if not done:
                meter.began = meter.moved
            meter.done, meter.total = done, total
            refresh()

        yield update


@contextmanager
def runs_bar(what: str) -> Iterator[Progress]:
    """A progress bar for `execute`: runs done, time left, packets per second. Gives the callback."""
    meter = _Runs(what, "runs")
    with _display(meter) as refresh:

        def update(state: ProgressState) -> None:
            meter.state = state
            meter.done, meter.total = state.done, state.total
            refresh()

        yield update


@contextmanager
def _display(meter: _Meter, auto_refresh: bool = True) -> Iterator[Callable[[], None]]:
    """Displays a meter; gives the function that redraws it after a change."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        meter, console=Console(stderr=True), auto_refresh=auto_refresh, refresh_per_second=4, transient=True, redirect_stdout=False
    ) as live:
        yield (lambda: None) if auto_refresh else live.refresh


class _Meter(ABC):
    """A progress line: label, progress bar, and text such as the time left."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = printable(what), unit
        self.done = self.total = 0
        self.began = time.monotonic()

    @abstractmethod
    def share(self) -> float:
        """Share that is done, 0 to 1."""

    @abstractmethod
    def words(self) -> list[str]:
        """The texts next to the progress bar; on a narrow terminal the last is dropped first."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        width = options.max_width - len(_TYPED)
        words = self.words()
        while len(words) > 1 and len(self.what) + 1 + len("  ".join(words)) > width:
            words.pop()
        said = "  ".join(words)
        bar = min(_WIDEST, width - len(self.what) - len(said) - 3)
        if bar < _NARROWEST:
            text = Text(f"{self.what} {said}")
            text.truncate(width, overflow="ellipsis")
            yield text
            return
        line = Table.grid(padding=(0, 1))
        line.add_row(Text(self.what), ProgressBar(total=1.0, completed=self.share(), width=bar), said)
        yield line

    @property
    def counted(self) -> str:
        """For example `3 of 10 runs`."""
        return f"{self.done} of {self.total} {self.unit}"

    @property
    def elapsed_s(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began


class _Counts(_Meter):
    """Items that take about the same time each."""

    moved = 0.0
    """Time of the latest call, `time.monotonic()`."""

    def share(self) -> float:
        return self.done / self.total if self.total else 0.0

    def words(self) -> list[str]:
        counted = [self.counted] if self.total else []
        if not self.done:
            return [*counted, f"{human_time(self.elapsed_s)} so far"]
        left_s = (self.moved - self.began) * (self.total - self.done) / self.done - (time.monotonic() - self.moved)
        return [*counted, f"{human_time(max(left_s, 0.0))} left"]


class _Runs(_Meter):
    """Runs, weighted by their estimated cost."""

    state: ProgressState | None = None

    def share(self) -> float:
        return self.state.share(time.monotonic()) if self.state else 0.0

    def words(self) -> list[str]:
        if self.state is None:
            return []
        if is_interrupted():
            return ["interrupted", f"ending {len(self.state.running)} runs", "(Ctrl-C again leaves at once)"]
        left, rate = self.state.left_s(time.monotonic()), self.state.packets_per_s
        if left is None or rate is None:
            return [self.counted, f"{human_time(self.elapsed_s)} so far"]
        return [self.counted, f"{human_time(left)} left", f"{human_count(rate)} packets/s"]
