"""Every kind of figure at every size: no text overlaps another or leaves the figure, and axes have at least half of the height."""

from dataclasses import replace

import numpy as np
import pytest
from across import sweep
from fitting import faults

import dumbbell
from dumbbell import Scenario
from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.comparing.across.questions import Asked, settle, summary
from dumbbell.drawing.across.figure import across_figure
from dumbbell.drawing.across.scales import Scales
from dumbbell.drawing.across.wording import Wording
from dumbbell.drawing.connection import Way, connection_figure
from dumbbell.drawing.curves import Curve, LevelPanel, ScatterPanel, distribution_panels, level_panels, scatter_panels
from dumbbell.drawing.panels import flow_panels
from dumbbell.drawing.run_figure import run_figure
from dumbbell.study.model import View
from dumbbell_studies.fairness.figures import FIGURES as FAIRNESS
from dumbbell_studies.oracle.figures import overlay
from dumbbell_studies.oracle.published_runs import kernel_runs
from dumbbell_studies.ordering.controls import PROTOCOLS
from dumbbell_studies.sce.as_designed import AS_DESIGNED
from dumbbell_studies.sce.figures import FIGURES as SCE
from dumbbell_studies.sce.pair_figures import FIGURES as PAIRS
from dumbbell_studies.teacup import figures as teacup
from dumbbell_studies.teacup.published import flow_labels, panels

SIZES = ("screen", "one-column", "two-column")
TIMES = np.linspace(0.0, 60.0, 200)
MADE = """
name: kinds
path: {rtt: 40ms, bottleneck: {rate: 20mbit, qdisc: {kind: pfifo, limit: 1bdp}}, reverse: {rate: 5mbit, qdisc: fq_codel}}
flows: [{cc: cubic, count: 2, name: download}, {cc: cubic, direction: reverse, name: upload}]
background:
  - {kind: transfers, name: web, cc: cubic, size: 20kB, arrivals: {kind: regular, every: 40ms}}
  - {kind: ping, interval: 100ms}
  - {kind: voip}
series: {groups: all}
duration: 2s
sweep: {path.bottleneck.qdisc.kind: [pfifo, fq_codel]}
repeat: 3
"""


@pytest.fixture(scope="module")
def runs():
    """Two queues, three seeds."""
    return dumbbell.run(Scenario.from_text(MADE))


def fits(figure, size):
    assert faults(figure, size != "screen") == []


LIMITS = {"path.bottleneck.qdisc": ("pfifo limit=100p", "fq_codel", "cake")}
ACROSS = {
    "lines": {"x": "rtt", "y": ("goodput", "srtt_mean"), "by": ("flows.0.cc", "qdisc")},
    "lines-of-groups": {"x": "rtt", "y": ("goodput",), "by": ("group", "flows.0.cc"), "panels": "qdisc"},
    "points": {"x": "qdisc", "y": ("goodput",), "by": ("flows.0.cc", "rtt")},
    "box": {"kind": "box", "x": "qdisc", "y": ("goodput",), "by": ("group",), "panels": "flows.0.cc", "where": ("rtt=20ms",)},
    "cdf": {"kind": "cdf", "y": ("goodput",), "by": ("flows.0.cc",), "panels": "rtt", "where": ("qdisc=cake",)},
    "ccdf": {"kind": "ccdf", "y": ("goodput",), "by": ("flows.0.cc",), "over": ("rtt",), "where": ("qdisc=cake",)},
    "scatter": {"kind": "scatter", "by": ("flows.0.cc", "qdisc"), "panels": "rtt"},
    "heat": {"kind": "heat", "x": "rtt", "by": ("qdisc",), "panels": "flows.0.cc", "y": ("goodput",)},
    "heat-of-columns": {"kind": "heat", "x": "rtt", "by": ("flows.0.cc",), "y": ("goodput", "srtt_mean"), "where": ("qdisc=cake",)},
}

SCALED = {"lines": {"x", "y"}, "cdf": {"x"}, "scatter": {"y"}}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ACROSS)
def test_figures_of_many_runs(kind, size):
    scales = Scales(frozenset(SCALED.get(kind, ())))
    fits(across_figure(settle(Asked(**ACROSS[kind]), [sweep(**LIMITS)]), Wording(), size, scales=scales), size)


@pytest.mark.parametrize("size", SIZES)
def test_the_summary(size):
    fits(across_figure(summary([sweep(**LIMITS)]), Wording(), size), size)


@pytest.mark.parametrize("size", SIZES)
def test_figures_of_series(runs, size):
    source = RunSet("kinds", runs)
    for asked in (
        {"x": "time", "y": ("goodput", "srtt"), "by": ("group",), "panels": "qdisc.kind"},
        {"kind": "cdf", "y": ("srtt",), "by": ("group", "qdisc.kind"), "per": "flow"},
        {"kind": "box", "y": ("rtt_ms",), "per": "stream", "by": ("stream",), "x": "qdisc.kind", "samples": True},
    ):
        fits(across_figure(settle(Asked(**asked), [source]), Wording(), size), size)


