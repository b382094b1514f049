"""The store: whole runs or none, and one clear line for what is wrong with a folder."""

import errno
import fcntl
import json
import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from packed_store import resealed
from support import make_run

from dumbbell.errors import BadInput, DamagedRunWarning, EnvironmentFault
from dumbbell.files import SafeFolder, remove_temporary_files
from dumbbell.results import Store, load, outlines

KEYS = ["a" * 32, "b" * 32, "c" * 32]


@pytest.fixture
def store(tmp_path):
    """A store of which three runs are asked and the first two are there."""
    store = Store(tmp_path / "results")
    store.request([("s", {"path.rtt": f"{i}ms"}, key) for i, key in enumerate(KEYS)])
    for i, key in enumerate(KEYS[:2]):
        store.write(make_run(key, cell={"path.rtt": f"{i}ms"}), "dumbbell run s.yaml", {"processors": 2})
    return store


def test_a_run_comes_back_as_it_went_in(store):
    first, again = make_run(KEYS[0], cell={"path.rtt": "0ms"}), store.get(KEYS[0])
    assert again == first
    assert again.frame.equals(first.frame)
    for entity, name in (("flow/reno", "cwnd"), ("port/bottleneck", "backlog_bytes")):
        for ours, theirs in zip(first.series(entity, name), again.series(entity, name), strict=True):
            assert np.array_equal(ours, theirs)


def test_the_files_of_a_run(store):
    folder = store.path / KEYS[0]
    assert sorted(os.listdir(folder)) == ["host.json", "run.json", "series.parquet"]
    record = json.loads((folder / "run.json").read_text())
    assert record["command"] == "dumbbell run s.yaml"
    assert record["flows"]["rx_bytes"] == [8 * 1448]
    host = json.loads((folder / "host.json").read_text())
    assert host.pop("sha256")
    assert host == {"processors": 2, "name": "s", "cell": {"path.rtt": "0ms"}, "scenario": {"duration": "1s"}}


def test_what_programs_have_written_is_kept_as_it_is(store):
    outputs = {"application-reno-client.json": b"{ }\n", "application-reno-server.txt": b""}
    run = replace(make_run(KEYS[2]), outputs=outputs)
    kept = store.write(run)
    assert {name: path.read_bytes() for name, path in kept.outputs.items()} == outputs
    (store.path / run.key / "application-reno-client.json").write_bytes(b"{}")
    with pytest.raises(BadInput, match=r"application-reno-client\.json"):
        store.get(run.key)


def test_units_are_in_the_metadata_of_the_fields(store):
    schema = arrow_schema(store.path / KEYS[0] / "series.parquet")
    assert b"unit" in schema
    assert b'{"cwnd": "packets", "srtt_ms": "ms", "backlog_bytes": "bytes"}' in schema


def arrow_schema(path):
    import base64

    import polars as pl

    return base64.b64decode(pl.read_parquet_metadata(path)["ARROW:schema"])


def test_missing_are_those_without_a_run(store):
    assert store.missing(KEYS) == KEYS[2:]


def test_runs_come_in_the_order_asked(store):
    store.write(make_run(KEYS[2], cell={"path.rtt": "2ms"}))
    store.request([("s", {"path.rtt": "1ms"}, KEYS[1])])
    assert [run.key for run in store.runs()] == KEYS
    assert [run.cell["path.rtt"] for run in load(store.path)] == ["0ms", "1ms", "2ms"]


def test_a_run_has_the_name_and_cell_that_it_was_asked_for_by(store):
    store.request([("other", {"n": 1}, KEYS[0])])
    assert [(run.name, run.cell) for run in store.runs()][-1] == ("other", {"n": 1})


def test_a_new_wish_for_a_cell_replaces_the_old_one_and_keeps_its_run_on_disk(store):
    store.request([("s", {"path.rtt": "0ms"}, KEYS[2])])
    assert [run.key for run in store.runs()] == [KEYS[1]]
    assert store.get(KEYS[0]).cell == {"path.rtt": "0ms"}


def test_a_run_is_never_overwritten(store):
    before = (store.path / KEYS[0] / "run.json").read_bytes()
    kept = store.write(replace(make_run(KEYS[0]), status="invalid"))
    assert kept.status == "ok"
    assert (store.path / KEYS[0] / "run.json").read_bytes() == before


def test_nothing_partial_is_left(store):
    assert sorted(os.listdir(store.path)) == [".lock", *KEYS[:2], "index.jsonl", "study.json"]


