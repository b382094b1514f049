"""`dumbbell plot` and `dumbbell table` across runs."""

import csv
import io
import json
import subprocess
import sys

import pytest

import dumbbell as package
from dumbbell.errors import BadInput

SCENARIO = """\
name: sweep
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows:
  - {cc: reno, start: {jitter: 50ms}}
  - {cc: cubic, start: {jitter: 50ms}, direction: reverse}
duration: 2s
sweep: {path.rtt: [10ms, 20ms], flows.0.cc: [reno, bbr]}
repeat: 3
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Results of twelve runs."""
    out = tmp_path_factory.mktemp("sweep") / "out"
    package.run(package.Scenario.from_text(SCENARIO), out, workers=1)
    return out


def test_without_options_there_is_one_summary_of_a_sweep(dumbbell, sweep, tmp_path):
    answer = dumbbell("plot", sweep, "--out", tmp_path)
    assert answer.status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["summary.png", "summary.svg"]
    said, written = answer.err.splitlines()
    assert said.startswith("drawing forward.goodput_mbit, reverse.goodput_mbit and srtt_mean_ms")
    assert " over path.rtt by flows.0.cc, 12 runs: mean, 95 % interval (Student's t) of 3 runs each" in said
    assert written == f"1 figure in {tmp_path}: summary.png, .svg"


def test_figures_of_single_runs_are_there_by_name(dumbbell, sweep, tmp_path):
    names = dumbbell("plot", sweep, "--list").out.split()
    assert len(names) == 12
    assert dumbbell("plot", sweep, "--figure", names[0], "--out", tmp_path, "--format", "png").status == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{names[0]}.png"]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--x", "path.rtt", "--y", "goodput", "--by", "flows.0.cc"), "goodput-over-rtt-by-flows.0.cc"),
        (
            ("--x", "rtt", "--y", "throughput_mbit", "--by", "group", "--where", "flows.0.cc=bbr"),
            "goodput-over-rtt-by-group-where-flows.0.cc-bbr",
        ),
        (("--kind", "heat", "--title", "t"), "heat-goodput-over-rtt-by-flows.0.cc"),
        (("--kind", "scatter", "--panels", "rtt"), "forward.goodput-reverse.goodput-against-srtt_mean-by-flows.0.cc-panels-rtt"),
        (
            ("--kind", "cdf", "--y", "srtt", "--by", "group", "--over", "rtt", "--over", "flows.0.cc"),
            "cdf-srtt-by-group-pooled-rtt-flows.0.cc",
        ),
        (("--kind", "box", "--x", "rtt", "--y", "retransmits", "--per", "flow", "--by", "direction"), None),
        (
            (
                "--x",
                "time",
                "--y",
                "goodput",
                "--y",
                "backlog_packets",
                "--where",
                "flows.0.cc=bbr",
                "--where",
                "rtt=20ms",
                "--window",
                "0.2",
            ),
            None,
        ),
        (
            ("--y", "drops", "--statistic", "median", "--label", "bbr=BBR", "--x-label", "RTT", "--y-label", "lost"),
            "drops-over-rtt-by-flows.0.cc-median",
        ),
    ],
)
def test_what_is_asked_for_is_drawn(dumbbell, sweep, tmp_path, options, name):
    answer = dumbbell("plot", sweep, *options, "--size", "one-column", "--format", "png", "--out", tmp_path, "--json")
    assert answer.status == 0, answer.err
    (path,) = json.loads(answer.out)
    assert name is None or path == str(tmp_path / f"{name}-one-column.png")
    assert (tmp_path / path).stat().st_size > 5_000


