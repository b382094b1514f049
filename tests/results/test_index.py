"""The index of a store: it saves work, and is never believed against what lies in the store."""

import json
import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from support import make_run

from dumbbell.results import Store, load, outlines, summary
from dumbbell.results.storage import checksums, index, json_files, store

KEYS = ["a" * 32, "b" * 32, "c" * 32]


@pytest.fixture
def kept(tmp_path):
    """A store with three runs."""
    found = Store(tmp_path / "results")
    found.request([("s", {"n": i}, key) for i, key in enumerate(KEYS)])
    for i, key in enumerate(KEYS):
        found.write(make_run(key, cell={"n": i}, samples=11 + i))
    return found


@pytest.fixture
def computed(monkeypatch):
    """The keys of the runs whose summary is computed from now on."""
    keys = []

    def summarise(run):
        keys.append(run.key)
        return summary.summarise(run)

    monkeypatch.setattr(store, "summarise", summarise)
    return keys


def lines(kept):
    return (kept.path / "index.jsonl").read_text().splitlines()


def plain(runs):
    return [run.summary.plain() for run in runs]


EXPECTED = plain(make_run(key, samples=11 + i) for i, key in enumerate(KEYS))


def test_a_summary_is_computed_when_the_run_is_written_and_not_again(kept, computed):
    assert plain(load(kept.path)) == plain(outlines(kept.path)) == plain(kept.get(key) for key in KEYS) == EXPECTED
    assert computed == []
    assert [line.split()[0] for line in lines(kept)] == KEYS


def test_an_outline_parses_no_record(kept, monkeypatch):
    def fail(*_):
        raise AssertionError("a record was parsed")

    monkeypatch.setattr(store, "checked", fail)
    assert [(outline.cell, outline.summary.status) for outline in outlines(kept.path)] == [({"n": i}, "ok") for i in range(3)]


def test_a_summary_is_the_same_of_samples_in_memory_and_in_the_store(kept):
    (kept.path / "index.jsonl").unlink()
    assert plain(load(kept.path)) == EXPECTED


def test_the_numbers_of_a_study_that_are_the_usual_ones_come_from_the_index(tmp_path, monkeypatch):
    from dumbbell.results.series import SeriesFile
    from dumbbell_studies.sce.reductions import one_flow

    own, cell = Store(tmp_path / "sce"), {"cc": "reno", "bandwidth_mbit": 1, "delay_ms": 20}
    own.request([("s", cell, KEYS[0])])
    own.write(make_run(KEYS[0], cell=cell))
    for method in ("frame", "series", "several"):
        monkeypatch.setattr(SeriesFile, method, lambda *_: pytest.fail("the series were read"))
    flow = make_run(KEYS[0]).summary.flows["reno"]
    key = ("reno", 1.0, 20.0)
    assert one_flow(load(own.path)) == {(key, "throughput_mbit"): [flow["flow_goodput_mbit"]], (key, "rtt_ms"): [flow["srtt_mean_ms"]]}


def test_without_its_index_a_store_has_lost_nothing(kept, computed):
    before = (kept.path / "index.jsonl").read_bytes()
    (kept.path / "index.jsonl").unlink()
    assert plain(outlines(kept.path)) == EXPECTED
    assert computed == KEYS
    assert (kept.path / "index.jsonl").read_bytes() == before
    assert plain(outlines(kept.path)) == EXPECTED
    assert computed == KEYS


def changed_record(run, **changed):
    path = run / "run.json"
    record = json.loads(path.read_text())
    del record["sha256"]
    record["flows"]["retransmits"] = [77]
    path.write_bytes(checksums.seal(json_files.to_json({**record, **changed})))


def changed_series(run):
    import polars as pl

    path = run / "series.parquet"
    frame = pl.read_parquet(path)
    frame = frame.with_columns(pl.when(pl.col("series") == "srtt_ms").then(pl.col("value") + 1).otherwise(pl.col("value")).alias("value"))
    frame.write_parquet(path, compression="zstd", compression_level=1, statistics=False)
    changed_record(run, files={"series.parquet": checksums.file_entry(path.read_bytes())})


