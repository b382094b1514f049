"""Cost of analysing captures: packets per CPU second with every fact, and memory of captures that are long or have many connections.

python -m benchmarks.captures                   the figures that are recorded
python -m benchmarks.captures --gigabytes 10    one capture of that size
"""

from __future__ import annotations

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arguments import end_with, show
from dumbbell.bench.measure import Row
from dumbbell.bench.present import lines
from dumbbell.running.prepare import compute

TARGETS = {
    "packets_per_cpu_s": 3e6,
    "bytes_of_300000_connections": 600_000_000,
    "bytes_more_of_4_times_the_packets": 2_000_000,
}
"""A minimum for packets, maxima of bytes: those of a process, and by how much it grows with the length of a capture."""
CONNECTIONS = 300_000
_REPEATS = 3
_SCENARIO: dict[str, Any] = {
    "name": "capture",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": {"kind": "fq_codel"}}},
    "flows": [{"cc": "cubic", "count": 4}],
    "sample": "0s",
    "capture": True,
}
_PROGRAM = """
import json, re, sys, time
from dumbbell.trace import analyze
begun = time.process_time()
found = analyze(sys.argv[1])
spent = time.process_time() - begun
most = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(json.dumps([found.tally.tcp_packets, len(found.found), spent, 1024 * int(most)]))
"""
"""Analyses a capture; prints its packets and connections, CPU seconds, and the most memory that the process had."""


def _simulated(folder: Path, duration: str) -> Path:
    """The capture at the senders of four flows through fq_codel, with losses."""
    from dumbbell.scenario import Scenario

    (resolved,) = Scenario.model_validate({**_SCENARIO, "duration": duration}).expand()
    path = folder / f"{duration}.pcap"
    capture = compute(resolved, on="sim").captures["left.pcap"]
    assert isinstance(capture, bytes)
    path.write_bytes(capture)
    return path


def _many(folder: Path) -> Path:
    """Connections that stay open after an exchange: SYN, SYN-ACK, ACK, and a segment of each end that the other acknowledges."""
    path = folder / "many.pcap"
    syn, ack = 2, 16
    exchange = (
        (True, 0, 0, syn, 0),
        (False, 0, 1, syn | ack, 0),
        (True, 1, 1, ack, 300),
        (False, 1, 301, ack, 900),
        (True, 301, 901, ack, 0),
    )
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1))
        for number in range(CONNECTIONS):
            hosts = (struct.pack(">I", 0x0A00_0001), struct.pack(">I", 0x0B00_0000 + number // 50_000))
            ports = (1000 + number % 50_000, 80)
            for place, (client, seq, acked, bits, length) in enumerate(exchange):
                way = 1 if client else -1
                ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + length, 0, 0, 64, 6, 0) + b"".join(hosts[::way])
                tcp = struct.pack(">HHIIBBHHH", *ports[::way], seq, acked, 0x50, bits, 500, 0, 0)
                file.write(struct.pack("<IIII", 1 + number // 1000, number % 1000 * 10**6 + place, 54, 54 + length))
                file.write(bytes(12) + b"\x08\x00" + ip + tcp)
    return path


def _repeated(simulated: Path, least_bytes: int) -> Path:
    """A simulated capture again and again up to a size, each time 100 s later and between other ports of the clients."""
    content = simulated.read_bytes()
    starts, at = [], 24
    while at < len(content):
        starts.append(at)
        at += 16 + int.from_bytes(content[at + 8 : at + 12], "little")
    records, begin = np.frombuffer(content, np.uint8).copy(), np.array(starts)
    # Seconds begin a record; behind its 16 bytes are 34 of Ethernet and IP, then the ports. Clients are on the left (10.1.0.0/16).
    from_left = records[begin + 16 + 27] == 1
    words = begin[:, np.newaxis] + np.arange(4)
    ports = (begin + 16 + 34 + np.where(from_left, 0, 2))[:, np.newaxis] + np.arange(2)
    path = simulated.with_name("repeated.pcap")
    with path.open("wb") as file:
        file.write(content[:24])
        while file.tell() < least_bytes:
            records[24:].tofile(file)
            records[words] = (records[words].view("<u4") + 100).astype("<u4").view(np.uint8)
            records[ports] = (records[ports].view(">u2") + 10).astype(">u2").view(np.uint8)
    return path


def _analysed(path: Path) -> tuple[int, int, float, int]:
    command = [sys.executable, "-c", _PROGRAM, str(path)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return int(found[0]), int(found[1]), float(found[2]), int(found[3])


def measure() -> Row:
    """The costs, each from processes of their own; of the CPU time the minimum of three."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as name:
        folder = Path(name)
        short, long = _simulated(folder, "20s"), _simulated(folder, "80s")
        runs = [_analysed(long) for _ in range(_REPEATS)]
        more = min(run[3] for run in runs) - min(_analysed(short)[3] for _ in range(_REPEATS))
        _, connections, _, many = _analysed(_many(folder))
    assert connections == CONNECTIONS
    return {
        "name": "captures",
        "targets": TARGETS,
        "packets": runs[0][0],
        "packets_per_cpu_s": max(run[0] / run[2] for run in runs),
        "bytes_of_300000_connections": many,
        "bytes_more_of_4_times_the_packets": more,
    }


def _of_size(gigabytes: int) -> str:
    """Return the cost of one capture of a size."""
    with tempfile.TemporaryDirectory(prefix="dumbbell-bench-") as name:
        once = _simulated(Path(name), "80s")
        path = _repeated(once, gigabytes * 10**9)
        (_, first, _, short), (packets, connections, cpu_s, most) = _analysed(once), _analysed(path)
        size = path.stat().st_size
    what = f"{size / 1e9:.1f} GB, {packets:,} packets of {connections:,} connections: {packets / cpu_s / 1e6:.1f} M packets per CPU second"
    return f"{what}, {most / 1e6:.1f} MB of memory, {(most - short) / 1e6:.1f} MB more than for the first {first} of them"


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description="what analysing captures costs")
    parser.add_argument("--gigabytes", type=int, help="one capture of this size instead of the figures that are recorded")
    asked = parser.parse_args()
    if asked.gigabytes:
        print(_of_size(asked.gigabytes))
    else:
        show(lines(measure()))


if __name__ == "__main__":
    end_with(main)
