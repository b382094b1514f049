"""Tables of flows and ports: lists, frames and files are one and the same."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from support import FLOW, PORT, make_run, tables

from dumbbell.errors import DamagedRun
from dumbbell.results import Results, Store, Table, schema
from dumbbell.results.tables import MOST_LISTED, counters, of_counters

ROWS = [
    {"flow": "a", "group": "g", "transport": "tcp", "start_ns": 0, "end_ns": 5, "completed_ns": 5, "min_rtt_ms": 20.5},
    {"flow": "b", "group": "g", "transport": "udp", "start_ns": 1, "end_ns": 7},
]


def test_rows_are_columns_in_the_order_of_the_schema():
    table = Table.of_rows("flows", ROWS)
    assert list(table.columns) == ["flow", "group", "transport", "start_ns", "end_ns", "completed_ns", "min_rtt_ms"]
    assert table.column("completed_ns") == [5, None]
    assert table.column("retransmits") == [None, None]
    assert table.rows() == ROWS
    assert table.names == ["a", "b"]


def test_a_column_that_the_schema_lacks_is_an_error():
    with pytest.raises(ValueError, match="no column colour"):
        Table.of_rows("flows", [{"flow": "a", "colour": 3}])


def test_the_frame_has_the_types_of_the_schema():
    frame = Table.of_rows("flows", ROWS).frame
    assert frame.schema["completed_ns"] == pl.Int64
    assert frame.schema["min_rtt_ms"] == pl.Float64
    assert frame.schema["group"] == pl.String
    assert frame["completed_ns"].to_list() == [5, None]


@pytest.mark.parametrize("rows", [2, MOST_LISTED, MOST_LISTED + 1])
def test_numbers_of_an_engine_become_a_table_of_any_length(rows):
    """Small ones as lists, large ones as a frame; the same either way."""
    values = np.stack([np.arange(rows), np.where(np.arange(rows) % 2, np.nan, 9), np.full(rows, 0.5)], axis=1).astype(float)
    labels = {"flow": [f"f{i}" for i in range(rows)], "cc": [None] * rows}
    table = Table.of_numbers("flows", labels, ["start_ns", "completed_ns", "min_rtt_ms"], values)
    assert len(table) == rows
    assert table.column("completed_ns")[:2] == [9, None]
    assert table.rows()[1] == {"flow": "f1", "start_ns": 1, "min_rtt_ms": 0.5}
    assert table.frame.columns == ["flow", "cc", "start_ns", "completed_ns", "min_rtt_ms"]
    assert table.frame.dtypes == [pl.String, pl.String, pl.Int64, pl.Int64, pl.Float64]
    assert pickle.loads(pickle.dumps(table)) == table


def test_counters_are_a_view_of_the_tables():
    found = {
        "flow/a": {**FLOW, "start_ns": 5, "active_ns": 10},
        "udp/u": {"sent_packets": 3, "arrived_packets": 2},
        "port/p": dict(PORT),
    }
    assert counters(*of_counters(found)) == found


def long_run():
    flows = {f"flow/{i}": {**FLOW, "start_ns": i} for i in range(MOST_LISTED + 1)}
    return replace(make_run(), **tables({**flows, "port/bottleneck": PORT}))


def test_a_long_table_lies_in_a_file_of_its_own(tmp_path):
    run, store = long_run(), Store(tmp_path)
    kept = store.write(run)
    assert (tmp_path / run.key / "flows.parquet").exists()
    assert not (tmp_path / run.key / "ports.parquet").exists()
    assert (tmp_path / run.key / "run.json").stat().st_size < 3000
    assert len(kept.flows) == MOST_LISTED + 1
    assert kept == run
    assert kept.counters["flow/7"]["start_ns"] == 7


@pytest.mark.parametrize("content", [None, b"", b"x" * 100])
def test_a_long_table_that_is_gone_or_was_changed(tmp_path, content):
    run, store = long_run(), Store(tmp_path)
    store.write(run)
    path = tmp_path / run.key / "flows.parquet"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(
        DamagedRun, match=r"flows\.parquet: (no such file|is \d+ bytes long, not \d+: truncated or changed); expected a whole run"
    ):
        store.get(run.key)


def test_a_long_table_that_was_exchanged(tmp_path):
    run, store = long_run(), Store(tmp_path)
    store.write(run)
    path = tmp_path / run.key / "flows.parquet"
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(DamagedRun, match=r"flows\.parquet: is not as it was written .*; expected a whole run"):
        store.get(run.key)


def test_tables_of_several_runs_carry_the_coordinates():
    results = Results((make_run("a", cell={"rtt": "1ms"}), replace(make_run("b", cell={"rtt": "2ms"}), flows=Table.of_rows("flows", ROWS))))
    assert results.flows.columns[:4] == ["rtt", "rtt_ms", "flow", "transport"]
    assert results.flows.filter(rtt="2ms")["group"].to_list() == ["g", "g"]
    assert results.flows.filter(rtt="1ms")["group"].to_list() == [None]
    assert results.ports["port"].to_list() == ["bottleneck", "bottleneck"]


def test_the_schema_says_what_numbers_are():
    found = schema()
    assert found.flows["end_ns"].is_whole
    assert not found.flows["min_rtt_ms"].is_whole
    assert not found.flows["cc"].is_number
    assert found.units["cwnd"] == "packets"
    assert found.sampled("flow", "kernel") == tuple(name for name in found.sampled("flow", "sim") if name != "rtt_ms")
