import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest

from dumbbell import metrics
from dumbbell.comparing.difference import difference
from dumbbell.study import Request, find_part
from dumbbell.study.model import View
from dumbbell_studies.oracle.published_runs import SETS, SUMMARY, kernel_runs, kernel_series

PART = find_part("oracle")[1]
FORMAT = PART.formats[0]
NAMES = sorted(kernel_runs())


def summary(run):
    with SUMMARY.open() as file:
        return next(row for row in csv.DictReader(file) if row["run"] == run)


def kernel_as_ours(name, **scale):
    """A run with the recorded series of the kernel; columns may be scaled."""
    kernel = kernel_runs()[name]
    columns = {
        ("flow/0", "cwnd"): "cwnd",
        ("flow/0", "ssthresh"): "ssthresh",
        ("flow/0", "srtt_ms"): "srtt_ms",
        ("flow/0", "rx_bytes"): "rx_bytes",
        ("flow/0", "retransmits"): "retransmits",
        ("port/bottleneck", "drops"): "drops",
        ("port/bottleneck", "ce_marks"): "delivered_ce",
        ("port/bottleneck", "backlog_packets"): "backlog_packets",
    }

    def series(entity, column):
        t_s, values = kernel_series(name, columns[entity, column])
        return t_s, values * scale.get(column, 1.0)

    return SimpleNamespace(cell={"run": kernel.name}, series=series, counters={"flow/0": {}, "port/bottleneck": {}})


def test_the_sets():
    assert len(SETS["main"]) == 28
    assert set(SETS["main"]) | set(SETS["dctcp-pfifo"]) == set(kernel_runs())


@pytest.mark.parametrize("name", NAMES)
def test_summary_and_series_agree(name):
    row, kernel = summary(name), kernel_runs()[name]
    assert metrics.throughput_mbit(kernel_series(name, "rx_bytes"), 10) == pytest.approx(float(row["goodput_after10s_mbps"]), abs=1e-4)
    assert metrics.mean(kernel_series(name, "srtt_ms"), 10) == pytest.approx(float(row["rtt_after10s_mean_ms"]), abs=1e-3)
    assert metrics.mean(kernel_series(name, "cwnd"), 10) == pytest.approx(float(row["cwnd_after10s_mean_pkts"]), abs=0.006)
    signals = kernel_series(name, "delivered_ce" if kernel.marks else "drops")
    assert signals[1][-1] == float(row["congestion_signals"]) == float(row["delivered_ce"] if kernel.marks else row["q_drops"])
    assert metrics.first_increase(signals) == float(row["first_signal_s"])
    assert math.isnan(kernel_series(name, "ssthresh")[1][0])


@pytest.mark.parametrize("name", NAMES)
def test_the_kernel_agrees_with_itself(name):
    reference = find_part("oracle", "main" if name in SETS["main"] else "dctcp-pfifo")[1].reference().values
    found = difference(FORMAT.measure([kernel_as_ours(name)]), reference, FORMAT)
    assert len(found.cells) == 5
    assert found.share_all_metrics == 1


@pytest.mark.parametrize(
    ("column", "scale", "metric"),
    [
        ("rx_bytes", 1.02, "goodput_after10s_mbps"),
        ("srtt_ms", 1.06, "rtt_after10s_mean_ms"),
        ("cwnd", 0.94, "cwnd_after10s_mean_pkts"),
        ("drops", 1.2, "congestion_signals"),
    ],
)
def test_each_criterion_can_fail_a_run(column, scale, metric):
    found = difference(FORMAT.measure([kernel_as_ours("reno_10m_80ms_pfifo180", **{column: scale})]), PART.reference().values, FORMAT)
    assert [cell.metric for cell in found.cells if not cell.within] == [metric]


def test_the_first_drop_may_differ_by_five_percent_two_rtts_or_a_sample():
    tolerance = FORMAT.metrics["first_signal_s"].tolerance
    assert tolerance.allowed(10.0, {"rtt_ms": 20.0}) == pytest.approx(0.5)
    assert tolerance.allowed(1.0, {"rtt_ms": 80.0}) == pytest.approx(0.16)
    assert tolerance.allowed(0.1, {"rtt_ms": 20.0}) == pytest.approx(0.1)


def test_scenarios_are_the_kernel_s():
    runs = {run.cell["run"]: run for run in PART.scenarios(Request())}
    assert len(runs) == 28
    pfifo = runs["cubic_50m_80ms_pfifobdp"].dump()
    assert pfifo["path"]["bottleneck"] == {
        "rate": "50mbit",
        "trace": None,
        "shaper": "tbf",
        "burst": "1540B",
        "qdisc": {"kind": "pfifo", "limit": "331p"},
    }
    assert pfifo["path"]["delay"]["where"] == "ack-path"
    assert pfifo["flows"][0]["host"]["rmem"] == ["4KiB", "128KiB", "64MiB"]
    assert pfifo["flows"][0]["host"]["offload"] == "none"
    cake = runs["dctcp_10m_20ms_cakefb"].dump()
    assert cake["path"]["bottleneck"]["qdisc"]["isolation"] == "flowblind"
    assert cake["flows"][0]["ecn"]
    assert not pfifo["flows"][0]["ecn"]
    assert len(PART.scenarios(Request(quick=True))) == 14


def test_an_overlay_shows_both_in_the_requested_time_range():
    figure = PART.figures["reno_10m_80ms_pfifo180"]([kernel_as_ours("reno_10m_80ms_pfifo180")], View("screen", 20.0, 30.0))
    first = figure.axes[0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Linux", "simulator"]
    assert first.get_xlim() == (20.0, 30.0)
    assert len(first.lines) == 2
    np.testing.assert_array_equal(first.lines[0].get_ydata(), first.lines[1].get_ydata())
