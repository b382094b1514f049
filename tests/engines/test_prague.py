"""Prague against the laws that it is made for: on links that mark at random, alone and next to classic flows through DualPI2."""

import numpy as np
import pytest

from dumbbell.metrics import throughput_mbit
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario

TARGET_MS = 25
PACKET, PAYLOAD = 1500, 1436
"""Bytes of a packet without Ethernet's header, and of its payload besides timestamps and AccECN's option."""


def run(path, *flows, seconds=60, **more):
    scenario = {"name": "s", "duration": f"{seconds}s", "path": path, "flows": list(flows), **more}
    (resolved,) = Scenario.model_validate(scenario).expand()
    return compute(resolved, on="sim")


def rate_mbit(run, name="prague", seconds=(20, 60)):
    """Return the rate of a flow with the headers of IP and TCP."""
    return throughput_mbit(run.series(f"flow/{name}", "rx_bytes"), *seconds) * PACKET / PAYLOAD


def law_mbit(p, rtt_ms):
    """Return Prague's rate where a link marks at random. A reduction comes with the first mark after a round trip: with x marks in one,
    (1 - p) (1 + 1/x) segments of growth make good what p/2 of the window takes. (Marks in equal distances give x = 2 (1 - p), the
    law r = 1/p - 1.)
    """
    marks = (1 - p) + np.sqrt((1 - p) ** 2 + 2 * (1 - p))
    return marks / p * PACKET * 8e-3 / max(rtt_ms, TARGET_MS)


def marking(rtt, share):
    """Return a path on which a share of all packets is marked at random, whatever the queue does."""
    bottleneck = {"rate": "1gbit", "qdisc": {"kind": "pfifo", "limit": "10000p"}}
    return {"rtt": rtt, "delay": {"loss": share, "ecn": True}, "bottleneck": bottleneck}


PRAGUE = {"cc": "prague", "stack": "linux-7.3"}


@pytest.mark.parametrize("rtt_ms", [25, 50, 100])
@pytest.mark.parametrize("percent", [1, 2, 5])
def test_the_rate_follows_the_closed_law_of_the_share_of_marks(percent, rtt_ms):
    path = marking(f"{rtt_ms}ms", f"{percent}%")
    found = rate_mbit(run(path, PRAGUE, seconds=220), seconds=(20, 220))
    assert found == pytest.approx(law_mbit(percent / 100, rtt_ms), rel=0.05)


def marking_regularly(rtt_ms, percent):
    """Return a path on which every (100 / percent)-th packet is marked."""
    return {**marking(f"{rtt_ms}ms", "0%"), "delay": {"loss": {"regular": f"{percent}%"}, "ecn": True}}


@pytest.mark.parametrize("rtt_ms", [25, 50, 100])
@pytest.mark.parametrize("percent", [2, 5, 10, 20, 30])
def test_regular_marks_give_the_law_that_prague_states(percent, rtt_ms):
    """The rate is 1/p - 1 of a packet of 12 kbit every 12.5 ms, half of the target RTT or of the RTT. Two marks come in the time that a
    reduction waits for, and marked packets grow nothing.
    """
    found = rate_mbit(run(marking_regularly(rtt_ms, percent), PRAGUE, seconds=80), seconds=(20, 80))
    law = (100 / percent - 1) * 2 * PACKET * 8e-3 / max(rtt_ms, TARGET_MS)
    assert found == pytest.approx(law, rel=0.03)


@pytest.mark.parametrize("rtt_ms", [5, 10, 20])
@pytest.mark.parametrize("percent", [1, 2, 5, 10])
def test_below_the_target_rtt_the_rate_follows_the_marks_between_reductions(percent, rtt_ms):
    """With marks in equal distances a reduction takes a whole number of them, the last one 25 ms or more after the last reduction.

    The growth of n (1 - p) / p segments at (RTT / 25 ms)^2 makes good what p/2 of the window takes: the rate is sqrt(2 n (1 - p)) / p
    packets in 25 ms.
    """
    p = percent / 100
    done = run(marking_regularly(rtt_ms, percent), PRAGUE, seconds=80, series=["control"], sample="1ms")
    t, window = done.series("flow/prague", "frac_cwnd")
    window = window[t > 20]
    reductions = (window[1:] < window[:-1] * (1 - p / 4)).sum()
    t, marks = done.series("flow/prague", "delivered_ce")
    n = (marks[-1] - marks[t > 20][0]) / reductions
    assert 1.9 < n < 4.1
    law = np.sqrt(2 * n * (1 - p)) / p * PACKET * 8e-3 / TARGET_MS
    assert rate_mbit(done, seconds=(20, 80)) == pytest.approx(law, rel=0.03)


