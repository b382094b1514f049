import pytest
from fitting import faults

from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps

SCALE = Scale("index", 0.0, 1.0, "viridis")
ROWS, COLUMNS = Axis("bandwidth (Mbit/s)", (1.0, 10.0)), Axis("delay (ms)", (0.0, 20.0, 80.0))


def test_both_axes_are_named_once_a_column_and_once_a_row():
    grid = Grid("a", {(1.0, 0.0): 0.5}, {(1.0, 0.0): "0.50"}, SCALE)
    figure = heatmaps("t", "", [[grid] * 2, [grid] * 2], ROWS, COLUMNS, "screen")
    panels = [axis for axis in figure.axes if axis.get_subplotspec() is not None and axis.get_title("left")]
    assert [axis.get_xlabel() for axis in panels] == ["", "", "delay (ms)", "delay (ms)"]
    assert [axis.get_ylabel() for axis in panels] == ["bandwidth\n(Mbit/s)", "", "bandwidth\n(Mbit/s)", ""]


@pytest.mark.parametrize("size", ["screen", "one-column", "two-column"])
def test_long_names_stay_beside_their_axis(size):
    """Two rows are not high."""
    rows = Axis("path.bottleneck.qdisc.limit (BDP)", (1.0, 4.0))
    scale = Scale("queueing delay, mean of all ports (ms)", 0.0, 1.0, "viridis")
    grid = Grid("a", {(1.0, 0.0): 0.5}, {(1.0, 0.0): "0.50"}, scale)
    figure = heatmaps("t", "a note", [[grid]], rows, COLUMNS, size)
    assert faults(figure) == []
    assert "".join(figure.axes[0].get_ylabel().split()) == "path.bottleneck.qdisc.limit(BDP)"