def test_two_folders_are_laid_over_each_other(dumbbell, sweep, tmp_path):
    other = tmp_path / "other"
    package.run(package.Scenario.from_text(SCENARIO.replace("1bdp", "2bdp")), other, workers=1)
    answer = dumbbell("plot", sweep, other, "--x", "rtt", "--y", "goodput", "--by", "flows.0.cc", "--out", tmp_path)
    assert "goodput_mbit over path.rtt by flows.0.cc and folder, 24 runs" in answer.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--x", "rrt"), "--x 'rrt' is unknown (did you mean 'rtt'?); expected one of path.rtt, flows.0.cc"),
        (("--y", "srtt"), "--y 'srtt' is a series; expected --x time, --kind cdf or --kind box with it, or srtt_mean_ms or srtt_p95_ms"),
        (("--x", "time", "--y", "cwn"), "--y 'cwn' is unknown (did you mean 'cwnd'?); expected one of delivery_rate, flow_delivery_rate"),
        (("--kind", "pie"), "--kind 'pie' is unknown; expected one of lines, box, cdf, ccdf, scatter, heat"),
        (("--format", "gif"), "--format 'gif' is unknown; expected png, svg or pdf"),
        (("--label", "cubic"), "--label 'cubic': expected NAME=TEXT"),
        (("--where", "flows.0.cc=vegas"), "--where 'flows.0.cc=vegas': flows.0.cc is never 'vegas'; expected one of reno, bbr"),
        (("--x", "rtt", "--from", "1"), "--from and --to were given, and columns are of whole runs; expected --x time"),
        (("--x", "time", "--y", "cwnd", "--from", "9"), "no samples from 9 s to 2 s; expected a time up to 2 s"),
        (("--x", "time", "--window", "nan"), "--window nan is no time; expected a number of s above 0"),
        (("--x", "rtt", "--list"), "--list was given with options of figures of many runs; expected one of the two"),
        (("--per", "port", "--x", "rtt", "--y", "sojourn"), "--y 'sojourn': a port has series and no columns; expected --x time with it"),
        (
            ("--x", "rtt", "--y", "drops", "--by", "group"),
            "--y 'drops' is a column of a run, not of a group; expected keys of the sweep alone, since another option names what a group",
        ),
        (("--x", "rtt", "--y", "drops", "--per", "flow"), "--y 'drops' is a column of a run, not of a flow; expected --per run"),
        (("--x", "time", "--y", "owd_ms"), "--y owd_ms: no run has samples of it for a stream; expected a series that was sampled"),
    ],
)
def test_wrong_names_are_told_what_to_type(dumbbell, sweep, options, line):
    answer = dumbbell("plot", sweep, *options)
    assert answer.status == 2
    assert answer.err.splitlines()[-1].startswith(line)
    assert answer.out == ""


def test_runs_that_differ_in_nothing_have_no_axis(dumbbell, tmp_path):
    text = SCENARIO.partition("sweep:")[0] + "repeat: 2\n"
    package.run(package.Scenario.from_text(text), tmp_path / "out", workers=1)
    answer = dumbbell("plot", tmp_path / "out", "--per", "port", "--x", "qdisc", "--y", "dropped")
    line = "--x 'qdisc' is unknown: the runs differ in no key; expected runs of a sweep, or no such option"
    assert (answer.status, answer.err) == (2, f"{line}\n")


def test_the_times_of_transfers_without_rows_are_those_of_their_group(dumbbell, tmp_path):
    web = "background: [{kind: transfers, cc: reno, size: 50kB, arrivals: {kind: poisson, every: 100ms}, rows: ROWS}]\n"
    path = "name: web\npath: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}\nduration: 2s\n"
    for rows in ("false", "true"):
        package.run(package.Scenario.from_text(path + web.replace("ROWS", rows)), tmp_path / rows, workers=1)
    answer = dumbbell("plot", tmp_path / "false", "--kind", "cdf", "--y", "completion_s")
    assert (answer.status, answer.err) == (
        2,
        "--y completion_s: transfers that come and go are no flows of the results, unless their entry of background: has `rows: true`; "
        "expected that, or --y completion_median_ms\n",
    )
    assert dumbbell("plot", tmp_path / "true", "--kind", "cdf", "--y", "completion_s", "--format", "png").status == 0


@pytest.mark.parametrize(
    ("per", "line"),
    [
        ("grup", "per='grup' is unknown (did you mean 'group'?); expected one of run, flow, group, stream"),
    ],
)
def test_rows_of_what_has_none_are_refused(sweep, per, line):
    with pytest.raises(BadInput) as error:
        package.table(package.load(sweep), per=per)
    assert str(error.value).startswith(line)


