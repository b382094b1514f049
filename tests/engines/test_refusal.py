"""A refusal of the simulator is told of the setting that it is about."""

import pytest
from support import PATH, planned

from dumbbell.engines.refusal import refusal

STAGES = {"forward": [{"delay": "1ms"}, {"name": "slow", "rate": "1mbit", "qdisc": {"kind": "pfifo", "limit": "9p"}}]}
OWN = {**PATH, "access": {"rate": "1gbit"}, "reverse": PATH["bottleneck"]}
FLOWS = [{"cc": "cubic", "count": 2}, {"name": "r", "cc": "reno"}]


def place(message, path=PATH):
    made = planned(path=path, flows=FLOWS)
    found = refusal(made.plan, message)
    return made.provenance.location(found), found.what, found.expected


@pytest.mark.parametrize(
    ("message", "location", "what", "expected"),
    [
        (
            "flow r: stack linux-6.12: option hz is 0; expected 100 to 1000",
            ("flows", 1, "stack", "hz"),
            "option hz is 0",
            "100 to 1000",
        ),
        ("flow r: stack linux-6.12: invalid type, expected u32", ("flows", 1, "stack"), "invalid type", "u32"),
        ("flow cubic-2: a transfer of 9 bytes; at most 8", ("flows", 0, "bytes"), "a transfer of 9 bytes", "at most 8"),
        ("flow cubic-2: is odd", ("flows", 0), "is odd", "what the simulator can run"),
        ("too many flows", (), "too many flows", "what the simulator can run"),
    ],
)
def test_the_setting(message, location, what, expected):
    assert place(message) == (location, what, expected)


@pytest.mark.parametrize(
    ("path", "port", "location"),
    [
        (PATH, "bottleneck-reverse", ("path", "bottleneck")),
        (PATH, "delay-reverse", ("path", "delay")),
        (OWN, "bottleneck-reverse", ("path", "reverse")),
        (STAGES, "delay-1", ("path", "forward", 0)),
        (STAGES, "slow", ("path", "forward", 1)),
        (STAGES, "slow-reverse", ("path", "forward", 1)),
        ({**STAGES, "reverse": STAGES["forward"]}, "slow-reverse", ("path", "reverse", 1)),
    ],
)
def test_the_port(path, port, location):
    assert place(f"port {port}: rate is 0", path)[0] == location
