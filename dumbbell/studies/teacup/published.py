"""What the report prints: its parameters, the panels of its figures, its claims."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.studies.claims import read_claims

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True, order=True)
class Experiment:
    """What distinguishes one experiment from another; repeats of it are runs 0, 1, ..."""

    cc: str
    """In the report's words: newreno or cubic."""
    qdisc: str
    rtt_ms: float
    """Base RTT."""
    limit_packets: int
    """Buffer of the bottleneck."""


@dataclass(frozen=True)
class PublishedPanel:
    """One panel of a figure."""

    figure: int
    letter: str
    """Empty where a figure has one panel."""
    metric: str
    """throughput, cwnd or rtt."""
    experiment: Experiment
    run: int
    top: float
    """Of the y axis: kbit/s, kB (1000 bytes) or ms."""
    stop_s: float
    """Last tick of the time axis."""


@cache
def setting(scope: str, parameter: str) -> str:
    """A parameter as printed; KeyError if the report does not give it."""
    return _settings()[scope, parameter]


@cache
def flow_labels() -> tuple[str, ...]:
    """The flows as the figures' legends name them, in the order of their starts."""
    return tuple(setting("traffic", f"flow{number} source as labelled in figures") for number in (1, 2, 3))


@cache
def panels() -> tuple[PublishedPanel, ...]:
    """Every panel of figures 2 to 14.

    Where a panel's identifier and its caption disagree about the congestion control (figure 12 c and d show an experiment of newreno), the
    caption says what the panel is meant to show.
    """
    with (FOLDER / "teacup_experiments.csv").open(newline="", encoding="utf-8") as file:
        return tuple(
            PublishedPanel(
                figure=int(row["figure"]),
                letter=row["panel"],
                metric=row["plotted_metric"],
                experiment=Experiment(row["cc_in_caption"], row["aqm"], float(row["base_rtt_ms"]), int(row["buffer_pkts"])),
                run=int(row["run"]),
                top=float(row["y_axis_top_tick"]),
                stop_s=float(row["x_axis_ticks_s"].split()[-1]),
            )
            for row in csv.DictReader(file)
        )


@cache
def claim_rows() -> list[dict[str, str]]:
    """Rows of claims.csv."""
    return read_claims(FOLDER / "claims.csv")


@cache
def _settings() -> dict[tuple[str, str], str]:
    with (FOLDER / "teacup_config.csv").open(newline="", encoding="utf-8") as file:
        return {(row["scope"], row["parameter"]): row["value"] for row in csv.DictReader(file)}
