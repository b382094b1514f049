from dumbbell.drawing.heatmap import Axis, Grid, Scale, heatmaps

SCALE = Scale("index", 0.0, 1.0, "viridis")
ROWS, COLUMNS = Axis("bandwidth (Mbit/s)", (1.0, 10.0)), Axis("delay (ms)", (0.0, 20.0, 80.0))


def test_both_axes_are_named_once_a_column_and_once_a_row():
    grid = Grid("a", {(1.0, 0.0): 0.5}, {(1.0, 0.0): "0.50"}, SCALE)
    figure = heatmaps("t", "", [[grid] * 2, [grid] * 2], ROWS, COLUMNS, "screen")
    panels = [axis for axis in figure.axes if axis.get_subplotspec() is not None and axis.get_title("left")]
    assert [axis.get_xlabel() for axis in panels] == ["", "", "delay (ms)", "delay (ms)"]
    assert [axis.get_ylabel() for axis in panels] == ["bandwidth (Mbit/s)", "", "bandwidth (Mbit/s)", ""]
