"""Records tcptrace's results for captures, for tests/trace/test_tcptrace.py: `python tests/record_tcptrace.py [--kernel]`.

The captures are made here, by the simulator, by the kernel (`--kernel`), and by hand from these: packets lost, doubled, late, without the
handshake, cut. They begin at 1000 s, because tcptrace takes a time of 0 for none.
"""

import gzip
import random
import struct
import sys
import tempfile
from pathlib import Path

import tcptrace

from dumbbell.running.prepare import compute

FOLDER = Path(__file__).parent / "trace" / "recorded"
_PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "shaper": "tbf", "qdisc": {"kind": "pfifo", "limit": "30p"}}}
_CAKE = {"rtt": "40ms", "bottleneck": {"rate": "5mbit", "qdisc": {"kind": "cake", "sce": True}}}
_START_S = 1000
_HEADER, _RECORD = 24, 16
_TCP = 6
SCENARIOS = {
    "losses": {"path": {**_PATH, "delay": {"loss": "1%"}}, "flows": [{"cc": "cubic", "count": 2}]},
    "reordering": {"path": {**_PATH, "delay": {"jitter": "5ms"}}, "flows": [{"cc": "reno"}]},
    "marks": {"path": _CAKE, "flows": [{"cc": "reno-sce"}]},
    "sendbuffer": {"path": {**_PATH, "rtt": "60ms"}, "flows": [{"cc": "cubic", "host": {"sndbuf": "40kB"}}]},
    "transfers": {
        "path": _PATH,
        "flows": [],
        "background": [{"kind": "transfers", "cc": "cubic", "size": "15kB", "arrivals": {"kind": "poisson", "load": 0.3}}],
    },
}


def packets(capture):
    """The records of a pcap file: seconds, nanoseconds, length on the wire, bytes."""
    at = _HEADER
    while at < len(capture):
        seconds, ns, captured, length = struct.unpack_from("<IIII", capture, at)
        at += _RECORD + captured
        yield seconds, ns, length, capture[at - captured : at]


def pcap(records):
    """A pcap file with nanoseconds."""
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)]
    for seconds, ns, length, content in records:
        parts += [struct.pack("<IIII", seconds, ns, len(content), length), content]
    return b"".join(parts)


def captured(engine_name, settings):
    """The captures of a run at both sides, from 1000 s on instead of from their day."""
    from dumbbell.scenario import Scenario
    from dumbbell.trace.passive import EPOCH_NS

    later_s = _START_S - EPOCH_NS // 10**9
    common = {"name": "s", "duration": "2s", "capture": True, "engine": engine_name}
    (resolved,) = Scenario.model_validate({**common, **settings}).expand()
    run = compute(resolved, on=engine_name)
    return [[(seconds + later_s, *rest) for seconds, *rest in packets(run.captures[f"{side}.pcap"])] for side in ("left", "right")]