@pytest.mark.parametrize("size", SIZES)
def test_a_run(runs, size):
    fits(run_figure(runs[0], size), size)


@pytest.mark.parametrize("size", SIZES)
def test_a_connection(size):
    ways = [Way(f"192.0.2.{i}:40000 to 198.51.100.{i}:443", *_packets()) for i in (1, 2)]
    fits(connection_figure("capture.pcap.gz, connection 1", ways, size, 0.0, 60.0), size)


def _packets():
    start = np.arange(len(TIMES)) * 1448.0
    sent = {"t_s": TIMES, "start": start, "end": start + 1448, "again": (np.arange(len(TIMES)) % 20 == 0) * 1.0, "outstanding": start / 3}
    answers = {"t_s": TIMES, "ack": start, "window": start + 65535, "outstanding": start / 4, "rtt_ms": 40 + TIMES}
    return sent, answers, (TIMES, 10 + TIMES % 7)


@pytest.mark.parametrize("size", SIZES)
def test_panels_over_levels_and_points(size):
    values, names = np.linspace(0.3, 0.9, 5), list(PROTOCOLS)
    curves = [Curve(name, _style(name), values + i, values + i - 0.02, values + i + 0.02, values) for i, name in enumerate(names)]
    titles = ("Utilisation", "CoV of the throughput per flow (CoV-PTA)", "CoV of the queue")
    panels = [LevelPanel(title, title, ["0.05", "0.1", "0.15", "0.2", "0.3"], curves) for title in titles]
    fits(level_panels("Section 9: variance of the round-trip time", [panels, panels[:2]], size), size)
    samples = [(name, _style(name), 100 + 3 * i + np.arange(50.0)) for i, name in enumerate(names)]
    panel = ("320 ms, 1 MiB, 4 flows", samples)
    fits(distribution_panels("Section 4: load by the second", [[panel]], "load (Mbit/s of IP packets)", size), size)
    points = [(name, _style(name), (values, values[::-1])) for name in names]
    grid = [[ScatterPanel("moderate", "CoV-PTA", f"queue CoV {i}", points) for i in range(3)]] * 4
    fits(scatter_panels("Stability and variability, all runs", grid, size), size)


def _style(name):
    return PROTOCOLS[name].style


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("number", [4, 14])
def test_panels_of_flows(number, size):
    published = [panel for panel in panels() if panel.figure == number]
    drawn = [teacup._panel(panel, None, alone=len(published) == 1) for panel in published]
    drawn = [replace(panel, flows=[(TIMES, 3000 + 2000 * np.sin(TIMES + i)) for i in range(len(flow_labels()))]) for panel in drawn]
    columns = 2 if len(drawn) % 2 == 0 else 1
    grid = [drawn[first : first + columns] for first in range(0, len(drawn), columns)]
    fits(flow_panels(teacup._title(number, published), grid, flow_labels(), size), size)


@pytest.mark.parametrize("size", ["one-column", "two-column"])
def test_figures_of_studies_without_runs(size):
    """Published values and titles are there even so."""
    view = View(size)
    fits(SCE["heatmap-cubic"]([], view), size)
    fits(SCE["agreement"]([], view), size)
    fits(AS_DESIGNED.figures["as-designed"]([], view), size)
    fits(next(iter(PAIRS.values()))([], view), size)
    fits(list(PAIRS.values())[-1]([], view), size)
    fits(list(FAIRNESS.values())[1]([], view), size)


@pytest.mark.parametrize("size", SIZES)
def test_engines_on_one_axis(size):
    fits(overlay(next(iter(kernel_runs())), [], View(size)), size)


@pytest.mark.parametrize("size", SIZES)
def test_a_scatter_plot_of_traffic_in_two_directions_has_a_panel_for_each(runs, size):
    """A sum of both directions would exceed the capacity of either. The description lies above the ticks of the panel below."""
    settled = settle(Asked(kind="scatter"), [RunSet("kinds", runs)])
    assert (settled.y, settled.x) == (("forward.goodput_mbit", "reverse.goodput_mbit"), "ping_median_ms")
    assert settled.titles[settled.y[0]] == "download goodput (Mbit/s)"
    for each in settled.data[settled.y[0]]:
        assert each.values["forward.goodput_mbit"] <= 20
    fits(across_figure(settled, Wording(), size), size)
    assert settle(Asked(kind="scatter", per="run"), [RunSet("kinds", runs)]).y == ("goodput_mbit",)
