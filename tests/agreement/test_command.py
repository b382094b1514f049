"""`dumbbell agree`, with the simulator in place of the kernel."""

import csv
import json
import shutil
from collections import Counter

import pytest

from dumbbell.agreement import comparison
from dumbbell.engines.sim import Sim
from dumbbell.results import Store, load
from dumbbell.scenario import Scenario


def files(folder):
    """All files except the runs."""
    return {path.relative_to(folder): path.read_bytes() for path in [*folder.glob("*.*"), *folder.glob("worst/*")] if path.is_file()}


@pytest.fixture
def agree(dumbbell, tmp_path):
    """A function that runs `dumbbell agree ... --out DIR --json` and returns its answer and the JSON document."""

    def call(*arguments):
        answer = dumbbell("agree", *arguments, "--out", tmp_path / "agree", "--json")
        return answer, json.loads(answer.out) if answer.out else None

    return call


def test_an_engine_agrees_with_itself(agree, flavoured, tmp_path):
    flavoured()
    answer, document = agree("random", "--count", "12", "--seed", "2", "--check")
    assert answer.status == 0
    assert (document["scenarios"], document["starts"], document["seeds"]) == (12, 10, [2])
    assert document["worst"] == document["below_bar"] == document["invalid"] == []
    assert all(metric["median_rel"] == metric["p95_rel"] == 0 for metric in document["metrics"].values())
    assert {"goodput", "rtt_mean", "rtt_p95", "cwnd_mean", "drops", "retransmits", "jain", "share"} <= document["metrics"].keys()
    assert document["shares"]["inside"] == 1
    assert document["engines"]["kernel"] == {"version": "6.12.0", "configuration": "abc"}
    assert len(document["bars"]) == 7
    assert document["windows"]["within"] == 1
    assert document["windows"]["same"] == document["windows"]["scenarios"] > 0
    assert "Nothing differs." in (tmp_path / "agree" / "agree.md").read_text()
    assert not (tmp_path / "agree" / "worst").exists()


def test_further_starts_until_the_reference_is_known(agree, flavoured, tmp_path):
    engine = flavoured()
    few = ("random", "--count", "3", "--seed", "2", "--starts", "2", "--no-figures")
    answer, document = agree(*few, "--until", "2%")
    assert answer.status == 0
    until = document["until"]
    assert (until["share"], until["most_starts"], until["starts_of_ours"]) == (0.02, 100, 4)
    starts = Counter(engine.made)
    several = {name: count for name, count in starts.items() if count > 1}
    assert 2 < max(several.values()) <= 100
    assert document["runs"] == sum(starts.values())
    assert until["runs_of_ours"] == sum(4 * count if count > 1 else 1 for count in starts.values())
    assert "until the standard errors of the reference's mean goodput" in (tmp_path / "agree" / "agree.md").read_text()
    agree(*few, "--until", "100%")
    assert Counter(engine.made) == starts  # a wider share asks for none that is not stored


def test_the_share_of_until_is_a_share(agree, flavoured):
    flavoured()
    for wrong in ("0.5", "0%", "101%", "x%"):
        answer, _ = agree("random", "--count", "1", "--until", wrong)
        assert answer.status == 2
        assert f"--until {wrong!r}: expected a share of the mean, such as 0.5%" in answer.err