@pytest.mark.parametrize("more", [("--from", "1"), ("--to", "1"), ("--size", "one-column"), ("--from", "0.5", "--to", "1")])
def test_another_range_or_size_is_another_file(dumbbell, sweep, tmp_path, more):
    name = dumbbell("plot", sweep, "--list").out.split()[0]
    for figure in (("--figure", name), ("--x", "time", "--y", "cwnd", "--where", "rtt=10ms", "--where", "flows.0.cc=reno")):
        for options in ((), more):
            assert dumbbell("plot", sweep, *figure, *options, "--format", "png", "--out", tmp_path).status == 0
    assert len(list(tmp_path.iterdir())) == 4


def test_an_empty_title_is_none_and_takes_the_line_below_it_along(sweep):
    results = package.load(sweep)
    made, empty, own = (package.plot(results, x="rtt", y="goodput", by="flows.0.cc", title=title) for title in (None, "", "mine"))
    texts = [[text.get_text() for text in (*figure.texts, *filter(None, [figure._suptitle]))] for figure in (made, empty, own)]
    assert any(text.startswith("sweep: goodput") for text in texts[0])
    assert not any(text.strip() for text in texts[1])
    assert any(text.startswith("mine") for text in texts[2])
    heat = package.plot(results, kind="heat", title="")
    assert not any(text.get_text().strip() for text in (*heat.texts, *filter(None, [heat._suptitle])))
    (legend,) = package.plot(results, x="rtt", y="goodput", by="flows.0.cc", labels={"flows.0.cc": ""}).legends
    assert not legend.get_title().get_text()


def test_a_figure_of_one_run_has_no_title_if_none_is_asked_for(dumbbell, sweep, tmp_path):
    name = dumbbell("plot", sweep, "--list").out.split()[0]
    for folder, options in (("made", ()), ("none", ("--title", "none"))):
        assert dumbbell("plot", sweep, "--figure", name, *options, "--format", "svg", "--out", tmp_path / folder).status == 0
    texts = [(tmp_path / folder / f"{name}.svg").read_text() for folder in ("made", "none")]
    assert [">sweep (" in text for text in texts] == [True, False]
    assert dumbbell("plot", sweep, "--figure", name, "--title", "mine").status == 2


def test_a_word_of_two_keys_names_both(dumbbell, tmp_path):
    text = SCENARIO.replace("flows.0.cc: [reno, bbr]", "flows.0.cc: [reno, bbr], flows.1.cc: [cubic, bbr]").replace(
        "repeat: 3", "repeat: 1"
    )
    package.run(package.Scenario.from_text(text), tmp_path / "out", workers=1)
    answer = dumbbell("plot", tmp_path / "out", "--by", "cc")
    assert (answer.status, answer.err.splitlines()[-1]) == (
        2,
        "--by 'cc' is ambiguous: the sweep has flows.0.cc and flows.1.cc, and each flow has a cc; expected --by flows.0.cc "
        "or --by flows.1.cc, or --by cc --per flow for that of the flows",
    )


def test_a_table_over_repeats(dumbbell, sweep):
    answer = dumbbell("table", sweep, "--statistic", "mean", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert len(rows) == 8
    assert {(row["group"], row["direction"]) for row in rows} == {("reno", "forward"), ("bbr", "forward"), ("cubic", "reverse")}
    assert all(float(row["goodput_mbit_low"]) < float(row["goodput_mbit"]) < float(row["goodput_mbit_high"]) for row in rows)
    assert {row["runs"] for row in rows} == {"3"}
    text = dumbbell("table", sweep, "--statistic", "mean", "--runs", "--y", "goodput", "--where", "flows.0.cc=bbr").out
    assert text.splitlines()[0].endswith("mean, 95 % interval (Student's t)")
    assert "±" in text
    latex = dumbbell("table", sweep, "--statistic", "mean", "--y", "goodput", "--format", "latex").out
    assert r"\begin{tabular}{lllrrr}" in latex or r"\begin{tabular}" in latex
    assert r"goodput\_mbit" in latex
    assert r"$\pm$" in latex


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--y", "goodput"), "--y was given without --statistic; expected --statistic mean, median or spread with it"),
        (("--statistic", "mode"), "--statistic 'mode' is unknown; expected one of mean, median, spread"),
        (("--statistic", "mean", "--tins"), "--tins and --statistic were given together; expected one of them"),
    ],
)
def test_a_table_that_cannot_be_is_refused(dumbbell, sweep, options, line):
    answer = dumbbell("table", sweep, *options)
    assert (answer.status, answer.err) == (2, f"{line}\n")


