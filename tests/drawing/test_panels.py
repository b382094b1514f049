import numpy as np

from dumbbell.drawing.panels import FlowPanel, flow_panels
from dumbbell.drawing.style import of_flow

TIMES = np.arange(0.0, 10.0)


def drawn(grid, **view):
    figure = flow_panels("t", grid, ["one", "two"], "screen", **view)
    return figure, [axis for axis in figure.axes if axis.get_subplotspec() is not None]


def test_panels_of_one_quantity_share_their_axis_and_flows_their_colours():
    small, large = (TIMES, TIMES), (TIMES, 10 * TIMES)
    grid = [
        [FlowPanel("a", "cwnd (kB)", [small, small], top=20), FlowPanel("b", "cwnd (kB)", [large])],
        [FlowPanel("c", "RTT (ms)", [small])] * 2,
    ]
    figure, axes = drawn(grid)
    assert axes[0].get_ylim() == axes[1].get_ylim() == (0, 1.02 * 90)
    assert axes[2].get_ylim() == (0, 1.02 * 9)
    assert len({axis.get_xlim() for axis in axes}) == 1
    assert [line.get_color() for line in axes[0].lines] == [of_flow(0)[0], of_flow(1)[0]]
    assert axes[1].lines[0].get_color() == of_flow(0)[0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]


def test_a_panel_without_a_run_says_so_and_axes_scale_to_the_time_shown():
    figure, axes = drawn([[FlowPanel("a", "q", [(TIMES, TIMES), (TIMES + 5, TIMES)]), FlowPanel("b", "q", [])]], start_s=0, stop_s=3)
    assert axes[0].get_xlim() == (0, 3)
    assert axes[0].get_ylim() == (0, 1.02 * 3)
    assert [text.get_text() for text in axes[1].texts] == ["no run"]
    # The second flow has no sample here.
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one"]


def test_points_are_drawn_without_lines():
    _, axes = drawn([[FlowPanel("a", "q", [(TIMES, TIMES)], form="points")]])
    assert axes[0].lines[0].get_linestyle() == "None"
    assert axes[0].lines[0].get_marker() == of_flow(0)[1]