def test_what_a_crash_left_is_cleared(store):
    left = store.path / f".partial-{os.getpid()}-{KEYS[2]}"
    left.mkdir()
    (left / "series.parquet").write_bytes(b"PAR1")
    (store.path / ".partial-12-study").write_text("{")
    (store.path / f".claim-{KEYS[2]}").write_text("")
    store.request([])
    assert sorted(os.listdir(store.path)) == [".lock", *KEYS[:2], "index.jsonl", "study.json"]
    store.write(make_run(KEYS[2]))
    assert store.missing(KEYS) == []


def test_what_is_being_written_is_not_cleared(store, monkeypatch):
    asking = threading.Thread(target=Store(store.path).request, args=([],))
    real = os.rename

    def rename(old, new):
        asking.start()
        asking.join(timeout=0.2)
        assert asking.is_alive(), "it waits for the writer"
        real(old, new)

    monkeypatch.setattr(os, "rename", rename)
    store.write(make_run(KEYS[2]))
    asking.join()
    assert store.missing(KEYS) == []


def test_wishes_of_many_at_once_all_stay(tmp_path):
    def ask(index):
        Store(tmp_path / "out").request([("s", {"n": index}, f"{index:032x}")])

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Store(tmp_path / "out").requested_keys()) == 20


def test_a_claim_is_for_one(store):
    with store.claim(KEYS[2]) as nothing:
        assert nothing is None
        with pytest.raises(BlockingIOError), Store(store.path).claim(KEYS[2]):
            pytest.fail("it is another's")
        store.request([])
        with pytest.raises(BlockingIOError), Store(store.path).claim(KEYS[2]):
            pytest.fail("it is still another's")
        store.write(make_run(KEYS[2]))
    with Store(store.path).claim(KEYS[2]) as run:
        assert run.key == KEYS[2]
    assert not [name for name in os.listdir(store.path) if name.startswith(".claim")]


def test_a_claim_that_is_being_taken_when_the_process_ends_leaves_no_file(store, monkeypatch):
    def end(_descriptor):
        remove_temporary_files()
        raise OSError(errno.EACCES, "ended")

    monkeypatch.setattr("dumbbell.results.storage.place.claim", end)
    with pytest.raises(BadInput), store.claim(KEYS[2]):
        pass
    assert not [name for name in os.listdir(store.path) if name.startswith(".claim")]


def test_who_looks_whether_there_is_a_claim_has_none(store, monkeypatch):
    """Nor does somebody else who looks take that for a claim, or is a claim refused for it."""
    looked, flock = [], fcntl.flock

    def looking_meanwhile(descriptor, how):
        flock(descriptor, how)
        monkeypatch.setattr(fcntl, "flock", flock)
        looked.append(store.place.is_claimed("cluster"))

    (store.path / ".claim-cluster").touch()
    monkeypatch.setattr(fcntl, "flock", looking_meanwhile)
    assert not Store(store.path).place.is_claimed("cluster")
    assert looked == [False]
    descriptor = os.open(store.path / ".claim-cluster", os.O_RDWR)
    flock(descriptor, fcntl.LOCK_SH)  # somebody looks
    end = threading.Timer(0.05, os.close, (descriptor,))
    end.start()
    with store.place.claimed("cluster"):
        assert Store(store.path).place.others() == ["cluster"]
    end.join()


def test_nobody_claims_what_is_being_removed(store, monkeypatch):
    """Or the claim would be one that others do not see."""
    remove, asked = SafeFolder.remove, []

    def claimed_meanwhile(folder, name):
        descriptor = os.open(folder.path / name, os.O_RDWR)
        with pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        asked.append(name)
        os.close(descriptor)
        remove(folder, name)

    (store.path / ".claim-cluster").touch()
    monkeypatch.setattr(SafeFolder, "remove", claimed_meanwhile)
    store.place.clear()
    assert asked == [".claim-cluster"]
    assert not (store.path / ".claim-cluster").exists()


# --- what is wrong with a folder -----------------------------------------------------------------------------------


