"""Known laws of congestion controls: the window under random losses, and the shares of two flows with unequal windows."""

import math

import pytest

import dumbbell
from dumbbell import Scenario
from dumbbell.metrics import jain

LAWS = {
    "reno": (0.5, (4e-3, 2.5e-4), (60, 240)),
    "scalable": (1.0, (4e-4, 6e-5), (60, 100)),
    "highspeed": (0.835, (1e-4, 1.2e-5), (150, 300)),
    "illinois": (0.5, (1e-3, 1.5e-4), (60, 150)),
    "veno": (0.5, (4e-3, 2.5e-4), (60, 240)),
}
"""Control -> d of the response function w = c / p^d, two loss rates at which the window is in the range of the law, and for how long to
measure at each, s. RFC 5681; Kelly 2003; RFC 3649 section 5; Liu, Basar and Srikant 2006; Fu and Liew 2003."""


def run(**settings):
    """The run of a scenario on the simulator."""
    (found,) = dumbbell.run(Scenario.model_validate({"name": "laws", "engine": "sim", **settings})).runs
    return found


def window(cc, loss, seconds):
    """Mean window of a flow whose path loses this share of packets at random and never queues, segments."""
    delay = {"where": "before", "loss": f"{100 * loss}%", "faults_in": "forward"}
    bottleneck = {"rate": "10gbit", "qdisc": {"kind": "pfifo", "limit": "100000p"}}
    host = {name: ["4KiB", "128KiB", "1GiB"] for name in ("rmem", "wmem")}
    path = {"rtt": "50ms", "delay": delay, "bottleneck": bottleneck, "reverse": "none"}
    found = run(path=path, flows=[{"cc": cc, "host": host}], duration=f"{seconds}s", sample="0s")
    (flow,) = (values for entity, values in found.counters.items() if entity.startswith("flow/"))
    return flow["delivered"] * 0.05 / seconds


@pytest.mark.parametrize("cc", LAWS)
def test_the_window_follows_the_loss_rate_by_the_exponent_of_its_paper(cc):
    exponent, losses, seconds = LAWS[cc]
    often, seldom = (window(cc, loss, duration) for loss, duration in zip(losses, seconds, strict=True))
    assert math.log(seldom / often) / math.log(losses[0] / losses[1]) == pytest.approx(exponent, abs=0.08)


def shares(cc, seconds=120):
    """Jain's index of two flows over the second half of a run, of which the second begins when the first has filled the path."""
    path = {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "60p"}}, "reverse": "none"}
    found = run(path=path, flows=[{"cc": cc}, {"cc": cc, "start": {"first": "10s"}}], duration=f"{seconds}s", sample="100ms")
    rates = []
    for name in ("flow/" + row["flow"] for row in found.flows.rows()):
        _, delivered = found.series(name, "delivered")
        rates.append(float(delivered[-1] - delivered[len(delivered) // 2]))
    return jain(rates)


@pytest.mark.parametrize("cc", ["bic", "htcp", "hybla", "illinois", "reno", "veno", "westwood", "yeah"])
def test_two_flows_with_unequal_windows_come_to_share_alike(cc):
    assert shares(cc) > 0.9
