"""Figures of many runs."""

import math
from dataclasses import replace

import numpy as np
import pytest
from across import outline, sweep
from support import FLOW, tables

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.questions import Asked, settle, summary
from dumbbell.drawing import style
from dumbbell.drawing.across.figure import across_figure, as_file_name, describe, file_name, with_titles
from dumbbell.drawing.across.looks import looks
from dumbbell.drawing.across.scales import Scales
from dumbbell.drawing.across.sheet import looks_of, thinned
from dumbbell.drawing.across.wording import Wording
from dumbbell.errors import BadInput
from dumbbell.results import Block, Run

PLAIN = Wording()


def draw(asked, *sources, wording=PLAIN, size="screen", **more):
    return across_figure(settle(Asked(**asked), sources or [sweep()]), wording, size, **more)


def shown(figure):
    return [axis for axis in figure.axes if axis.get_visible()]


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_lines_are_means_over_repeats_with_bands():
    (axis,) = shown(draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}))
    assert [line.get_xdata().tolist() for line in axis.lines] == [[20, 80, 160]] * 2
    np.testing.assert_allclose(axis.lines[0].get_ydata(), [10.45, 11.05, 11.85])
    assert [line.get_color() for line in axis.lines] == [style.colour("reno").lower(), style.colour("cubic").lower()]
    low, high = axis.collections[0].get_datalim(axis.transData).intervaly
    assert (low, high) == (pytest.approx(10.2446, abs=1e-3), pytest.approx(12.0554, abs=1e-3))
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("base RTT (ms)", "goodput (Mbit/s)")
    assert axis.get_ylim()[0] == 0


def test_the_figure_says_of_what_it_is():
    figure = draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)})
    texts = [figure.get_suptitle(), *(text.get_text() for text in figure.texts)]
    assert "made: goodput (Mbit/s) over base RTT" in texts[0]
    assert "mean, 95 % interval (Student's t) of 4 runs each" in texts
    assert legend(figure) == ["reno", "cubic"]


def test_texts_may_be_set():
    wording = Wording("A title", "round trip", "rate", {"reno": "NewReno", "flows.0.cc": "TCP"})
    figure = draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}, wording=wording)
    (axis,) = shown(figure)
    assert figure.get_suptitle().startswith("A title")
    assert (axis.get_xlabel(), axis.get_ylabel(), legend(figure)) == ("round trip", "rate", ["NewReno", "cubic"])
    assert figure.legends[0].get_title().get_text() == "TCP"


def test_words_on_the_x_axis_have_points_with_bars():
    (axis,) = shown(draw({"x": "flows.0.cc", "y": ("goodput",), "by": ("rtt",)}))
    assert [label.get_text() for label in axis.get_xticklabels()] == ["reno", "cubic"]
    assert all(container.lines[0].get_linestyle() == "None" for container in axis.containers)


def test_panels_share_their_axes():
    figure = draw(
        {"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",), "panels": "limit"}, sweep(limit=("10p", "100p", "1000p", "5p", "1p"))
    )
    axes = shown(figure)
    assert [axis.get_title("left") for axis in axes] == [f"limit: {limit}" for limit in ("1p", "5p", "10p", "100p", "1000p")]
    assert len({axis.get_ylim() for axis in axes}) == 1
    assert [bool(axis.get_ylabel()) for axis in axes] == [True, False, False, True, False]


def test_boxes_have_all_flows_of_all_runs():
    figure = draw({"kind": "box", "x": "rtt", "y": ("goodput",), "by": ("group",), "where": ("flows.0.cc=reno",)})
    (axis,) = shown(figure)
    assert len(axis.patches) == 6
    assert legend(figure) == ["a", "b"]


def test_a_distribution_rises_from_0_to_1():
    (axis,) = shown(draw({"kind": "cdf", "y": ("goodput",), "by": ("flows.0.cc",), "over": ("rtt",)}))
    for line in axis.lines:
        assert line.get_ydata()[[0, -1]].tolist() == [0, 1]
        assert len(line.get_xdata()) == 13
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("goodput (Mbit/s)", "share of runs")


