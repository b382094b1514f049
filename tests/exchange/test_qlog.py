"""qlog files have what the main schema requires (draft-ietf-quic-qlog-main-schema-13, the CDDL of QlogFile, Trace, VantagePoint, Event)."""

import json

import pytest

from dumbbell.errors import BadInput
from dumbbell.exchange.writers.qlog import EVENTS_URI, write
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario


def run(**more):
    """A short run."""
    path = {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "30p"}}}
    flows = [{"cc": "cubic", "name": "a"}, {"cc": "bbr", "name": "b"}]
    (found,) = Scenario.model_validate({"name": "s", "path": path, "flows": flows, "duration": "3s", **more}).expand()
    return compute(found)


TEXT, NUMBER = (str,), (int, float)
FILE = {"file_schema": (TEXT, True), "serialization_format": (TEXT, True), "title": (TEXT, False), "description": (TEXT, False)}
TRACE = {"title": (TEXT, False), "description": (TEXT, False), "event_schemas": ((list,), True), "events": ((list,), True)}
POINT = {"name": (TEXT, False), "type": (TEXT, True), "flow": (TEXT, False)}
COMMON = {"time_format": (TEXT, False), "reference_time": ((dict,), False), "protocol_types": ((list,), False), "group_id": (TEXT, False)}
TIME = {"clock_type": (TEXT, True), "epoch": (TEXT, True), "wall_clock_time": (TEXT, False)}
EVENT = {"time": (NUMBER, True), "name": (TEXT, True), "data": ((dict,), True)}


def fits(found, shape, beside=()):
    """Check that a map has the required members, and no others than those that the schema knows."""
    assert found.keys() <= shape.keys() | set(beside)
    for name, (types, required) in shape.items():
        assert name in found or not required, name
        assert isinstance(found.get(name), (*types, type(None)))


def test_the_file_is_what_the_schema_says():
    made = run(events="all")
    ((name, content),) = write(made, "base").files.items()
    assert name == "base.qlog"
    document = json.loads(content)
    fits(document, FILE, ["traces"])
    assert document["file_schema"] == "urn:ietf:params:qlog:file:contained"
    assert document["serialization_format"] == "application/qlog+json"
    assert [trace["title"] for trace in document["traces"]] == ["a", "b"]
    for trace in document["traces"]:
        fits(trace, TRACE, ["common_fields", "vantage_point"])
        fits(trace["vantage_point"], POINT)
        fits(trace["common_fields"], COMMON)
        fits(trace["common_fields"]["reference_time"], TIME)
        assert trace["common_fields"]["reference_time"] == {"clock_type": "monotonic", "epoch": "unknown"}
        assert trace["vantage_point"]["type"] in ("client", "server", "network", "unknown")
        assert trace["event_schemas"] == [EVENTS_URI]
        times = [event["time"] for event in trace["events"]]
        assert times == sorted(times)
        for event in trace["events"]:
            fits(event, EVENT)
            assert event["name"].startswith("dumbbell-tcp:")
            assert None not in event["data"].values()
    assert sum(len(trace["events"]) for trace in document["traces"]) == len(made.events)


def test_a_run_without_a_record_is_an_error():
    with pytest.raises(BadInput, match=r"has no record of events; expected `events: all` in its scenario"):
        write(run(), "base")
