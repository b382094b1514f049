"""Stores of format 1, as versions before tables wrote them: counters by entity, and series that go on behind the ends of flows."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dumbbell.errors import DamagedRunWarning
from dumbbell.results import Store, load
from dumbbell.results.storage import packing

OLD = Path(__file__).parent / "data" / "format-1"
"""A run of 2 s: a flow that lasts, one stopped at 1 s, one of 100 kB from 0.1 s on that is complete at 0.646 s, and datagrams."""


@pytest.fixture
def run():
    """The run."""
    (found,) = load(OLD)
    return found


def test_counters_are_as_they_were_written(run):
    written = json.loads((OLD / run.key / "run.json").read_text())["counters"]
    assert list(run.counters) == list(written)
    for entity, values in written.items():
        assert dict(run.counters[entity]) == values


def test_their_runs_stay_folders_when_a_store_is_packed(run, tmp_path):
    shutil.copytree(OLD, tmp_path / "out")
    made = packing.pack(Store(tmp_path / "out"))
    assert (made.runs, made.damaged, made.kept) == (0, [], {run.key: "an earlier version wrote it, without checksums"})
    assert load(tmp_path / "out")[0] == run


def test_they_are_tables_too(run):
    assert list(run.flows.names) == ["whole", "stopped", "sized", "udp"]
    assert run.flows.column("transport") == ["tcp", "tcp", "tcp", "udp"]
    assert run.flows.column("end_ns")[:3] == [2 * 10**9, 10**9, run.counters["flow/sized"]["completed_ns"]]
    assert run.flows.column("group") == [None] * 4
    assert run.ports.frame.filter(port="bottleneck")["arrived_packets"].item() == run.counters["port/bottleneck"]["arrived_packets"]


def test_series_end_with_their_flow_and_hold_no_nan(run):
    assert not run.frame["value"].is_nan().any()
    for flow, end_s in (("whole", 2.0), ("stopped", 1.0), ("sized", 0.6)):
        t_s, _ = run.series(f"flow/{flow}", "cwnd")
        assert t_s[-1] == end_s
        assert np.array_equal(run.frame.filter(entity=f"flow/{flow}", series="cwnd")["t_ns"].to_numpy() / 1e9, t_s)
    t_s, received = run.series("flow/stopped", "rx_bytes")
    assert t_s[-1] == 1.0 or received[-1] < run.counters["flow/stopped"]["rx_bytes"]
    assert run.series("port/bottleneck", "drops")[0][-1] == 2.0


def test_a_series_without_a_sample_is_empty_and_one_that_is_unknown_an_error(run):
    assert run.series("flow/whole", "passive_rtt_ms")[0].shape == (0,)
    with pytest.raises(KeyError, match="has no series"):
        run.series("flow/whole", "colour")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"counters": {"flow/cubic": {}}}, "counters of 'flow/cubic' lack active_ns, "),
        ({"counters": {"flow/cubic": {"rx_bytes": "many"}}}, "counters of 'flow/cubic' are not whole numbers"),
        ({"counters": {"cubic": {}}}, "counters of 'cubic' are not"),
        ({"counters": {"flow/cubic": 3}}, "counters of 'flow/cubic' are not"),
        ({"counters": {"udp/u": {"sent_packets": 1, "arrived_packets": 1, "colour": 3}}}, "the table of flows has no column colour"),
        ({"counters": []}, "counters is not a mapping"),
    ],
)
def test_an_old_record_that_was_tampered_with(run, tmp_path, changed, what):
    shutil.copytree(OLD, tmp_path / "store")
    path = tmp_path / "store" / run.key / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    with pytest.warns(DamagedRunWarning) as warned:
        found = load(tmp_path / "store")
    assert len(found) == 0
    assert [damage.key for damage in found.damaged] == [run.key]
    assert str(warned[0].message).startswith(f"{path}: ")
    assert what in str(warned[0].message)


def test_new_runs_lie_beside_old_ones(run, tmp_path):
    from support import make_run

    shutil.copytree(OLD, tmp_path / "store")
    store = Store(tmp_path / "store")
    store.request([("s", {}, "0" * 32)])
    store.write(make_run())
    assert [found.key for found in store.runs()] == [run.key, "0" * 32]
