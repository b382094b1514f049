"""Promises of every engine about several paths."""

import pytest

QUEUE = {"rate": "10mbit", "delay": "5ms", "qdisc": "fq_codel"}
STAGES = {"a": QUEUE, "b": QUEUE, "slow": {**QUEUE, "rate": "2mbit", "delay": "20ms"}, "back": {"delay": "15ms"}}


def goodput(run, name):
    flow = run.counters[f"flow/{name}"]
    return flow["rx_bytes"] * 8e3 / flow["active_ns"]


def test_each_flow_passes_its_own_stages_and_shares_them(run):
    paths = {"both": {"forward": ["a", "b"]}, "first": {"forward": ["a"]}, "other": {"forward": ["slow"], "reverse": ["back"]}}
    found = run(path={}, stages=STAGES, paths=paths, flows=[{"cc": "reno", "name": name, "path": name} for name in paths], duration="12s")
    both, first, other = (goodput(found, name) for name in paths)
    assert both + first == pytest.approx(10 * 1448 / 1514, rel=0.05)
    assert min(both, first) > 4
    assert other == pytest.approx(2 * 1448 / 1514, rel=0.08)
    ports = {entity.removeprefix("port/"): found.counters[entity] for entity in found.counters if entity.startswith("port/")}
    assert ports["a"]["sent_packets"] > ports["b"]["sent_packets"] > ports["slow"]["sent_packets"] > 1000
    assert ports["a-reverse"]["sent_packets"] > ports["b-reverse"]["sent_packets"] > 0
    assert "slow-reverse" not in ports
    assert ports["back-reverse"]["arrived_packets"] > 100


def test_data_in_reverse_pass_the_stages_from_the_last_to_the_first(run):
    paths = {"both": {"forward": ["slow", "a"]}}
    flows = [{"cc": "reno", "direction": "reverse"}]
    udp = {"kind": "udp", "rate": "1mbit", "direction": "reverse", "path": "both", "measure": True}
    found = run(path={}, stages=STAGES, paths=paths, flows=flows, background=[udp], duration="5s")
    ports = found.counters
    # Packets that arrive at the slow port have passed the fast one before.
    assert ports["port/a-reverse"]["sent_packets"] >= ports["port/slow-reverse"]["arrived_packets"] > ports["port/slow"]["arrived_packets"]
    assert goodput(found, "reno") < 1.2
