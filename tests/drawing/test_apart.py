"""Curves that coincide."""

import numpy as np
from matplotlib.figure import Figure

from dumbbell.drawing.apart import tell_apart
from dumbbell.drawing.timeline import Line, Panel, timeline

TIMES = np.linspace(0.0, 10.0, 101)


def widths(*curves):
    figure = timeline("t", [Panel("y", [Line(str(i), (TIMES, values), "#000000") for i, values in enumerate(curves)])], "screen")
    return [line.get_linewidth() for line in figure.axes[0].lines]


def test_a_curve_that_others_cover_is_wider():
    wave = 5 + np.sin(TIMES)
    below, middle, above, other = widths(wave, wave, wave, 2 + np.cos(TIMES))
    assert below > 1.5 * middle > 1.5 * above == 1.5 * other


def test_curves_that_cross_are_not():
    assert len(set(widths(TIMES, 10 - TIMES, 5 + 0 * TIMES))) == 1


def test_curves_that_end_are_compared_where_they_are():
    first = np.where(TIMES < 5, 5.0, np.nan)
    below, above = widths(first, 5 + 0 * TIMES)
    assert below > above


def test_whiskers_of_boxes_stay_as_thin_as_they_are():
    figure = Figure()
    axis = figure.subplots()
    drawn = axis.boxplot([[1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.1, 3.1, 4.1, 9.0]], whiskerprops={"linewidth": 0.8})
    tell_apart(axis)
    assert {line.get_linewidth() for line in drawn["whiskers"]} == {0.8}
