"""The figure of a run: who has which line, until when, and what the levels and labels say."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import dumbbell
from dumbbell import Scenario
from dumbbell.drawing import style
from dumbbell.drawing.run_figure import run_figure


def made(flows, path=None, **more):
    path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}} | (path or {})
    scenario = {"name": "s", "path": path, "flows": flows, "duration": "4s", **more}
    (run,) = dumbbell.run(Scenario.model_validate(scenario))
    return run


def panels(run, **more):
    """By label of the y axis, its lines by their colours and line styles, and the legend."""
    figure = run_figure(run, "screen", **more)
    return {" ".join(axis.get_ylabel().split()): axis for axis in figure.axes}, {
        text.get_text(): line for text, line in zip(figure.legends[0].get_texts(), figure.legends[0].get_lines(), strict=True)
    }


@pytest.fixture(scope="module")
def run():
    flows = [
        {"cc": "cubic", "duration": "1500ms"},
        {"cc": "reno", "name": "up"},
        {"cc": "reno", "name": "down", "direction": "reverse", "bytes": "200kB"},
    ]
    step = {"kind": "rate", "at": "2s", "rate": "5mbit"}
    return made(flows, {"impairments": [step]})


def test_controls_have_their_colours_and_directions_their_line_styles(run):
    _, legend = panels(run)
    looks = {name: (line.get_color(), line.is_dashed()) for name, line in legend.items()}
    assert looks["cubic"] == (style.colour("cubic").lower(), False)
    assert looks["up (reno)"] == (style.colour("reno").lower(), False)
    assert looks["down (reno, reverse)"] == (style.colour("reno").lower(), True)


def test_a_finished_flow_ends(run):
    axes, _ = panels(run)
    ends = {to_hex(line.get_color()) + line.get_linestyle(): line.get_xdata()[-1] for line in axes["congestion window (packets)"].lines}
    down = next(row["end_ns"] for row in run.flows.rows() if row["flow"] == "down") / 1e9
    assert down < 3
    assert ends[style.colour("cubic").lower() + "-"] == pytest.approx(1.5, abs=0.01)
    assert ends[style.colour("reno").lower() + "--"] == pytest.approx(down, abs=0.11)
    assert ends[style.colour("reno").lower() + "-"] == pytest.approx(4.0)


def test_capacity_is_a_level_that_follows_the_rate(run):
    axes, _ = panels(run)
    goodput = next(axis for label, axis in axes.items() if label.startswith("delivery rate,"))
    colours = {style.REFERENCE_COLOUR.lower(), "#999999"}
    levels = [line for line in goodput.lines if to_hex(line.get_color()) in colours]
    assert sorted(tuple(zip(*line.get_data(), strict=True)) for line in levels) == [
        ((0.0, 10.0), (2.0, 10.0), (2.0, 5.0), (4.0, 5.0)),
        ((0.0, 10.0), (4.0, 10.0)),
    ]


def test_no_rate_exceeds_the_capacity_after_a_repair_unless_it_is_that_of_what_is_read():
    found = made([{"cc": "cubic"}], {"bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}}, duration="6s")

    def highest(**more):
        axes, _ = panels(found, **more)
        rates = next(axis for label, axis in axes.items() if label.endswith("s (Mbit/s)"))
        return np.nanmax(rates.lines[0].get_ydata())

    assert 9 < highest() < 10
    assert highest(in_order=True) > 10.5


def test_flows_of_one_control_are_told_apart_by_their_groups_and_directions():
    flows = [{"cc": "cubic", "count": 2, "name": "down"}, {"cc": "cubic", "direction": "reverse", "name": "up"}]
    _, legend = panels(made(flows, duration="1s"))
    one, two, up = (legend[name].get_color() for name in ("down-1 (cubic)", "down-2 (cubic)", "up (cubic, reverse)"))
    assert one == style.of_flow(0)[0].lower()
    assert up == style.of_flow(1)[0].lower()
    assert len({one, two, up}) == 3
    _, legend = panels(made([{"cc": "cubic", "count": 3}], duration="1s"))
    assert [line.get_color() for line in list(legend.values())[:3]] == [style.of_flow(number)[0].lower() for number in range(3)]


def test_the_delay_of_a_queue_is_what_waits_over_the_rate(run):
    axes, _ = panels(run)
    t_s, backlog = run.series("port/bottleneck", "backlog_bytes")
    expected = backlog * 8 / np.where(t_s < 2, 10e6, 5e6) * 1e3
    line = axes["queue delay, backlog/rate (ms)"].lines[0]
    assert np.array_equal(line.get_xdata(), t_s)
    assert line.get_ydata() == pytest.approx(expected)
    assert expected.max() > 10


def test_of_many_flows_a_group_has_one_line_in_the_legend_and_its_goodput_together():
    flows = [{"cc": "cubic", "name": "bulk"}, {"cc": "reno", "name": "short", "count": 40, "bytes": "30kB", "start": {"every": "50ms"}}]
    found = made(flows)
    axes, legend = panels(found, in_order=True)
    assert list(legend)[:2] == ["bulk (cubic)", "short (reno, 40 flows)"]
    assert len(axes["congestion window (packets)"].lines) == 41
    (label,) = (label for label in axes if label.startswith("goodput"))
    assert "each group together" in label
    assert len(axes[label].lines) == 3  # two groups, and the capacity of both directions
    t_s, short = axes[label].lines[1].get_data()
    # Each level is the mean of the tenth of a second before it; what comes after the last whole one, 3 % here, has no window.
    windows_s = np.diff(t_s, prepend=0)
    received = sum(_received_by(found, row, t_s[-1]) for row in found.flows.rows() if row["group"] == "short")
    assert np.sum(short * windows_s) == pytest.approx(received * 8 / 1e6, rel=1e-9)


def _received_by(run, row, end_s):
    """Bytes; of a transfer that is not complete by then, its sample of that time."""
    if row["completed_ns"] / 1e9 <= end_s:
        return row["rx_bytes"]
    t_s, received = run.series(f"flow/{row['flow']}", "rx_bytes")
    return received[np.searchsorted(t_s, end_s)]


def test_of_many_groups_those_of_a_control_are_one():
    flows = [{"cc": cc, "name": f"{cc}-{i}"} for i in range(7) for cc in ("reno", "cubic")]
    _, legend = panels(made(flows, duration="1s"))
    assert list(legend)[:2] == ["reno (7 flows)", "cubic (7 flows)"]


def test_groups_have_panels_and_shades_of_their_own():
    web = {"kind": "transfers", "name": "web", "cc": "cubic", "size": "20kB", "arrivals": {"kind": "regular", "every": "40ms"}}
    axes, legend = panels(made([{"cc": "cubic"}], background=[web], series={"groups": "all"}))
    assert axes["open connections"].lines[0].get_ydata().max() >= 1
    assert legend["web"].get_color() != legend["cubic"].get_color() == style.colour("cubic").lower()


def test_probes_have_panels_of_round_trips_and_of_either_way():
    background = [{"kind": "ping", "interval": "100ms"}, {"kind": "udp", "name": "echo", "interval": "20ms", "size": "100B", "reply": True}]
    found = made([{"cc": "cubic"}], background=background)
    axes, legend = panels(found)
    assert len(axes["RTT of probes (ms)"].lines) == 2
    there, back = (line for line in axes["one-way delay of probes (ms)"].lines if len(line.get_xdata()) > 100)
    assert (there.is_dashed(), back.is_dashed()) == (False, True)
    assert there.get_color() == back.get_color()
    assert {"ping", "echo"} <= set(legend)


def test_only_directions_that_carry_data_have_a_capacity():
    path = {
        "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}},
        "reverse": {"rate": "100mbit", "qdisc": "fq_codel"},
    }
    _, down_only = panels(made([{"cc": "reno"}], path))
    _, both = panels(made([{"cc": "reno"}, {"cc": "reno", "direction": "reverse"}], path))
    assert ("capacity, back" in down_only, "capacity, back" in both) == (False, True)


def test_times_without_any_connection_are_gaps():
    background = [{"kind": "transfers", "name": "few", "cc": "reno", "arrivals": {"kind": "regular", "every": "3s"}, "size": "200kB"}]
    axes, _ = panels(made([], background=background, series={"groups": "all"}))
    (srtt,) = axes["smoothed RTT (ms)"].lines
    t_s, values = srtt.get_data()
    assert np.isnan(values).sum() == 1
    assert t_s[np.isnan(values)][0] < 2
    assert np.nanmin(values) >= 20


def test_latencies_far_apart_have_a_logarithmic_axis():
    def scale(burst):
        writes = [{"kind": "onoff", "cc": "reno", "burst": each, "off": "500ms"} for each in ("5kB", burst)]
        axes, _ = panels(made([{"cc": "reno"}], {"bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}}, background=writes))
        axis = axes["latency of requests (ms)"]
        return axis.get_yscale(), [label.get_text() for label in axis.get_yticklabels()]

    assert scale("6kB")[0] == "linear"
    kind, labels = scale("2MB")
    assert kind == "log"
    assert {"100", "1000"} <= set(labels)
