"""Runs are valid if their packets are conserved."""

import pytest
from support import FLOW, PORT

from dumbbell.results import judge


def counters(flow=None, **ports):
    return {"flow/reno": {**FLOW, **(flow or {})}, **{f"port/{name}": {**PORT, **values} for name, values in ports.items()}}


def test_a_run_that_adds_up_is_ok():
    assert judge(counters(bottleneck={})) == ("ok", ())


@pytest.mark.parametrize("counter", ["sent_packets", "arrived_packets", "dropped_packets", "in_flight_packets"])
def test_a_packet_too_many_or_too_few_is_invalid(counter):
    status, reasons = judge(counters({counter: FLOW[counter] + 1}))
    assert status == "invalid"
    assert "flow/reno: sent_packets" in reasons[0]


@pytest.mark.parametrize("counter", ["acks_sent", "acks_arrived", "acks_dropped", "acks_in_flight"])
def test_an_ack_too_many_is_invalid(counter):
    assert judge(counters({counter: FLOW[counter] + 1}))[0] == "invalid"


@pytest.mark.parametrize(
    "counter", ["arrived_packets", "sent_packets", "dropped_overflow", "dropped_aqm", "dropped_blue", "queued_packets"]
)
def test_a_packet_that_a_port_lost_is_invalid(counter):
    status, reasons = judge(counters(bottleneck={counter: PORT[counter] + 1}))
    assert status == "invalid"
    assert "port/bottleneck: arrived_packets" in reasons[0]


def test_what_the_engine_found_is_invalid():
    assert judge(counters(), ["3 packets vanished"]) == ("invalid", ("3 packets vanished",))


def test_a_delay_stage_that_overflows_is_a_warning():
    status, reasons = judge(counters(wan={}), delay_stages={"wan"})
    assert status == "warn"
    assert reasons == ("port/wan: dropped 1 packets at the limit of a delay stage",)


def test_a_queue_may_be_called_like_a_delay_stage():
    assert judge(counters(delayed={}, access={}), delay_stages={"wan"}) == ("ok", ())


def test_a_flow_that_delivers_nothing_is_a_warning():
    assert judge(counters({"rx_bytes": 0})) == ("warn", ("flow/reno: delivered nothing",))


def test_a_number_that_the_engine_doubts_is_a_warning():
    assert judge(counters(), engine_doubts=["flow/reno: the smoothed RTT wraps"]) == ("warn", ("flow/reno: the smoothed RTT wraps",))