def test_the_window_steps_by_one_segment_an_ack():
    done = run(marking("20ms", "5%"), PRAGUE, seconds=5, events=["acks"])
    cwnd = done.events["cwnd"].drop_nulls().to_numpy()
    assert len(cwnd) > 4000
    # In slow start an ACK grows the window by what it acknowledges.
    assert np.abs(np.diff(cwnd[1000:])).max() == 1


@pytest.mark.parametrize("other", ["cubic", "reno"])
def test_dualpi2_lets_prague_and_a_classic_flow_live_together(other):
    """Measured elsewhere with the Prague of 2020: 32.4 and 14.9 Mbit/s next to cubic (heistp/l4s-tests)."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "50mbit", "qdisc": "dualpi2"}}
    done = run(path, PRAGUE, {"cc": other, "ecn": True})
    rates = [throughput_mbit(done.series(f"flow/{name}", "rx_bytes"), 20, 60) for name in ("prague", other)]
    assert sum(rates) > 45
    assert 1.5 < rates[0] / rates[1] < 3.5


@pytest.mark.parametrize("other", ["cubic", "reno"])
def test_coupled_marks_give_each_flow_the_window_of_its_law(other):
    """DualPI2 marks the L4S flow with 2 p' and the classic one with p' squared: Reno's window is 1.22 / p', CUBIC's is that of its friendly
    region. Prague's is that of random marks, and more, as marks come in clusters: several that hit one round trip reduce once.
    """
    path = {"rtt": "30ms", "bottleneck": {"rate": "50mbit", "qdisc": "dualpi2"}}
    done = run(path, PRAGUE, {"cc": other, "ecn": True}, seconds=200, series=["control", "queue"], sample="20ms")

    def mean(entity, name):
        t, values = done.series(entity, name)
        return np.nanmean(values[t > 40])

    coupled, classic = (mean("port/bottleneck", f"{name}_probability") for name in ("coupled", "classic"))
    assert coupled == pytest.approx(2 * mean("port/bottleneck", "base_probability"), rel=0.001)
    assert mean("flow/prague", "alpha") == pytest.approx(coupled, rel=0.05)
    assert mean(f"flow/{other}", "cwnd") == pytest.approx(1.22 / np.sqrt(classic), rel=0.1)
    random = law_mbit(coupled, 30) * 30e3 / 8 / PACKET
    assert random < mean("flow/prague", "cwnd") < 1.3 * random


def rates_with_cubic(qdisc, fallback):
    """The goodput of Prague and of CUBIC with ECN from 20 s on, Mbit/s: 100 Mbit/s, 10 ms, as in PAM 2025."""
    path = {"rtt": "10ms", "bottleneck": {"rate": "100mbit", "shaper": "htb", "qdisc": qdisc}, "reverse": "none"}
    l4s = {"name": "l4s", "cc": {"kind": "prague", "version": "0.6", "fallback": fallback}, "ecn": "accecn", "stack": "linux-7.3"}
    made = run(path, l4s, {"name": "classic", "cc": "cubic", "ecn": True, "start": "300ms"}, seconds=40)
    return tuple(throughput_mbit(made.series(f"flow/{name}", "rx_bytes"), 20, 40) for name in ("l4s", "classic"))


def test_the_fallback_shares_a_classic_queue_and_leaves_an_l4s_queue_alone():
    codel = {"kind": "codel", "limit": "168p", "target": "5ms", "interval": "100ms", "ecn": True}
    dualpi2 = {"kind": "dualpi2", "target": "5ms"}
    prague, _ = rates_with_cubic(codel, "off")
    assert prague > 85, "it takes a classic queue for itself"
    prague, cubic = rates_with_cubic(codel, "on")
    assert 35 < prague < 55
    assert cubic > 40
    assert rates_with_cubic(dualpi2, "on") == rates_with_cubic(dualpi2, "off")


def test_the_modules_references_take_an_l4s_queue_for_classic():
    prague, cubic = rates_with_cubic({"kind": "dualpi2", "target": "5ms"}, "module")
    assert prague < 20 < 70 < cubic
