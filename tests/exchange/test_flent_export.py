"""Runs as Flent's data files: the real Flent reads them, and what it draws is what `dumbbell table` says."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dumbbell import load
from dumbbell.comparing.across.derived import jain_by_step

from . import flent_program
from .conftest import stored

PLOTS = {
    # Content of each pair of axes: the mean of each line, if lines are over time.
    "totals": [["throughput"], ["rtt"]],
    "upload": [["cubic", "bbr"]],
    "upload_with_ping": [["cubic", "bbr"], ["rtt"]],
    "tcp_cwnd": [["cubic cwnd", "bbr cwnd"]],
    "tcp_rtt": [["cubic srtt", "bbr srtt"]],
    "tcp_delivery_with_rtt": [["cubic delivered", "bbr delivered"], ["rtt", "cubic srtt", "bbr srtt"]],
}


@pytest.fixture(scope="module")
def exported(probed, tmp_path_factory):
    """The data file of the run, the run, its metrics by name, and a folder for pictures."""
    from dumbbell.exchange.exported import file_name, write_all, writer

    folder = tmp_path_factory.mktemp("flent")
    run = load(probed)[0]
    (file,) = write_all(folder, [writer("flent")(run, file_name(run))])
    means = {"throughput": run.summary.run["goodput_mbit"], "rtt": run.summary.datagrams["pinger"]["rtt_mean_ms"]}
    for name, values in run.summary.flows.items():
        means |= {name: values["flow_goodput_mbit"], f"{name} cwnd": values["cwnd_mean_packets"], f"{name} srtt": values["srtt_mean_ms"]}
        t_s, delivered = run.series(f"flow/{name}", "delivered")
        means[f"{name} delivered"] = delivered[-1] * 1448 * 8 / t_s[-1] / 1e6
    return SimpleNamespace(file=file, run=run, means=means, folder=folder)


def test_flents_statistics_are_those_of_the_table(exported):
    found, summary = flent_program.statistics(exported.file), exported.run.summary
    for i, flow in enumerate(("cubic", "bbr"), 1):
        series = f"TCP upload::{i}"
        assert found[series]["mean"] == pytest.approx(summary.flows[flow]["flow_goodput_mbit"], rel=1e-9)
        assert found[f"{series}::tcp_rtt"]["mean"] == pytest.approx(summary.flows[flow]["srtt_mean_ms"], rel=1e-9)
        assert found[f"{series}::tcp_cwnd"]["mean"] == pytest.approx(summary.flows[flow]["cwnd_mean_packets"], rel=1e-9)
    assert found["TCP upload sum"]["mean"] == pytest.approx(summary.run["goodput_mbit"], rel=1e-9)
    assert found["TCP upload fairness"]["mean"] == pytest.approx(summary.run["jain_index"], rel=1e-9)
    pings = summary.datagrams["pinger"]
    expected = {"mean": pings["rtt_mean_ms"], "median": pings["rtt_median_ms"], "pct99": pings["rtt_p99_ms"]}
    assert found["Ping (ms) ICMP"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("plot", PLOTS)
def test_the_lines_that_flent_draws_have_the_means_of_the_table(exported, plot):
    drawn = flent_program.draw(exported.file, plot, exported.folder)
    assert len(drawn) == len(PLOTS[plot])
    for axes, names in zip(drawn, PLOTS[plot], strict=True):
        means = [float(values.mean()) for _, values in axes.lines]
        # In the plot `upload` a third line is the smoothed mean of the flows.
        assert means[: len(names)] == pytest.approx([exported.means[name] for name in names], rel=1e-4)


def test_flents_cdfs_have_the_percentiles_of_the_table(exported):
    (axes,) = flent_program.draw(exported.file, "ping_cdf", exported.folder)
    ((values, _),) = axes.lines
    pings = exported.run.summary.datagrams["pinger"]
    assert np.percentile(values, [50, 95, 99]) == pytest.approx([pings[f"rtt_{name}_ms"] for name in ("median", "p95", "p99")], rel=1e-4)
    (axes,) = flent_program.draw(exported.file, "tcp_rtt_cdf", exported.folder)
    for (values, _), flow in zip(axes.lines, ("cubic", "bbr"), strict=True):
        assert np.percentile(values, 95) == pytest.approx(exported.run.summary.flows[flow]["srtt_p95_ms"], rel=1e-4)


def test_flents_boxes_are_of_the_whole_run(exported):
    def medians(axes):
        """Return the medians: values of level lines that are as wide as a box, which is a line of five points."""
        widths = {round(float(np.ptp(xs)), 3) for xs, _ in axes.lines if len(xs) == 5}
        return [float(values[0]) for xs, values in axes.lines if len(xs) == 2 and round(float(np.ptp(xs)), 3) in widths]

    document = json.loads(gzip.decompress(exported.file.read_bytes()))
    rates = [[record["val"] for record in document["raw_values"][f"TCP upload::{i}"] if "val" in record] for i in (1, 2)]
    (axes,) = flent_program.draw(exported.file, "upload_box", exported.folder)
    assert medians(axes)[:2] == pytest.approx([float(np.median(rate)) for rate in rates], rel=1e-4)
    totals, pings = flent_program.draw(exported.file, "box_totals", exported.folder)
    assert medians(pings) == pytest.approx([exported.run.summary.datagrams["pinger"]["rtt_median_ms"]], rel=1e-4)
    assert medians(totals) == pytest.approx([float(np.median(np.sum(rates, axis=0)))], rel=1e-3)


def test_flents_bar_of_fairness_is_jains_index_of_each_step(exported):
    document = json.loads(gzip.decompress(exported.file.read_bytes()))
    rates = np.array([document["results"][f"TCP upload::{i}"] for i in (1, 2)], dtype=float)
    rates = rates[:, np.isfinite(rates[0])]
    each = rates.sum(axis=0) ** 2 / (2 * (rates**2).sum(axis=0))
    (axes,) = flent_program.draw(exported.file, "bar_fairness", exported.folder)
    assert jain_by_step(exported.run) == pytest.approx(float(each.mean()), rel=1e-9)
    assert axes.bars == pytest.approx([jain_by_step(exported.run)], rel=1e-4)


def test_the_rates_of_a_flow_add_up_to_what_it_received(exported):
    document = json.loads(gzip.decompress(exported.file.read_bytes()))
    for i, row in enumerate(exported.run.flows.rows()[:2], 1):
        records = [record for record in document["raw_values"][f"TCP upload::{i}"] if "val" in record]
        assert sum(record["val"] * record["dur"] for record in records) * 1e6 / 8 == pytest.approx(row["rx_bytes"])
        steps = [rate for rate in document["results"][f"TCP upload::{i}"] if rate is not None]
        assert sum(steps) * document["metadata"]["STEP_SIZE"] * 1e6 / 8 == pytest.approx(row["rx_bytes"])


def test_the_same_run_gives_the_same_bytes(dumbbell, probed, tmp_path):
    for name in ("one", "two"):
        answer = dumbbell("export", probed, "--format", "flent", "--out", tmp_path / name)
        assert answer.status == 0, answer.err
    (one,), (two,) = ((list((tmp_path / name).iterdir())) for name in ("one", "two"))
    assert one.name == two.name
    assert one.name.endswith(".flent.gz")
    assert one.read_bytes() == two.read_bytes()


def test_flows_both_ways_are_of_the_test_that_has_both(dumbbell, tmp_path):
    stored(tmp_path / "runs", flows=[{"cc": "cubic", "count": 2}, {"cc": "reno", "direction": "reverse"}], background=[], duration="5s")
    assert dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "out").status == 0
    (file,) = (tmp_path / "out").iterdir()
    found = flent_program.statistics(file)
    (run,) = load(tmp_path / "runs")
    rates = {name: values["flow_goodput_mbit"] for name, values in run.summary.flows.items()}
    assert found["TCP upload BE::1"]["mean"] == pytest.approx(rates["cubic-1"])
    assert found["TCP upload BE::2"]["mean"] == pytest.approx(rates["cubic-2"])
    assert found["TCP download BE::1"]["mean"] == pytest.approx(rates["reno"])
    assert found["TCP totals"]["mean"] == pytest.approx(sum(rates.values()))


def test_what_flent_has_no_place_for_is_named(dumbbell, tmp_path):
    stored(tmp_path / "runs", series={"flows": ["cubic"]}, duration="2s")
    answer = dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "out")
    assert answer.status == 0
    assert "without flow bbr" in answer.err


def test_a_run_without_series_of_flows_is_refused_and_nothing_is_written(dumbbell, tmp_path):
    stored(tmp_path / "runs", series={"flows": "none"}, duration="2s")
    answer = dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "out")
    assert answer.status == 2
    assert "has no TCP flow with samples of rx_bytes" in answer.err
    assert answer.err.count("\n") == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_key_that_no_run_has_is_refused(dumbbell, probed, tmp_path):
    answer = dumbbell("export", probed, "--format", "flent", "--run", "nothing", "--out", tmp_path / "out")
    assert answer.status == 2
    assert "--run 'nothing': is the beginning of no run's key" in answer.err
    assert dumbbell("export", probed, "--format", "flent", "--run", load(probed)[0].key[:6], "--out", tmp_path / "out").status == 0


def test_a_flow_with_one_sample_has_no_say_in_the_step(dumbbell, tmp_path):
    rows = "".join(f"{t_s},flow/a,rx_bytes,{t_s}\n" for t_s in range(4))
    (tmp_path / "samples.csv").write_text(f"t_s,entity,series,value\n{rows}1,flow/b,rx_bytes,5\n")
    assert dumbbell("import", tmp_path / "samples.csv", "--out", tmp_path / "runs").status == 0
    assert dumbbell("export", tmp_path / "runs", "--format", "flent", "--out", tmp_path / "exported").status == 0
    (file,) = (tmp_path / "exported").iterdir()
    assert json.loads(gzip.decompress(file.read_bytes()))["metadata"]["STEP_SIZE"] == 1