def mutated(records):
    """Name -> records: the same packets as a worse capture has them."""
    draw = random.Random(7)
    late = sorted(
        ((s * 10**9 + ns + (draw.randrange(20_000_000) if draw.random() < 0.05 else 0), *rest) for s, ns, *rest in records),
        key=lambda each: each[0],
    )
    yield "missed", [each for each in records if draw.random() > 0.03]
    yield "doubled", [copy for each in records for copy in [each] * (1 + (draw.random() < 0.03))]
    yield "late", [(at // 10**9, at % 10**9, *rest) for at, *rest in late]
    yield "midway", records[len(records) // 3 :]
    yield "cut", [(s, ns, length, content[:54]) for s, ns, length, content in records]
    yield "wrapping", [(s, ns, length, _moved(content)) for s, ns, length, content in records]


def _moved(content):
    """The frame with sequence numbers of the left side raised, so that they wrap, and the other's acknowledgments too."""
    if content[23] != _TCP:
        return content
    first = content[26:28] == bytes([10, 1])
    place = 38 if first else 42
    number = (struct.unpack_from(">I", content, place)[0] + 0xFFFF_0000) % 2**32
    if not first:
        return content[:place] + struct.pack(">I", number) + _moved_sacks(content[place + 4 :])
    return content[:place] + struct.pack(">I", number) + content[place + 4 :]


def _moved_sacks(rest):
    """Return the bytes after the acknowledgment number, with raised SACK blocks."""
    found, at = bytearray(rest), 8
    end = (rest[0] >> 4) * 4 - 12
    while at < min(end, len(rest)):
        if rest[at] <= 1:
            at += 1
            continue
        if rest[at] == 5:
            for place in range(at + 2, at + rest[at + 1], 4):
                struct.pack_into(">I", found, place, (struct.unpack_from(">I", rest, place)[0] + 0xFFFF_0000) % 2**32)
        at += rest[at + 1]
    return bytes(found)


_FIN, _SYN, _RST, _PSH, _ACK, _URG = (1 << bit for bit in range(6))


def frame(time_ms, from_client, seq, ack, bits, length=0, window=500, options=b"", version=4):
    """A record of a hand-made TCP packet."""
    ports = (40_000, 80) if from_client else (80, 40_000)
    options += bytes(-len(options) % 4)
    header = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, (20 + len(options)) // 4 << 4, bits, window, 0, 7) + options
    hosts = [bytes([192, 0, 2, 1]), bytes([198, 51, 100, 7])][:: 1 if from_client else -1]
    total = len(header) + length
    if version == 4:
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + total, time_ms % 65536, 0, 64, 6, 0) + b"".join(hosts)
    else:
        wide = [bytes([0x20, 1, 0xD, 0xB8]) + bytes(8) + host for host in hosts]
        ip = struct.pack(">IHBB", 0x60000000, total, 6, 64) + b"".join(wide)
    ether = bytes(12) + (b"\x08\x00" if version == 4 else b"\x86\xdd")
    content = ether + ip + header
    return _START_S + time_ms // 1000, time_ms % 1000 * 10**6, len(content) + length, content


def handmade():
    """Name -> records of packets that simulators do not make."""
    syn, answer = b"\x02\x04\x05\xb4\x03\x03\x02", b"\x02\x04\x05\x64"
    yield (
        "closed-window",
        [
            frame(0, True, 100, 0, _SYN, options=syn),
            frame(1, False, 900, 101, _SYN | _ACK, options=syn),
            frame(2, True, 101, 901, _ACK),
            frame(3, True, 101, 901, _ACK | _PSH, 400),
            frame(4, False, 901, 501, _ACK, window=0),
            frame(250, True, 501, 901, _ACK, 1),
            frame(251, False, 901, 501, _ACK, window=0),
            frame(700, True, 501, 901, _ACK, 1),
            frame(701, False, 901, 502, _ACK, window=300),
            frame(702, True, 502, 901, _ACK | _URG, 300),
            frame(703, True, 802, 901, _ACK | _FIN | _PSH, 100),
            frame(705, False, 901, 903, _ACK, window=300),
            frame(706, False, 901, 903, _ACK | _FIN, window=300),
            frame(906, False, 901, 903, _ACK | _FIN, window=300),
            frame(910, True, 903, 902, _ACK),
        ],
    )
    yield (
        "unscaled",
        [
            frame(0, True, 2**32 - 1, 0, _SYN, options=syn),
            frame(500, True, 2**32 - 1, 0, _SYN, options=syn),
            frame(540, False, 50, 0, _SYN | _ACK, options=answer),
            frame(541, True, 0, 51, _ACK),
            frame(542, True, 0, 51, _ACK, 600),
            frame(543, True, 1200, 51, _ACK, 600),
            frame(544, False, 51, 600, _ACK, window=400),
            frame(545, False, 51, 600, _ACK, window=400),
            frame(546, False, 51, 600, _ACK, window=400),
            frame(547, False, 51, 600, _ACK, window=400),
            frame(548, False, 51, 600, _ACK, window=450),
            frame(549, True, 600, 51, _ACK, 600),
            frame(550, True, 900, 51, _ACK, 1100),
            frame(560, False, 51, 2000, _ACK, 10, window=450),
            frame(570, False, 61, 2000, _RST | _ACK),
        ],
    )
    wide = b"\x02\x04\x05\xb4\x03\x03\x0f"
    yield (
        "shift-15",
        [
            frame(0, True, 100, 0, _SYN, options=wide),
            frame(1, False, 900, 101, _SYN | _ACK, options=wide),
            frame(2, True, 101, 901, _ACK, 100),
            frame(3, False, 901, 201, _ACK),
        ],
    )
    yield (
        "version-6",
        [
            frame(0, True, 7, 0, _SYN, options=syn, version=6),
            frame(30, False, 70, 8, _SYN | _ACK, options=syn, version=6),
            *(frame(31 + n, True, 8 + 1000 * n, 71, _ACK, 1000, version=6) for n in range(4)),
            *(frame(62 + n, False, 71, 1008 + 1000 * n, _ACK, version=6) for n in range(4)),
            frame(70, True, 4008, 71, _FIN | _ACK, version=6),
            frame(100, False, 71, 4009, _FIN | _ACK, version=6),
            frame(101, True, 4009, 72, _ACK, version=6),
        ],
    )
    yield from handmade_late()


def handmade_late():
    """Name -> records of captures that miss packets or have them late."""
    syn = b"\x02\x04\x05\xb4\x03\x03\x02"
    yield (
        "late-answer",
        [
            frame(0, True, 100, 0, _SYN, options=syn),
            frame(20, True, 101, 901, _ACK, 1000),
            frame(21, True, 1101, 901, _ACK, 1000),
            frame(45, False, 901, 1101, _ACK),
            frame(47, False, 900, 101, _SYN | _ACK, options=syn),
            frame(48, False, 901, 2101, _ACK),
            frame(50, True, 2101, 901, _ACK, 1000),
            frame(80, False, 901, 3101, _ACK),
        ],
    )
    yield (
        "late-syn",
        [
            frame(20, True, 101, 901, _ACK, 1000),
            frame(21, True, 1101, 901, _ACK | _FIN, 500),
            frame(22, True, 100, 0, _SYN, options=syn),
            frame(24, False, 900, 101, _SYN | _ACK, options=syn),
            frame(45, False, 901, 1602, _ACK | _FIN),
            frame(65, True, 1602, 902, _ACK),
        ],
    )
    yield (
        "reused-ports",
        [
            frame(0, True, 100, 0, _SYN, options=syn),
            frame(20, False, 900, 101, _SYN | _ACK, options=syn),
            frame(21, True, 101, 901, _ACK, 1000),
            frame(500, True, 70_000, 0, _SYN, options=syn),
            frame(520, False, 50_000, 70_001, _SYN | _ACK, options=syn),
            frame(521, True, 70_001, 50_001, _ACK, 1000),
        ],
    )
    yield (
        "from-zero",
        [
            frame(0, False, 0, 1, _SYN | _ACK, options=syn),
            *(frame(20 + n, True, 1 + 1000 * n, 1, _ACK, 1000) for n in range(3)),
            frame(23, True, 3001, 1, _ACK | _FIN, 1000),
            *(frame(40 + n, False, 1, 1001 + 1000 * n, _ACK) for n in range(3)),
            frame(43, False, 1, 4002, _ACK),
        ],
    )
    yield (
        "old-acks",
        [
            frame(0, True, 501, 901, _ACK, 1000),
            frame(2, True, 2501, 901, _ACK, 1000),
            frame(30, False, 901, 3501, _ACK),
            *(frame(31 + n, False, 901, 1501, _ACK) for n in range(4)),
            frame(40, False, 901, 3501, _ACK),
        ],
    )
    _, ns, length, content = frame(900, True, 0, 0, 0, 500)
    datagram = (_START_S, ns, length, content[:23] + b"\x11" + content[24:])
    yield (
        "late-data",
        [
            frame(0, True, 501, 901, _ACK, 1000),
            frame(2, True, 2501, 901, _ACK, 1000),
            frame(30, False, 901, 3501, _ACK),
            frame(31, False, 901, 3501, _ACK),
            frame(32, True, 1501, 901, _ACK, 1000),
            *(frame(33 + n, False, 901, 3501, _ACK) for n in range(3)),
            datagram,
        ],
    )


def record(name, records):
    """Write a capture, packed, and tcptrace's result for it."""
    content = pcap(records)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.pcap.gz").write_bytes(gzip.compress(content, mtime=0))
    with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
        file.write(content)
        file.flush()
        (FOLDER / f"{name}.csv").write_text(
            "\n".join(line for line in tcptrace.run(file.name).splitlines() if line and line[0] != "#") + "\n"
        )


def main():
    if "--kernel" in sys.argv:
        settings = {"path": {**_PATH, "bottleneck": {**_PATH["bottleneck"], "qdisc": {"kind": "fq_codel"}}}, "flows": [{"cc": "cubic"}]}
        left, right = captured("kernel", settings)
        record("kernel", left)
        record("kernel-receiver", right)
        return
    for name, settings in SCENARIOS.items():
        record(name, captured("sim", settings)[0])
    left, right = captured("sim", SCENARIOS["losses"])
    record("losses-receiver", right)
    for name, records in mutated(left):
        record(name, records)
    for name, records in handmade():
        record(name, records)


if __name__ == "__main__":
    main()
