"""`dumbbell analyze` on captures that are cut, damaged, special or huge: packets that are not understood are counted, errors are one
line."""

import json
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest

CONNECTIONS = 300_000
MOST_MB = 600
IP, TCP = 20, 20
RECORD = np.dtype(
    [
        *(("time", "<u4", 2), ("captured", "<u4"), ("length", "<u4")),
        *(("ip", "S12"), ("source", ">u4"), ("target", ">u4"), ("ports", ">u2", 2), ("seq", ">u4"), ("ack", ">u4")),
        *(("offset", "u1"), ("flags", "u1"), ("rest", "S6")),
    ]
)
SYN, ACK = 2, 16


def header(link=101):
    return struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, link)


def packet(time_ns, from_client, seq, ack, payload, options=b"", flags=ACK, protocol=6):
    """A record of raw IP without its payload."""
    ends = (b"\x0a\x01\x00\x01", b"\x0a\x02\x00\x02")
    ports = (1000, 80)
    if not from_client:
        ends, ports = ends[::-1], ports[::-1]
    offset = (TCP + len(options)) // 4 << 4
    length = IP + TCP + len(options) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, protocol, 0) + b"".join(ends)
    return time_ns, ip + struct.pack(">HHIIBBHHH", *ports, seq, ack, offset, flags, 500, 0, 0) + options, length


def capture(*packets, snap=65535):
    parts = [header()]
    for time_ns, content, length in packets:
        content = content[:snap]
        parts.append(struct.pack("<IIII", *divmod(time_ns, 10**9), len(content), length) + content)
    return b"".join(parts)


STAMPS = b"\x01\x01\x08\x0a\0\0\0\1\0\0\0\2"
EXCHANGE = (packet(0, True, 1, 1, 1000, STAMPS), packet(20_000_000, False, 1, 1001, 0, STAMPS))


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "x.pcap"
        path.write_bytes(content)
        return path

    return write


def test_a_snap_length_that_cuts_options_loses_no_packet(dumbbell, file):
    answer = json.loads(dumbbell("analyze", file(capture(*EXCHANGE, snap=IP + TCP)), "--json").out)
    row = answer["connections"][0]
    assert (row["unique_bytes"], row["rtt_min_ms"], answer["other_packets"]) == (1000, 20, 0)
    (found,) = answer["captures"]
    assert (found["tcp_packets"], found["options_cut"], set(found["left_out"].values())) == (2, 2, {0})
    text = dumbbell("analyze", file(capture(*EXCHANGE, snap=IP + TCP))).out
    assert re.search(r"TCP options cut: analysed without them +2$", text, re.MULTILINE)


def test_what_is_not_understood_is_said_by_reason(dumbbell, file):
    others = [packet(0, True, 1, 1, 10, protocol=17), (0, b"\x60\x00", 999), (0, b"\x15" + bytes(40), 41), (0, EXCHANGE[0][1][:39], 999)]
    path = file(capture(*EXCHANGE, *others))
    document = json.loads(dumbbell("analyze", path, "--json").out)
    reasons = {name: count for name, count in document["captures"][0]["left_out"].items() if count}
    assert reasons == {"other_protocol": 1, "ip_header_cut": 1, "not_ip": 1, "tcp_header_cut": 1}
    assert document["other_packets"] == 4
    text = dumbbell("analyze", path).out
    for what in ("another protocol over IP", "IP header cut", "not IP", "TCP header cut"):
        assert re.search(rf"{what} +1$", text, re.MULTILINE)
    answer = dumbbell("analyze", file(capture(*others)))
    kinds = "1 another protocol over IP, 1 not IP, 1 IP header cut, 1 TCP header cut"
    assert (answer.status, answer.err) == (2, f"{path}: has no TCP among its 4 packets ({kinds}); expected TCP over IP\n")


def test_nothing_is_said_of_a_capture_that_is_understood(dumbbell, file):
    answer = dumbbell("analyze", file(capture(*EXCHANGE)))
    assert "not understood" not in answer.out
    assert answer.err == ""


