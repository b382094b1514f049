"""Capacity traces: what files say, what is an error, and what a plan has of them."""

import base64
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from support import planned

from dumbbell.engines import engine
from dumbbell.metrics import drain_ms, mean_rate, opportunity_rate_mbit
from dumbbell.plan.sketch import sketch
from dumbbell.results.capacity import capacities, utilisation
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario, ScenarioError
from dumbbell.trace.passive import EPOCH_NS

ROOT = Path(__file__).parent.parent.parent
FULL_BITS = 1514 * 8
CUT = b"1 2 3"


def bottleneck(trace, **more):
    return {"rtt": "20ms", "bottleneck": {"trace": trace, "qdisc": {"kind": "pfifo", "limit": "1bdp"}, **more}}


@pytest.fixture
def file(tmp_path):
    def write(text, name="x.down"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_opportunities_are_a_shaper_and_their_mean_is_the_rate(file):
    plan = planned(path=bottleneck(file("5\n5\n10\n")), duration="1s").plan
    (queue,) = (port for port in plan.ports if port.id == "bottleneck")
    assert queue.shaper == {"kind": "trace", "at_ms": [5, 5, 10], "rate_bps": 300 * FULL_BITS}
    assert queue.qdisc["limit_packets"] == 6
    assert plan.paths[0].rate_bps == 300 * FULL_BITS
    assert plan.schedule == ()
    assert "trace, mean 3.63 Mbit/s" in [line.strip() for line in sketch(plan)]


def test_a_plan_has_no_opportunities_after_the_end(file):
    plan = planned(path=bottleneck(file("\n".join(str(ms) for ms in range(1, 5001)))), duration="2s").plan
    (queue,) = (port for port in plan.ports if port.id == "bottleneck")
    assert queue.shaper["at_ms"] == list(range(1, 2002))
    assert queue.shaper["rate_bps"] == 1000 * FULL_BITS


def test_bins_are_rates(file):
    trace = {"file": file("10\n20\n30\n30\n250\n"), "bin": "100ms"}
    plan = planned(path=bottleneck(trace), duration="600ms").plan
    (queue,) = (port for port in plan.ports if port.id == "bottleneck")
    assert queue.shaper == {"kind": "link", "rate_bps": 40 * FULL_BITS}
    # The second bin has none, the third is half as long; then the trace begins again.
    steps = [(100, 8000), (200, 20 * FULL_BITS), (250, 40 * FULL_BITS), (350, 8000), (450, 20 * FULL_BITS), (500, 40 * FULL_BITS)]
    assert [(change.at_ns // 10**6, change.rate_bps) for change in plan.schedule if change.port == plan.ports.index(queue)] == steps


@pytest.mark.parametrize(("loop", "steps"), [(False, [(1, 2), (3, 4)]), (True, [(1, 2), (3, 1), (4, 2), (6, 1), (7, 2)])])
def test_rates_hold_or_begin_anew(file, loop, steps):
    trace = {"file": file("s,mbit\n0,1\n1,2\n3,4\n", "x.csv"), "loop": loop}
    plan = planned(path=bottleneck(trace), duration="8s").plan
    (queue,) = (port for port in plan.ports if port.id == "bottleneck")
    assert f"mean {'1.62' if loop else '3.12'} Mbit/s, 1 to {2 if loop else 4}" in [line.strip() for line in sketch(plan)]
    assert queue.shaper == {"kind": "link", "rate_bps": 10**6}
    assert plan.paths[0].rate_bps == 5 * 10**6 // 3
    found = [(c.at_ns // 10**9, c.rate_bps // 10**6) for c in plan.schedule if c.port == plan.ports.index(queue)]
    assert found == steps
    assert len(plan.schedule) == 2 * len(steps)  # the mirrored queue has them, too


def test_a_scenario_that_was_read_does_not_need_the_file(file):
    path = file("1\n2\n")
    first = Scenario.model_validate({"name": "s", "path": bottleneck(path), "flows": [{"cc": "reno"}], "duration": "1s"})
    Path(path).unlink()
    again = Scenario.model_validate(first.dump())
    assert [run.content.text for run in again.expand()] == [run.content.text for run in first.expand()]


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("", {}, "lasts no time"),
        ("0\n0\n", {}, "lasts no time"),
        ("3\n2\n", {}, ":2: 2 ms comes after 3 ms"),
        ("1\n\n2\n", {}, ":2: '' is no whole number of ms"),
        ("1\nx\n", {}, ":2: 'x' is no whole number of ms"),
        ("1\n²\n", {}, "is not ASCII text"),
        ("1\n2\n", {"rate": "1mbit"}, "path.bottleneck.rate: 1mbit cannot be combined with a trace"),
        ("1\n2\n", {"shaper": "tbf"}, "path.bottleneck.shaper: cannot be combined with opportunities"),
        ("1\n2\n", {"qdisc": {"kind": "cake", "rate": "1mbit"}}, "path.bottleneck.qdisc.rate: 1mbit cannot be combined with a trace"),
    ],
)
def test_what_is_no_trace_is_refused(file, text, more, told):
    refused(bottleneck(file(text), **more), told)


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("s,mbit\n", {}, "has 0 rates"),
        ("s,mbit\n0,1\n", {"loop": True}, "has 1 rates; expected at least 2"),
        ("s,mbit\n1,1\n", {}, "begins at 1s"),
        ("s,mbit\n0,1\n0,2\n", {}, "0s comes after 0s"),
        ("s,kbit\n0,1\n", {}, "1kbit at 0s; expected at least 8kbit"),
        ("0,1\n", {}, "is no line of units"),
        ("s,mbit\n0,1\n", {"bin": "1s"}, "bin is of opportunities"),
    ],
)
def test_what_are_no_rates_is_refused(file, text, more, told):
    refused(bottleneck({"file": file(text, "x.csv"), **more}), told)


@pytest.mark.parametrize("text", [CUT, b"1 -5", b"1 a", "no base64", ""])
def test_what_is_packed_is_checked(text):
    packed = text if isinstance(text, str) else base64.b64encode(zlib.compress(text)[: -1 if text == CUT else None]).decode()
    refused(bottleneck({"file": "x", "format": "mahimahi", "packed": packed}), "is no trace")


def test_a_rate_step_of_a_trace_is_refused(file):
    path = {**bottleneck(file("1\n2\n")), "impairments": [{"kind": "rate", "at": "100ms", "rate": "1mbit"}]}
    refused(path, "path.impairments.0.kind: is of a queue whose rate follows a trace")


def refused(path, told):
    with pytest.raises(ScenarioError) as caught:
        Scenario(name="s", path=path, flows=[{"cc": "reno"}], duration="1s").expand()
    assert told in str(caught.value)


def test_the_kernel_says_what_to_write_instead(file):
    plan, table = planned("kernel", path=bottleneck(file("1\n2\n"))).plan, engine("kernel")
    (refusal, _) = table.capabilities().refusals(plan)
    assert refusal.what == "the engine kernel has no opportunities of a trace"
    assert refusal.expected.endswith(", or trace: {file: ..., bin: 100ms}, which makes rates of them")


def test_the_example_is_what_its_program_makes():
    folder = ROOT / "examples" / "traces"
    for name, seed in (("down", "1"), ("up", "2")):
        made = subprocess.run([sys.executable, folder / "cellular.py", "60", seed], capture_output=True, check=True).stdout
        assert made == (folder / f"cellular.{name}").read_bytes()


def test_a_line_gives_out_exactly_the_opportunities_of_its_trace():
    """More datagrams than there are opportunities: one leaves at each, and reaches the host at that very time."""
    trace = str(ROOT / "examples" / "traces" / "cellular.down")
    stage = {"trace": trace, "qdisc": {"kind": "pfifo", "limit": "100p"}}
    settings = {
        "name": "s",
        "path": {"forward": [stage], "reverse": "none"},
        "flows": [{"cc": "reno", "start": "9900ms"}],
        "background": [{"kind": "udp", "rate": "20mbit", "size": "1514B"}],
        "duration": "10s",
        "capture": True,
    }
    (resolved,) = Scenario(**settings).expand()
    packets = compute(resolved, on="sim").captures["right.pcap"]
    found, at = [], 24
    while at < len(packets):
        seconds, nanoseconds, stored, _ = struct.unpack_from("<4I", packets, at)
        found.append(seconds * 10**9 + nanoseconds - EPOCH_NS)
        at += 16 + stored
    expected = [int(ms) * 10**6 for ms in Path(trace).read_text().split()]
    assert [ns for ns in found if ns < 9_900_000_000] == [ns for ns in expected if ns < 9_900_000_000]
    assert len(found) > 6000


def test_utilisation_counts_the_opportunities():
    trace = str(ROOT / "examples" / "traces" / "cellular.down")
    settings = {
        "name": "s",
        "path": {"forward": [{"trace": trace, "qdisc": {"kind": "pfifo", "limit": "100p"}, "name": "line"}], "reverse": "none"},
        "flows": [{"cc": "reno", "start": "9900ms"}],
        "background": [{"kind": "udp", "rate": "20mbit", "size": "1514B"}],
        "duration": "10s",
    }
    (resolved,) = Scenario(**settings).expand()
    run = compute(resolved, on="sim")
    assert utilisation(run, "line") == pytest.approx(1, abs=2e-3)
    capacity = capacities(run)["line"]
    assert capacity.mean_mbit(2, 4) == pytest.approx((875 + 826) * 1514 * 8 / 2e6, rel=0.01)


def test_mean_capacity():
    steps = np.array([0.0, 1.0, 3.0]), np.array([10.0, 20.0, 5.0])
    assert mean_rate(steps, 0.5, 4.0) == pytest.approx((5 + 40 + 5) / 3.5)
    with pytest.raises(ValueError, match="no time"):
        mean_rate(steps, 1.0, 1.0)
    times, mbit = opportunity_rate_mbit(np.array([0.1, 0.5, 0.6, 1.2]), 1000, 0.5, 1.25)
    assert times.tolist() == [0, 0.5, 0.5, 1.0, 1.0, 1.25]
    assert mbit == pytest.approx([0.032, 0.032, 0.016, 0.016, 0.032, 0.032])


def test_the_delay_until_opportunities_have_taken_all():
    waiting = np.array([0.0, 0.05, 0.1, 0.3]), np.array([0.0, 1001.0, 999.0, 2000.0])
    found = drain_ms(np.array([0.1, 0.2, 0.4]), 1000, waiting)
    assert found[:3] == pytest.approx([0, 150, 100])
    assert np.isnan(found[3])
