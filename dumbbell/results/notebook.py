"""Display of runs in an interpreter and in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from dumbbell.errors import printable, shortened
from dumbbell.results.summary import FLOW_METRICS, RUN_METRICS

if TYPE_CHECKING:
    from dumbbell.results.run import Results, Run

_MOST_ROWS = 20
_LONGEST = 60
"""Characters of a coordinate."""


def run_text(run: Run) -> str:
    """One line: `<Run 12974fc62d of queues (path.rtt: 20ms, seed: 1): ok, sim, 3 flows>`."""
    cell = ", ".join(f"{key}: {_brief(value)}" for key, value in run.cell.items())
    count = len(run.flows)
    flows = f"{count} {'flow' if count == 1 else 'flows'}"
    name = printable(run.name)
    return f"<Run {run.key[:10]} of {name}{f' ({cell})' if cell else ''}: {run.status}, {run.engine.get('name', 'no engine')}, {flows}>"


def results_text(results: Results) -> str:
    """One line: `<Results: 60 runs of queues; path.rtt: 3 values, seed: 5 values>`."""
    names = list(dict.fromkeys(printable(run.name) for run in results.runs))
    keys = dict.fromkeys(key for run in results.runs for key in run.cell)
    counts = {key: len({run.cell.get(key) for run in results.runs}) for key in keys}
    swept = ", ".join(f"{key}: {count} {'value' if count == 1 else 'values'}" for key, count in counts.items())
    of = f" of {', '.join(names[:3])}{' ...' if len(names) > 3 else ''}" if names else ""
    damaged = f"; {len(results.damaged)} damaged left out" if results.damaged else ""
    count = len(results.runs)
    return f"<Results: {count} {'run' if count == 1 else 'runs'}{of}{f'; {swept}' if swept else ''}{damaged}>"


def run_html(run: Run) -> str:
    """The line, and a table of the flows' metrics."""
    there = [name for name in FLOW_METRICS if any(not math.isnan(values[name]) for values in run.summary.flows.values())]
    rows = [[flow, *(_number(values[name]) for name in there)] for flow, values in run.summary.flows.items()]
    reasons = "".join(f"<p>{escape(printable(reason))}</p>" for reason in run.reasons)
    return f"<p>{escape(run_text(run))}</p>{reasons}{_table(['flow', *there], rows)}"


def results_html(results: Results) -> str:
    """The line, and a table of the first runs."""
    keys = list(dict.fromkeys(key for run in results.runs for key in run.cell))
    shown = results.runs[:_MOST_ROWS]
    there = [name for name in RUN_METRICS if any(not math.isnan(run.summary.run[name]) for run in shown)]
    rows = [
        [run.key[:10], *(_brief(run.cell.get(key, "")) for key in keys), run.status, *(_number(run.summary.run[name]) for name in there)]
        for run in shown
    ]
    more = len(results.runs) - len(shown)
    rest = f"<p>and {more} more</p>" if more else ""
    return f"<p>{escape(results_text(results))}</p>{_table(['run', *keys, 'status', *there], rows)}{rest}"


SHOWN: list[Callable[[Results], str]] = [results_html]
"""The function that makes the page of results. `dumbbell` puts one there that has a row for each cell, which this room cannot compute."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(fields: Sequence[str], kind: str) -> str:
        return f"<tr>{''.join(f'<{kind}>{escape(field)}</{kind}>' for field in fields)}</tr>"

    return f"<table><thead>{line(head, 'th')}</thead><tbody>{''.join(line(row, 'td') for row in rows)}</tbody></table>"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4g}"


def _brief(value: object) -> str:
    return printable(shortened(str(value), _LONGEST))
