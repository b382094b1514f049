"""How far a command is, on stderr: a bar on a terminal; elsewhere a line for every tenth of many."""

from __future__ import annotations

import os
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dumbbell.cli.output import human_count, human_time, note

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from dumbbell.engines.execute import Progress
    from dumbbell.executor.standing import Standing

_WIDEST, _NARROWEST = 40, 8
"""Columns of a bar; where fewer are left there is none."""
_TYPED = "^C"
"""Echoed by a terminal on Ctrl-C; the line leaves room for it."""
_MANY = 10
"""Things of which every tenth is told in a line of its own."""


@contextmanager
def progress_bar(what: str, unit: str = "runs", *, by_itself: bool = True, lines: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Gives a callback for (done, total); the time that is left is reckoned from when nothing was done.

    Args:
        what: Is done.
        unit: Of what is counted, in the plural.
        by_itself: The bar is drawn again between calls too. False: it takes no time then, where time is measured.
        lines: Elsewhere than on a terminal there are lines.
    """
    meter = _Counts(what, unit)
    with _shown(meter, by_itself, lines) as refresh:

        def tell(done: int, total: int) -> None:
            meter.moved = time.monotonic()
            if not done:
                meter.began = meter.moved
            meter.done, meter.total = done, total
            refresh()

        yield tell


@contextmanager
def runs_bar(what: str) -> Iterator[Progress]:
    """A progress display for `execute`: runs done, time left, packets per second. Gives the callback."""
    meter = _Runs(what, "runs")
    with _shown(meter) as refresh:

        def tell(standing: Standing) -> None:
            meter.standing = standing
            meter.done, meter.total = standing.done, standing.total
            refresh()

        yield tell


@contextmanager
def _shown(meter: _Meter, by_itself: bool = True, lines: bool = True) -> Iterator[Callable[[], None]]:
    """Shows a meter; gives what is to be called when it has moved."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _tenths(meter) if lines else lambda: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(
        meter, console=Console(stderr=True), auto_refresh=by_itself, refresh_per_second=4, transient=True, redirect_stdout=False
    ) as live:
        yield (lambda: None) if by_itself else live.refresh


def _tenths(meter: _Meter) -> Callable[[], None]:
    told = 0

    def tell() -> None:
        nonlocal told
        tenth = 10 * meter.done // meter.total if meter.total >= _MANY else 0
        if tenth > told:
            told = tenth
            note(f"{meter.what}: {meter.done} of {meter.total} {meter.unit}")

    return tell


class _Meter(ABC):
    """A line: what is done, a bar, and words about it."""

    def __init__(self, what: str, unit: str) -> None:
        self.what, self.unit = what, unit
        self.done = self.total = 0
        self.began = time.monotonic()

    @abstractmethod
    def share(self) -> float:
        """How much is done, 0 to 1."""

    @abstractmethod
    def words(self) -> list[str]:
        """What is said of it; the last is left out first where the terminal is narrow."""

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
        line.add_row(self.what, ProgressBar(total=1.0, completed=self.share(), width=bar), said)
        yield line

    @property
    def counted(self) -> str:
        """What is done of how many."""
        return f"{self.done} of {self.total} {self.unit}"

    @property
    def elapsed_s(self) -> float:
        """Since it began."""
        return time.monotonic() - self.began


class _Counts(_Meter):
    """Things that cost about the same."""

    moved = 0.0
    """When the last of them was done, `time.monotonic()`."""

    def share(self) -> float:
        return self.done / self.total if self.total else 0.0

    def words(self) -> list[str]:
        counted = [self.counted] if self.total else []
        if not self.done:
            return [*counted, f"{human_time(self.elapsed_s)} so far"]
        left_s = (self.moved - self.began) * (self.total - self.done) / self.done - (time.monotonic() - self.moved)
        return [*counted, f"{human_time(max(left_s, 0.0))} left"]


class _Runs(_Meter):
    """Runs, each by what it is expected to cost."""

    standing: Standing | None = None

    def share(self) -> float:
        return self.standing.share(time.monotonic()) if self.standing else 0.0

    def words(self) -> list[str]:
        from dumbbell.executor.interrupt import noted

        if self.standing is None:
            return []
        if noted():
            return ["interrupted", f"finishing {len(self.standing.running)} runs", "(Ctrl-C again leaves at once)"]
        left, rate = self.standing.left_s(time.monotonic()), self.standing.packets_per_s
        if left is None or rate is None:
            return [self.counted, f"{human_time(self.elapsed_s)} so far"]
        return [self.counted, f"{human_time(left)} left", f"{human_count(rate)} packets/s"]