def test_the_complement_of_a_distribution_falls_on_a_logarithmic_axis():
    (axis,) = shown(draw({"kind": "ccdf", "y": ("goodput",), "by": ("flows.0.cc",), "over": ("rtt",)}))
    assert axis.get_yscale() == "log"
    assert axis.get_ylim() == (0.5 / 12, 1)
    for line in axis.lines:
        np.testing.assert_allclose(line.get_ydata(), 1 - np.arange(13) / 12, atol=1e-12)
    assert axis.get_ylabel() == "share of runs above"


def test_axes_may_be_logarithmic_and_have_ends():
    scales = Scales(frozenset("xy"), {"y": (0.1, 1000.0)})
    (axis,) = shown(draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}, scales=scales))
    assert (axis.get_xscale(), axis.get_yscale(), axis.get_ylim()) == ("log", "log", (0.1, 1000.0))
    labels = [label for label in axis.get_yticklabels() if 0.1 <= label.get_position()[1] <= 1000]
    assert [label.get_text() for label in labels] == ["0.1", "1", "10", "100", "1000"]
    scales = Scales(limits={"x": (None, 100.0), "y": (5.0, None)})
    (axis,) = shown(draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}, scales=scales))
    assert axis.get_xlim()[1] == 100
    assert axis.get_ylim()[0] == 5


@pytest.mark.parametrize(
    ("asked", "scales", "line"),
    [
        (
            {"kind": "heat", "x": "rtt", "y": ("goodput",)},
            Scales(frozenset("y")),
            "--log y was given, and a heat map has no axis of numbers",
        ),
        (
            {"x": "flows.0.cc", "y": ("goodput",), "by": ("rtt",)},
            Scales(limits={"x": (0, 1)}),
            "--xlim was given, and flows.0.cc has words",
        ),
        ({"x": "rtt", "y": ("goodput", "drops"), "by": ("flows.0.cc",)}, Scales(limits={"y": (0, 1)}), "--ylim was given with 2 columns"),
        ({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}, Scales(limits={"y": (2, 1)}), "--ylim ends at 1, which is not above 2"),
    ],
)
def test_scales_without_an_axis_are_errors(asked, scales, line):
    with pytest.raises(BadInput) as error:
        draw(asked, scales=scales)
    assert str(error.value).startswith(line)


def test_the_axis_of_a_distribution_begins_below_0_only_if_a_value_does():
    runs = [outline({"seed": i}, [("a", "a", "reno", "forward", rate)]) for i, rate in enumerate((0.1, 24.0))]
    (axis,) = shown(draw({"kind": "cdf", "y": ("goodput",)}, RunSet("made", runs)))
    assert axis.get_xlim()[0] == 0


def test_an_ellipse_has_one_standard_deviation_and_the_delay_axis_is_reversed():
    runs = [
        outline({"cc": "reno", "seed": i}, [("f", "f", "reno", "forward", 1.0)], goodput_mbit=10 + y, srtt_mean_ms=50 + x)
        for i, (x, y) in enumerate(((-4, 0), (4, 0), (0, -2), (0, 2)))
    ]
    (axis,) = shown(draw({"kind": "scatter", "y": ("goodput",), "by": ("cc",)}, RunSet("a", runs)))
    (ellipse,) = axis.patches
    assert tuple(ellipse.center) == (50, 10)
    # The variances are 32 / 4 and 8 / 4.
    assert sorted((ellipse.width, ellipse.height)) == pytest.approx([2 * math.sqrt(2), 2 * math.sqrt(8)])
    left, right = axis.get_xlim()
    assert left > right


