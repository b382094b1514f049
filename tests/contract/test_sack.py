"""What every engine does without SACK: losses are known from duplicate ACKs alone."""

import pytest

from dumbbell.errors import BadInput

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}}}


def test_a_flow_without_sack_knows_losses_from_duplicate_acks(run):
    # Slow start into a queue of 50 packets loses many packets of one window.
    found = run(path=PATH, flows=[{"cc": "reno", "sack": "off"}], duration="10s")
    beside = run(path=PATH, flows=[{"cc": "reno", "sack": True}], duration="10s")
    (without,), (with_sack,) = found.flows.rows(), beside.flows.rows()
    # What a hole hides is sent once more: many more retransmissions, and the same number on every engine.
    assert without["retransmits"] == 273
    assert with_sack["retransmits"] < 150


@pytest.mark.parametrize("stack", ["linux-3.9", "linux-2.6", "freebsd-9"])
def test_stacks_without_rack_need_sack(run, engine, stack):
    if engine.name != "sim":
        pytest.skip("only the simulator has old stacks")
    with pytest.raises(BadInput, match="sack"):
        run(path=PATH, flows=[{"cc": "reno", "sack": "off", "stack": stack}], duration="1s")
