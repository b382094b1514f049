"""`dumbbell check`: it names damaged and missing runs, and reruns them on request."""

import json
import os
import shutil

import pytest
from packed_store import flip

from dumbbell.results import Store
from dumbbell.results.storage.checksums import seal
from dumbbell.results.storage.json_files import to_json

SCENARIO = """\
name: small
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic, start: {jitter: 10ms}}]
duration: 1s
sweep: {path.rtt: [10ms, 20ms]}
repeat: 2
"""


@pytest.fixture
def file(tmp_path):
    """A scenario file of four runs."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture
def store(dumbbell, file, tmp_path):
    """Its results."""
    assert dumbbell("run", file, "--out", tmp_path / "out").status == 0
    return Store(tmp_path / "out")


def contents(store):
    """Return the content of a store's runs that does not depend on when they were made."""
    return [(run.key, run.cell, run.digest, run.counters, run.frame.hash_rows().sum()) for run in store.runs()]


def table(answer):
    heads, *rows = (line.split() for line in answer.out.splitlines())
    return [dict(zip(heads, row, strict=True)) for row in rows]


@pytest.mark.parametrize("damaged", ["run.json", "host.json", "series.parquet"])
def test_a_damaged_run_is_named_and_made_again(dumbbell, store, file, damaged):
    before = contents(store)
    assert dumbbell("check", store.path, file, "--out", store.path).status == 2
    good = dumbbell("check", store.path)
    assert (good.status, good.err) == (0, "")
    assert table(good) == [{"folder": str(store.path), "runs": "4", "whole": "4", "damaged": "0", "missing": "0"}]
    path = store.path / before[2][0] / damaged
    flip(path)
    for arguments in ((store.path,), (file, "--out", store.path)):
        found = dumbbell("check", *arguments)
        assert found.status == 1
        assert table(found)[0] | {"whole": "3", "damaged": "1"} == table(found)[0]
        what = f"{path}: is not as it was written (its SHA-256 differs)"
        assert found.err == f"{what}; expected a whole run (`dumbbell check --repair {store.path}` makes it again)\n"
    repaired = dumbbell("check", "--repair", store.path)
    assert repaired.status == 0
    assert repaired.err.startswith(f"{path}: is not as it was written")
    assert table(repaired)[0] | {"whole": "4", "damaged": "0", "repaired": "1"} == table(repaired)[0]
    assert contents(store) == before
    assert dumbbell("table", store.path).status == 0


def test_commands_leave_a_damaged_run_out_and_exit_1(dumbbell, store, file):
    first, second, *_ = (run[0] for run in contents(store))
    flip(store.path / first / "run.json")
    flip(store.path / second / "series.parquet")
    commands = {
        "table": (store.path, "--json"),
        "plot": (store.path, "--list", "--json"),
        "run": (file, "--out", store.path, "--json"),
    }
    answers = {name: dumbbell(name, *arguments) for name, arguments in commands.items()}
    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(commands, 1)
    assert len(json.loads(answers["table"].out)["rows"]) == 2
    assert len(json.loads(answers["plot"].out)) == 2
    found = json.loads(answers["run"].out)
    assert (len(found["runs"]), len(found["damaged"]), found["ran"]) == (3, 1, 0)  # `run` reads no series
    for name, answer in answers.items():
        assert answer.err.count("expected a whole run (`dumbbell check --repair ") == (1 if name == "run" else 2), name


def test_a_damaged_capture_is_not_analysed(dumbbell, tmp_path):
    (tmp_path / "s.yaml").write_text(SCENARIO.replace("repeat: 2", "capture: true"))
    assert dumbbell("run", tmp_path / "s.yaml", "--out", tmp_path / "out").status == 0
    left = next((tmp_path / "out").glob("*/left.pcap"))
    assert dumbbell("analyze", "--pair", left, left.with_name("right.pcap")).status == 0
    flip(left)
    for captures in ((left,), ("--pair", left.with_name("right.pcap"), left)):
        answer = dumbbell("analyze", *captures)
        assert (answer.status, answer.out) == (1, "")
        assert answer.err.startswith(f"{left}: is not as it was written (its SHA-256 differs); expected a whole run")
    shutil.copy(left, tmp_path / "left.pcap")
    assert dumbbell("analyze", tmp_path / "left.pcap").status == 0


