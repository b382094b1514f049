"""Packs: the same runs in fewer files, and no less careful with what is damaged."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from packed_store import KEYS, TAMPERED, changed, flip, resealed, written
from support import make_run

from dumbbell.comparing.summary import run_table, summary_table
from dumbbell.errors import BadInput, DamagedRun, DamagedRunWarning
from dumbbell.files import SafeFolder
from dumbbell.results import Store, load, outlines, series, summary
from dumbbell.results.storage import index, pack, packing, packs, store
from dumbbell.results.storage.shelf import Folders
from dumbbell.results.tables import FLOWS, Table


def text(made):
    return made.csv()


def files_of(found):
    return sorted(str(Path(place, name).relative_to(found.path)) for place, _, names in os.walk(found.path) for name in names)


def test_packed_runs_are_those_of_folders(folders, packed):
    first, again = load(folders.path), load(packed.path)
    assert [run.key for run in again] == KEYS == packed.stored_keys()
    for one, other in zip(first, again, strict=True):
        assert other == one
        assert other.frame.equals(one.frame)
        assert other.sampled == one.sampled
        assert series.digest_of_frame(other.frame) == one.digest
        assert [each.tolist() for each in other.series("flow/reno", "cwnd")] == [each.tolist() for each in one.series("flow/reno", "cwnd")]
        assert other.all_series("srtt_ms").keys() == one.all_series("srtt_ms").keys()
        assert (packed.record(one.key), packed.host(one.key)) == (folders.record(one.key), folders.host(one.key))
    assert again.frame.equals(first.frame)
    for table in (run_table, summary_table):
        assert text(table(outlines(packed.path), "")) == text(table(outlines(folders.path), ""))
    with pytest.raises(KeyError, match="has no series 'rtt_ms'"):
        again[0].series("flow/reno", "rtt_ms")


def test_a_packed_store_has_few_files(packed):
    assert [name for name in files_of(packed) if not name.startswith("packs/")] == [".lock", "index.jsonl", "study.json"]
    packs = os.listdir(packed.path / "packs")
    assert len(packs) == 3
    for each in packs:
        assert sorted(os.listdir(packed.path / "packs" / each)) == ["hosts.parquet", "pack.json", "runs.parquet", "series.parquet"]


def test_tables_read_no_series_and_parse_no_record(packed, monkeypatch):
    monkeypatch.setattr(store, "checked", lambda *_: pytest.fail("a record was parsed"))
    monkeypatch.setattr(pack, "_samples", lambda *_: pytest.fail("samples were read"))
    monkeypatch.setattr(store, "summarise", lambda *_: pytest.fail("a summary was computed"))
    assert [outline.cell for outline in outlines(packed.path)] == [{"n": i} for i in range(len(KEYS))]
    assert packed.missing([*KEYS, "f" * 32]) == ["f" * 32]


def test_metrics_of_other_code_are_computed_again_and_kept_in_the_index(packed, monkeypatch):
    computed = []

    def summarise(run):
        computed.append(run.key)
        return summary.summarise(run)

    monkeypatch.setattr(store, "summarise", summarise)
    for module in (index, pack):
        monkeypatch.setattr(module, "sources", lambda: "of another version")
    expected = [make_run(key, samples=11 + i).summary.plain() for i, key in enumerate(KEYS)]
    assert [each.summary.plain() for each in outlines(packed.path)] == expected
    assert computed == KEYS
    Store(packed.path).request([])
    assert [each.summary.plain() for each in outlines(packed.path)] == expected
    assert computed == KEYS


def test_a_packed_run_is_there_and_not_written_again(packed):
    before = files_of(packed)
    assert packed.write(make_run(KEYS[2], cell={"n": 2}, samples=13)).cell == {"n": 2}
    with packed.claim(KEYS[2]) as there:
        assert there is not None
    assert files_of(packed) == before
    assert packing.pack(packed) == packing.Packed()
    assert files_of(packed) == before


def test_new_runs_lie_beside_packs_and_go_into_others(packed):
    packed.request([("s", {"n": 9}, "9" * 32)])
    packed.write(make_run("9" * 32, cell={"n": 9}))
    assert [run.key for run in packed.runs()] == [*KEYS, "9" * 32]
    assert packing.pack(packed) == packing.Packed(runs=1, packs=1, joined=2)
    assert sorted(len(each.keys) for each in Store(packed.path).packs.all()) == [2, 3, 3]
    assert [run.key for run in Store(packed.path).runs()] == [*KEYS, "9" * 32]
    assert all(packed.verify(key) for key in packed.stored_keys())


def test_captures_and_what_programs_wrote_stay_files(tmp_path):
    found = written(tmp_path / "out", captures={"left.pcap": b"packets"}, outputs={"application-iperf3.json": b"{}"})
    assert packing.pack(found).runs == len(KEYS)
    for run in load(found.path):
        assert {name: path.read_bytes() for name, path in run.captures.items()} == {"left.pcap": b"packets"}
        assert run.outputs == {"application-iperf3.json": found.path / run.key / "application-iperf3.json"}
        store.check_capture(run.captures["left.pcap"])
    flip(found.path / KEYS[0] / "left.pcap")
    with pytest.raises(DamagedRun, match=r"left\.pcap"):
        store.check_capture(found.path / KEYS[0] / "left.pcap")
    (found.path / KEYS[1] / "left.pcap").unlink()
    assert [found.is_whole(key) for key in KEYS] == [False, False, *[True] * 5]
    found.write(replace(make_run(KEYS[1], cell={"n": 1}, samples=12), captures={"left.pcap": b"packets"}))
    assert sorted(os.listdir(found.path / KEYS[1])) == ["host.json", "left.pcap", "run.json", "series.parquet"]
    assert packing.pack(found) == packing.Packed(runs=1, packs=1, joined=2), "it is taken out of its pack, and then that takes it in"
    assert sorted(os.listdir(found.path / KEYS[1])) == ["left.pcap"]
    assert [found.is_whole(key) for key in KEYS] == [False, *[True] * 6]


def test_long_tables_go_along(tmp_path):
    rows = [{**make_run().flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
    found = written(tmp_path / "out", flows=Table.of_rows(FLOWS, rows))
    before = [run.flows.rows() for run in found.runs()]
    assert packing.pack(found).runs == len(KEYS)
    assert [run.flows.rows() for run in load(found.path)] == before
    assert all(found.is_whole(key) for key in KEYS)


def test_samples_of_a_run_are_found_among_those_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(pack, "_GROUP", 40)
    found = written(tmp_path / "out")
    before = {run.key: run.frame for run in found.runs()}
    assert packing.pack(found).runs == len(KEYS)
    for key in reversed(KEYS):
        assert found.get(key).frame.equals(before[key])


def test_a_run_whose_digest_does_not_come_back_stays_a_folder(tmp_path):
    found = written(tmp_path / "out", digest="0" * 64)
    made = packing.pack(found)
    assert (made.runs, made.packs) == (0, 0)
    assert set(made.kept) == set(KEYS)
    assert all(found.is_whole(key) for key in KEYS)
    assert not (found.path / "packs").exists()


@pytest.mark.parametrize("name", ["runs.parquet", "hosts.parquet", "series.parquet"])
def test_runs_stay_folders_if_their_pack_does_not_read_back(folders, name, monkeypatch):
    """The disk has kept something else than it was given."""

    real = packs.Packs.add

    def add(self, made, files, *more):
        real(self, made, files, *more)
        flip(folders.path / "packs" / made / name)

    monkeypatch.setattr(packs.Packs, "add", add)
    made = packing.pack(folders)
    assert (made.runs, made.kept) == (0, dict.fromkeys(KEYS, "its copy in a pack differs"))
    assert [key for key in KEYS if not (folders.path / key / "run.json").exists()] == []


@pytest.mark.parametrize(
    "change",
    [
        lambda run: run._replace(samples=run.samples.head(-1)),
        lambda run: run._replace(tables=dict.fromkeys(run.tables, b"another")),
        lambda run: run._replace(host=run.host.replace(b"2", b"4")),
    ],
    ids=["samples", "tables", "host.json"],
)
def test_runs_stay_folders_if_their_pack_has_something_else(change, tmp_path, monkeypatch):
    """Though it is as it was written."""
    rows = [{**make_run().flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
    found = written(tmp_path / "out", KEYS[:2], flows=Table.of_rows(FLOWS, rows))
    monkeypatch.setattr(packing, "contents", lambda runs: pack.contents(list(map(change, runs))))
    made = packing.pack(found)
    assert (made.runs, made.kept) == (0, dict.fromkeys(KEYS[:2], "its copy in a pack differs"))


def test_a_damaged_run_stays_a_folder(folders):
    flip(folders.path / KEYS[1] / "series.parquet")
    with pytest.warns(DamagedRunWarning, match=r"series\.parquet"):
        made = packing.pack(folders)
    assert (made.runs, made.damaged) == (6, [KEYS[1]])
    assert [name for name in os.listdir(folders.path) if name in KEYS] == [KEYS[1]]


@pytest.mark.parametrize("name", ["pack.json", "runs.parquet", "hosts.parquet", "series.parquet"])
def test_a_flipped_byte_is_noticed_and_the_runs_can_be_made_again(packed, name):
    whole, lost = KEYS[3:], KEYS[:3]
    folder = next(each.folder for each in packed.packs.all() if each.keys == lost)
    flip(folder / name)
    found = Store(packed.path)
    assert found.stored_keys() == KEYS
    assert [key for key in KEYS if not found.is_whole(key)] == lost
    with pytest.raises(DamagedRun, match=rf"{name}: .*; expected a whole pack of 3 runs \(`dumbbell check --repair {packed.path}`"):
        found.verify(lost[0])
    if name == "hosts.parquet":
        assert [run.key for run in found.runs()] == KEYS, "as with a damaged host.json"
    else:
        with pytest.warns(DamagedRunWarning, match=name):
            assert [run.key for run in found.runs()] == whole
    assert found.missing(KEYS) == []
    assert [next(found.asked(key))[1] for key in lost] == [{"n": i} for i in range(3)]
    for i, key in enumerate(lost):
        found.write(make_run(key, cell={"n": i}, samples=11 + i))
    assert all(found.is_whole(key) for key in KEYS)
    assert packing.remove_damaged(found) == 1
    assert not folder.exists()
    assert [run.key for run in Store(packed.path).runs()] == KEYS


@pytest.mark.parametrize("name", ["pack.json", "runs.parquet", "hosts.parquet", "series.parquet"])
@pytest.mark.parametrize("change", ["gone", "empty", "cut"])
def test_what_is_lost_of_a_pack_is_noticed(packed, name, change):
    path = packed.packs.all()[0].folder / name
    keys = packed.packs.all()[0].keys
    content = path.read_bytes()
    path.unlink()
    if change != "gone":
        path.write_bytes(b"" if change == "empty" else content[:-9])
    found = Store(packed.path)
    assert [key for key in KEYS if not found.is_whole(key)] == list(keys)
    assert len([next(found.asked(key)) for key in keys]) == len(keys)


def test_a_shelf_of_which_nothing_is_left_is_named(packed):
    for name in os.listdir(packed.packs.all()[0].folder):
        (packed.packs.all()[0].folder / name).write_bytes(b"")
    with pytest.warns(DamagedRunWarning, match=r"pack\.json: truncated or not JSON; expected a whole pack"):
        assert len(Store(packed.path).missing(KEYS)) in (1, 3)


def test_every_byte_of_a_pack_counts(packed):
    for each in packed.packs.all()[:1]:
        for name in os.listdir(each.folder):
            size = (each.folder / name).stat().st_size
            for position in range(0, size, size // 40):
                content = (each.folder / name).read_bytes()
                flip(each.folder / name, position)
                pack._fault.cache_clear()  # which knows files by times that are not fine enough for this
                assert not Store(packed.path).is_whole(each.keys[0])
                (each.folder / name).write_bytes(content)
        pack._fault.cache_clear()
        assert Store(packed.path).is_whole(each.keys[0])


def listing(files):
    """A change of what a list of runs says of files; `files` makes it of what it said."""
    return lambda record: {"files": files(record["files"])}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        (listing(lambda _: 3), "does not list runs and files"),
        (lambda _: {"runs": 3}, "does not list runs and files"),
        (listing(lambda files: {name: files[name] for name in ("runs.parquet", "hosts.parquet")}), "does not list the files of a pack"),
        (listing(lambda files: {**files, "../x": files["runs.parquet"]}), "does not list the files of a pack"),
        (listing(lambda files: {**files, "hosts.parquet": {**files["hosts.parquet"], "sha256": None}}), "lacks checksums of files"),
    ],
    ids=["no files", "no runs", "too few files", "a file elsewhere", "a file without a checksum"],
)
def test_a_list_of_runs_that_was_tampered_with(packed, changes, what):
    folder = packed.packs.all()[0].folder
    resealed(folder / "pack.json", **changes(json.loads((folder / "pack.json").read_text())))
    with pytest.warns(DamagedRunWarning, match=rf"pack\.json: {what}; expected a whole pack"):
        Store(packed.path).runs()


def test_a_shelf_of_a_later_version_is_refused(packed):
    resealed(packed.packs.all()[0].folder / "pack.json", format=9)
    with pytest.raises(BadInput, match=r"pack\.json: is not of format 1; expected a pack written by dumbbell, and by no later version"):
        load(packed.path)


@pytest.mark.parametrize(("file", "columns"), TAMPERED)
def test_files_of_a_pack_that_were_tampered_with(file, columns, tampered):
    """With checksums that are right: what the files say is looked at, too, by whoever reads it, and by `check` all of it."""
    found = tampered(file, columns)
    reads = {
        "runs.parquet": lambda: found.get(KEYS[0]).frame,
        "series.parquet": lambda: found.get(KEYS[0]).frame,
        "hosts.parquet": lambda: found.host(KEYS[0]),
        "tables.parquet": lambda: found.get(KEYS[0]).flows.rows(),
    }
    with pytest.raises(DamagedRun):
        reads[file]()
    with pytest.raises(DamagedRun) as error:
        found.verify(KEYS[0])
    assert "\n" not in str(error.value)
    assert not any(map(found.is_whole, KEYS))


@pytest.mark.parametrize(("name", "function"), [("series.parquet", "scan_parquet"), ("runs.parquet", "read_parquet")])
def test_a_file_at_which_polars_panics_is_damage(packed, name, function, monkeypatch):
    """Its pages may contradict each other, though its checksum is right."""
    import polars as pl

    lost = (next(each for each in packed.packs.all() if KEYS[0] in each.keys).folder / name).stat().st_ino
    reads = getattr(pl, function)

    def panics(source, *more, **named):
        if os.fstat(source.fileno()).st_ino == lost:
            raise pl.exceptions.PanicException("left: 93, right: 105")
        return reads(source, *more, **named)

    monkeypatch.setattr(pl, function, panics)
    for kept in (pack._samples, pack._texts, pack._places):
        kept.cache_clear()
    found = Store(packed.path)
    with pytest.raises(DamagedRun, match=rf"{name}: has no .* \(left: 93, right: 105\)"):
        _ = found.get(KEYS[0]).frame
    assert [key for key in KEYS if found.is_whole(key)] == KEYS[3:]
    assert packing.pack(found) == packing.Packed()


@pytest.fixture
def long_tables(tmp_path, monkeypatch):
    """The folder of a store whose runs, in packs of three, have long tables."""
    monkeypatch.setattr(pack, "MOST_RUNS", 3)
    rows = [{**make_run().flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
    packing.pack(found := written(tmp_path / "out", flows=Table.of_rows(FLOWS, rows)))
    return found.path


@pytest.mark.parametrize(
    ("file", "column", "change"),
    [
        ("series.parquet", "value", lambda column: column.cast(str)),
        ("series.parquet", "t_ns", lambda column: column.cast(float)),
        ("series.parquet", "entity", lambda column: column.replace("flow/reno", None)),
        ("tables.parquet", "content", lambda column: column.is_in([])),
        ("tables.parquet", "content", lambda column: column.replace(column.first(), None)),
    ],
    ids=["text for numbers", "other numbers", "no entity", "no file", "a file is missing"],
)
def test_values_of_a_pack_that_are_not_what_they_should_be_are_damage(long_tables, file, column, change):
    """With as many rows as before, and checksums that are right: nothing is computed of them, and other packs are read."""
    import polars as pl

    folder = next(each.folder for each in Store(long_tables).packs.all() if KEYS[0] in each.keys)
    changed(folder, file, lambda path: pl.read_parquet(path).with_columns(change(pl.col(column))))
    found = Store(long_tables)
    with pytest.raises(DamagedRun, match=rf"{file}: has no .* of the run \((has other columns|lacks values)\)|{file}: has no such samples"):
        _ = (found.get(KEYS[0]).frame, found.get(KEYS[0]).flows.rows())
    assert [key for key in KEYS if found.is_whole(key)] == KEYS[3:]


def test_what_is_packed_while_it_is_read_is_read_from_the_pack(folders, monkeypatch):
    reader = Store(folders.path)
    reader.get(KEYS[0])
    before = reader._folders.listed

    def packed_meanwhile(key):
        monkeypatch.setattr(reader._folders, "listed", before)
        packing.pack(Store(folders.path))
        return before(key)

    monkeypatch.setattr(reader._folders, "listed", packed_meanwhile)
    assert [run.key for run in reader.runs()] == KEYS


@pytest.mark.parametrize("asked", ["get", "record", "host", "verify", "written_ns", "_outlined"])
def test_a_run_whose_folder_goes_while_it_is_read_is_read_from_the_pack(folders, asked, monkeypatch):
    """After its files were listed, before they are looked at."""
    reader, listed = Store(folders.path), Folders.listed
    expected = getattr(reader, asked)(KEYS[0])
    place = Store._shelf_of

    def packed_then(function, back):
        def call(self, key):
            found = function(self, key)
            monkeypatch.setattr(*back)
            packing.pack(Store(folders.path))
            return found

        return call

    if asked in ("get", "_outlined"):
        monkeypatch.setattr(Folders, "listed", packed_then(listed, (Folders, "listed", listed)))
    else:
        monkeypatch.setattr(Store, "_shelf_of", packed_then(place, (Store, "_shelf_of", place)))
    again = getattr(Store(folders.path), asked)(KEYS[0])
    assert again == expected or asked == "written_ns"
    assert not (folders.path / KEYS[0]).exists()


def test_a_run_may_be_packed_before_the_index_has_it(folders, monkeypatch):
    listed = Folders.listed
    key = "9" * 32
    folders.request([("s", {"n": 9}, key)])

    def packed_meanwhile(self, which):
        found = listed(self, which)
        monkeypatch.setattr(Folders, "listed", listed)
        packing.pack(Store(folders.path))
        return found

    monkeypatch.setattr(Folders, "listed", packed_meanwhile)
    folders.write(make_run(key, cell={"n": 9}))
    assert not (folders.path / key).exists()
    assert Store(folders.path).verify(key)


def test_a_run_that_goes_while_it_is_read_is_damaged(folders, monkeypatch):
    listed = SafeFolder.files

    def gone(self, name):
        shutil.rmtree(self.path / name)
        return listed(self, name)

    monkeypatch.setattr(SafeFolder, "files", gone)
    with pytest.raises(DamagedRun, match=r"series\.parquet: no such file"):
        Store(folders.path).get(KEYS[0])


def test_series_of_a_run_that_was_packed_since_are_read_from_the_pack(folders):
    held, again = folders.runs(), folders.runs()
    frames = [run.frame for run in again]
    packing.pack(Store(folders.path))
    for run, other, frame in zip(held, again, frames, strict=True):
        assert run.frame.equals(frame)
        assert other.series("flow/reno", "cwnd")[0].tolist() == run.series("flow/reno", "cwnd")[0].tolist()
        assert run.summary == other.summary
    for each in folders.packs.all():
        flip(each.folder / "series.parquet")
    with pytest.raises(DamagedRun, match=r"series\.parquet"):
        _ = held[0].frame


def test_only_one_process_packs_a_store(folders):
    with folders.place.claimed("pack"), pytest.raises(BadInput, match="another process packs it"):
        packing.pack(Store(folders.path))
    assert packing.pack(Store(folders.path)).runs == len(KEYS)


def test_a_lost_list_of_requests_is_made_again(packed):
    (packed.path / "study.json").unlink()
    assert packed.list_again() == len(KEYS)
    assert [run.key for run in load(packed.path)] == KEYS


def test_a_damaged_pack_stays_as_long_as_it_alone_has_a_whole_run(tmp_path):
    found = Store(tmp_path / "out")
    found.request([("s", {"n": i}, key) for i, key in enumerate(KEYS[:2])])
    runs = [make_run(key, cell={"n": i}) for i, key in enumerate(KEYS[:2])]
    runs[0] = replace(runs[0], flows=Table.of_rows(FLOWS, [{**runs[0].flows.row(0), "flow": f"flow{i}"} for i in range(1001)]))
    for run in runs:
        found.write(run)
    assert packing.pack(found).packs == 1
    flip(found.packs.all()[0].folder / "tables.parquet")
    again = Store(found.path)
    assert [again.is_whole(key) for key in KEYS[:2]] == [False, True]
    again.write(runs[0])
    assert packing.remove_damaged(again) == 0
    assert [run.key for run in Store(found.path).runs()] == KEYS[:2]


def test_a_folder_of_this_name_without_packs_is_another_folder(tmp_path, packed):
    (tmp_path / "packs").mkdir()
    assert not store.has_runs(tmp_path, ["packs"])
    (tmp_path / "packs").rmdir()
    (tmp_path / "packs").write_text("a file")
    assert not store.has_runs(tmp_path, ["packs"])
    assert store.has_runs(packed.path, ["packs"])