def test_pairs_and_windows_have_files_of_their_own(agree, flavoured, tmp_path):
    flavoured(initial_cwnd=4)
    folder = tmp_path / "agree"
    _, document = agree("pairs", "--count", "2", "--starts", "3", "--cc", "reno,bic", "--qdisc", "pfifo", "--no-figures")
    assert (document["set"], document["runs"], document["pairs"]["pairs"]) == ("pairs", 6, 2)
    with (folder / "pairs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [{row["first"], row["second"]} for row in rows] == [{"reno", "bic"}] * 2
    assert not (folder / "windows.csv").exists()
    assert "mixed pairs" in (folder / "agree.md").read_text()
    _, document = agree("random", "--count", "2", "--starts", "2", "--cc", "bic", "--qdisc", "pfifo", "--no-figures")
    assert (document["set"], document["runs"], document["starts"]) == ("random-bic", 4, 2)
    with (folder / "windows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["starts"] for row in rows] == ["2", "2"]
    assert all(0 < float(row["within"]) < 1 and float(row["first_s"]) < 1 for row in rows)
    assert not (folder / "pairs.csv").exists()


def test_another_stack_does_not_agree(agree, flavoured, tmp_path, dumbbell):
    flavoured(initial_cwnd=2, rto_min_ms=1500)
    answer, document = agree("smoke", "--check")
    assert document["metrics"]["goodput"]["median_rel"] > 0
    assert answer.status == (1 if document["below_bar"] else 0)
    folder = tmp_path / "agree"
    first = document["worst"][0]
    assert f"{first['scenario']}" in (folder / "agree.md").read_text()
    assert (folder / "worst" / "worst-1.png").stat().st_size > 10_000
    scenario = Scenario.from_file(folder / "worst" / f"{first['scenario']}.yaml")
    assert scenario.name == first["scenario"]
    with (folder / "differences.csv").open() as file:
        rows = list(csv.DictReader(file))
    row = next(
        row for row in rows if (row["scenario"], row["metric"], row["entity"]) == (first["scenario"], first["metric"], first["entity"])
    )
    assert float(row["sim"]) == pytest.approx(first["ours"], rel=1e-5)
    assert float(row["kernel"]) == pytest.approx(first["reference"], rel=1e-5)
    assert {row["scenario"] for row in rows} == {run.name for run in load(folder / "sim")}
    assert dumbbell("run", folder / "worst" / f"{first['scenario']}.yaml", "--out", tmp_path / "again").status == 0


def test_existing_runs_are_reused_and_give_the_same_bytes(agree, flavoured, tmp_path, monkeypatch):
    kernel = flavoured(initial_cwnd=4)
    _, document = agree("smoke")
    assert len(kernel.made) == document["runs"] > document["scenarios"]
    left = files(tmp_path / "agree")
    assert {"agree.json", "agree.md", "differences.csv", "reference.json", "worst-1.png"} <= {path.name for path in left}
    shutil.rmtree(tmp_path / "agree" / "sim")
    monkeypatch.setattr(comparison, "datetime", None)  # dates must come from the reference set, not from the clock
    answer, _ = agree("smoke")
    assert answer.status == 0
    assert len(kernel.made) == document["runs"]
    assert files(tmp_path / "agree") == left


def test_stale_figures_are_removed(agree, flavoured, tmp_path):
    flavoured(initial_cwnd=4)
    agree("smoke")
    assert list((tmp_path / "agree" / "worst").glob("*.yaml"))
    flavoured()
    agree("smoke")
    assert not list((tmp_path / "agree" / "worst").iterdir())


def test_a_longer_set_reuses_the_runs_of_a_shorter_one(agree, flavoured):
    kernel = flavoured()
    agree("random", "--count", "3", "--starts", "2")
    first = len(kernel.made)
    _, document = agree("random", "--count", "5", "--starts", "2")
    assert len(set(kernel.made)) == 5
    assert len(kernel.made) == document["runs"] > first


def test_invalid_runs_are_left_out(agree, flavoured, monkeypatch, tmp_path):
    flavoured()
    produce = Sim.produce

    def broken(self, prepared):
        run = produce(self, prepared)
        if prepared.engine == "sim" and "-bfifo-" in run.name and "sized" in run.name:
            object.__setattr__(run, "status", "invalid")
            object.__setattr__(run, "reasons", ("flow/cubic: sent_packets 2 is not 1",))
        return run

    monkeypatch.setattr(Sim, "produce", broken)
    answer, document = agree("smoke")
    assert answer.status == 1
    (invalid,) = document["invalid"]
    assert (invalid["engine"], invalid["reasons"]) == ("sim", ["flow/cubic: sent_packets 2 is not 1"])
    assert f"invalid, left out: {invalid['scenario']} (sim)" in answer.err
    assert document["metrics"]["goodput"]["cells"] == document["scenarios"] - 1
    assert invalid["scenario"] in (tmp_path / "agree" / "agree.md").read_text()


def test_the_scenarios_are_listed_as_files(dumbbell):
    answer = dumbbell("agree", "random", "--count", "3", "--seed", "9", "--list")
    assert answer.status == 0
    texts = answer.out.split("---\n")
    assert [Scenario.from_text(text).name for text in texts] == ["random-9-000", "random-9-001", "random-9-002"]
    plain = json.loads(dumbbell("agree", "random", "--count", "3", "--seed", "9", "--list", "--json").out)
    assert [Scenario.model_validate(each) for each in plain] == [Scenario.from_text(text) for text in texts]


def test_without_json_tables_are_printed(dumbbell, flavoured, tmp_path):
    flavoured(initial_cwnd=4)
    answer = dumbbell("agree", "smoke", "--out", tmp_path / "agree", "--no-figures")
    assert answer.status == 0
    assert "goodput (Mbit/s)" in answer.out
    assert "kernel's range over the same" in answer.out
    assert "agree.md" in answer.err
    assert not list((tmp_path / "agree" / "worst").glob("*.png"))


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("smok",), "set 'smok' is unknown (did you mean 'smoke'?); expected one of smoke, standard, random, pairs, stability"),
        (
            ("smoke", "--qdisc", "pfifo,fq_code"),
            "qdisc 'fq_code' is not shared (did you mean 'fq_codel'?); expected some of ",
        ),
        (
            ("standard", "--count", "3"),
            "the set standard has always the same scenarios; expected --count with the sets random, pairs, stability and state alone",
        ),
        (
            ("stability",),
            "the engines share no transfers, no reverse flows; expected engines and --qdisc with which the set stability can be made",
        ),
        (("smoke", "--engines", "sim"), "--engines 'sim': expected two engines that differ, the reference first, such as kernel,sim"),
        (
            ("smoke", "--engines", "sim,sim"),
            "--engines 'sim,sim': expected two engines that differ, the reference first, such as kernel,sim",
        ),
        (("smoke", "--engines", "sim,ns3"), "engine 'ns3' is unknown; expected one of sim, kernel"),
    ],
)
def test_bad_arguments_are_reported_in_one_line(dumbbell, flavoured, tmp_path, arguments, line):
    flavoured()
    answer = dumbbell("agree", *arguments, "--out", tmp_path / "agree")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(line)
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "agree").exists()


