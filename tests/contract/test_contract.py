"""Promises of every engine about a run."""

import copy

import numpy as np
import pytest
from support import PATH

from dumbbell.catalogue.feature import Feature
from dumbbell.results import schema

CCS = ["reno", "cubic", "dctcp"]
CEILING = 1448 / 1514
"""Payload over frame."""
FLOW = "flow/cubic"


def path(**bottleneck):
    changed = copy.deepcopy(PATH)
    changed["bottleneck"].update(bottleneck)
    return changed


def pfifo(limit):
    return {"kind": "pfifo", "limit": limit}


@pytest.fixture(scope="module")
def lossy(run):
    """A run of two groups through a short queue, with many losses."""
    flows = [{"cc": "cubic", "count": 2, "start": {"every": "300ms"}}, {"cc": "reno", "start": {"first": "1s"}, "duration": "5s"}]
    return run(path=path(qdisc=pfifo("10p")), flows=flows)


def test_every_packet_is_accounted_for(lossy):
    assert (lossy.status, lossy.reasons) == ("ok", ())
    assert sum(values["retransmits"] for entity, values in lossy.counters.items() if entity.startswith("flow/")) > 20
    for entity, values in lossy.counters.items():
        kind = entity.partition("/")[0]
        if kind == "port":
            parts = ("sent_packets", "dropped_overflow", "dropped_aqm", "queued_packets")
            assert values["arrived_packets"] == sum(values[part] for part in parts)
        elif "in_flight_packets" in values:
            assert values["sent_packets"] == values["arrived_packets"] + values["dropped_packets"] + values["in_flight_packets"]
    flows = [values for entity, values in lossy.counters.items() if entity.startswith("flow/")]
    missing = sum(values["sent_packets"] - values["arrived_packets"] for values in flows)
    assert missing >= lossy.counters["port/bottleneck"]["dropped_overflow"] > 20


def test_data_reaches_the_application_in_order_and_once(lossy):
    for entity, counters in lossy.counters.items():
        if entity.startswith("flow/"):
            _, received = lossy.series(entity, "rx_bytes")
            assert np.all(np.diff(received) >= 0)
            assert received[-1] <= counters["rx_bytes"]
            assert counters["rx_bytes"] % 1448 == 0
            assert counters["rx_bytes"] <= 1448 * (counters["arrived_packets"] - counters.get("duplicate_packets", 0))


def test_what_overflows_is_judged_by_what_it_is_and_not_by_its_name(run):
    wan = {"name": "wan", "delay": "20ms", "limit": "20p"}
    queue = {"name": "delayed", "rate": "10mbit", "qdisc": pfifo("10p")}
    found = run(path={"forward": [wan, queue], "reverse": "none"})
    assert found.counters["port/delayed"]["dropped_overflow"] > 0
    assert found.status == "warn"
    lost = found.counters["port/wan"]["dropped_overflow"]
    assert found.reasons == (f"port/wan: dropped {lost} packets at the limit of a delay stage",)


@pytest.mark.parametrize("cc", CCS)
def test_a_full_link_carries_the_ceiling_and_no_more(run, cc):
    found = run(path=path(qdisc=pfifo("100p")), flows=[{"cc": cc}], duration="30s")
    t_s, received = found.series(f"flow/{cc}", "rx_bytes")
    settled = t_s >= 10
    rate = 8 * np.diff(received[settled][[0, -1]])[0] / np.diff(t_s[settled][[0, -1]])[0]
    assert rate == pytest.approx(CEILING * 10e6, rel=2e-3)
    seconds = received[:: round(1 / (t_s[1] - t_s[0]))]
    assert seconds[-1] - seconds[0] <= CEILING * 10e6 / 8 * 30 + 100 * 1448


@pytest.mark.parametrize("where", ["before", "after", "ack-path"])
@pytest.mark.parametrize("rtt_ms", [5, 20, 80])
def test_the_least_rtt_is_the_base_rtt(run, where, rtt_ms):
    shape = {**path(), "rtt": f"{rtt_ms}ms", "delay": {"where": where}, "reverse": "none"}
    found = run(path=shape, sample="1ms", duration="1s")
    _, rtt = found.series(FLOW, "min_rtt_ms")
    assert rtt[-1] == pytest.approx(rtt_ms, abs=2e-3)


