"""Packs that are put together: fewer, and of the same runs, whatever is damaged, and wherever it ends."""

import shutil
from dataclasses import replace

import pytest
from packed_store import KEYS, TAMPERED, changed, flip, written
from support import make_run

from dumbbell.results import Store
from dumbbell.results.storage import joining, pack, packing, packs
from dumbbell.results.storage.pack import Pack
from dumbbell.results.tables import FLOWS, Table


@pytest.mark.parametrize(("file", "columns"), TAMPERED)
def test_a_pack_that_was_tampered_with_is_not_put_together_with_others(file, columns, tampered):
    found = tampered(file, columns)
    (folder,) = (each.folder for each in found.packs.all())
    found.request([("s", {"n": 9}, "9" * 32)])
    found.write(make_run("9" * 32))
    # Only a run's record says which tables it has, so that the packs are joined whatever is in them.
    assert packing.pack(found).joined == (2 if "content" in columns else 0)
    assert folder.exists() == ("content" not in columns)
    assert [key for key in KEYS if Store(found.path).is_whole(key)] == []
    assert Store(found.path).verify("9" * 32)
    assert Store(found.path).stored_keys() == [*KEYS, "9" * 32]


@pytest.mark.parametrize("how", ["its checksum differs", "it lacks a row"])
@pytest.mark.parametrize("most_runs", [7, 9], ids=["full", "staying"])
@pytest.mark.parametrize("sources", ["of this version", "of another version"])
def test_a_damaged_pack_takes_no_run_from_a_whole_one(tmp_path, how, most_runs, sources, monkeypatch):
    """The run at its end is in a small pack, too, which might seem to be needed no more."""
    import polars as pl

    packing.pack(written(tmp_path / "small", KEYS[-1:]))
    (small,) = (each.folder for each in Store(tmp_path / "small").packs.all())
    with monkeypatch.context() as patched:
        if sources == "of another version":
            patched.setattr(pack, "sources", lambda: sources)
        packing.pack(found := written(tmp_path / "out"))
    (folder,) = (each.folder for each in found.packs.all())
    if how == "its checksum differs":
        flip(folder / "series.parquet")
    else:
        changed(folder, "series.parquet", lambda frame: pl.read_parquet(frame).head(-1))
    shutil.copytree(small, folder.parent / small.name)
    monkeypatch.setattr(pack, "MOST_RUNS", most_runs)
    assert joining.join(Store(found.path)) == 0
    (left,) = (each for each in Store(found.path).packs.all() if len(each.keys) == 1)
    assert left.digest(KEYS[-1])


def test_of_runs_whose_metrics_other_code_computed_one_copy_stays(tmp_path, monkeypatch):
    packing.pack(written(tmp_path / "small", KEYS[-1:]))
    (small,) = (each.folder for each in Store(tmp_path / "small").packs.all())
    with monkeypatch.context() as patched:
        patched.setattr(pack, "sources", lambda: "of another version")
        packing.pack(found := written(tmp_path / "out"))
    (folder,) = (each.folder for each in found.packs.all())
    shutil.copytree(small, folder.parent / small.name)
    assert joining.join(Store(found.path)) == 1
    assert [each.folder for each in Store(found.path).packs.all()] == [folder]


def test_runs_of_a_damaged_pack_that_were_made_again_do_not_keep_others_from_being_packed(tmp_path):
    """The pack cannot be taken apart, so that the folder stays next to it, and is what is read."""
    import polars as pl

    packing.pack(found := written(tmp_path / "out"))
    (folder,) = (each.folder for each in found.packs.all())
    changed(folder, "hosts.parquet", lambda path: pl.read_parquet(path).head(-1))
    found = Store(found.path)
    assert [key for key in KEYS if not found.is_whole(key)] == KEYS[-1:]
    found.write(make_run(KEYS[-1], cell={"n": 6}, samples=17), "dumbbell run s.yaml", {"processors": 2})
    found.request([("s", {"n": 9}, "9" * 32)])
    found.write(make_run("9" * 32))
    done = packing.pack(found)
    assert (done.runs, done.packs, done.joined, list(done.kept)) == (1, 1, 0, KEYS[-1:])
    assert all(Store(found.path).is_whole(key) for key in [*KEYS, "9" * 32])
    assert packing.pack(Store(found.path)).packs == 0


def test_a_pack_that_is_unlike_others_is_not_put_together_with_them(tampered):
    """It says how much it has, and no more."""
    lengths = [len(make_run(key, samples=11 + i).frame) for i, key in enumerate(KEYS)]
    found = tampered("runs.parquet", {"key": KEYS, "samples": lengths})
    found.request([("s", {"n": 9}, "9" * 32)])
    found.write(make_run("9" * 32))
    assert packing.pack(found) == packing.Packed(runs=1, packs=1)
    assert Store(found.path).stored_keys() == [*KEYS, "9" * 32]


