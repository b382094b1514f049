"""qlog: files of runs fit the CDDL of the main schema (draft-ietf-quic-qlog-main-schema-13), and files of QUIC stacks are read."""

import json
from pathlib import Path

import numpy as np
import pytest
from cddl import Invalid, Schema

from dumbbell.errors import BadInput
from dumbbell.exchange.imported import runs_of
from dumbbell.exchange.writers.qlog import EVENTS_URI, write
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario


def run(**more):
    """A short run."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "30p"}}}
    flows = [{"cc": "cubic", "name": "a"}, {"cc": "bbr", "name": "b"}]
    (found,) = Scenario.model_validate({"name": "s", "path": path, "flows": flows, "duration": "3s", **more}).expand()
    return compute(found)


SCHEMA = Schema(Path(__file__).with_name("qlog.cddl").read_text(encoding="utf-8"))


def test_a_file_fits_the_main_schema():
    made = run(events="all")
    ((name, content),) = write(made, "base").files.items()
    assert name == "base.qlog"
    document = json.loads(content)
    SCHEMA.check("QlogFile", document)
    assert document["file_schema"] == "urn:ietf:params:qlog:file:contained"
    assert document["serialization_format"] == "application/qlog+json"
    assert [trace["title"] for trace in document["traces"]] == ["a", "b"]
    for trace in document["traces"]:
        assert trace["common_fields"]["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
        assert trace["event_schemas"] == [EVENTS_URI]
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        assert all(event["name"].startswith("dumbbell-tcp:") for event in trace["events"])
    assert sum(len(trace["events"]) for trace in document["traces"]) == len(made.events)
    names = {event["name"] for trace in document["traces"] for event in trace["events"]}
    assert names >= {"dumbbell-tcp:ack_received", "dumbbell-tcp:segments_lost", "dumbbell-tcp:packet_dropped", "dumbbell-tcp:state_changed"}


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (["traces", 0, "event_schemas"], []),
        (["traces", 0, "vantage_point", "type"], "sender"),
        (["traces", 0, "events", 0, "time"], "1.5"),
        (["traces", 0, "events", 0, "data", "segments"], 3),
        (["traces", 0, "common_fields", "reference_time", "epoch"], "1970"),
        (["traces", 0, "common_fields", "time_format"], "absolute"),
        (["traces"], []),
        (["color"], "red"),
        (["file_schema"], None),
    ],
)
def test_the_validator_finds_what_does_not_fit(where, value):
    ((_, content),) = write(run(events="all"), "base").files.items()
    document = json.loads(content)
    within = document
    for step in where[:-1]:
        within = within[step]
    within[where[-1]] = value
    with pytest.raises(Invalid):
        SCHEMA.check("QlogFile", document)


def test_a_run_without_a_record_is_an_error():
    with pytest.raises(BadInput, match=r"has no record of events; expected `events: all` in its scenario"):
        write(run(), "base")


def event(time, name, **data):
    """An event of a QUIC stack."""
    return {"time": time, "name": name, "data": data}


def sender(times, spaces=("transport:", "recovery:")):
    """Events of a server that sends three packets of 1,000 bytes of a stream, of which one is lost, at the given times (ms)."""
    sent, metrics, acked, lost, last = times
    transport, recovery = spaces
    frames = [{"frame_type": "stream", "stream_id": 0, "offset": 0, "length": 1000}]
    header = {"packet_type": "1RTT"}
    packets = [
        event(sent, f"{transport}packet_sent", header={**header, "packet_number": n}, frames=frames, raw={"length": 1042})
        for n in (1, 2, 3)
    ]
    rtts = {"smoothed_rtt": 40.5, "latest_rtt": 41, "min_rtt": 40, "rtt_variance": 2.5}
    measured = {"congestion_window": 12000, "bytes_in_flight": 3126, **rtts}
    ack = [{"frame_type": "ack", "ack_delay": 0.1, "acked_ranges": [[1], [3, 3]], "ce": 1}]
    return [
        event(sent, f"{recovery}parameters_set", max_datagram_size=1200, timer_granularity=1),
        *packets,
        event(metrics, f"{recovery}metrics_updated", **measured, ssthresh=2**64 - 1),
        event(acked, f"{transport}packet_received", header={**header, "packet_number": 9}, frames=ack),
        event(lost, f"{recovery}packet_lost", header={**header, "packet_number": 2}, trigger="reordering_threshold"),
        event(last, f"{recovery}metrics_updated", congestion_window=6000, ssthresh=6000),
    ]


def read_one(tmp_path, content):
    """The only run in a file."""
    file = tmp_path / "log.qlog"
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    (found,) = runs_of([file], None)
    return found


def check(found, name):
    """Check what `sender` says."""
    entity = f"flow/{name}"

    def series(which):
        t_s, values = found.series(entity, which)
        return [round(t, 6) for t in t_s], list(values)

    assert series("cwnd") == ([0.05, 0.1], [10.0, 5.0])
    assert series("ssthresh") == ([0.1], [5.0])
    assert series("inflight")[1] == [3126 / 1200]
    assert series("srtt_ms")[1] == [40.5]
    assert series("rttvar_ms")[1] == [2.5]
    assert series("delivered") == ([0.06], [2.0])
    assert series("delivered_ce")[1] == [1.0]
    assert series("rx_bytes") == ([0.06], [2000.0])
    assert series("retransmits") == ([0.07], [1.0])
    (row,) = found.flows.rows()
    assert (row["flow"], row["sent_packets"], row["delivered"], row["retransmits"], row["rx_bytes"]) == (name, 3, 2, 1, 2000)


def test_qlog_of_0_3_is_read_with_absolute_times(tmp_path):
    events = sender((1000.0, 1050.0, 1060.0, 1070.0, 1100.0))
    trace = {"vantage_point": {"name": "aioquic", "type": "server"}, "common_fields": {"ODCID": "ab"}, "events": events}
    found = read_one(tmp_path, {"qlog_version": "0.3", "qlog_format": "JSON", "traces": [trace]})
    check(found, "aioquic")
    assert found.engine["tool"] == "aioquic (qlog 0.3)"


def test_qlog_of_0_3_is_read_as_a_sequence_with_relative_times(tmp_path):
    trace = {"vantage_point": {"name": "quic-go", "type": "server"}, "common_fields": {"time_format": "relative", "reference_time": 1e12}}
    records = [{"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": trace}, *sender((0, 50, 60, 70, 100))]
    content = b"".join(b"\x1e" + json.dumps(each).encode() + b"\n" for each in records)
    check(read_one(tmp_path, content), "quic-go")
    assert read_one(tmp_path, content + b'\x1e{"time": 5').flows.rows() == read_one(tmp_path, content).flows.rows()


def test_qlog_of_0_4_is_read_with_times_after_the_previous_event(tmp_path):
    events = sender((0, 50, 60, 70, 100), ("quic:", "quic:recovery_"))
    times = [each["time"] for each in events]
    steps = np.diff([0, *times]).tolist()
    events = [{**each, "time": step} for each, step in zip(events, steps, strict=True)]
    events = [{**each, "name": each["name"].replace("recovery_packet_lost", "packet_lost")} for each in events]
    common = {"time_format": "relative_to_previous_event", "reference_time": {"clock_type": "monotonic", "epoch": "unknown"}}
    trace = {"title": "one", "common_fields": common, "event_schemas": ["urn:ietf:params:qlog:events:quic"], "events": events}
    head = {"file_schema": "urn:ietf:params:qlog:file:contained", "serialization_format": "application/qlog+json"}
    SCHEMA.check("LogFile", head)
    check(read_one(tmp_path, {**head, "traces": [trace]}), "one")
    check(read_one(tmp_path, {"qlog_version": "0.4", "qlog_format": "JSON", "traces": [trace]}), "one")


def test_connections_of_one_trace_are_flows_of_their_own(tmp_path):
    events = [{**each, "group_id": group} for group in ("aa", "bb") for each in sender((0, 50, 60, 70, 100))]
    found = read_one(tmp_path, {"qlog_version": "0.3", "traces": [{"vantage_point": {"type": "server"}, "events": events}]})
    assert list(found.flows.names) == ["aa", "bb"]


def test_what_a_client_receives_is_counted(tmp_path):
    frames = [{"frame_type": "stream", "stream_id": 0, "raw": {"payload_length": 500}}]
    events = [event(10 * n, "quic:packet_received", header={"packet_number": n, "packet_type": "1RTT"}, frames=frames) for n in range(3)]
    found = read_one(tmp_path, {"qlog_version": "0.4", "traces": [{"title": "c", "vantage_point": {"type": "client"}, "events": events}]})
    assert list(found.series("flow/c", "rx_bytes")[1]) == [500, 1000, 1500]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"qlog_version": "0.9", "traces": []}, r"qlog_version: is '0.9'; expected 0.3 or 0.4, or a file_schema"),
        ({"qlog_version": "0.3"}, r"has no 'traces'; expected the key traces"),
        ({"qlog_version": "0.3", "traces": [{"events": 3}]}, r"traces\[0\].events: is 3; expected a list"),
        ({"qlog_version": "0.3", "traces": [{"events": [event("x", "quic:packet_sent")]}]}, r"events\[0\].time: is 'x'; expected a number"),
        ({"qlog_version": "0.3", "traces": []}, "holds no measurement"),
    ],
)
def test_what_is_no_qlog_is_an_error(tmp_path, document, message):
    with pytest.raises(BadInput, match=message):
        read_one(tmp_path, document)