def test_the_extra_delay_counts_in_both_directions(run):
    found = run(path={**path(), "delay": {"extra": "300us"}, "reverse": "none"}, sample="1ms", duration="1s")
    _, rtt = found.series(FLOW, "min_rtt_ms")
    assert rtt[-1] == pytest.approx(20.6, abs=2e-3)


@pytest.mark.parametrize(("sample_ms", "duration_ms"), [(100, 20_000), (7, 1000), (1, 50)])
def test_samples_are_regular(run, sample_ms, duration_ms):
    found = run(sample=f"{sample_ms}ms", duration=f"{duration_ms}ms")
    expected = np.arange(0, duration_ms + 1, sample_ms) * 1_000_000
    for (entity, name), group in found.frame.partition_by("entity", "series", as_dict=True).items():
        times = group["t_ns"].to_numpy()
        known = schema().series[entity.partition("/")[0]][name]
        assert np.array_equal(times, expected[len(expected) - len(times) :] if known.optional else expected), (entity, name)


def test_an_engine_has_what_the_schema_says_and_nothing_else(run, engine):
    flows = [{"cc": "cubic", "count": 2, "bytes": "2MB"}, {"cc": "reno", "duration": "3s"}]
    found = run(path=path(qdisc=pfifo("10p")), flows=flows, background=[{"kind": "udp", "rate": "1mbit"}], duration="8s")
    emitted = {}
    for entity, name in found.frame.select("entity", "series").unique().rows():
        emitted.setdefault(entity, set()).add(name)
    assert emitted.keys() == {"flow/cubic-1", "flow/cubic-2", "flow/reno", *(entity for entity in found.counters if entity[:5] == "port/")}
    for entity, names in emitted.items():
        known = schema().series[entity.partition("/")[0]]
        assert names <= known.keys()
        assert names >= {name for name, each in known.items() if each.of_every_engine}
        assert names == set(schema().sampled(entity.partition("/")[0], engine.name))
    for table in (found.flows, found.ports):
        known = schema().table(table.name)
        assert list(table.columns) == [column for column in known if column in table.columns]
        for row in table.rows():
            datagrams = row.get("transport") == "udp"
            has = {name for name, each in known.items() if each.of_every_engine and not (datagrams and each.of_tcp_only)}
            assert row.keys() >= has - {name for name in has if known[name].optional}
            assert all(
                isinstance(value, str if not known[name].is_number else int if known[name].is_whole else float)
                for name, value in row.items()
            )
    assert found.flows.names == ["cubic-1", "cubic-2", "reno", "udp"]
    assert found.flows.column("group") == ["cubic", "cubic", "reno", "udp"]
    assert found.flows.column("cc") == ["cubic", "cubic", "reno", None]
    assert found.flows.column("transport") == ["tcp"] * 3 + ["udp"]
    assert set(found.flows.column("path")) == {"path"}


def test_a_total_never_falls(lossy):
    for (entity, name), group in lossy.frame.partition_by("entity", "series", as_dict=True).items():
        if schema().series[entity.partition("/")[0]][name].kind == "total":
            assert np.all(np.diff(group["value"].to_numpy()) >= 0), (entity, name)


def test_the_series_of_a_flow_end_with_it(run):
    """A transfer when it is complete; a flow that is stopped for its sender at once, for its receiver with the last of its data."""
    flows = [
        {"name": "sized", "cc": "cubic", "bytes": "300kB", "start": {"first": "1s"}},
        {"name": "stopped", "cc": "reno", "duration": "2050ms"},
    ]
    found = run(flows=flows, duration="6s", sample="10ms")
    rows = {row["flow"]: row for row in found.flows.rows()}
    assert rows["sized"]["end_ns"] == rows["sized"]["completed_ns"]
    assert rows["stopped"]["end_ns"] == 2_050_000_000
    for name, series in (("sized", "cwnd"), ("sized", "rx_bytes"), ("stopped", "cwnd"), ("stopped", "delivered")):
        t_s, _ = found.series(f"flow/{name}", series)
        assert t_s[0] == pytest.approx(rows[name]["start_ns"] / 1e9)
        assert 0 <= rows[name]["end_ns"] / 1e9 - t_s[-1] < 0.0101, (name, series)
    t_s, received = found.series("flow/stopped", "rx_bytes")
    assert 2.05 < t_s[-1] < 2.3  # a round trip, and what waited in the queue
    assert received[-1] <= rows["stopped"]["rx_bytes"]
    assert found.series("port/bottleneck", "drops")[0][-1] == 6


