"""Promises of every engine about outages, rate steps, datagrams and flows against each other."""

import copy

import numpy as np
import pytest
from support import PATH

CEILING = 1448 / 1514
"""Payload over frame."""
RATE = 10e6
SHAPERS = ["link", "tbf", "htb", "cake"]


def path(shaper="tbf", limit="100p", *impairments, **more):
    changed = copy.deepcopy(PATH)
    qdisc = {"kind": "cake"} if shaper == "cake" else {"kind": "pfifo", "limit": limit}
    return changed | {"bottleneck": {"rate": "10mbit", "shaper": shaper, "qdisc": qdisc}, "impairments": list(impairments)} | more


def udp(rate="5mbit", **more):
    return {"kind": "udp", "rate": rate, **more}


def goodput(found, first_s, last_s, flow="cubic"):
    """Mean over a window, bit/s."""
    t_s, received = found.series(f"flow/{flow}", "rx_bytes")
    window = (t_s >= first_s) & (t_s <= last_s)
    return 8 * np.diff(received[window][[0, -1]])[0] / np.diff(t_s[window][[0, -1]])[0]


def outage(at="5s", length="100ms", **more):
    return {"kind": "outage", "at": at, "for": length, **more}


def step(rate, at="10s"):
    return {"kind": "rate", "at": at, "rate": rate}


# --- outages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shaper", SHAPERS)
def test_an_outage_loses_what_the_link_carries_meanwhile(run, shaper):
    found = run(path=path(shaper, "100p", outage()), flows=[quiet()], background=[udp("20mbit")], duration="10s")
    assert found.status == "ok"
    port = found.counters["port/bottleneck"]
    assert port["dropped_impairment"] == pytest.approx(RATE * 0.1 / 8 / 1514, abs=2)
    held = [port.get(name, 0) for name in ("sent_packets", "queued_packets", "dropped_overflow", "dropped_aqm", "dropped_blue")]
    assert port["arrived_packets"] == sum(held)


def test_tcp_repairs_what_an_outage_took(run):
    found = run(path=path("tbf", "100p", outage()), duration="15s")
    lost = found.counters["port/bottleneck"]["dropped_impairment"]
    assert lost == pytest.approx(RATE * 0.1 / 8 / 1514, abs=3)
    assert found.counters["flow/cubic"]["retransmits"] >= lost
    assert goodput(found, 10, 15) > 0.9 * CEILING * RATE


def test_an_outage_loses_datagrams_of_its_time_only(run):
    found = run(path=path("tbf", "100p", outage("5s", "100ms"), outage("7s", "1s")), flows=[quiet()], background=[udp()])
    lost = found.counters["port/bottleneck"]["dropped_impairment"]
    assert lost == pytest.approx(1.1 / INTERVAL_S, abs=2)
    stream = found.counters["udp/udp"]
    assert stream["sent_packets"] - stream["arrived_packets"] == pytest.approx(lost, abs=6)  # some are under way


def test_an_outage_of_one_direction_leaves_the_other_alone(run):
    found = run(path=path("tbf", "100p", outage(direction="reverse")), duration="15s")
    assert found.counters["port/bottleneck"]["dropped_impairment"] == 0
    assert found.counters["port/bottleneck-reverse"]["dropped_impairment"] > 20
    both = run(path=path("tbf", "100p", outage(direction="both")), duration="15s").counters
    assert both["port/bottleneck"]["dropped_impairment"] > 50
    assert both["port/bottleneck-reverse"]["dropped_impairment"] > 0


# --- rate steps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shaper", SHAPERS)
@pytest.mark.parametrize("mbit", [4, 25])
def test_after_a_rate_step_the_throughput_is_the_new_rates(run, shaper, mbit):
    found = run(path=path(shaper, "100p", step(f"{mbit}mbit")), duration="25s")
    assert goodput(found, 5, 10) == pytest.approx(CEILING * RATE, rel=0.03)
    assert goodput(found, 15, 25) == pytest.approx(CEILING * mbit * 1e6, rel=0.03)
    _, sent = found.series("port/bottleneck", "sent_bytes")
    assert np.max(np.diff(sent)[105:]) <= mbit * 1e6 * 0.1 / 8 + 2 * 1600


@pytest.mark.parametrize("shaper", ["link", "tbf", "htb"])
def test_a_rate_step_leaves_the_queues_limit_alone(run, shaper):
    found = run(path=path(shaper, "20p", step("4mbit", "2s")), flows=[quiet()], background=[udp("20mbit")], duration="5s")
    _, backlog = found.series("port/bottleneck", "backlog_packets")
    assert np.max(backlog) == 20


# --- datagrams -------------------------------------------------------------------------------------------------------

INTERVAL_S = 1514 * 8 / 5e6


def quiet():
    """A flow that hardly sends."""
    return {"cc": "reno", "bytes": "1kB"}


def test_datagrams_of_half_the_rate_leave_the_other_half(run):
    found = run(background=[udp()], duration="30s")
    assert found.status == "ok"
    stream, flow = found.counters["udp/udp"], found.counters["flow/cubic"]
    assert stream["sent_packets"] == pytest.approx(30 / INTERVAL_S, abs=1.1)
    assert goodput(found, 10, 30) == pytest.approx(CEILING * RATE / 2, rel=0.05)
    carried = stream["arrived_packets"] * 1514 + flow["rx_bytes"] / CEILING
    assert carried == pytest.approx(RATE * 30 / 8, rel=0.02)


