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


@pytest.mark.parametrize("size", ["screen", "print"])
@pytest.mark.parametrize("length", [3, 20, 60])
def test_a_legend_is_no_wider_than_the_figure(size, length):
    panels = [Panel("cwnd (packets)", [Line(f"{i}" + "x" * (length + i), (TIMES, TIMES + i), "#000000") for i in range(7)])]
    figure = timeline("t", panels, size)
    figure.draw_without_rendering()
    legend = figure.legends[0].get_window_extent(figure.canvas.get_renderer())
    assert legend.x1 <= figure.bbox.width
    columns = {round(text.get_window_extent().x0) for text in figure.legends[0].get_texts()}
    assert len(columns) > 1 or length >= 60