def left_out(store, *fragments):
    """The first run is damaged: it is left out of all that is read, and named."""
    for read, keys in ((store.runs, KEYS[1:2]), (lambda: load(store.path), KEYS[1:2])):
        with pytest.warns(DamagedRunWarning) as warned:
            found = read()
        assert [run.key for run in found] == keys
        assert [damage.key for damage in found.damaged] == KEYS[:1]
        assert [str(damage) for damage in found.damaged] == [str(each.message) for each in warned]
    with pytest.warns(DamagedRunWarning, match=str(store.path)):
        assert len(outlines(store.path)) == 1
    fails(lambda: store.get(KEYS[0]), *fragments, f"`dumbbell check --repair {store.path}` makes it again")


def fails(call, *fragments):
    with pytest.raises(BadInput) as error:
        call()
    text = str(error.value)
    assert "\n" not in text
    for fragment in fragments:
        assert fragment in text
    assert "; expected" in text


def test_a_key_that_is_not_there(store):
    with pytest.raises(KeyError):
        store.get(KEYS[2])


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_truncated_series(store, keep):
    series = store.path / KEYS[0] / "series.parquet"
    series.write_bytes(series.read_bytes()[:keep])
    left_out(store, str(series), "truncated or changed")


def test_a_series_that_changed_after_it_was_opened(store):
    run = store.get(KEYS[0])
    series = store.path / KEYS[0] / "series.parquet"
    series.write_bytes(b"x" * series.stat().st_size)
    fails(lambda: run.frame, str(series), "is not as it was written")
    fails(lambda: run.series("flow/reno", "cwnd"), str(series), "is not as it was written")
    fails(lambda: run.all_series("cwnd"), str(series), "is not as it was written")


def test_a_foreign_parquet_file(store):
    import polars as pl

    run = store.get(KEYS[0])
    pl.DataFrame({"x": [1]}).write_parquet(store.path / KEYS[0] / "series.parquet")
    fails(lambda: run.frame, "bytes long, not")
    left_out(store, "bytes long, not")


def test_no_series(store):
    (store.path / KEYS[0] / "series.parquet").unlink()
    left_out(store, "series.parquet: no such file")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("", "truncated or not JSON"),
        ('{"format": 1, "key": "aaa', "truncated or not JSON"),
        ("[]", "is not of format 1"),
        ("[" * 100_000, "truncated or not JSON"),
        ("\0", "truncated or not JSON"),
        ('{"format": 7}', "is not of format 1"),
        (None, "no such file"),
    ],
)
def test_a_foreign_or_truncated_record(store, content, what):
    for name in ("run.json", "study.json"):
        path = store.path / (name if name == "study.json" else f"{KEYS[0]}/run.json")
        path.unlink() if content is None else path.write_text(content)
        if name == "run.json":
            left_out(store, str(path), what)
        else:
            fails(store.runs, str(path), what, "expected a results folder")


def test_a_folder_of_a_later_version_is_refused_and_not_damaged(store):
    resealed(store.path / KEYS[0] / "run.json", format=4)
    fails(store.runs, "run.json", "is not of format 1 or 2 or 3", "no later version than this")
    resealed(store.path / "study.json", format=3)
    fails(store.runs, "study.json", "is not of format 1 or 2", "no later version than this")


def test_a_record_without_its_checksum_is_damaged(store):
    path = store.path / KEYS[0] / "run.json"
    record = json.loads(path.read_text())
    del record["sha256"]
    path.write_text(json.dumps(record))
    left_out(store, "run.json: lacks its SHA-256")
    for earlier in (1, 2):
        path.write_text(json.dumps({**record, "format": earlier}))
        left_out(store, "run.json: lacks ")


def test_a_record_without_what_it_needs(store):
    run = store.path / KEYS[0] / "run.json"
    run.write_text('{"format": 1}')
    left_out(store, str(run), "lacks 'key'")
    (store.path / "study.json").write_text('{"format": 1, "runs": [{"name": "s"}]}')
    fails(store.runs, "study.json", "lists no runs")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"flows": {"flow": ["cubic"], "transport": ["tcp"]}}, "flow 'cubic' lacks acks_arrived, "),
        ({"flows": {"flow": ["cubic"], "rx_bytes": ["many"]}}, "column 'rx_bytes' of flows does not hold what it should"),
        ({"flows": {"flow": ["cubic"], "rx_bytes": [-1]}}, "column 'rx_bytes' of flows does not hold what it should"),
        ({"flows": {"flow": ["cubic"], "rx_bytes": [1, 2]}}, "flows is not columns of the same length"),
        ({"flows": {"flow": "cubic"}}, "flows is not columns of the same length"),
        ({"flows": {"colour": ["red"]}}, "flows has the unknown column 'colour'"),
        ({"ports": {"file": "flows.parquet", "rows": 1}}, "ports is not a table"),
        ({"files": {}}, "files is not sizes and checksums"),
        ({"files": {"series.parquet": {"bytes": 1}}}, "files is not sizes and checksums"),
        ({"files": {"series.parquet": {"bytes": 1, "sha256": ""}, "../x": {"bytes": 1, "sha256": ""}}}, "files is not sizes and"),
        ({"ports": []}, "ports is not a table"),
        ({"series": {"flow": "cwnd"}}, "series is not names of series"),
        ({"status": "fine"}, "status is not one of ok, warn, invalid"),
        ({"reasons": "none"}, "reasons is not a list of text"),
        ({"cell": {"cc": None}}, "cell is not coordinates"),
        ({"scenario": None}, "scenario is not a mapping"),
    ],
)
def test_a_record_that_was_tampered_with(store, changed, what):
    run = store.path / KEYS[0] / "run.json"
    resealed(run, **changed)
    fails(store.runs, str(run), what)


