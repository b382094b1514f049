"""Promises of every engine about links that lose, delay unevenly, reorder, duplicate and corrupt packets."""

import math

import pytest

QUEUE = {"rate": "100mbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}
SURE = 3.29
"""Standard deviations on either side that hold 99.9 % of a normal distribution."""


def path(**faults):
    return {"forward": [{"name": "faulty", "delay": "10ms", **faults}, QUEUE], "reverse": "none"}


def counted(run, **faults):
    """The counters of a link with faults that a stream of 30,000 datagrams passes, and of the stream."""
    streams = [{"kind": "udp", "name": "stream", "rate": "50mbit", "size": "700B", "duration": "3360ms"}]
    found = run(path=path(**faults), flows=[{"cc": "cubic", "bytes": "1448B"}], background=streams, duration="4s")
    port = found.counters["port/faulty"]
    assert found.status == "ok", found.reasons
    assert port["arrived_packets"] > 29_000
    came = port["arrived_packets"] + port["duplicated_packets"]
    assert came == sum(port[name] for name in ("sent_packets", "dropped_loss", "dropped_overflow", "dropped_aqm", "queued_packets"))
    return port


def likely(count, n, share):
    return abs(count - n * share) <= SURE * math.sqrt(n * share * (1 - share))


@pytest.mark.parametrize("share", [0.001, 0.05])
def test_as_many_packets_are_lost_as_asked_for(run, share):
    port = counted(run, loss=f"{100 * share:g}%")
    assert likely(port["dropped_loss"], port["arrived_packets"], share)


def test_bursts_of_losses_are_of_the_chain(run):
    p, r = 0.02, 0.4
    port = counted(run, gilbert={"p": "2%", "r": "40%"})
    wider = math.sqrt(2 / (p + r))
    n, lost = port["arrived_packets"], p / (p + r)
    assert abs(port["dropped_loss"] - n * lost) <= SURE * wider * math.sqrt(n * lost * (1 - lost))


def test_as_many_packets_come_twice_or_go_ahead_as_asked_for(run):
    port = counted(run, duplicate="2%", reorder={"share": "10%"}, jitter={"normal": "1ms"})
    n = port["arrived_packets"]
    assert likely(port["duplicated_packets"], n, 0.02)
    assert likely(port["reordered_packets"], n + port["duplicated_packets"], 0.1)
    assert port["dropped_loss"] == 0


@pytest.mark.parametrize("keep_order", [False, True])
@pytest.mark.parametrize("shape", ["uniform", "normal", "pareto"])
def test_jitter_varies_the_delay(run, shape, keep_order):
    probe = [{"kind": "udp", "name": "probe", "interval": "1ms", "measure": True}]
    jitter = {shape: "2ms", "keep_order": keep_order}
    found = run(path=path(jitter=jitter), flows=[{"cc": "cubic", "bytes": "1448B"}], background=probe, duration="3s").flows
    row = next(row for row in found.rows() if row["flow"] == "probe")
    assert row["reordered_packets"] == 0 if keep_order else row["reordered_packets"] > 100
    # Packets that keep their order wait for the slowest before them.
    mean = {"uniform": 10, "normal": 10, "pareto": 9.93}[shape]
    assert row["owd_mean_ms"] > mean + 0.2 if keep_order else row["owd_mean_ms"] == pytest.approx(mean, abs=0.25)


def test_a_flow_survives_all_of_it(run):
    faults = {
        "gilbert": {"p": "0.1%", "r": "50%"},
        "jitter": {"paretonormal": "1ms", "correlation": "20%"},
        "reorder": {"share": "2%", "gap": 3},
        "duplicate": "1%",
        "corrupt": "0.1%",
    }
    found = run(path=path(**faults), flows=[{"cc": "cubic", "bytes": "2MB"}], duration="30s")
    assert found.status == "ok", found.reasons
    assert found.counters["flow/cubic"]["rx_bytes"] == 2_000_000


def test_copies_of_datagrams_that_measure_count_and_are_no_datagrams(run):
    path = {"rtt": "20ms", "delay": {"duplicate": "10%", "faults_in": "both"}, "bottleneck": {"rate": "10mbit", "qdisc": "fq_codel"}}
    udp = {"kind": "udp", "interval": "10ms", "size": "200B", "reply": True}
    found = run(path=path, flows=[{"cc": "reno", "duration": "1s"}], background=[udp], duration="4s")
    assert found.status == "ok", found.reasons
    row = found.counters["udp/udp"]
    assert row["sent_packets"] == 400
    assert row["acks_arrived"] > 420


def test_of_copies_the_first_gives_the_time(run):
    """Half of all have a copy, and each its own delay, evenly between 2 and 18 ms: the median of the first is where y + y^2 = 1."""
    pings = [{"kind": "ping", "interval": "5ms"}]
    found = run(path=path(duplicate="50%", jitter="8ms"), flows=[], background=pings, duration="10s")
    row = next(row for row in found.flows.rows() if row["flow"] == "ping")
    expected = pytest.approx(2 + 16 * (1 - (math.sqrt(5) - 1) / 2), abs=0.6)
    assert row["owd_median_ms"] == expected
    # Each copy is answered at once, on a way back that takes no time: the first answer counts.
    assert row["rtt_median_ms"] == expected
