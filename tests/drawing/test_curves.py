import math

import numpy as np

from dumbbell.drawing.curves import Curve, LevelPanel, ScatterPanel, distribution_panels, level_panels, scatter_panels
from dumbbell.drawing.style import colour


def axes_of(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_levels_have_means_intervals_and_published_values():
    curves = [
        Curve("BIC", "bic", [0.9, math.nan], [0.8, math.nan], [1.0, math.nan], [0.88, 0.87]),
        Curve("SACK", "reno", [0.4, 0.5], [-math.inf, 0.4], [math.inf, 0.6]),
    ]
    figure = level_panels(
        "t", [[LevelPanel("a", "Utilisation", ["40 ms", "80 ms"], curves)] * 2, [LevelPanel("b", "CoV", ["1"], [])]], "screen"
    )
    first, *others = axes_of(figure)
    assert len(others) == 2
    assert [label.get_text() for label in first.get_xticklabels()] == ["40 ms", "80 ms"]
    assert {line.get_color() for line in first.lines} == {colour("bic"), colour("reno")}
    assert legend(figure) == ["BIC", "published (hollow)", "SACK"]
    bars = [segment for container in first.containers for segment in container[2][0].get_segments()]
    heights = [round(float(np.ptp(segment[:, 1])), 6) for segment in bars if len(segment) and np.isfinite(segment).all()]
    # No error bar where an interval is infinite.
    assert sorted(heights) == [0.0, 0.2, 0.2]


def test_numbers_stand_at_their_places_and_words_side_by_side():
    curves = [Curve(name, name, [10.0, 1000.0, 100.0], [9.0, 900.0, 90.0], [11.0, 1100.0, 110.0]) for name in ("bic", "reno")]
    panels = [LevelPanel("", "time (s)", levels, curves, logarithmic=True) for levels in (["40 ms", "80 ms", "320 ms"], ["a", "b", "c"])]
    numbers, words = axes_of(level_panels("t", [panels], "screen"))
    places = [[line.lines[0].get_xdata().tolist() for line in axis.containers] for axis in (numbers, words)]
    assert places[0] == [[40, 80, 320]] * 2
    assert places[1] == [[-0.125, 0.875, 1.875], [0.125, 1.125, 2.125]]
    assert [axis.containers[0].lines[0].get_linestyle() for axis in (numbers, words)] == ["-", "None"]
    assert (numbers.get_xscale(), words.get_xscale(), numbers.get_yscale()) == ("log", "linear", "log")
    assert {"10", "100", "1000"} <= {label.get_text() for label in numbers.get_yticklabels()}


def test_distribution_functions_rise_from_0_to_1():
    samples = [("BIC", "bic", np.array([3.0, 1.0, 2.0])), ("HTCP", "htcp", np.array([1.0, 5.0]))]
    figure = distribution_panels("t", [[("a", samples)]], "load", "print")
    (axis,) = axes_of(figure)
    assert [line.get_ydata()[[0, -1]].tolist() for line in axis.lines] == [[0, 1], [0, 1]]
    assert axis.lines[0].get_xdata().tolist() == [1, 1, 2, 3]
    assert legend(figure) == ["BIC", "HTCP"]


def test_scatter_plots_have_a_point_for_each_run():
    panel = ScatterPanel("moderate", "CoV-PTA", "utilisation", [("BIC", "bic", (np.array([0.1, 0.2]), np.array([0.9, 0.8])))])
    (axis,) = axes_of(scatter_panels("t", [[panel]], "screen"))
    assert axis.lines[0].get_xdata().tolist() == [0.1, 0.2]
    assert axis.lines[0].get_linestyle() == "None"