def test_a_heat_map_has_a_cell_for_each_pair():
    figure = draw({"kind": "heat", "x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)})
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.texts] == ["11.4", "12.1", "12.8", "10.4", "11.1", "11.8"]
    assert [label.get_text() for label in axis.get_xticklabels()] == ["20", "80", "160"]
    assert [label.get_text() for label in axis.get_yticklabels()] == ["cubic", "reno"]
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("base RTT (ms)", "congestion control")


def test_the_summary_has_a_row_for_each_column_and_title_once():
    figure = across_figure(summary([sweep(limit=("1p", "2p"))]), PLAIN, "screen")
    axes = shown(figure)
    assert len(axes) == 6
    assert [axis.get_title("left") for axis in axes] == ["limit: 1p", "limit: 2p", "", "", "", ""]


def test_looks_never_repeat():
    for key, values in (
        ("flows.0.cc", ["cubic", "cubic hystart=off", "reno", "own", "other"]),
        ("qdisc", [f"q{i}" for i in range(20)]),
        ("path.rtt", [f"{i}ms" for i in range(1, 13)]),
    ):
        found = looks(key, values)
        assert len({(look.colour, look.marker, str(look.stroke)) for look in found}) == len(values)
    assert looks("cc", ["cubic"])[0].colour == style.colour("cubic").lower()


def test_labels_of_ticks_that_would_overlap_are_left_out():
    assert thinned(["10", "20", "40"], [0.0, 0.5, 1.0], 100, 10) == ["10", "20", "40"]
    assert thinned(["1000", "2000", "4000"], [0.0, 0.1, 1.0], 100, 10) == ["1000", "", "4000"]


def test_the_legend_names_only_what_is_drawn():
    found = sweep()
    runs = [outline(run.cell, [("f", "f", "reno", "forward", 5.0)], groups=[("web", 30.0)]) for run in found.runs]
    figure = draw(
        {"kind": "lines", "y": ("goodput",), "x": "rtt", "by": ("group",), "per": "group", "over": ("flows.0.cc",)}, RunSet("a", runs)
    )
    assert legend(figure) == ["f"]


def test_over_time_few_repeats_have_the_range_of_their_values():
    few, many = ([RunSet("a", [series_run(seed, 4.0 + seed) for seed in range(1, count + 1)])] for count in (3, 10))
    assert [settle(Asked(x="time", y=("srtt",)), source).statistic for source in (few, many)] == ["spread", "mean"]
    assert settle(Asked(x="time", y=("srtt",), statistic="mean"), few).statistic == "mean"


def test_names_of_files_say_what_is_drawn():
    assert file_name(settle(Asked(x="rtt", y=("goodput",), by=("flows.0.cc",)), [sweep()])) == "goodput-over-rtt-by-flows.0.cc"
    assert (
        file_name(settle(Asked(kind="scatter", y=("goodput",), panels="rtt"), [sweep()]))
        == "goodput-against-srtt_mean-by-flows.0.cc-panels-rtt"
    )
    assert file_name(settle(Asked(kind="box", x="flows.0.cc", by=("rtt",)), [sweep()])) == "box-goodput-over-flows.0.cc-by-rtt"


def test_what_is_taken_together_is_said():
    note = describe(settle(Asked(x="rtt", y=("goodput",), over=("flows.0.cc",)), [sweep()]))
    assert note == "median, 5th to 95th percentile of 8 runs each, all values of congestion control together"
    note = describe(settle(Asked(x="rtt", y=("goodput",), per="flow", over=("flows.0.cc", "group"), statistic="median"), [sweep()]))
    assert note.endswith("; flows of one run that look alike are averaged first")


def series_run(seed, rate_mbit, flows=("a",), rtt_ms=20.0):
    """Flows with goodput of `rate_mbit` each and this RTT, for 10 s."""
    t_ns = np.arange(0, 10_000_000_001, 100_000_000)
    blocks = tuple(
        Block(
            f"flow/{name}",
            ("cwnd", "srtt_ms", "rx_bytes"),
            t_ns,
            np.array([np.full(len(t_ns), 10.0), np.full(len(t_ns), rtt_ms), rate_mbit * t_ns / 8e3]),
        )
        for name in flows
    )
    counters = {f"flow/{name}": {**FLOW, "start_ns": 0, "active_ns": 10**10} for name in flows}
    return Run(
        key=f"{seed}" * 32,
        name="made",
        cell={"seed": seed},
        scenario={},
        status="ok",
        reasons=(),
        **tables(counters),
        digest="",
        engine={"name": "sim"},
        samples=blocks,
    )


def test_series_over_time_are_means_over_runs():
    source = RunSet("a", [series_run(1, 4.0), series_run(2, 6.0)])
    (goodput, srtt) = shown(draw({"x": "time", "y": ("goodput", "srtt")}, source))
    np.testing.assert_allclose(goodput.lines[0].get_ydata(), 5.0)
    assert goodput.lines[0].get_xdata()[[0, 1, -1]] == pytest.approx([0, 0.2, 10])
    assert goodput.lines[0].get_drawstyle() == "steps-pre"
    assert goodput.get_ylabel() == "goodput (Mbit/s)\nover 0.2 s"
    np.testing.assert_allclose(srtt.lines[0].get_ydata(), 20.0)
    assert srtt.get_xlabel() == "time (s)"


def test_a_series_of_one_flow_is_drawn_as_sampled():
    asked = Asked(x="time", y=("cwnd",))
    settled = settle(asked, [RunSet("a", [series_run(1, 4.0)])])
    assert describe(settled) == "as sampled"
    (axis,) = shown(across_figure(settled, PLAIN, "screen", 2.0, 4.0))
    assert len(axis.lines[0].get_xdata()) == 21
    assert axis.get_xlim() == (2.0, 4.0)


def test_samples_of_a_series_have_a_distribution():
    source = RunSet("a", [series_run(1, 4.0, rtt_ms=20.0), series_run(2, 6.0, rtt_ms=30.0)])
    (axis,) = shown(draw({"kind": "cdf", "y": ("srtt",)}, source))
    assert set(axis.lines[0].get_xdata()) == {20.0, 30.0}
    assert axis.get_ylabel() == "share of samples"


def test_files_are_the_same_each_time_and_texts_are_texts(tmp_path):
    names = ("png", "svg", "pdf")
    for folder in ("one", "two"):
        style.save(draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)}), tmp_path / folder, "f", names)
    for name in names:
        assert (tmp_path / "one" / f"f.{name}").read_bytes() == (tmp_path / "two" / f"f.{name}").read_bytes()
    assert ">goodput (Mbit/s)</text>" in (tmp_path / "one" / "f.svg").read_text()
    assert b"/FontFile2" in (tmp_path / "one" / "f.pdf").read_bytes() or b"/Type0" in (tmp_path / "one" / "f.pdf").read_bytes()


