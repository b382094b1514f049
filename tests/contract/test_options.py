"""Every engine without SACK, by which a sender knows losses, and without timestamps."""

import pytest

from dumbbell.errors import BadInput
from dumbbell.trace import analyze

PATH = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "50p"}}}


def test_a_flow_without_sack_knows_losses_from_duplicate_acks(run):
    # Slow start into a queue of 50 packets loses many packets of one window.
    found = run(path=PATH, flows=[{"cc": "reno", "sack": "off"}], duration="10s")
    beside = run(path=PATH, flows=[{"cc": "reno", "sack": True}], duration="10s")
    (without,), (with_sack,) = found.flows.rows(), beside.flows.rows()
    # The sender also retransmits what arrived behind a hole: many more retransmissions, and the same number on every engine.
    assert without["retransmits"] == 273
    assert with_sack["retransmits"] < 150


@pytest.mark.parametrize("stack", ["linux-3.9", "linux-2.6", "freebsd-9"])
@pytest.mark.parametrize("option", ["sack", "timestamps"])
def test_stacks_without_rack_need_both(run, engine, stack, option):
    if engine.name != "sim":
        pytest.skip("only the simulator has old stacks")
    with pytest.raises(BadInput, match=option):
        run(path=PATH, flows=[{"cc": "reno", option: "off", "stack": stack}], duration="1s")


def test_without_timestamps_a_segment_has_more_payload(run):
    found = run(
        path=PATH, flows=[{"cc": "reno", "timestamps": "off"}, {"cc": "reno", "name": "with", "sack": "off"}], duration="5s", capture=True
    )
    there, back = list(analyze(found.captures["left.pcap"]).connections.rows(named=True))[:2]
    assert (there["mss"], there["segment_max_bytes"], there["timestamps"], there["retransmitted_packets"]) == (1460, 1460, False, 83)
    assert back["sack_blocks_max"] == 4, "there is room for one more"
