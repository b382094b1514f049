import numpy as np
import pytest

from dumbbell.drawing.timeline import Line, Panel, timeline

TIMES = np.arange(0.0, 10.0, 0.1)


@pytest.mark.parametrize("size", ["screen", "print"])
def test_labels_are_within_the_figure_however_wide_the_ticks_are(size):
    narrow, wide = 20 + np.sin(TIMES), 28.2 + 4.1 * np.sin(TIMES)
    panels = [Panel("cwnd (packets)", [Line("a", (TIMES, narrow), "#000000")])]
    panels.append(Panel("RTT (ms)", [Line("a", (TIMES, wide), "#000000")], from_zero=False))
    figure = timeline("t", panels, size)
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    assert all(axis.yaxis.label.get_window_extent(renderer).x0 >= 0 for axis in figure.axes)