def test_the_runs_of_a_scenario_that_are_missing_are_made(dumbbell, store, file):
    before = contents(store)
    shutil.rmtree(store.path / before[0][0])
    for name in ("run.json", "host.json"):
        (store.path / before[1][0] / name).write_text("{")
    folder = dumbbell("check", "--repair", store.path, "--json")
    assert folder.status == 1
    (found,) = json.loads(folder.out)["folders"]
    assert (found["whole"], len(found["damaged"]), found["missing"]) == (2, 1, [before[0][0]])
    assert dumbbell("check", file, "--out", store.path).status == 1
    answer = dumbbell("check", file, "--out", store.path, "--repair")
    assert (answer.status, table(answer)[0]["repaired"]) == (0, "2")
    assert contents(store) == before


def test_a_scenario_is_made_whole_before_anything_ran(dumbbell, file, tmp_path):
    missing = dumbbell("check", file, "--out", tmp_path / "new")
    assert (missing.status, table(missing)[0]["missing"]) == (1, "4")
    assert not (tmp_path / "new").exists()
    assert dumbbell("check", file, "--out", tmp_path / "new", "--repair").status == 0
    assert len(Store(tmp_path / "new").runs()) == 4


def test_a_run_whose_scenario_is_lost_needs_its_file(dumbbell, store):
    key = contents(store)[0][0]
    for name in ("run.json", "host.json"):
        (store.path / key / name).write_text("{")
    answer = dumbbell("check", "--repair", store.path)
    assert answer.status == 1
    why = "its scenario is damaged, too, a file that it names has changed, or another version made it"
    assert f"{store.path / key}: cannot be rerun, {why}; expected" in answer.err
    assert (store.path / key).is_dir()


def test_a_damaged_list_of_runs_is_made_again(dumbbell, store):
    before = contents(store)
    flip(store.path / "study.json")
    for command in ("table", "plot", "check"):
        answer = dumbbell(command, store.path)
        assert answer.status == 2
        assert answer.err.startswith(f"{store.path / 'study.json'}: is not as it was written")
    answer = dumbbell("check", store.path, "--repair")
    assert answer.status == 0
    assert f"{store.path / 'study.json'}: lists the 4 whole runs again, sorted by name and coordinates\n" in answer.err
    assert contents(store) == before


def test_folders_of_several_stores(dumbbell, store, tmp_path):
    shutil.copytree(store.path, tmp_path / "all" / "a")
    shutil.copytree(store.path, tmp_path / "all" / "b" / "runs")
    (tmp_path / "all" / "b" / "study.json").write_bytes(seal(to_json({"study": "sce", "part": "one-flow"})))
    assert [row["folder"] for row in table(dumbbell("check", tmp_path / "all"))] == [f"{tmp_path}/all/a", f"{tmp_path}/all/b/runs"]
    flip(tmp_path / "all" / "b" / "study.json", 5)
    assert dumbbell("check", tmp_path / "all").err.startswith(f"{tmp_path}/all/b/study.json: cannot be read (is not as it was written")


def test_what_cannot_be_checked_is_refused(dumbbell, tmp_path):
    (tmp_path / "empty").mkdir()
    assert dumbbell("check").status == 2
    for path, what in (("empty", "no results folder is there"), ("none", "no such file")):
        answer = dumbbell("check", tmp_path / path)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"{tmp_path / path}: ")
        assert what in answer.err


def test_runs_of_an_earlier_version_are_counted(dumbbell):
    from results.test_old_stores import OLD

    answer = dumbbell("check", OLD)
    assert answer.status == 0
    assert answer.err == "1 runs are of an earlier version, without checksums: damage in them goes unnoticed\n"


