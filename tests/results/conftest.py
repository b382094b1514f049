"""Runs made by hand, and stores of them."""

import pytest
from packed_store import KEYS, changed, written
from support import make_run

from dumbbell.results import Store
from dumbbell.results.storage import pack, packing
from dumbbell.results.tables import FLOWS, Table


@pytest.fixture
def run():
    """One run."""
    return make_run()


@pytest.fixture
def folders(tmp_path):
    """A store of folders."""
    return written(tmp_path / "folders")


@pytest.fixture
def packed(tmp_path, monkeypatch):
    """The same runs in packs of three."""
    monkeypatch.setattr(pack, "MOST_RUNS", 3)
    found = written(tmp_path / "packed")
    assert packing.pack(found) == packing.Packed(runs=len(KEYS), packs=3)
    return Store(found.path)


@pytest.fixture
def tampered(tmp_path):
    """A function that gives a store with a pack of which a file has these columns, and a checksum that is right."""
    import polars as pl

    def make(file, columns):
        rows = [{**make_run().flows.row(0), "flow": f"flow{i}"} for i in range(1001)]
        packed = written(tmp_path / "out", flows=Table.of_rows(FLOWS, rows))
        packing.pack(packed)
        (folder,) = (each.folder for each in packed.packs.all())
        assert Store(packed.path).verify(KEYS[0])
        changed(folder, file, lambda _: pl.DataFrame(columns))
        return Store(packed.path)

    return make
