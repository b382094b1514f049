"""What is wrong with a scenario is told with file, line, key and what was expected; the command ends with status 2."""

import pytest
from bad_scenarios import GOOD, assert_told

QUEUE = "  bottleneck:\n    rate: 10mbit\n    shaper: tbf\n    qdisc: {kind: pfifo, limit: 180p}\n"

CASES = {
    # units
    "rtt without a unit": ("rtt: 20ms", "rtt: 20", 3, "path.rtt", "20 has no unit", "a time such as 20ms"),
    "rate without a unit": ("10mbit", "10", 6, "path.bottleneck.rate", "10 has no unit", "a rate such as 10mbit"),
    "a time for a rate": ("10mbit", "10ms", 6, "path.bottleneck.rate", "unknown unit 'ms'", "a rate such as 10mbit"),
    "a rate for a time": ("rtt: 20ms", "rtt: 20mbit", 3, "path.rtt", "unknown unit 'mbit'", "a time such as 20ms"),
    "megabytes per second": ("10mbit", "10mbps", 6, "path.bottleneck.rate", "unknown unit 'mbps'", "a rate"),
    "a word for a time": ("duration: 2s", "duration: long", 11, "duration", "'long' is not a number with a unit", "a time"),
    "half a nanosecond": ("rtt: 20ms", "rtt: 0.5ns", 3, "path.rtt", "not a whole number of ns", "a time"),
    "a time beyond all times": ("duration: 2s", "duration: 1e30s", 11, "duration", "out of range", "a time"),
    "true for a time": ("rtt: 20ms", "rtt: true", 3, "path.rtt", "is not a duration", "a time"),
    "nothing for a time": ("rtt: 20ms", "rtt:", 3, "path.rtt", "is missing", "a time such as 20ms"),
    # impossible values
    "a rate of 0": ("10mbit", "0mbit", 6, "path.bottleneck.rate", "a rate of 0 never sends", "above 0"),
    "a negative rate": ("10mbit", "-10mbit", 6, "path.bottleneck.rate", "is negative", "a rate"),
    "a negative delay": ("rtt: 20ms", "rtt: -20ms", 3, "path.rtt", "'-20ms' is negative", "a time"),
    "a negative extra delay": ("where: before", "extra: -1ms", 4, "path.delay.extra", "is negative", "a time"),
    "no duration": ("duration: 2s", "duration: 0s", 11, "duration", "no time at all", "above 0"),
    "an RTT of days": ("rtt: 20ms", "rtt: 100h", 3, "path.rtt", "is too long", "at most 1000s"),
    "far too many samples": ("sample: 100ms", "sample: 1ns", 12, "sample", "values in 2s", "a longer interval"),
    "a sample beyond the end": ("sample: 100ms", "sample: 3s", 12, "sample", "3s is longer than the run's 2s", "0s for no samples"),
    "the default sample beyond the end": (
        "duration: 2s\nsample: 100ms",
        "duration: 50ms",
        1,
        "sample",
        "100ms is longer than the run's 50ms",
        "a shorter interval",
    ),
    "a duration of hours": ("duration: 2s", "duration: 5h", 11, "duration", "18000s is too long", "at most 14400s"),
    "a duration of years without a sample": (
        "duration: 2s\nsample: 100ms",
        "duration: 1e9s",
        11,
        "duration",
        "1000000000s is too long",
        "at most 14400s",
    ),
    "a rate beyond all rates": ("10mbit", "1e6gbit", 6, "path.bottleneck.rate", "is too fast", "at most 1000gbit"),
    "a bucket smaller than a packet": ("tbf", "tbf\n    burst: 100B", 8, "path.bottleneck.burst", "never lets a full packet go", "1514B"),
    "a bucket of a link": ("tbf", "link\n    burst: 3kB", 8, "path.bottleneck.burst", "has no bucket", "the shaper tbf"),
    "a repeat of 0": ("sample: 100ms", "repeat: 0", 12, "repeat", "0 is out of range", "at least 1"),
    "repeats that cannot differ": ("sample: 100ms", "repeat: 5", 12, "repeat", "would be identical", "start.jitter"),
    "a negative seed": ("sample: 100ms", "seed: -1", 12, "seed", "-1 is out of range", "at least 0"),
    # impairments, and what engines lack
    "an outage after the run": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 9s, kind: outage, for: 1s}]",
        4,
        "path.impairments.0.at",
        "not within the run's 2s",
        "an earlier time",
    ),
    "an outage of nothing": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outage, for: 0s}]",
        4,
        "path.impairments.0.for",
        "no time at all",
        "above 0",
    ),
    "an outage without an end": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outage}]",
        4,
        "path.impairments.0.for",
        "is missing",
        "the key for",
    ),
    "an impairment of another kind": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outtage}]",
        4,
        "path.impairments.0",
        "(did you mean 'outage'?)",
        "outage, rate",
    ),
    "a step to no rate": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: rate, rate: 0mbit}]",
        4,
        "path.impairments.0.rate",
        "0mbit",
        "a rate",
    ),
    # unknown names
    "an unknown key": ("duration: 2s", "duration: 2s\ndurration: 3s", 12, "durration", "unknown key (did you mean 'duration'?)", "one of"),
    "an unknown key inside": ("rtt: 20ms", "rtt: 20ms\n  loss: 1", 4, "path.loss", "unknown key", "one of access, bottleneck"),
    "an unknown shaper": ("tbf", "tbff", 7, "path.bottleneck.shaper", "(did you mean 'tbf'?)", "link, tbf, htb, cake"),
    "an unknown place of the delay": (
        "where: before",
        "where: behind",
        4,
        "path.delay.where",
        "'behind' is unknown",
        "before, after, ack-path",
    ),
    "an unknown reverse path": ("rtt: 20ms", "rtt: 20ms\n  reverse: miror", 4, "path.reverse", "(did you mean 'mirror'?)", "mirror, none"),
    "an unknown engine": ("sample: 100ms", "engine: ns3", 12, "engine", "'ns3' is unknown", "one of sim"),
    "an engine misspelt": ("sample: 100ms", "engine: kernal", 12, "engine", "(did you mean 'kernel'?)", "one of sim"),
    # wrong shapes
    "a list for a path": (
        "path:\n  rtt: 20ms\n",
        "path: [1]\nx:\n",
        2,
        "path",
        "is not keys and values",
        "keys and values, one of access,",
    ),
    "a name with a slash": ("name: good", "name: ../good", 1, "name", "is not a name", "letters, digits"),
    # missing
    "no name": ("name: good", "seed: 2", 1, "name", "is missing", "the key name"),
    "no RTT": ("  rtt: 20ms\n", "", 2, "path.rtt", "is missing", "a time such as 20ms"),
    "no bottleneck": (QUEUE, "", 2, "path.bottleneck", "is missing", "a rate and a qdisc"),
    "no rate": ("    rate: 10mbit\n", "", 5, "path.bottleneck.rate", "is missing", "a rate such as 10mbit"),
    # contradictions
    "a delay limit in bytes": ("where: before", "limit: 1MB", 4, "path.delay.limit", "is in bytes", "a number of packets"),
    "pfifo that shapes": ("shaper: tbf", "shaper: cake", 7, "path.bottleneck.shaper", "pfifo cannot shape", "link, tbf or htb"),
    "stages beside an RTT": (
        "rtt: 20ms",
        "rtt: 20ms\n  forward: []",
        3,
        "path.rtt",
        "cannot stand beside path.forward",
        "the one or the other",
    ),
    # not YAML, or not the YAML that was meant
    "a key given twice": ("sample: 100ms", "sample: 100ms\nduration: 3s", 13, "duration", "is given twice", "each key once"),
    "a bracket left open": ("{kind: pfifo, limit: 180p}", "{kind: pfifo, limit: 180p", None, "", "", "YAML"),
    "a tab": ("  rtt: 20ms", "\trtt: 20ms", 3, "", "cannot start any token", "YAML"),
}
"""By name: what is replaced in the good scenario, by what; line, key, what is wrong and what is expected, as told."""