def test_a_notebook_shows_a_figure():
    assert draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",)})._repr_png_().startswith(b"\x89PNG")


def test_names_are_no_markup_and_no_mathematics():
    name = "<b>$x^2$</b>\x1b[31m"
    figure = draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",), "panels": "k"}, sweep(k=(name, "b")))
    assert shown(figure)[0].get_title("left") == "k: <b>$x^2$</b>\\x1b[31m"
    figure._repr_png_()


def test_words_that_do_not_fit_are_slanted_and_none_is_left_out():
    names = tuple(f"a-long-name-of-a-queue-{i}" for i in range(9))
    (axis,) = shown(
        draw({"x": "qdisc", "y": ("goodput",), "where": ("flows.0.cc=reno", "rtt=20ms")}, sweep(qdisc=names), size="one-column")
    )
    labels = axis.get_xticklabels()
    assert [label.get_text() for label in labels] == list(names)
    assert {label.get_rotation() for label in labels} == {30}


def markers(axis):
    """The markers and colours of means, which are drawn over the dots of runs."""
    return [(line.get_marker(), line.get_color()) for line in axis.lines if line.get_marker() != "."]


def test_few_ellipses_have_their_names_beside_them_and_no_legend():
    figure = draw({"kind": "scatter", "y": ("goodput",), "by": ("flows.0.cc",), "where": ("rtt=20ms",)})
    (axis,) = shown(figure)
    assert [(text.get_text(), text.get_color()) for text in axis.texts] == [(cc, style.colour(cc).lower()) for cc in ("reno", "cubic")]
    assert figure.legends == []
    for text, line in zip(axis.texts, (line for line in axis.lines if line.get_marker() != "."), strict=True):
        box, centre = text.get_window_extent(), axis.transData.transform(line.get_xydata()[0])
        assert max(box.x0 - centre[0], centre[0] - box.x1, box.y0 - centre[1], centre[1] - box.y1) <= 6 * box.height