def test_the_same_from_python(sweep):
    results = package.load(sweep)
    figure = package.plot(results, x="rtt", y="goodput", by="flows.0.cc")
    assert figure.axes[0].get_ylabel() == "goodput (Mbit/s)"
    over_time = package.plot({"one": results}, x="time", y="cwnd", by="group", where={"rtt": ["10ms", "20ms"], "flows.0.cc": "bbr"})
    assert len(over_time.axes) == 2
    assert package.plot(str(sweep)).axes
    table = package.table(results, per="run", y="goodput", over="flows.0.cc")
    assert list(table.columns) == ["path.rtt", "runs", "goodput_mbit"]
    assert table._repr_html_().startswith("<table>")
    with pytest.raises(package.ScenarioError.__mro__[1], match=r"^x='rrt' is unknown"):
        package.plot(results, x="rrt")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--figure", "run-rtt-10ms-cc-reno-seed-1", "--title", "t"),
            "--title was given for a figure whose texts and axes are its own; expected it",
        ),
        (("--list", "--out", "x"), "--list was given with options of figures, and draws none; expected it alone"),
        (
            ("--out", "figure.png"),
            "--out figure.png is called like a figure; expected a folder (figures have names of their own)",
        ),
        (("--x", "rtt", "--label", "nobody=X"), "--label 'nobody' is nothing that this figure names; expected one of reno, bbr, 10ms"),
        (
            ("--x", "rtt", "--by", "cc"),
            "--by 'cc' is ambiguous: the sweep has flows.0.cc, and each flow has a cc; expected --by flows.0.cc",
        ),
        (("--where", "rtt"), "--where 'rtt' has no =; expected KEY=VALUE"),
    ],
)
def test_what_would_do_nothing_is_refused(dumbbell, sweep, options, line):
    answer = dumbbell("plot", sweep, *options)
    assert answer.status == 2
    assert answer.err.splitlines()[-1].startswith(line)


def test_a_condition_that_the_shell_took_for_a_redirect_is_told_so(sweep, tmp_path):
    command = f"{sys.executable} -m dumbbell plot {sweep} --where rtt>10ms"
    answer = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (
        2,
        "--where 'rtt' has no =, since the shell took an unquoted > for a redirect, and has made the file '10ms'; expected KEY=VALUE\n",
    )


def test_a_folder_without_results_says_where_there_are_some(dumbbell, sweep, tmp_path):
    (tmp_path / "none").mkdir()
    assert dumbbell("plot", tmp_path / "none").err == (
        f"{tmp_path}/none: is empty; expected a folder that `dumbbell run`, `reproduce` or `import` wrote\n"
    )
    (tmp_path / "none" / "file").touch()
    assert dumbbell("plot", tmp_path / "none").err.startswith(f"{tmp_path}/none: holds no results; expected a folder that")
    answer = dumbbell("plot", sweep.parent)
    assert (answer.status, answer.err) == (2, f"{sweep.parent}: holds no results itself, but {sweep} does; expected it\n")


def test_a_folder_that_is_made_is_named(dumbbell, sweep, tmp_path):
    out = tmp_path / "a" / "b"
    answer = dumbbell("plot", sweep, "--x", "rtt", "--out", out, "--format", "png")
    assert answer.err.splitlines()[-1] == f"1 figure in the new folder {out}: goodput-over-rtt-by-flows.0.cc.png"


def test_a_key_that_only_one_folder_sweeps_is_of_the_scenario_of_the_other(sweep, tmp_path):
    other = tmp_path / "other"
    text = SCENARIO.replace("rtt: 20ms", "rtt: 40ms").replace("path.rtt: [10ms, 20ms], ", "").replace("1bdp", "2bdp")
    package.run(package.Scenario.from_text(text), other, workers=1)
    (axis,) = package.plot([sweep, other], x="rtt", y="goodput", by="flows.0.cc").axes
    assert [label.get_text() for label in axis.get_xticklabels()] == ["10", "20", "40"]
    assert [row[1] for row in package.table([sweep, other], per="run", y="goodput").fields] == ["10ms"] * 2 + ["20ms"] * 2 + ["40ms"] * 2
