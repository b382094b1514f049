"""Questions to machines about paths before a run, the reading of their answers, and the program that asks."""

import re
import socket
import subprocess
from pathlib import Path

import pytest
from engines.testbed.recorded import deployed
from waiting import HANG_S

from dumbbell.engines.linux import programs
from dumbbell.engines.testbed import fleet
from dumbbell.engines.testbed.verification import TOLERANCE_NS, problems, questions

PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}}
MS = 1_000_000


def asked(hosts, /, late_us=0.0, **more):
    plan, found = deployed(hosts, **more)
    return questions(plan, found, late_us)


def of_tcp(found):
    return [each for each in found if each.words.startswith("tcp ")]


def test_a_path_is_asked_from_both_its_ends_by_the_ports_of_a_flow(hosts):
    found = asked(hosts, path=PATH, flows=[{"cc": "cubic", "count": 3}])
    most = 20 * MS + TOLERANCE_NS
    assert [(each.machine, each.words) for each in found] == [
        ("left1", f"icmp 10.1.0.1 10.2.0.1 1500 {most}"),
        ("right1", f"icmp 10.2.0.1 10.1.0.1 1500 {most}"),
        ("left1", f"tcp 10.1.0.1 10000 10.2.0.1 30000 {most}"),
        ("right1", f"tcp 10.2.0.1 30000 10.1.0.1 10000 {most}"),
    ]
    left, right = of_tcp(found)
    assert (left.least_ns, left.most_ns) == (right.least_ns, right.most_ns) == (20 * MS - 20_000, most)


def test_flows_with_other_round_trips_have_other_bounds(hosts):
    flows = [{"cc": "cubic"}, {"cc": "cubic", "rtt": "50ms"}, {"cc": "cubic", "direction": "reverse"}]
    found = {each.words.split()[2]: each for each in of_tcp(asked(hosts, path=PATH, flows=flows, late_us=100))}
    assert {port: round(each.least_ns / MS) for port, each in found.items()} == {
        "10000": 20,
        "30000": 20,
        "10001": 50,
        "30001": 50,
        "30002": 20,
        "10002": 20,
    }
    # Each delay has a timer of its own.
    assert all(each.most_ns - each.least_ns > TOLERANCE_NS + 100_000 for each in found.values())


def test_a_path_that_loses_packets_may_lose_all_tries(hosts):
    lossy = {**PATH, "delay": {"where": "before", "loss": "50%"}}
    for each in asked(hosts, path=lossy):
        assert each.wrong(-1) is None
    for each in asked(hosts, path=PATH):
        assert each.wrong(-1) is not None


def test_connections_that_come_and_go_and_those_of_programs(hosts):
    coming = {"kind": "transfers", "cc": "cubic", "size": "10kB", "arrivals": {"kind": "poisson", "every": "90ms"}, "count": 9}
    found = of_tcp(asked(hosts, path=PATH, flows=[{"cc": "cubic", "application": "iperf3"}], background=[coming]))
    words = [each.words.split()[1:5] for each in found]
    # A client has whichever port is free, and no answer goes to that.
    assert words[0] == ["10.1.0.1", "0", "10.2.0.1", words[1][1]]
    assert words[1][2:] == ["10.1.0.1", "9"]
    assert len(found) == 2


def test_a_queue_that_delays_is_part_of_the_path(hosts):
    path = {**PATH, "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "netem", "delay": "40ms"}}, "reverse": "none"}
    assert {each.least_ns for each in of_tcp(asked(hosts, path=path, flows=[{"cc": "cubic"}]))} == {60 * MS - 40_000}


@pytest.mark.parametrize(
    "more", [{"delay": {"jitter": "2ms"}}, {"bottleneck": {"rate": "10mbit", "qdisc": {"kind": "tc", "command": "pfifo limit 9"}}}]
)
def test_times_of_some_paths_are_not_known(hosts, more):
    path = {**PATH, **more}
    found = of_tcp(asked(hosts, path=path, flows=[{"cc": "cubic"}]))
    assert {(each.least_ns, each.most_ns) for each in found} == {(None, None)}
    assert problems(found, {"left1": [90 * MS], "right1": [3 * MS]}) == []


@pytest.mark.parametrize(
    ("took", "expected"),
    [
        ([[1, 20.3 * MS], [1, 20.9 * MS]], []),
        ([[1, 35.25 * MS], [1, 20.3 * MS]], ["left1: a round trip to right1 (path) takes 35.2 ms without other traffic"]),
        ([[1, 20.3 * MS], [1, 10.4 * MS]], ["right1: a round trip to left1 (path) takes 10.4 ms without other traffic"]),
        ([[-1, 20.3 * MS], [1, -1]], ["left1: a packet of 1500 bytes does not come back from right1 (10.2.0.1)", "right1: nothing comes"]),
    ],
)
def test_what_is_wrong_is_told_in_a_line(hosts, took, expected):
    found = asked(hosts, path=PATH, flows=[{"cc": "cubic"}])
    said = problems(found, dict(zip(("left1", "right1"), took, strict=True)))
    assert len(said) == len(expected)
    assert all(line.startswith(begins) and "; expected " in line and "\n" not in line for line, begins in zip(said, expected, strict=True))


def test_queues_and_filters_are_made_anew_by_the_lines_that_made_them(hosts):
    for more in ({}, {"hosts": {"left": {"egress": {"rate": "8mbit", "qdisc": {"kind": "fq_codel"}}}}}):
        _, found = deployed(hosts, path=PATH, flows=[{"cc": "cubic"}], **more)
        part = found.parts["router"]
        (anew,) = part.anew
        lines = anew.do[4:]
        assert lines[-len(part.tc) :] == part.tc
        gone = [line for line in lines if " del " in line]
        added = [line for line in lines if re.search(r"^qdisc add dev \S+ (root|clsact)", line)]
        assert sorted(line.split()[3] for line in gone) == sorted(line.split()[3] for line in added)
        assert [bool(found.parts[name].anew) for name in ("left1", "right1")] == [bool(more), False]


# --- the program ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def probe():
    return programs.compiled(fleet.PROBE, [Path(fleet.__file__).parent / f"{fleet.PROBE}.c"]).path


def said(probe, text):
    return subprocess.run([probe], input=text, capture_output=True, text=True, check=False, timeout=HANG_S)


def test_the_program_takes_a_refusal_and_an_acceptance_for_an_answer(probe):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        done = said(probe, f"tcp 127.0.0.1 0 127.0.0.1 {port} 100000000\ntcp 127.0.0.1 0 127.0.0.1 9 100000000\n")
    taken_ns = [int(line) for line in done.stdout.split()]
    assert (done.returncode, len(taken_ns)) == (0, 2)
    assert all(0 < each < 100_000_000 for each in taken_ns)


@pytest.mark.parametrize("text", ["udp 127.0.0.1 127.0.0.1\n", "tcp 127.0.0.1 1 nowhere 2 3\n", "icmp 127.0.0.1 127.0.0.1 3 1\n"])
def test_the_program_says_what_it_does_not_understand(probe, text):
    done = said(probe, text)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("expected icmp ")