def test_in_scatter_plots_each_value_of_a_second_key_has_a_marker_of_its_own():
    limits = tuple(f"{number}p" for number in range(1, 7))
    figure = draw({"kind": "scatter", "y": ("goodput",), "by": ("flows.0.cc", "limit"), "where": ("rtt=20ms",)}, sweep(limit=limits))
    (axis,) = shown(figure)
    assert len(set(markers(axis))) == 2 * len(limits)
    assert len({marker for marker, _ in markers(axis)}) == len(limits)
    assert figure.legends[0].get_title().get_text() == "congestion control (colour), limit (marker)"
    drawn = [handle.get_marker() for handle in figure.legends[0].legend_handles if hasattr(handle, "get_marker")]
    assert len(set(drawn)) == len(limits)


@pytest.mark.parametrize(
    "asked",
    [
        {"x": "flows.0.cc", "by": ("rtt", "limit")},
        {"x": "rtt", "by": ("flows.0.cc", "limit")},
        {"kind": "scatter", "by": ("flows.0.cc", "limit"), "where": ("rtt=20ms",)},
        {"kind": "box", "x": "rtt", "by": ("flows.0.cc", "limit")},
        {"kind": "cdf", "by": ("flows.0.cc", "limit"), "over": ("rtt",)},
    ],
)
def test_no_two_looks_of_two_keys_are_alike(asked):
    known = looks_of(settle(Asked(y=("goodput",), **asked), [sweep(limit=("1p", "2p", "3p", "4p"))]))
    lines = {(look.colour, look.stroke) for look in known.values()}
    points = {(look.colour, look.marker) for look in known.values()}
    boxes = {(look.colour, look.hollow, look.hatch) for look in known.values()}
    what = {"box": boxes, "cdf": lines, "scatter": points}.get(asked.get("kind"), points if asked.get("x") == "flows.0.cc" else lines)
    assert len(what) == len(known)


def test_a_value_alone_has_points_beside_each_other():
    (axis,) = shown(draw({"x": "rtt", "y": ("goodput",), "by": ("flows.0.cc",), "where": ("rtt=20ms",)}))
    assert len({container.lines[0].get_xdata()[0] for container in axis.containers}) == 2


@pytest.mark.parametrize(
    ("repeats", "note"),
    [
        (1, "one run each; delay axis reversed: up and to the right is better"),
        (2, "mean of 2 runs each; delay axis reversed: up and to the right is better"),
        (3, "mean and ellipse of one standard deviation of 3 runs each; delay axis reversed: up and to the right is better"),
    ],
)
def test_a_scatter_plot_says_what_it_has_of_its_runs(repeats, note):
    assert describe(settle(Asked(kind="scatter", panels="rtt"), [sweep(repeats=repeats)])) == note


