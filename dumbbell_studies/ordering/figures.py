"""The page's figures from our runs: distributions of the load by the second, and every metric over the levels of each section."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.drawing.curves import Curve, LevelPanel, ScatterPanel, distribution_panels, level_panels, scatter_panels
from dumbbell.study.model import View
from dumbbell_studies.ordering.conditions import ALONE, BASE, CONGESTED, PRINTED, SECTIONS, VARIANCE, Condition
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.ordering.correlation import ENVIRONMENTS, OUTCOMES, PREDICTORS, correlations
from dumbbell_studies.ordering.formats import QUANTITIES, UTILIZATION
from dumbbell_studies.ordering.published import utilization
from dumbbell_studies.ordering.scenarios import NOBODY
from dumbbell_studies.ordering.trials import Trial, Trials, interval, trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dumbbell.results import Run

_SHOWN = (UTILIZATION, "cov_pta", "cov_ptp", "queue_cov", "utilization_cov")
"""Metrics of a section's figure."""
_TYPES = ("type 1", "type 2")
"""The types of cross traffic, in the order of `ALONE`."""
_LEVELS: Mapping[int, str] = {9: "CoV of the cross traffic", 10: "RTT"}
"""Section -> what its levels are, if its title does not say."""


def load_distribution(wanted: Mapping[str, Condition], title: str, runs: Sequence[Run], view: View) -> Figure:
    """Distribution functions of the bits of a second, a panel for each condition; of one run of each protocol, as the page has them."""
    found = trials(runs)
    grid = [
        [
            (
                name,
                [
                    (protocol, PROTOCOLS[protocol].style, found.own[protocol, condition][0].bits / 1e6)
                    for protocol in PROTOCOLS
                    if (protocol, condition) in found.own
                ],
            )
            for name, condition in wanted.items()
        ]
    ]
    return distribution_panels(title, grid, "load (Mbit/s of IP packets)", view.size)


def section(number: int, runs: Sequence[Run], view: View) -> Figure:
    """All metrics over the levels of a section, with the published utilisations."""
    found = trials(runs)
    levels = {level: condition for (each, level), condition in {**PRINTED, **VARIANCE, **CONGESTED}.items() if each == number}
    panels = [_panel(number, levels, name, found) for name in _SHOWN]
    return level_panels(f"Section {number}: {SECTIONS[number]}", [panels[:3], panels[3:]], view.size)


def cross_traffic(runs: Sequence[Run], view: View) -> Figure:
    """Draw distribution functions of the bits of a second of the two types of cross traffic, each alone on the link, over all its runs."""
    found = trials(runs)
    samples = [
        (name, PROTOCOLS[style].style, np.concatenate([trial.bits for trial in found.own[NOBODY, condition]]) / 1e6)
        for name, condition, style in zip(_TYPES, ALONE, PROTOCOLS, strict=False)
        if (NOBODY, condition) in found.own
    ]
    return distribution_panels("Section 2: cross traffic alone", [[("", samples)]], "load (Mbit/s of IP packets)", view.size)


def coefficients(runs: Sequence[Run], view: View) -> Figure:
    """Draw the correlation coefficients of each measure of stability with the two measures of variability, by environment."""
    found = correlations(trials(runs))
    environments = list(dict.fromkeys(each.environment for each in found))
    panels = []
    for outcome in OUTCOMES:
        curves = []
        for predictor, style in zip(PREDICTORS, PROTOCOLS, strict=False):
            chosen = {each.environment: each for each in found if (each.outcome, each.predictor) == (outcome, predictor)}
            values, lows, highs = zip(*((each.r, each.low, each.high) for each in map(chosen.__getitem__, environments)), strict=True)
            curves.append(Curve(predictor, PROTOCOLS[style].style, values, lows, highs))
        panels.append(LevelPanel("", f"correlation with {outcome}", environments, curves, x="environment"))
    return level_panels("Section 3: correlation coefficients", [panels], view.size)


def scatter(runs: Sequence[Run], view: View) -> Figure:
    """Every run: its measures of stability over its two measures of variability. One row per environment and predictor."""
    found = trials(runs)
    grid = []
    for environment, congested in ENVIRONMENTS.items():
        chosen = {
            name: [t for (protocol, c), repeats in found.own.items() if protocol == name and c.congested == congested for t in repeats]
            for name in PROTOCOLS
        }
        if not any(chosen.values()):
            continue
        for predictor, x in PREDICTORS.items():
            grid.append(
                [
                    ScatterPanel(
                        environment, predictor, outcome, [(name, PROTOCOLS[name].style, _points(ts, x, y)) for name, ts in chosen.items()]
                    )
                    for outcome, y in OUTCOMES.items()
                ]
            )
    return scatter_panels("Stability and variability, all runs", grid or [[ScatterPanel("no run", "", "", ())]], view.size)


SWEPT = (5, 6, 7, 8)
"""Sections with several levels and numbers."""
FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {
    "section-4-load": partial(load_distribution, {"320 ms, 1 MiB, 4 flows": BASE}, "Section 4: load by the second"),
    **{f"section-{number}": partial(section, number) for number in SWEPT},
}
VARIANCE_FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {
    "section-9-load": partial(
        load_distribution, {f"CoV {level}": condition for (_, level), condition in VARIANCE.items()}, "Section 9: load by the second"
    ),
    "section-9": partial(section, 9),
}
CONGESTED_FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {"section-10": partial(section, 10)}
SCATTER_FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {"section-3": coefficients, "correlations": scatter}
ALONE_FIGURES: Mapping[str, Callable[[Sequence[Run], View], Figure]] = {"section-2": cross_traffic}


def _panel(number: int, levels: Mapping[str, Condition], name: str, found: Trials) -> LevelPanel:
    title, value = QUANTITIES[name]
    curves = []
    for protocol, control in PROTOCOLS.items():
        limits = [_limits(found.own.get((protocol, condition), []), value) for condition in levels.values()]
        if all(math.isnan(mean) for mean, _, _ in limits):
            continue
        printed = [utilization().get((float(number), level, protocol), math.nan) for level in levels] if name == UTILIZATION else []
        published = [] if all(map(math.isnan, printed)) else printed
        means, lows, highs = zip(*limits, strict=True)
        curves.append(Curve(protocol, control.style, means, lows, highs, published))
    return LevelPanel("", title, list(levels), curves, x=_LEVELS.get(number, SECTIONS[number]))


def _limits(repeats: Sequence[Trial], value: Callable[[Trial], float]) -> tuple[float, float, float]:
    values = [number for trial in repeats if math.isfinite(number := value(trial))]
    return interval(values) if values else (math.nan, math.nan, math.nan)


def _points(repeats: Sequence[Trial], x: Callable[[Trial], float], y: Callable[[Trial], float]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x(trial) for trial in repeats]), np.array([y(trial) for trial in repeats])