def test_a_folder_of_something_else_is_left_alone(agree, flavoured, tmp_path):
    flavoured()
    (tmp_path / "agree").mkdir()
    (tmp_path / "agree" / "thesis.tex").write_text("precious")
    answer, _ = agree("smoke")
    what = "holds other files; expected an empty folder or one written by dumbbell agree"
    assert (answer.status, answer.err) == (2, f"{tmp_path / 'agree'}: {what}\n")
    shutil.rmtree(tmp_path / "agree")
    (tmp_path / "agree").write_text("a file")
    answer, _ = agree("smoke")
    assert (answer.status, answer.err) == (2, f"{tmp_path / 'agree'}: is a file; expected a folder, or a path at which one can be made\n")


def test_an_interrupted_comparison_can_be_continued(agree, flavoured, tmp_path, monkeypatch):
    kernel = flavoured()
    whole = kernel.produce

    def cut(prepared):
        if len(kernel.made) == 5:
            raise KeyboardInterrupt
        return whole(prepared)

    monkeypatch.setattr(kernel, "produce", cut)
    answer, _ = agree("smoke", "--workers", "1")
    assert answer.status == 130
    assert not (tmp_path / "agree" / "agree.json").exists()
    kept = len(Store(tmp_path / "agree" / "kernel").runs())
    assert kept == 5