def touched_series(run):
    """Same bytes, another time: that they are the same is not known without reading them."""
    stat = (run / "series.parquet").stat()
    os.utime(run / "series.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))


@pytest.mark.parametrize("change", [changed_record, changed_series, touched_series])
def test_a_run_that_changed_is_measured_again(kept, computed, change):
    change(kept.path / KEYS[1])
    found = plain(outlines(kept.path))
    assert computed == [KEYS[1]]
    assert found[0::2] == EXPECTED[0::2]
    assert (found[1] == EXPECTED[1]) == (change is touched_series)
    assert plain(load(kept.path)) == found
    assert computed == [KEYS[1]]


def test_everything_is_measured_again_if_the_code_that_measures_changed(kept, computed, monkeypatch):
    monkeypatch.setattr(index, "sources", lambda: "of another version")
    assert plain(outlines(kept.path)) == EXPECTED
    assert computed == KEYS


def test_the_sources_are_those_of_the_metrics():
    names = {path.name for path in index.source_files()}
    assert {"summary.py", "series.py", "tables.py", "delay.py", "fairness.py", "throughput.py", "window.py"} <= names


@pytest.mark.parametrize("position", [0, 40, 70, 90, -2])
def test_a_flipped_bit_in_the_index_is_not_served(kept, computed, position):
    path = kept.path / "index.jsonl"
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    assert plain(outlines(kept.path)) == EXPECTED
    assert len(computed) == 1


def test_a_line_with_a_right_check_sum_and_foreign_content_is_not_served(kept, computed):
    path = kept.path / "index.jsonl"
    odd = ("[" * 100_000, "{", "3", '{"status":"ok","flows":{},"run":[1.0]}', '{"status":"fine","flows":{},"run":[]}', '{"flows":3}')
    for content in odd:
        fresh = []
        for line in lines(kept):
            key, of, _, _ = line.split(" ", 3)
            fresh.append(index.line(key, of, content))
        path.write_bytes(b"".join(fresh))
        assert plain(outlines(kept.path)) == EXPECTED
        assert computed == KEYS
        computed.clear()


def test_what_a_writer_left_half_written_costs_no_more_than_the_line_and_its_neighbour(kept, computed):
    path = kept.path / "index.jsonl"
    first, second, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:50] + third)
    assert plain(outlines(kept.path)) == EXPECTED
    assert computed == KEYS[1:]
    path.write_bytes(first + second + third[:-1])
    computed.clear()
    assert plain(outlines(kept.path)) == EXPECTED
    assert computed == KEYS[2:]


def test_a_store_that_cannot_be_written_is_read(kept, computed, monkeypatch):
    (kept.path / "index.jsonl").unlink()

    opened = os.open

    def open_to_read(path, flags, *more, **others):
        if flags & os.O_ACCMODE != os.O_RDONLY:
            raise PermissionError("read only")
        return opened(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", open_to_read)
    assert plain(load(kept.path)) == EXPECTED
    assert computed == KEYS
    assert not (kept.path / "index.jsonl").exists()


def test_an_index_that_cannot_be_appended_to_loses_no_run(kept, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(index.Index, "add", fail)
        assert kept.write(make_run("d" * 32)).status == "ok"
    assert kept.get("d" * 32).summary.plain() == EXPECTED[0]


def test_lines_of_many_writers_all_stand(tmp_path):
    keys = [f"{i:032x}" for i in range(24)]
    Store(tmp_path / "out").request([("s", {"n": key}, key) for key in keys])
    together = threading.Barrier(4)

    def write(mine):
        own = Store(tmp_path / "out")
        together.wait()
        for key in mine:
            own.write(make_run(key))

    writers = [threading.Thread(target=write, args=(keys[i::4],)) for i in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = [line.split(" ", 1)[0] for line in (tmp_path / "out" / "index.jsonl").read_text().splitlines()]
    assert sorted(found) == keys


def test_another_process_may_make_the_index_anew(kept, computed):
    other = Store(kept.path)
    for _ in range(4):
        for run in kept.runs():
            kept._keep(run.key, run.summarised.args[0], run.summary)
    assert len(lines(kept)) == 15
    other.request([])
    assert len(lines(kept)) == 3
    kept.write(make_run("d" * 32))
    assert [line.split()[0] for line in lines(kept)] == [*KEYS, "d" * 32]
    assert plain(kept.runs()) == plain(other.runs()) == EXPECTED
    assert computed == ["d" * 32]


def test_an_index_that_is_mostly_useful_is_left_as_it_is(kept):
    before = (kept.path / "index.jsonl").stat().st_ino
    kept.request([])
    assert (kept.path / "index.jsonl").stat().st_ino == before


def test_a_flow_without_samples_has_no_means(tmp_path):
    own = Store(tmp_path / "out")
    own.request([("s", {}, KEYS[0])])
    run = make_run(KEYS[0])
    own.write(replace(run, samples=run.samples[1:]))
    (outline,) = own.outlines()
    assert np.isnan(outline.summary.flows["reno"]["srtt_mean_ms"])
    assert outline.summary.flows["reno"]["retransmits"] == 1