def test_packs_that_are_not_full_are_put_together(tmp_path, monkeypatch):
    found = written(tmp_path / "out")
    before = {run.key: (found.record(run.key), found.host(run.key), run.frame, run.summary) for run in found.runs()}
    monkeypatch.setattr(pack, "MOST_RUNS", 2)
    packing.pack(found)
    reader = Store(found.path)
    held = reader.runs()
    monkeypatch.setattr(pack, "MOST_RUNS", 3)
    assert packing.pack(found) == packing.Packed(joined=3), "the last one stays as it is"
    assert sorted(len(each.keys) for each in found.packs.all()) == [1, 3, 3]
    assert packing.pack(found) == packing.Packed()
    for store_, runs in ((Store(found.path), Store(found.path).runs()), (reader, held), (reader, reader.runs())):
        assert len(runs) == len(KEYS)
        for run in runs:
            record, host, frame, metrics = before[run.key]
            assert (store_.record(run.key), store_.host(run.key), run.summary) == (record, host, metrics)
            assert run.frame.equals(frame)
        assert all(store_.verify(key) for key in KEYS)


def test_packs_with_long_tables_and_of_many_samples_are_put_together(tmp_path, monkeypatch):
    rows = [{**make_run().flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
    found = Store(tmp_path / "out")
    found.request([("s", {"n": i}, key) for i, key in enumerate(KEYS)])
    runs = [make_run(key, cell={"n": i}) for i, key in enumerate(KEYS)]
    runs[2] = replace(runs[2], flows=Table.of_rows(FLOWS, rows))
    with monkeypatch.context() as patched:
        patched.setattr(pack, "MOST_RUNS", 1)
        for run in runs:
            found.write(run)
        packing.pack(found)
    monkeypatch.setattr(pack, "MOST_SAMPLES", 3 * len(runs[0].frame))
    assert packing.pack(found).joined == len(KEYS) - 1, "the last one stays as it is"
    assert sorted(len(each.keys) for each in found.packs.all()) == [1, 3, 3]
    assert Store(found.path).get(KEYS[2]).flows.rows() == runs[2].flows.rows()
    assert all(Store(found.path).is_whole(key) for key in KEYS)


def test_packs_whose_metrics_other_code_computed_stay(packed, monkeypatch):
    monkeypatch.setattr(pack, "MOST_RUNS", 9)
    with monkeypatch.context() as patched:
        patched.setattr(pack, "sources", lambda: "of another version")
        packed.request([("s", {"n": 9}, "9" * 32)])
        packed.write(make_run("9" * 32, cell={"n": 9}))
        assert packing.pack(packed).joined == 3, "those of this version"
    assert sorted(len(each.keys) for each in packed.packs.all()) == [1, 7]


@pytest.mark.parametrize("name", ["pack.json", "runs.parquet", "hosts.parquet", "series.parquet"])
def test_a_damaged_pack_stays_while_others_are_put_together(packed, name, monkeypatch):
    monkeypatch.setattr(pack, "MOST_RUNS", 7)
    folder = next(each.folder for each in packed.packs.all() if len(each.keys) == 3)
    flip(folder / name)
    assert packing.pack(found := Store(packed.path)).joined == 2
    assert sorted(len(each.keys) for each in found.packs.all()) == [3, 4]
    assert folder.exists()
    assert [key for key in KEYS if not found.is_whole(key)] == list(Pack(packed.folder, f"packs/{folder.name}").keys)


@pytest.fixture
def uneven(packed, monkeypatch):
    """A store with two packs that are full, and two that are not."""
    packed.request([("s", {"n": 9}, "9" * 32)])
    packed.write(make_run("9" * 32, cell={"n": 9}))
    with monkeypatch.context() as patched:
        patched.setattr(packing, "join", lambda *_: 0)
        packing.pack(packed)
    return Store(packed.path)


def test_of_packs_that_stay_nothing_is_read(uneven, monkeypatch):
    """Or the end of each sweep would read all earlier files."""
    full = {each.folder for each in uneven.packs.all() if len(each.keys) == 3}
    read, fault = [], pack._fault
    monkeypatch.setattr(pack, "_fault", lambda file, signature: read.append(file.path.parent) or fault(file, signature))
    assert joining.join(uneven) == 2
    assert sorted(len(each.keys) for each in Store(uneven.path).packs.all()) == [2, 3, 3]
    assert read
    assert full.isdisjoint(read)


@pytest.fixture
def two_packs(tmp_path, monkeypatch):
    """A store with two packs of three runs that are alike, and the number of samples of a run."""
    found = Store(tmp_path / "out")
    found.request([("s", {"n": i}, key) for i, key in enumerate(KEYS[:6])])
    for i, key in enumerate(KEYS[:6]):
        found.write(make_run(key, cell={"n": i}))
    with monkeypatch.context() as patched:
        patched.setattr(pack, "MOST_RUNS", 3)
        assert packing.pack(found).packs == 2
    return Store(found.path), len(make_run().frame)


@pytest.mark.parametrize(
    ("most_runs", "samples_of"), [(9, 3), (9, 4), (4, 9)], ids=["full by samples", "no run less by samples", "no pack less by runs"]
)
def test_of_packs_that_would_not_be_fewer_nothing_is_read(two_packs, most_runs, samples_of, monkeypatch):
    found, samples = two_packs
    monkeypatch.setattr(pack, "MOST_RUNS", most_runs)
    monkeypatch.setattr(pack, "MOST_SAMPLES", samples_of * samples)
    monkeypatch.setattr(pack, "_fault", lambda file, _: pytest.fail(f"{file.path} was read"))
    assert joining.join(found) == 0


def test_of_two_full_packs_with_the_same_runs_the_whole_one_is_read_and_joining_reads_neither(two_packs, tmp_path, monkeypatch):
    """The state while a damaged pack is kept."""
    found, _ = two_packs
    again, one = Store(tmp_path / "again"), found.packs.all()[0]
    again.request([("s", {"n": i}, key) for i, key in enumerate(one.keys)])
    for i, key in enumerate(one.keys):
        again.write(make_run(key, cell={"n": i}), "another command")
    monkeypatch.setattr(pack, "MOST_RUNS", 3)
    packing.pack(again)
    (other,) = again.packs.all()
    shutil.copytree(other.folder, one.folder.parent / other.folder.name)
    flip(one.folder.parent / min(one.folder.name, other.folder.name) / "series.parquet")
    found = Store(found.path)
    assert len(found.packs.all()) == 3
    assert all(map(found.is_whole, KEYS[:6]))
    monkeypatch.setattr(pack, "_fault", lambda file, _: pytest.fail(f"{file.path} was read"))
    assert joining.join(found) == 0


def test_putting_packs_together_ends_at_once(uneven, monkeypatch):
    """After Ctrl-C, wherever it is."""
    monkeypatch.setattr(pack, "MOST_RUNS", 4)
    left, fault = 0, pack._fault

    def stopped():
        nonlocal left
        left -= 1
        return left < 0

    def reads(file, signature):
        assert left >= 0, "read after Ctrl-C"
        return fault(file, signature)

    looks = 0
    with monkeypatch.context() as patched:
        patched.setattr(pack, "_fault", reads)
        while (left := looks) < 100:
            joining.join(found := Store(uneven.path), stopped)
            if left >= 0:
                break
            looks += 1
    assert looks > 8, "it looks at each pack, and before each that it writes"
    assert sorted(len(each.keys) for each in found.packs.all()) == [4, 4]
    assert all(found.is_whole(key) for key in [*KEYS, "9" * 32])


def test_a_run_that_is_in_two_packs_stays_in_one(packed, monkeypatch):
    """A process that is killed before it has removed the packs that it has joined leaves this."""
    monkeypatch.setattr(pack, "MOST_RUNS", 5)
    with monkeypatch.context() as patched:
        patched.setattr(packs.Packs, "remove", lambda *_: None)
        packing.pack(packed)
    assert sum(len(each.keys) for each in Store(packed.path).packs.all()) == 2 * len(KEYS)
    packing.pack(found := Store(packed.path))
    assert sorted(len(each.keys) for each in found.packs.all()) == [2, 5]
    assert [run.key for run in found.runs()] == KEYS


@pytest.mark.parametrize("by", ["folders", "packs"])
def test_runs_that_are_not_asked_for_any_more_stay_older_than_those_that_are(tmp_path, by, monkeypatch):
    found = Store(tmp_path)
    for keys in (KEYS[3:6], KEYS[:3]):  # the later ones, of the same cells, have lower keys
        requests = [("s", {"n": i}, key) for i, key in enumerate(keys)]
        found.request(requests)
        for _, cell, key in requests:
            found.write(make_run(key, cell=cell))
            if by == "packs":
                with monkeypatch.context() as patched:
                    patched.setattr(pack, "MOST_RUNS", 1)
                    packing.pack(found)
    packing.pack(found)
    assert sorted(sorted(each.keys) for each in found.packs.all()) == [KEYS[:3], KEYS[3:6]]
    again = Store(tmp_path)
    (tmp_path / "study.json").unlink()
    assert again.list_again() == 3
    assert again.requested_keys() == KEYS[:3]
