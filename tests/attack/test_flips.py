"""Bits that flip in stored files: dumbbell only serves what was written, and names what is damaged."""

import json
import os
import random
import shutil
import warnings
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from support import make_run

from dumbbell.errors import BadInput, DamagedRun, DamagedRunWarning
from dumbbell.results import Store, Table, load, outlines
from dumbbell.results.tables import MOST_LISTED

KEYS = ["a" * 32, "b" * 32, "c" * 32]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A store with three runs: one with captures, one with a long table."""
    store = Store(tmp_path_factory.mktemp("flips") / "results")
    store.request([("s", {"n": i}, key) for i, key in enumerate(KEYS)])
    plain, captured, long = (make_run(key, cell={"n": i}, samples=50 + i) for i, key in enumerate(KEYS))
    row = plain.flows.rows()[0]
    store.write(replace(plain, plan={"duration_ns": 10**9, "workloads": []}))
    store.write(replace(captured, captures={"left.pcap": np.random.default_rng(1).bytes(500)}))
    datagrams = [{**row, "flow": f"udp-{i}", "transport": "udp"} for i in range(MOST_LISTED)]
    store.write(replace(long, flows=Table.of_rows("flows", [row, *datagrams])))
    return store


def files(store):
    """The files that have contents."""
    return sorted(path for path in store.path.rglob("*") if path.is_file() and path.stat().st_size)


def everything(store):
    """Return all readable parts of each run, by key; unreadable ones are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedRunWarning)
        short = {outline.cell["n"]: repr(outline.summary) for outline in outlines(store.path)}
        read = {"table": short, "load": {}, "get": {}}
        for run in load(store.path):
            read["load"][run.cell["n"]] = of(run)
    for n, key in enumerate(KEYS):
        with suppress(DamagedRun):
            read["get"][n] = of(store.get(key))
    return read


def of(run):
    captures = {name: path.name for name, path in run.captures.items()}
    tables = [table.frame.hash_rows().sum() for table in (run.flows, run.ports)]
    asked = (run.key, run.name, run.cell, run.scenario, run.status, run.reasons, run.engine, run.plan)
    return repr((asked, tables, captures, run.digest, run.summary, run.frame.hash_rows().sum()))


def test_of_flipped_bits_none_is_served(written, request, tmp_path):
    rng = random.Random(request.config.getoption("seed"))
    store = Store(tmp_path / "results")
    shutil.copytree(written.path, store.path)
    good = everything(store)
    assert [len(runs) for runs in good.values()] == [3, 3, 3]
    index = (store.path / "index.jsonl").read_bytes()
    for _ in range(request.config.getoption("flips")):
        path = rng.choice(files(store))
        before, stat = path.read_bytes(), path.stat()
        flipped = bytearray(before)
        position = rng.randrange(8 * len(flipped))
        flipped[position // 8] ^= 1 << position % 8
        path.write_bytes(flipped)
        if rng.random() < 0.5:  # a disk's own error leaves the time of modification
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        where = f"bit {position} of {path.relative_to(store.path)}"
        if path.name == "study.json":
            with pytest.raises(BadInput, match=f"^{path}: .*; expected a results folder"):
                everything(store)
        else:
            for how, runs in everything(store).items():
                assert runs.items() <= good[how].items(), f"{where}: {how}"
            if path.name != "index.jsonl":
                with pytest.raises(DamagedRun, match=f"^{path}: .*; expected a whole run"):
                    store.verify(path.parent.name)
        path.write_bytes(before)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        (store.path / "index.jsonl").write_bytes(index)
    assert everything(store) == good


def test_files_cut_or_exchanged_are_not_served(written, tmp_path):
    store = Store(tmp_path / "results")
    shutil.copytree(written.path, store.path)
    good = everything(store)
    contents = {path: path.read_bytes() for path in files(store) if path.parent != store.path}
    for path, content in contents.items():
        for wrong in (b"", content[:-1], content + b"\n", b"\0" * len(content), None):
            path.unlink() if wrong is None else path.write_bytes(wrong)
            for how, runs in everything(store).items():
                assert runs.items() <= good[how].items(), f"{path}: {how}"
            with pytest.raises(DamagedRun, match=path.name):
                store.verify(path.parent.name)
            path.write_bytes(content)
    first, second = (store.path / key for key in KEYS[:2])
    shutil.copy(first / "series.parquet", second / "series.parquet")
    shutil.copy(second / "host.json", first / "host.json")
    assert everything(store)["load"].keys() == {0, 2}


@pytest.mark.parametrize("of", [1, 2])
def test_flipped_bits_in_a_store_of_an_earlier_version_end_no_process(written, of, tmp_path, request, capfd):
    """A store of this format has no checksums: a flipped bit may change a value, but the value is read or is an error in a line."""
    rng = random.Random(request.config.getoption("seed"))
    store = Store(tmp_path / "results")
    shutil.copytree(written.path, store.path)
    folder = store.path / KEYS[0]
    record = json.loads((folder / "run.json").read_text())
    record |= {"format": of, "series_bytes": record.pop("files")["series.parquet"]["bytes"], "counters": {}}
    del record["sha256"]
    (folder / "run.json").write_text(json.dumps(record))
    content = (folder / "series.parquet").read_bytes()
    assert store.verify(KEYS[0]) is False
    for _ in range(request.config.getoption("flips") // 40):
        flipped = bytearray(content)
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        (folder / "series.parquet").write_bytes(flipped)
        with suppress(DamagedRun):
            assert store.get(KEYS[0]).frame.columns == ["t_ns", "entity", "series", "value"]
    assert capfd.readouterr().err == ""