def test_repairing_what_nobody_asks_for_any_more_does_not_ask_for_it_again(dumbbell, store, file):
    old = store.requested_keys()
    file.write_text(SCENARIO.replace("duration: 1s", "duration: 2s"))
    assert dumbbell("run", file, "--out", store.path).status == 0
    new = store.requested_keys()
    assert not set(old) & set(new)
    flip(store.path / old[0] / "series.parquet")
    assert dumbbell("check", "--repair", store.path).status == 0
    assert store.is_whole(old[0])
    assert store.requested_keys() == new


def test_a_lost_list_is_made_again_of_the_newest_runs(dumbbell, store, file, tmp_path):
    file.write_text(SCENARIO.replace("duration: 1s", "duration: 2s"))
    assert dumbbell("run", file, "--out", store.path).status == 0
    new = store.requested_keys()
    (store.path / "study.json").unlink()
    answer = dumbbell("check", tmp_path)
    assert answer.status == 2
    assert "study.json" in answer.err
    assert dumbbell("check", "--repair", tmp_path).status == 0
    assert store.requested_keys() == new


@pytest.mark.parametrize("kind", ["link", "pipe", "loose end"])
def test_files_of_other_kinds_are_damage(dumbbell, store, kind):
    victim = store.path / store.requested_keys()[1] / "series.parquet"
    other = victim.rename(victim.with_suffix(".elsewhere"))
    if kind == "pipe":
        os.mkfifo(victim)
    else:
        victim.symlink_to(other if kind == "link" else "/nowhere")
    answer = dumbbell("table", store.path)
    assert answer.status == 1
    assert f"{victim}: {'is not a regular file' if kind == 'pipe' else 'is a link'}; expected a whole run" in answer.err


def test_packed_runs_are_checked_and_made_again(tmp_path, dumbbell):
    file, out = tmp_path / "s.yaml", tmp_path / "out"
    file.write_text(PACKED_SCENARIO)
    assert dumbbell("run", file, "--out", out).status == 0
    before = dumbbell("run", file, "--out", out).out
    tables = [dumbbell("table", *options, out).out for options in ((), ("--runs",), ("--tidy",))]
    answer = dumbbell("pack", "--json", out)
    (told,) = json.loads(answer.out)["folders"]
    assert (told["runs"], told["packs"], told["kept"], told["damaged"]) == (4, 1, {}, [])
    assert dumbbell("run", file, "--out", out).out == before
    assert [dumbbell("table", *options, out).out for options in ((), ("--runs",), ("--tidy",))] == tables
    assert dumbbell("check", out).status == 0
    (pack,) = (out / "packs").iterdir()
    for name in ("series.parquet", "pack.json"):
        content = bytearray((pack / name).read_bytes())
        content[len(content) // 2] ^= 1
        (pack / name).write_bytes(content)
        answer = dumbbell("check", out)
        assert answer.status == 1
        assert [line for line in answer.err.splitlines() if name in line and "expected a whole pack of 4 runs" in line]
        answer = dumbbell("run", file, "--out", out)
        noticed = name != "series.parquet"  # as in a folder: `run` reads no series
        assert (answer.status, "4 damaged left out" in answer.err) == (int(noticed), noticed)
        answer = dumbbell("check", "--repair", out)
        assert (answer.status, answer.out.split()[-5:]) == (0, ["4", "4", "0", "0", "4"])
        assert not pack.exists()
        assert dumbbell("run", file, "--out", out).out == before
        assert dumbbell("pack", out).status == 0
        (pack,) = (out / "packs").iterdir()


PACKED_SCENARIO = """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: fq_codel}}}
flows: [{cc: cubic}]
duration: 1s
sweep: {path.rtt: [1ms, 2ms, 3ms, 4ms]}
"""


@pytest.mark.parametrize("name", ["none", "file", "empty"])
def test_what_cannot_be_packed(tmp_path, dumbbell, name):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    answer = dumbbell("pack", tmp_path / name)
    assert answer.status == 2
    assert answer.err.count("\n") == 1
    assert "expected" in answer.err
