"""Promises of every engine about datagrams that measure."""

import json

import numpy as np
import pytest
from matplotlib.text import Text
from support import PATH

from dumbbell.drawing.run_figure import run_figure
from dumbbell.results import load
from dumbbell.scenario import Scenario, ScenarioError

SLOW = {"rtt": "20ms", "bottleneck": {"rate": "1mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "10p"}}}
FEW = [{"cc": "reno", "bytes": "1448B"}]
"""TCP that is over at once."""


def rows(found):
    return {row["flow"]: row for row in found.flows.rows()}


def test_pings_measure_the_path(run):
    found = run(flows=FEW, background=[{"kind": "ping", "interval": "100ms", "size": "98B", "count": 15, "start": "1s"}], duration="5s")
    assert found.status == "ok"
    row = rows(found)["ping"]
    assert (row["kind"], row["transport"], row["sent_packets"], row["arrived_packets"], row["acks_arrived"]) == ("ping", "icmp", 15, 15, 15)
    assert (row["lost_packets"], row["lost_share"], row["reordered_packets"]) == (0, 0, 0)
    t_s, rtt_ms = found.series("ping/ping", "rtt_ms")
    assert len(t_s) == 15
    assert t_s == pytest.approx(1 + 0.1 * np.arange(15) + rtt_ms / 1e3, abs=1e-5)
    # The token bucket lets a small packet go at once, so that nothing but the path's delay is left.
    assert rtt_ms == pytest.approx(20, abs=0.1)
    _, there_ms = found.series("ping/ping", "owd_ms")
    _, back_ms = found.series("ping/ping", "owd_back_ms")
    assert there_ms + back_ms == pytest.approx(rtt_ms)
    assert row["rtt_mean_ms"] == pytest.approx(rtt_ms.mean())


def test_datagrams_need_no_tcp_beside_them(run):
    found = run(flows=[], background=[{"kind": "ping", "interval": "100ms", "size": "98B", "count": 5}], duration="2s")
    assert found.status == "ok"
    row = rows(found)["ping"]
    assert (row["sent_packets"], row["acks_arrived"], row["lost_packets"]) == (5, 5, 0)
    assert row["rtt_mean_ms"] == pytest.approx(20, abs=0.1)


def test_datagrams_at_random_times_are_the_same_on_every_engine(run):
    stream = {"kind": "udp", "interval": {"exponential": "20ms"}, "size": {"uniform": ["100B", "1500B"]}, "reply": True}
    found = run(flows=FEW, background=[{**stream, "on": "1s", "off": {"exponential": "500ms"}}], duration="6s")
    assert found.status == "ok"
    row = rows(found)["udp"]
    assert (row["sent_packets"], row["lost_packets"]) == (235, 0)
    t_s, rtt_ms = found.series("udp/udp", "rtt_ms")
    assert t_s[:3] - rtt_ms[:3] / 1e3 == pytest.approx([0.008849, 0.016705, 0.106471], abs=1e-5)
    assert 19.99 < rtt_ms.min() <= rtt_ms.max() < 22


def test_losses_and_what_is_under_way_add_up(run):
    stream = {"kind": "udp", "name": "much", "rate": "2mbit", "size": "1000B", "measure": True}
    found = run(path=SLOW, flows=FEW, background=[stream, {"kind": "ping", "interval": "50ms"}], duration="4s")
    assert found.status == "ok"
    for name, row in rows(found).items():
        if "lost_packets" not in row:
            continue
        there = row["sent_packets"] - row["arrived_packets"] - row["lost_packets"]
        # About the queue and the path's delay at the end.
        assert 0 <= there <= 15, name
        _, lost = found.series(f"{row['kind']}/{name}", "lost")
        assert (len(lost), lost[-1]) == (row["sent_packets"], row["lost_packets"])
        assert (np.diff(lost) >= 0).all()
    much = rows(found)["much"]
    assert much["sent_packets"] == pytest.approx(1000, abs=1)
    assert much["lost_share"] == pytest.approx(0.5, abs=0.02)
    # Full queue: ten packets, some of them pings.
    assert much["owd_median_ms"] == pytest.approx(10 + 10 * 8, abs=9)
    _, jitter_ms = found.series("udp/much", "jitter_ms")
    assert 0 <= jitter_ms.min() < jitter_ms.max() < 10
    assert much["jitter_ms"] == pytest.approx(jitter_ms.mean())


def test_a_call_is_as_good_as_the_path(run):
    found = run(flows=FEW, background=[{"kind": "voip", "direction": "both"}], duration="4s")
    assert found.status == "ok"
    for name in ("voip", "voip-reverse"):
        row = rows(found)[name]
        assert (row["transport"], row["sent_packets"], row["lost_packets"], row["late_packets"]) == ("udp", 200, 0, 0)
        # 20 ms of speech, 10 ms of path, 60 ms of buffer: R is 91 without losses.
        assert row["r_factor"] == pytest.approx(91, abs=0.5)
        assert row["mos"] == pytest.approx(4.36, abs=0.02)
        assert row["jitter_ms"] < 0.2
    alone = rows(found)["voip"]["mos"]
    beside = run(path=SLOW, flows=[{"cc": "cubic"}], background=[{"kind": "voip", "start": "1s"}], duration="6s")
    row = rows(beside)["voip"]
    assert row["lost_packets"] + row["late_packets"] > 0
    assert row["mos"] < 0.8 * alone


def test_there_are_no_series_without_samples(run):
    found = run(flows=FEW, background=[{"kind": "ping"}], duration="2s", sample="0s")
    assert "ping" not in found.sampled
    assert rows(found)["ping"]["rtt_mean_ms"] == pytest.approx(20, abs=0.1)


def test_a_store_keeps_streams_and_tables_and_figures_show_them(dumbbell, tmp_path):
    background = [{"kind": "ping", "interval": "50ms"}, {"kind": "voip", "name": "call"}]
    scenario = {"name": "kept", "path": PATH, "flows": [{"cc": "cubic"}], "duration": "3s", "background": background}
    (tmp_path / "kept.yaml").write_text(json.dumps(scenario))
    out = tmp_path / "out"
    told = dumbbell("run", tmp_path / "kept.yaml", "--out", out, "--rows")
    assert (told.status, "RTT median ms" in told.out, "MOS" in told.out) == (0, True, True)
    (kept,) = load(out)
    listed = json.loads(dumbbell("table", out, "--datagrams", "--json").out)["rows"]
    assert [row["stream"] for row in listed] == ["ping", "call"]
    assert float(listed[0]["rtt_median_ms"]) == pytest.approx(rows(kept)["ping"]["rtt_median_ms"], rel=1e-5)
    assert float(listed[1]["mos"]) == pytest.approx(rows(kept)["call"]["mos"], rel=1e-5)
    assert "rtt_median_ms" in dumbbell("table", out).out
    shown = {text.get_text() for text in run_figure(kept, "screen").findobj(Text)}
    assert {"RTT of\nprobes (ms)", "one-way delay\nof probes (ms)", "ping", "call"} <= shown


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"kind": "udp"}, "background.0.rate: is missing"),
        ({"kind": "udp", "rate": "1mbit", "interval": "1ms"}, "cannot be combined with interval"),
        ({"kind": "udp", "interval": "1ns"}, "several datagrams go in a microsecond"),
        ({"kind": "udp", "rate": "1mbit", "on": "1s"}, "off: is missing, and on needs it"),
        ({"kind": "udp", "rate": "1mbit", "on": "0s", "off": "1s"}, "0s is no time at all"),
        ({"kind": "udp", "rate": "1mbit", "reply": True, "measure": False}, "false with replies"),
        ({"kind": "udp", "rate": "1mbit", "size": {"uniform": ["20B", "1500B"]}}, "no Ethernet frames"),
        ({"kind": "ping", "size": "40B"}, "40B is no Ethernet frame"),
        ({"kind": "ping", "interval": "1us", "duration": "1000s"}, "measures with about"),
    ],
)
def test_what_cannot_work_is_said(entry, words):
    with pytest.raises(ScenarioError) as error:
        Scenario.model_validate({"name": "wrong", "path": PATH, "flows": FEW, "background": [entry], "duration": "2000s"}).expand()
    assert words in str(error.value).replace("[0]", ".0")