@pytest.mark.parametrize("size", ["64B", "500B", "1514B"])
def test_datagrams_come_from_their_start_for_their_duration(run, size):
    traffic = udp("1mbit", size=size, start="2s", duration="3s")
    found = run(flows=[quiet()], background=[traffic], duration="8s")
    expected = 3 * 1e6 / 8 / int(size.removesuffix("B"))
    stream = found.counters["udp/udp"]
    assert stream["sent_packets"] == stream["arrived_packets"] == pytest.approx(expected, abs=1)
    t_s, sent = found.series("port/bottleneck", "sent_packets")
    before = sent[t_s == 2][0]
    assert sent[t_s == 1][0] == before < sent[t_s == 2.5][0] - 0.4 * expected / 3
    assert sent[t_s == 5.1][0] == sent[-1]


def test_datagrams_that_the_queue_has_no_room_for_are_lost(run):
    found = run(path=path("tbf", "20p"), flows=[quiet()], background=[udp("20mbit")], duration="10s")
    stream, port = found.counters["udp/udp"], found.counters["port/bottleneck"]
    assert stream["arrived_packets"] == pytest.approx(RATE * 10 / 8 / 1514, rel=0.01)
    assert stream["sent_packets"] - stream["arrived_packets"] == pytest.approx(port["dropped_overflow"], abs=40)


def test_cake_tells_datagrams_from_the_flow(run):
    found = run(path=path("cake"), background=[udp("20mbit")], duration="20s")
    assert goodput(found, 5, 20) == pytest.approx(CEILING * RATE / 2, rel=0.1)


# --- flows against each other ----------------------------------------------------------------------------------------


def test_flows_against_each_other_share_no_queue_but_the_way_of_their_acks(run):
    flows = [{"name": "ahead", "cc": "cubic"}, {"name": "back", "cc": "cubic", "direction": "reverse"}]
    both = run(flows=flows, duration="30s")
    assert both.status == "ok"
    for name in ("ahead", "back"):
        assert goodput(both, 5, 30, name) > 0.7 * CEILING * RATE
    ports = [both.counters[f"port/{name}"] for name in ("bottleneck", "bottleneck-reverse")]
    for port, data, acks in zip(ports, ("ahead", "back"), ("back", "ahead"), strict=True):
        segments, acknowledged = (both.counters[f"flow/{name}"]["arrived_packets"] for name in (data, acks))
        assert segments + 0.4 * acknowledged < port["arrived_packets"] < 1.1 * (segments + acknowledged)


def test_acks_wait_behind_the_data_that_goes_their_way(run):
    window_limited = {"name": "ahead", "cc": "cubic", "host": {"rcvbuf": "16kB"}}
    against = {"name": "back", "cc": "cubic", "direction": "reverse"}
    alone, both = (run(flows=flows, duration="20s") for flows in ([window_limited], [window_limited, against]))
    rtt = [np.nanmean(found.series("flow/ahead", "srtt_ms")[1][50:]) for found in (alone, both)]
    assert rtt[0] < 35
    assert rtt[1] > 70


def test_a_reverse_flow_alone_is_the_mirror_image_of_a_forward_one(run):
    ahead, back = (run(flows=[{"cc": "cubic", "direction": direction}], duration="20s") for direction in ("forward", "reverse"))
    assert goodput(back, 5, 20) == pytest.approx(goodput(ahead, 5, 20), rel=0.02)
    assert back.counters["port/bottleneck-reverse"]["sent_bytes"] == pytest.approx(
        ahead.counters["port/bottleneck"]["sent_bytes"], rel=0.02
    )


# --- all of it -------------------------------------------------------------------------------------------------------


def test_all_of_it_is_conserved_and_the_same_twice(run):
    flows = [{"cc": "cubic", "count": 2, "start": {"jitter": "100ms"}}, {"cc": "reno", "direction": "reverse"}]
    impairments = [outage("2s", "300ms", direction="both"), step("3mbit", "4s"), step("12mbit", "6s"), outage("7s")]
    everything = {
        "path": path("htb", "30p", *impairments),
        "flows": flows,
        "background": [udp("2mbit", direction="both"), udp("1mbit", name="small", size="200B", start="1s", duration="5s")],
        "duration": "10s",
    }
    found, again = run(**everything), run(**everything)
    assert (found.status, found.reasons) == ("ok", ())
    assert found.digest == again.digest
    assert {entity for entity in found.counters if entity.startswith("udp/")} == {"udp/udp", "udp/udp-reverse", "udp/small"}


def stage(name, **more):
    return {"name": name, "rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}, **more}


def mean_bytes(found, entity):
    """Return the mean size of the packets that left a port."""
    return found.counters[entity]["sent_bytes"] / found.counters[entity]["sent_packets"]


def test_stages_may_be_called_what_mirrored_ones_would_be(run):
    path = {"forward": [stage("a", delay="5ms"), stage("a-reverse", delay="5ms")]}
    found = run(path=path, duration="5s")
    assert found.status == "ok"
    assert [entity for entity in found.counters if entity.startswith("port/")] == [
        "port/a",
        "port/a-reverse",
        "port/a-reverse-2",
        "port/a-reverse-reverse",
    ]
    assert mean_bytes(found, "port/a") > 1400
    assert mean_bytes(found, "port/a-reverse") > 1400
    assert mean_bytes(found, "port/a-reverse-2") < 100
    assert mean_bytes(found, "port/a-reverse-reverse") < 100


def test_an_outage_of_a_stage_that_is_called_as_a_mirrored_one(run):
    outage = {"kind": "outage", "at": "2s", "for": "200ms"}
    found = run(path={"forward": [{"delay": "10ms"}, stage("a-reverse")], "impairments": [outage]}, duration="5s")
    assert found.status == "ok"
    assert found.counters["port/a-reverse"]["dropped_impairment"] > 0
    assert found.counters["port/a-reverse-reverse"].get("dropped_impairment", 0) == 0