def test_of_different_numbers_of_runs_some_have_ellipses():
    few = RunSet("b", sweep("b", repeats=2).runs)
    note = describe(settle(Asked(kind="scatter", panels="rtt", by=("flows.0.cc", "folder")), [sweep("a"), few]))
    assert note.startswith("mean and ellipse of one standard deviation (from 3 runs on) of 2 to 4 runs each")


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ({"kind": "scatter", "y": ("goodput",), "panels": "rtt"}, "made: goodput (Mbit/s) against mean smoothed RTT (ms)"),
        ({"kind": "scatter", "panels": "rtt"}, "made: a goodput (Mbit/s), b goodput (Mbit/s) against mean smoothed RTT (ms)"),
        ({"kind": "cdf", "y": ("drops",), "panels": "rtt"}, "made: distribution of drops (packets)"),
        ({"kind": "heat"}, "made: goodput (Mbit/s) over base RTT and congestion control"),
        ({"y": ("goodput", "drops", "srtt_mean")}, "made: goodput, drops, mean smoothed RTT over base RTT"),
    ],
)
def test_titles_say_what_is_drawn(asked, title):
    assert with_titles(settle(Asked(**asked), [sweep()])) == title


@pytest.mark.parametrize("kind", ["lines", "box", "scatter", "cdf"])
def test_axes_end_at_ticks(kind):
    asked = {"kind": kind, "y": ("goodput", "drops"), "by": ("flows.0.cc",)}
    for axis in shown(draw(asked | ({"panels": "rtt"} if kind in ("scatter", "cdf") else {"x": "rtt"}))):
        assert set(axis.get_ylim()) <= {*axis.get_yticks()}
        assert kind in ("lines", "box") or set(axis.get_xlim()) <= {*axis.get_xticks()}


