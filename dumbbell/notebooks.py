"""Output of notebooks: a table by cell with the sentence, the progress of runs, and a link to the explorer."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from dumbbell.errors import BadInput
from dumbbell.results import notebook

if TYPE_CHECKING:
    from dumbbell.executor.progress_state import Progress, ProgressState
    from dumbbell.results import Results

_MOST_RUNS = 1000
"""Runs that a table by cell is made of."""
_PATIENCE_S = 1.0
"""Runs that end sooner show no progress, so that the output of a notebook stays as it is."""
_EVERY_S = 0.25


def in_notebook() -> bool:
    """True if Jupyter runs this process."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def results_html(results: Results) -> str:
    """Results as a table with a row for each cell, the sentence, and how to explore them."""
    from dumbbell.comparing.across.answer import answer_of

    runs = results.runs
    if len(runs) < 2 or len(runs) > _MOST_RUNS or all(run.status == "invalid" for run in runs):
        return notebook.results_html(results)
    answer = answer_of(runs[0].name, runs)
    table, _ = answer.table().without(lambda fields: all(field in ("", "0") for field in fields))
    sentence = answer.sentence
    told = "" if sentence is None else f"<p><b>{escape(sentence)}</b></p>"
    return f"<p>{escape(notebook.results_text(results))}</p>{told}{table.html()}{explorer_line(results)}"


def explorer_line(results: Results) -> str:
    """A line that says how the explorer is opened; empty for results that are in memory alone."""
    return "" if results.folder is None else "<p><code>dumbbell.view(results)</code> opens them in the explorer.</p>"


@contextmanager
def notebook_progress(what: str) -> Iterator[Progress | None]:
    """Show the progress of runs below a cell of a notebook, and take it away at the end. None where there is no notebook."""
    if not in_notebook():
        yield None
        return
    from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

    began = time.monotonic()
    shown: list[Any] = []
    last = 0.0

    def update(state: ProgressState) -> None:
        nonlocal last
        now = time.monotonic()
        if now - began < _PATIENCE_S or now - last < _EVERY_S:
            return
        last = now
        page = _Html(_bar(what, state, now))
        if shown:
            shown[0].update(page)
        else:
            shown.append(display(page, display_id=True))  # type: ignore[no-untyped-call, unused-ignore]

    try:
        yield update
    finally:
        if shown:
            shown[0].update(_Html(""))


def _bar(what: str, state: ProgressState, now: float) -> str:
    left_s = state.left_s(now)
    left = "" if left_s is None else f", {left_s:.0f} s left"
    bar = f'<progress max="1" value="{state.share(now):.3f}"></progress>'
    return f"<label>{escape(what)} {bar} {state.done} of {state.total} runs{left}</label>"


class _Html:
    """A piece of a page."""

    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text


class Explorer:
    """The explorer of some results, served on the loopback until `close`, or until the process ends. Notebooks show a link to it."""

    def __init__(self, folder: Path) -> None:
        from dumbbell.explorer.runs import Runs
        from dumbbell.explorer.server import Server, Site
        from dumbbell.results.folder import find_store

        self.name = folder.resolve().name
        runs = Runs(find_store(folder), self.name)
        runs.keys()  # an error in reading is raised here
        self._server = Server(Site(runs, self.name))
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """The address for a browser on this machine."""
        return self._server.address

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __repr__(self) -> str:
        return f"<Explorer of {self.name}: {self.address}>"

    def _repr_html_(self) -> str:
        return f'<p><a href="{escape(self.address)}" target="_blank" rel="noopener">Explore {escape(self.name)}</a></p>'


def view(what: Results | str | Path) -> Explorer:
    """The explorer of a results folder, or of results that are kept in one, as `dumbbell view` serves it. A notebook shows a link to it.

    Raises `BadInput` for results in memory alone.
    """
    from dumbbell.study.folders import find_folder

    folder = what if isinstance(what, str | Path) else what.folder
    if folder is None:
        raise BadInput("the results are in memory alone; expected runs in a folder: dumbbell.run(scenario, out=...), or its name")
    return Explorer(find_folder(Path(folder)))
