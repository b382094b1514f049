"""The published data: parameters, panels of the figures, claims."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dumbbell.study.claims import read_claims

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True, order=True)
class Experiment:
    """The coordinates of an experiment. The report numbers its runs as runs 0, 1, ..."""

    cc: str
    """Congestion control as the report names it: newreno or cubic."""
    qdisc: str
    rtt_ms: float
    """Base RTT."""
    limit_packets: int
    """Limit of the bottleneck's queue."""


@dataclass(frozen=True)
class PublishedPanel:
    """One panel of a figure."""

    figure: int
    letter: str
    """Empty if the figure has only one panel."""
    metric: str
    """throughput, cwnd or rtt."""
    experiment: Experiment
    run: int
    top: float
    """Upper end of the y axis: kbit/s, kB (1000 bytes) or ms."""
    stop_s: float
    """Last tick of the time axis."""


@cache
def setting(scope: str, parameter: str) -> str:
    """A parameter as the report prints it. Raises `KeyError` if it is not printed."""
    return _settings()[scope, parameter]


@cache
def flow_labels() -> tuple[str, ...]:
    """The flows as the figures' legends name them, in the order of their starts."""
    return tuple(setting("traffic", f"flow{number} source as labelled in figures") for number in (1, 2, 3))


@cache
def panels() -> tuple[PublishedPanel, ...]:
    """Every panel of figures 2 to 14.

    In figure 12 c and d, the identifier of the experiment says newreno and the caption says cubic. The caption counts, because it tells
    what the panel is meant to show.
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