@pytest.mark.parametrize("case", CASES)
def test_is_told_in_one_line(case, dumbbell, tmp_path):
    assert_told(CASES[case], dumbbell, tmp_path)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty; expected keys"),
        (b"# only a remark\n", "is empty; expected keys"),
        (b"- name: x\n", "holds a list; expected keys"),
        (b"just text\n", "holds a single value; expected keys"),
        (b"name: \xff\xfe\n", "is not text in UTF-8; expected a scenario file"),
    ],
)
def test_a_file_that_holds_no_scenario(content, what, dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert what in answer.err
    assert answer.err.startswith(f"{file}:")


def test_a_file_that_is_not_there(dumbbell, tmp_path):
    answer = dumbbell("plan", tmp_path / "none.yaml")
    assert answer.status == 2
    assert answer.err == f"{tmp_path}/none.yaml: no such file; expected a scenario file\n"


def test_a_folder_for_a_file(dumbbell, tmp_path):
    answer = dumbbell("run", tmp_path)
    assert answer.status == 2
    assert answer.err == f"{tmp_path}: is a folder; expected a scenario file\n"


def test_all_problems_are_told_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("20ms", "20").replace("10mbit", "10").replace("180p", "180"))
    answer = dumbbell("run", file)
    assert [text.split(":")[1] for text in answer.err.splitlines()] == ["3", "6", "8"]


def test_all_that_the_simulator_refuses_is_told_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(
        GOOD.replace("kind: pfifo, limit: 180p", "kind: sfq, depth: 0p").replace(
            "cc: cubic", "cc: cubic, bytes: 9e12B, first_write: 2kB, count: 3"
        )
    )
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines() == [
        f"{file}:8: path.bottleneck.qdisc.depth: 0 packets; expected at least 1",
        f"{file}:10: flows.0.first_write: 2000 bytes; expected 1 to 1447",
        f"{file}:10: flows.0.bytes: 9000000000000 bytes; expected 1 to 6219112640264",
    ]


def test_the_good_one_is_good(dumbbell, tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert dumbbell("plan", file, "--out", tmp_path / "out", "--json").status == 0
