"""`dumbbell bench`: what the simulator costs on this machine, beside what is aimed at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json, progress_bar

_COLUMNS: Mapping[str, tuple[str, Callable[[float], str]]] = {
    "packets_per_cpu_s": ("packets per CPU second", lambda value: f"{value / 1e6:.2f} M"),
    "instructions_per_packet": ("instructions per packet (recorded)", lambda value: f"{value:,.0f}"),
    "cost_ratio": ("cost per packet, relative", lambda value: f"{value:.2f}"),
    "ms": ("start-up and hand-over, CPU time", lambda value: f"{value:.2f} ms"),
    "wall_s": ("wall time", lambda value: f"{value:.0f} s"),
}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="bench")(_bench)


def _bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; by default all but sce-draft, which takes minutes.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure delivered data packets per CPU second (set-up and hand-over included, the best of five runs) and print the targets."""
    from dumbbell.bench.cases import DRAFT, NAMES
    from dumbbell.bench.measure import check, measure

    chosen = names or [name for name in NAMES if name != DRAFT]
    check(chosen)
    rows = []
    for name in chosen:
        note(f"{name} ...")
        with progress_bar(name) as progress:
            rows.append(measure(name, progress))
    if json:
        print_json(rows)
    else:
        print_columns([("benchmark", "measured", "value", "target", ""), *(line for row in rows for line in _lines(row))])


def _lines(row: Mapping[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """A line for every value of a benchmark that there is."""
    targets = row["targets"]
    return [
        (row["name"], label, shown(row[key]), shown(targets[key]) if key in targets else "", _verdict(key, row[key], targets.get(key)))
        for key, (label, shown) in _COLUMNS.items()
        if row.get(key) is not None
    ]


def _verdict(key: str, value: float, target: float | None) -> str:
    if target is None:
        return ""
    return "met" if (value >= target if key == "packets_per_cpu_s" else value <= target) else "not met"