def test_a_run_in_the_folder_of_another(store):
    os.rename(store.path / KEYS[0], store.path / KEYS[2])
    fails(lambda: store.get(KEYS[2]), f"is of the run {KEYS[0]}")


@pytest.mark.parametrize("name", ["none", "file", "empty", "file/below"])
def test_what_is_no_results_folder(tmp_path, name):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    fails(lambda: load(tmp_path / name), name, "a results folder written by dumbbell")


# --- destinations that cannot be used ------------------------------------------------------------------------------


def test_a_destination_below_a_file(tmp_path):
    (tmp_path / "file").write_text("x")
    fails(lambda: Store(tmp_path / "file" / "below" / "deep").request([]), "file/below/deep", "a file is in the way", "a folder")
    fails(lambda: Store(tmp_path / "file").request([]), "file", "a file is in the way", "a folder")
    assert (tmp_path / "file").read_text() == "x"


def test_a_destination_that_holds_other_things(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    fails(lambda: Store(tmp_path).request([]), "holds other files", "an empty folder")
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_full_disk_leaves_whole_runs(small_disk):
    store = Store(small_disk / "results")
    store.request([("s", {"n": i}, f"{i:032x}") for i in range(1000)])
    noise = np.random.default_rng(1)
    written = []

    def fill():
        for i in range(1000):
            run = make_run(f"{i:032x}", cell={"n": i}, samples=5000)
            noisy = replace(run.samples[0], values=noise.random(run.samples[0].values.shape))
            written.append(store.write(replace(run, samples=(noisy,))))

    with pytest.raises(EnvironmentFault) as error:
        fill()
    assert written
    assert error.value.exit_status == 3
    assert str(error.value) == f"{small_disk}/results: No space left on device; the runs finished so far are kept"
    assert len(store.runs()) == len(written)
    assert not [name for name in os.listdir(store.path) if name.startswith(".partial")]


@pytest.mark.parametrize("function", ["mkdir", "fsync", "rename"])
@pytest.mark.parametrize(("code", "kind"), [(errno.ENOSPC, EnvironmentFault), (errno.EDQUOT, EnvironmentFault), (errno.EROFS, BadInput)])
def test_trouble_at_any_step_leaves_nothing_half_written(store, monkeypatch, function, code, kind):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(kind):
            store.write(make_run(KEYS[2]))
    assert sorted(os.listdir(store.path)) == [".lock", *KEYS[:2], "index.jsonl", "study.json"]
    store.write(make_run(KEYS[2]))
    assert store.missing(KEYS) == []


def test_a_wish_that_cannot_be_written_leaves_the_old_one(store, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(EnvironmentFault):
            store.request([("s", {}, KEYS[2])])
    assert sorted(os.listdir(store.path)) == [".lock", *KEYS[:2], "index.jsonl", "study.json"]
    assert [run.key for run in store.runs()] == KEYS[:2]


@pytest.mark.parametrize(("name", "cell"), [("a\nb", {}), ("s", {"k": "\x1b[31m"}), ("s", {"\t": 1}), ("s", {"k": float("inf")})])
def test_what_could_not_be_read_again_is_not_asked_for(store, name, cell):
    before = (store.path / "study.json").read_bytes()
    with pytest.raises(BadInput, match="expected names and coordinates that are one printable line"):
        store.request([(name, cell, "0" * 32)])
    assert (store.path / "study.json").read_bytes() == before
