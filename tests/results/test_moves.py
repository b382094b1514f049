"""Runs that another process packs, or whose packs it joins, while they are read: at every step of the reader."""

import builtins
import io
import os
import shutil
from contextlib import contextmanager
from dataclasses import replace

import polars as pl
import pytest
from packed_store import KEYS
from support import make_run

from dumbbell.results import Store
from dumbbell.results.storage import pack, packing
from dumbbell.results.storage.place import StoreFolder
from dumbbell.results.storage.store import check_capture
from dumbbell.results.tables import FLOWS, Table

RUNS = KEYS[:3]
STEPS = [(os, "stat"), (os, "lstat"), (os, "scandir"), (os, "listdir"), (os, "open"), (io, "open"), (builtins, "open")]
STEPS += [(pl, "read_parquet"), (pl, "scan_parquet")]
"""The disk operations of a reader."""
ASKED = {
    "runs and what they hold": lambda store: [
        (run.flows.rows(), run.summary, run.frame.write_csv(), sorted(run.captures)) for run in list(store.runs(check_series=False))
    ],
    "runs whose series are checked": lambda store: [run.key for run in store.runs()],
    "outlines": lambda store: store.outlines(),
    "texts": lambda store: [(store.record(key), store.host(key)) for key in RUNS],
    "what was asked for": lambda store: [list(store.asked(key))[:1] for key in RUNS],
    "what is there": lambda store: (store.stored_keys(), store.missing(RUNS)),
    "what is whole": lambda store: [store.is_whole(key) for key in RUNS],
    "ages": lambda store: [store.written_ns(key) > 0 for key in RUNS],
    "a capture": lambda store: check_capture(store.path / RUNS[1] / "left.pcap"),
}


@pytest.fixture(scope="module", params=["folders", "packs"])
def unmoved(request, tmp_path_factory):
    """A store of which runs are packed, or packs put together. One run has a long table, and one a capture."""
    found = Store(tmp_path_factory.mktemp("unmoved") / "out")
    found.request([("s", {"n": i}, key) for i, key in enumerate(RUNS)])
    runs = [make_run(key, cell={"n": i}, samples=11 + i) for i, key in enumerate(RUNS)]
    rows = [{**runs[0].flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
    for run in (replace(runs[0], flows=Table.of_rows(FLOWS, rows)), replace(runs[1], captures={"left.pcap": b"packets"}), runs[2]):
        found.write(run, "dumbbell run s.yaml", {"processors": 2})
    if request.param == "packs":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pack, "MOST_RUNS", 1)
            assert packing.pack(Store(found.path)).packs == len(RUNS)
    return found.path


class Meanwhile:
    """Packs a store before the reader's next step but `left`, unless the reader holds the lock, for which whoever packs would wait."""

    def __init__(self, path, left):
        self._path, self._left, self.packed = path, left, False
        self._waits = False

    def before(self, function):
        """The function, as a step of the reader."""

        def call(*arguments, **named):
            if not self._waits and not self.packed:
                self._left -= 1
                if self._left < 0:
                    self.packed = True
                    assert packing.pack(Store(self._path)) != packing.Packed()
            return function(*arguments, **named)

        return call

    def locking(self, locked):
        """The way to lock a store."""

        @contextmanager
        def call(place, how):
            with locked(place, how):
                self._waits = True
                yield
                self._waits = False

        return call


@pytest.mark.parametrize("asked", ASKED)
def test_a_reader_finds_the_same_whenever_runs_are_moved(asked, unmoved, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)
    path, steps = tmp_path / "out", 0
    shutil.copytree(unmoved, path)
    expected = ASKED[asked](Store(path))
    while True:
        shutil.rmtree(path)
        shutil.copytree(unmoved, path)
        meanwhile = Meanwhile(path, steps)
        with monkeypatch.context() as patch:
            for module, name in STEPS:
                patch.setattr(module, name, meanwhile.before(getattr(module, name)))
            patch.setattr(StoreFolder, "locked", meanwhile.locking(StoreFolder.locked))
            assert ASKED[asked](Store(path)) == expected, steps
        if not meanwhile.packed:
            break
        steps += 1
    assert steps > 1