def test_cells_of_a_heat_map_have_three_digits_and_words_are_read_from_above():
    runs = [
        outline({"rtt": f"{rtt}ms", "size": f"{size}p", "queue": queue, "seed": 1}, [], goodput_mbit=rate, drops=rate // 1)
        for rtt, size, queue, rate in ((1, 10, "a", 1234.5), (2, 10, "a", 9.5), (1, 2, "b", 0.051), (2, 2, "b", 95.04))
    ]
    figure = draw({"kind": "heat", "y": ("goodput", "drops"), "x": "rtt", "by": ("queue",)}, RunSet("a", runs))
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.0510", "95.0", "1234", "9.50"]
    assert [text.get_text() for axis in figure.axes for text in axis.texts][4:] == ["0", "95", "1234", "9"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["b", "a"]
    figure = draw({"kind": "heat", "y": ("goodput",), "x": "rtt", "by": ("size",)}, RunSet("a", runs))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["2", "10"]


def test_labels_may_be_those_of_keys_by_their_last_word_of_values_and_of_columns():
    wording = Wording(names={"rtt": "Round trip", "cubic": "CUBIC", "drops": "lost"})
    figure = draw({"x": "rtt", "y": ("goodput", "drops"), "by": ("flows.0.cc",)}, wording=wording)
    assert {axis.get_xlabel() for axis in shown(figure)} == {"", "Round trip (ms)"}
    assert shown(figure)[1].get_ylabel() == "lost"
    assert legend(figure) == ["reno", "CUBIC"]


@pytest.mark.parametrize(
    ("wording", "line"),
    [
        (
            Wording(names={"cubik": "C"}),
            "--label 'cubik' is nothing that this figure names (did you mean 'cubic'?); expected one of reno, cubic",
        ),
        (Wording(y_label="y"), "--y-label was given with 2 columns; expected --label goodput_mbit=TEXT for each"),
    ],
)
def test_a_text_without_a_place_is_refused(wording, line):
    with pytest.raises(BadInput) as error:
        draw({"x": "rtt", "y": ("goodput", "drops"), "by": ("flows.0.cc",)}, wording=wording)
    assert str(error.value).startswith(line)


def test_goodput_over_time_begins_with_the_flow_and_each_window_is_a_step():
    """The flow begins at 2.03 s, so that its first sample is at 2.1 s; in each window of 0.5 s it receives at the same rate."""
    run = series_run(1, 8.0)
    t_ns = np.arange(2_100_000_000, 10_000_000_001, 100_000_000)
    block = Block("flow/a", ("rx_bytes",), t_ns, np.array([8.0 * (t_ns - 2_000_000_000) / 8e3]))
    run = replace(run, samples=(block,), **tables({"flow/a": {**FLOW, "start_ns": 2_030_000_000, "active_ns": 7_970_000_000}}))
    settled = settle(Asked(x="time", y=("goodput",), window_s=0.5), [RunSet("a", [run])])
    assert describe(settled) == "goodput in windows of 0.5 s"
    (axis,) = shown(across_figure(settled, PLAIN, "screen"))
    (line,) = axis.lines
    assert line.get_drawstyle() == "steps-pre"
    np.testing.assert_allclose(line.get_xdata(), np.arange(2.0, 10.1, 0.5))
    np.testing.assert_allclose(line.get_ydata(), 8.0)
    assert axis.get_ylabel() == "goodput (Mbit/s)\nover 0.5 s"


def test_where_no_flow_is_there_is_no_goodput():
    """Two flows of a group, one after the other."""
    run = series_run(1, 8.0)

    def block(name, first_s, last_s):
        t_ns = np.arange(first_s * 10**9, last_s * 10**9 + 1, 10**8)
        return Block(f"flow/{name}", ("rx_bytes",), t_ns, np.array([(t_ns - t_ns[0]) / 1e3]))

    counters = {f"flow/{name}": {**FLOW, "start_ns": start * 10**9, "active_ns": 2 * 10**9} for name, start in (("a", 0), ("b", 6))}
    run = replace(run, samples=(block("a", 0, 2), block("b", 6, 8)), **tables(counters))
    (axis,) = shown(draw({"x": "time", "y": ("goodput",), "window_s": 1.0, "over": ("flow",)}, RunSet("a", [run])))
    x, y = axis.lines[0].get_xdata(), axis.lines[0].get_ydata()
    np.testing.assert_allclose(y[(x > 2) & (x < 7)], np.nan)
    np.testing.assert_allclose(y[(x <= 2) | (x >= 7)], 8.0)


def test_what_is_asked_for_has_a_name_of_its_own():
    keys = {"path.bottleneck.rate": ("10mbit", "20mbit"), "path.bottleneck.qdisc": ("pfifo limit=10p", "fq_codel")}
    source = sweep(repeats=3, **keys)
    here = {"x": "path.rtt", "y": ("goodput",), "by": ("flows.0.cc", "rate"), "panels": "qdisc"}
    asked = [
        here,
        {**here, "by": ("rate", "flows.0.cc")},
        {**here, "y": ("goodput", "drops")},
        {**here, "statistic": "median"},
        {**here, "kind": "box"},
        {**here, "where": ("rate=10mbit",)},
        {**here, "where": ("rate=20mbit",)},
        {**here, "where": ("rate=10mbit", "qdisc=fq_codel")},
        {**here, "panels": None, "over": ("qdisc",)},
        {**here, "panels": None, "over": ("qdisc",), "statistic": "mean"},
        {**here, "by": ("flows.0.cc",), "over": ("rate",)},
        {**here, "per": "run"},
        {**here, "by": ("group", "rate"), "where": ("flows.0.cc=cubic",)},
        {**here, "by": ("group", "rate"), "where": ("flows.0.cc=cubic",), "per": "flow"},
    ]
    names = [as_file_name(file_name(settle(Asked(**each), [source]))) for each in asked]
    assert len(set(names)) == len(names)
    assert names[0] == "goodput-over-rtt-by-flows.0.cc-rate-panels-qdisc"


def test_long_names_that_begin_alike_differ():
    first, second = (as_file_name("x" * 150 + end) for end in "ab")
    assert first != second
    assert max(len(first), len(second)) < 140
    assert as_file_name("short one") == "short_one"