def test_a_clock_that_is_set_back_gives_no_negative_rtt(dumbbell, file):
    data, ack = packet(50_000_000, True, 1, 1, 1000), packet(20_000_000, False, 1, 1001, 0)
    path = file(capture(data, ack))
    document = json.loads(dumbbell("analyze", path, "--json").out)
    assert [row["rtt_samples"] for row in document["connections"]] == [0, 0]
    assert (document["captures"][0]["earlier_than_previous"], document["captures"][0]["negative_rtts"]) == (1, 1)
    text = dumbbell("analyze", path).out
    assert re.search(r"captured before the packet in front of it +1$", text, re.MULTILINE)
    assert re.search(r"ACK captured before its segment: no RTT +1$", text, re.MULTILINE)


def special(tmp_path, kind):
    path = tmp_path / "special"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "header only in part":
        path.write_bytes(header()[:20])
    elif kind == "damaged":
        path.write_bytes(header() + struct.pack("<IIII", 0, 0, 1 << 31, 1))
    elif kind == "wireless":
        path.write_bytes(header(105))
    return {"device": "/dev/zero", "folder": tmp_path}.get(kind, path)


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("fifo", "cannot be read (is not a regular file); expected a packet capture"),
        ("device", "cannot be read (is not a regular file); expected a packet capture"),
        ("folder", "cannot be read (Is a directory); expected a packet capture"),
        ("empty", "is no packet capture (pcap or pcapng); expected a file such as tcpdump writes"),
        ("header only in part", "ends within its header"),
        ("damaged", "is damaged at byte 24: a packet of 2147483648 bytes; no TCP packet is before that"),
        ("wireless", "is of link type 105; expected Ethernet, raw IP, Linux cooked or loopback"),
    ],
)
def test_a_file_that_is_no_capture_is_one_line(dumbbell, tmp_path, kind, line):
    path = special(tmp_path, kind)
    for arguments in ((path,), ("--pair", path, path)):
        answer = dumbbell("analyze", *arguments)
        assert (answer.status, answer.out, answer.err) == (2, "", f"{path}: {line}\n")


def test_a_capture_of_many_connections_needs_little_memory(tmp_path):
    packets = np.zeros((CONNECTIONS, 3), RECORD)
    packets["captured"] = IP + TCP
    packets["length"] = IP + TCP + 500
    packets["ip"] = struct.pack(">BBHHHBBH", 0x45, 0, IP + TCP + 500, 0, 0, 64, 6, 1)
    client, server = 0x0A000001, (0x0B000000 + np.arange(CONNECTIONS) // 50_000)[:, None]
    port = (1000 + np.arange(CONNECTIONS) % 50_000)[:, None]
    answers = np.array([False, True, False])
    packets["source"], packets["target"] = np.where(answers, server, client), np.where(answers, client, server)
    packets["ports"] = np.stack([np.where(answers, 80, port), np.where(answers, port, 80)], axis=-1)
    packets["ack"], packets["seq"] = [0, 500, 500], [0, 0, 500]
    packets["offset"], packets["flags"], packets["rest"] = 0x50, ACK, b"\1\1\1\1\1\1"
    path = tmp_path / "many.pcap"
    path.write_bytes(header() + packets.tobytes())
    # The command line needs no more: it prints the rows as they come.
    code = (
        "import re, sys; from dumbbell.trace import analyze; found = analyze(sys.argv[1]).found; "
        "(last,) = found.connections(len(found) - 1, len(found)); "
        "memory = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]; "
        "print(len(found), last['forward']['rtt_samples'] + last['reverse']['rtt_samples'], memory)"
    )
    answer = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True).stdout
    connections, samples, kib = map(int, answer.split())
    assert (connections, samples) == (CONNECTIONS, 2)
    assert kib * 1024 < MOST_MB * 10**6
