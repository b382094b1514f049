"""Parquet files that become far more than they are: measured before they are unpacked."""

import io
import json
import re

import polars as pl
import pytest
from attack.test_foreign import SCENARIO, rewrite

from dumbbell import Scenario, run
from dumbbell.errors import DamagedRun, DamagedRunWarning
from dumbbell.results import Store, load, outlines
from dumbbell.results.storage import parquet
from dumbbell.results.storage.checksums import file_entry
from dumbbell.results.storage.packing import pack

ROWS = 8_000_000


@pytest.fixture
def store(tmp_path):
    """A store with two runs."""
    run(Scenario.from_text(SCENARIO), out=tmp_path / "X")
    return Store(tmp_path / "X")


def parquet_of(frame, **more):
    buffer = io.BytesIO()
    frame.write_parquet(buffer, **more)
    return buffer.getvalue()


def replaced(store, content):
    """Puts another file in the place of a run's series, with a checksum that is right; the path."""
    path = sorted(store.path.glob("*/series.parquet"))[0]
    path.write_bytes(content)
    rewrite(path.parent / "run.json", lambda record: record["files"].update({"series.parquet": file_entry(content)}))
    return path


def repeated(row, rows):
    """A frame of one row many times over."""
    return row.select(pl.col(each).repeat_by(rows).explode() for each in row.columns)


def series(path):
    return pl.read_parquet(path)


@pytest.fixture
def unpacked(monkeypatch):
    """Fails if polars is asked to unpack."""

    def fail(*_, **__):
        raise AssertionError("it was unpacked")

    return lambda: [monkeypatch.setattr(pl, name, fail) for name in ("read_parquet", "scan_parquet")]


def test_many_equal_rows_are_not_unpacked(store, dumbbell, unpacked):
    """`table` took 3 GB for 200 kB that are 20 million rows."""
    row = series(sorted(store.path.glob("*/series.parquet"))[0]).head(1)
    content = parquet_of(repeated(row, ROWS))
    assert len(content) < 400_000
    path = replaced(store, content)
    (store.path / "index.jsonl").unlink()
    unpacked()
    other = next(each for each in store.path.glob("*/series.parquet") if each != path)
    rewrite(other.parent / "run.json", lambda record: record.update(name="\n"))  # nor has to be
    answer = dumbbell("table", store.path)
    assert re.search(rf"{path}: holds 32000\d\d\d values in {len(content)} bytes, which is more than dumbbell writes; expected", answer.err)
    assert answer.status == 1


def test_a_page_of_one_letter_is_measured(monkeypatch):
    """Whoever unpacks it asks for as much memory as the page says."""
    monkeypatch.setattr(parquet, "MOST_BYTES", 1 << 20)
    content = parquet_of(pl.DataFrame({"key": ["k"], "record": ["x" * 2_000_000]}), compression="zstd", statistics=False)
    assert len(content) < 2000
    with pytest.raises(ValueError, match=rf"holds 2000\d\d\d bytes in {len(content)} bytes, which is more than dumbbell writes"):
        parquet.check_extent(content)


@pytest.mark.parametrize("compression", ["zstd", "snappy", "uncompressed", "gzip"])
@pytest.mark.parametrize("rows", [0, 1, 1000, 300_000])
def test_what_is_measured_is_what_is_there(rows, compression):
    frame = pl.DataFrame({"t": range(rows), "text": [f"{i % 7}" for i in range(rows)], "value": [i / 3 for i in range(rows)]})
    values, unpacked = parquet._extent(parquet_of(frame, compression=compression, row_group_size=100_000))
    assert 3 * rows <= values <= 7 * rows  # what is in a dictionary is a value, too
    assert unpacked >= 8 * rows


@pytest.mark.parametrize(
    "footer", [b"\x19" * 10_000, b"\x1c" * 10_000, b"\x49\xfc" + b"\xff" * 9 + b"\x01", b"\x00", b"\x18\xff\xff\xff\xff\x0f"]
)
def test_a_footer_that_leads_nowhere_is_told(footer):
    """Lists in lists, structs in structs, a list without an end, nothing, a text without an end."""
    with pytest.raises(ValueError, match="is no Parquet file"):
        parquet.check_extent(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


@pytest.mark.parametrize("length", [0, 1, 7, 8, 12, 100])
def test_what_is_no_parquet_is_told(length):
    with pytest.raises(ValueError, match="is no Parquet file"):
        parquet.check_extent(bytes(length))
    with pytest.raises(ValueError, match="is no Parquet file"):
        parquet.check_extent(b"PAR1" + bytes(length) + (255).to_bytes(4, "little") + b"PAR1")


def test_a_pack_is_measured_too(store):
    pack(store)
    (folder,) = store.path.glob("packs/*")
    rows = repeated(pl.read_parquet(folder / "series.parquet").head(1), ROWS)
    rows.write_parquet(folder / "series.parquet")
    rewrite(
        folder / "pack.json",
        lambda record: record["files"].update({"series.parquet": file_entry((folder / "series.parquet").read_bytes())}),
    )
    with pytest.warns(DamagedRunWarning, match=r"series\.parquet: holds 40000\d\d\d values") as warned:
        assert len(load(store.path)) == 0
    assert len(warned) == 2


def test_a_long_table_with_other_rows_than_its_record_says_is_damaged(store):
    path = sorted(store.path.glob("*/run.json"))[0]
    row = json.loads(path.read_bytes())["flows"]
    frame = pl.DataFrame({name: [values[0]] * 1500 for name, values in row.items()}).with_columns(
        pl.Series("flow", [f"f-{i}" for i in range(1500)])
    )
    content = parquet_of(frame)
    (path.parent / "flows.parquet").write_bytes(content)

    def long(record):
        record["flows"] = {"file": "flows.parquet", "rows": 1400}
        record["files"]["flows.parquet"] = file_entry(content)

    rewrite(path, long)
    run_with_it = next(each for each in load(store.path) if each.key == path.parent.name)
    with pytest.raises(DamagedRun, match=r"flows\.parquet: has 1500 rows, not 1400"):
        _ = run_with_it.flows.frame
    with pytest.warns(DamagedRunWarning, match=r"flows\.parquet: has 1500 rows, not 1400"):
        assert len(outlines(store.path)) == 1
