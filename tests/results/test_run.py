"""Series, frames and digests of runs."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import make_run, resolved

import dumbbell
from dumbbell.results import Block, Results, digest


def test_series_are_seconds_and_values(run):
    t_s, values = run.series("flow/reno", "srtt_ms")
    assert np.allclose(t_s, np.arange(11) / 10)
    assert np.array_equal(values, np.arange(11.0) + 11)


def test_there_are_no_rows_without_a_sample(run):
    t_s, values = run.series("flow/reno", "cwnd")
    assert np.allclose(t_s, np.arange(1, 11) / 10)
    assert np.array_equal(values, np.arange(1.0, 11))
    assert not run.frame["value"].is_nan().any()


def test_a_series_that_never_had_a_sample_is_empty():
    run = make_run()
    never = replace(run.samples[0], values=np.full((2, 11), np.nan))
    t_s, values = replace(run, samples=(never,)).series("flow/reno", "cwnd")
    assert t_s.shape == values.shape == (0,)


@pytest.mark.parametrize(("entity", "name"), [("flow/reno", "srtt"), ("flow/cubic", "cwnd"), ("port/bottleneck", "cwnd")])
def test_a_series_that_is_not_there_is_an_error(run, entity, name):
    with pytest.raises(KeyError, match="has no series"):
        run.series(entity, name)


def test_the_frame_is_long(run):
    frame = run.frame
    assert frame.schema == {"t_ns": pl.Int64, "entity": pl.String, "series": pl.String, "value": pl.Float64}
    assert len(frame) == 32
    assert frame["entity"].unique(maintain_order=True).to_list() == ["flow/reno", "port/bottleneck"]
    row = frame.filter((pl.col("series") == "srtt_ms") & (pl.col("t_ns") == 500_000_000))
    assert row["value"].to_list() == [16.0]


def test_results_carry_the_coordinates():
    runs = [make_run("a", cell={"path.rtt": "1ms", "sce": "true"}), make_run("b", cell={"path.rtt": "2ms", "sce": 32})]
    results = Results(tuple(runs))
    assert results.frame.columns == ["path.rtt", "path.rtt_ms", "sce", "t_ns", "entity", "series", "value"]
    assert results.frame["sce"].unique(maintain_order=True).to_list() == ["true", "32"]
    found = results.counters.filter((pl.col("path.rtt") == "2ms") & (pl.col("counter") == "rx_bytes"))
    assert found["value"].to_list() == [8 * 1448]


def block(values, entity="flow/reno", name="cwnd", step=100):
    values = np.asarray(values, dtype=float)
    return Block(entity, (name,), np.arange(len(values), dtype=np.int64) * step, values.reshape(1, -1))


def test_the_digest_is_of_everything_in_the_series():
    base = digest([block([1, 2, 3])])
    assert base == digest([block([1, 2, 3])])
    others = [
        [block([1, 2, 4])],
        [block([1, 2])],
        [block([1, 2, 3], step=101)],
        [block([1, 2, 3], name="srtt_ms")],
        [block([1, 2, 3], entity="flow/cubic")],
        [block([1, 2, 3]), block([1, 2, 3], entity="flow/cubic")],
        [],
    ]
    assert len({base, *map(digest, others)}) == len(others) + 1


def test_the_digest_is_of_the_series_and_not_of_their_blocks():
    several = Block("flow/reno", ("cwnd", "srtt_ms"), np.array([5, 6, 7]), np.array([[1.0, 2, 3], [np.nan, 9, np.nan]]))
    apart = [
        Block("flow/reno", ("cwnd",), np.array([5, 6, 7]), np.array([[1.0, 2, 3]])),
        Block("flow/reno", ("srtt_ms",), np.array([6]), np.array([[9.0]])),
    ]
    assert digest([several]) == digest(apart)
    assert digest([*apart, Block("flow/reno", ("ssthresh",), np.array([5]), np.array([[np.nan]]))]) == digest(apart)


def test_the_series_of_a_flow_end_with_it():
    """It is stopped at 2.5; the receiver reads the last of its 9 bytes by 5."""
    values = np.array([np.arange(8.0), [0.0, 1, 2, 3, 7, 9, 9, 9]])
    ended = Block("flow/reno", ("cwnd", "rx_bytes"), np.arange(8), values).until(2, 9)
    series = {name: (t_ns.tolist(), values.tolist()) for name, t_ns, values in ended.series()}
    assert series == {"cwnd": ([0, 1, 2], [0, 1, 2]), "rx_bytes": ([0, 1, 2, 3, 4], [0, 1, 2, 3, 7])}


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_the_store_keeps_every_bit_of_a_value(values, tmp_path_factory):
    from dumbbell.results import Store

    kept = replace(make_run(), samples=(block(values),), digest=digest([block(values)]))
    store = Store(tmp_path_factory.mktemp("bits"))
    store.write(kept)
    _, read = store.get(kept.key).series("flow/reno", "cwnd")
    assert digest([block(read)]) == kept.digest


def test_what_dummynet_sends_is_counted_as_its_rate_counts():
    from dumbbell.results.capacity import sent_bytes, utilisation
    from dumbbell.running.prepare import prepare

    path = {"rtt": "10ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "dummynet", "limit": "32KiB"}}}
    run = prepare([resolved(path=path, duration="2s")])[0].produce()
    frames = run.series("port/bottleneck", "sent_bytes")[1][-1]
    packets = run.series("port/bottleneck", "sent_packets")[1][-1]
    times, sent = sent_bytes(run)
    assert (times[-1], sent[-1]) == (2.0, frames - 14 * packets)
    assert 0.95 < utilisation(run) <= 1


def test_coordinates_with_units_have_numbers_beside_their_text():
    path = {"rtt": "10ms", "bottleneck": {"rate": "5mbit", "qdisc": {"kind": "pfifo", "limit": "20p"}}}
    keys = {"path.rtt": ["10ms", "0.02s"], "path.bottleneck.rate": ["5mbit", "0.01gbit"], "path.bottleneck.qdisc.limit": ["20p"]}
    sweep = {**keys, "flows.0.cc": ["cubic", "reno"]}
    results = dumbbell.run(dumbbell.Scenario(name="n", path=path, flows=[{"cc": "cubic"}], duration="1s", sweep=sweep))
    flows = results.flows
    assert flows["path.rtt"].unique().sort().to_list() == ["0.02s", "10ms"]
    assert flows.select("path.rtt", "path.rtt_ms").unique().sort("path.rtt").rows() == [("0.02s", 20.0), ("10ms", 10.0)]
    assert flows["path.bottleneck.rate_mbit"].unique().sort().to_list() == [5.0, 10.0]
    assert flows["path.bottleneck.qdisc.limit_packets"].unique().to_list() == [20.0]
    assert not any(name.startswith("flows.0.cc_") for name in flows.columns)
    assert flows["goodput_mbit"].to_list() == [run.summary.flows[run.flows.names[0]]["flow_goodput_mbit"] for run in results]
    assert results.frame.columns[:2] == ["path.rtt", "path.rtt_ms"]