def test_without_sampling_there_are_no_samples(run):
    found = run(sample="0s", duration="1s")
    assert len(found.frame) == 0
    assert found.counters[FLOW]["rx_bytes"] > 0


@pytest.mark.parametrize("cc", CCS)
@pytest.mark.parametrize("size", [1, 1448, 100_000, 3_000_000])
@pytest.mark.parametrize("limit", ["5p", "100p"])
def test_transfers_complete(run, cc, size, limit):
    found = run(path=path(qdisc=pfifo(limit)), flows=[{"cc": cc, "bytes": f"{size}B"}], duration="60s")
    counters = found.counters[f"flow/{cc}"]
    assert found.status == "ok"
    assert counters["rx_bytes"] == size
    least_s = 0.03 + max(0, 8 * (size - 1540) / 10e6)  # 1.5 RTT until the first data arrives; the bucket holds 1540 bytes
    assert least_s <= counters["completed_ns"] / 1e9 < 60


def test_cake_marks_who_can_be_marked_and_drops_for_the_others(run):
    cake = {"rate": "10mbit", "qdisc": {"kind": "cake", "isolation": "flowblind"}}
    marked = run(path={"rtt": "20ms", "bottleneck": cake}, flows=[{"cc": "reno", "ecn": True}]).counters
    dropped = run(path={"rtt": "20ms", "bottleneck": cake}, flows=[{"cc": "reno"}]).counters
    assert marked["port/bottleneck"]["ce_marks"] > 0
    assert marked["port/bottleneck"]["dropped_aqm"] == marked["flow/reno"]["retransmits"] == 0
    assert dropped["port/bottleneck"]["ce_marks"] == 0
    assert dropped["flow/reno"]["retransmits"] >= dropped["port/bottleneck"]["dropped_aqm"] > 0


def shares(run, isolation):
    """Mbit/s of four flows from one host and one from another."""
    bottleneck = {"rate": "10mbit", "qdisc": {"kind": "cake", "isolation": isolation}}
    flows = [{"name": "many", "cc": "cubic", "count": 4, "src": "a"}, {"name": "one", "cc": "cubic", "src": "b"}]
    counters = run(path={"rtt": "20ms", "bottleneck": bottleneck}, flows=flows).counters
    rates = {name: counters[f"flow/{name}"]["rx_bytes"] * 8 / 20e6 for name in ("many-1", "many-2", "many-3", "many-4", "one")}
    return rates.pop("one"), list(rates.values())


def test_cake_is_fair_over_the_hosts_that_flows_come_from(run):
    one, many = shares(run, "dual-srchost")
    assert one == pytest.approx(sum(many), rel=0.2)
    one, many = shares(run, "flows")
    assert one == pytest.approx(sum(many) / 4, rel=0.2)
    one, many = shares(run, "dual-dsthost")
    assert one == pytest.approx(sum(many) / 4, rel=0.2)


def test_an_sce_sender_gets_sce_unless_it_is_switched_off(run, engine):
    if Feature.SCE not in engine.capabilities().feature:
        pytest.skip(f"the engine {engine.name} has no SCE")
    bottleneck = {"rate": "10mbit", "qdisc": {"kind": "cake", "sce": True}}

    def found(**flow):
        return run(path={"rtt": "20ms", "bottleneck": bottleneck}, flows=[{"name": "f", "cc": "reno-sce", **flow}]).counters["flow/f"]

    assert found()["sce_arrived"] > 0
    assert found(ecn=False)["sce_arrived"] == 0


def test_the_same_scenario_and_seed_give_the_same_digest(engine, run):
    flows = [{"cc": "reno", "count": 2, "start": {"jitter": "100ms"}}]
    first, again, other = (run(flows=flows, seed=seed, duration="5s") for seed in (1, 1, 2))
    assert first.digest == again.digest
    assert first.key == again.key
    assert other.digest != first.digest
    assert other.key != first.key
    assert first.engine["name"] == engine.name
