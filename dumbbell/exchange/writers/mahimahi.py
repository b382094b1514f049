"""mahimahi's log of a link (`mm-link --uplink-log`), for each queue with a rate whose packets were captured before and behind it:
`NAME-PORT.log`.

A line is an event at a time in ms: `T + BYTES` a packet came, `T # 1504` the link could have sent as much, `T - BYTES DELAY` a packet left,
which came DELAY ms before. Sizes are those of IP packets and have the 4 bytes that mahimahi's tunnel adds. Drops are left out, because
mahimahi's own mm-throughput-graph ends at them.

The arrivals and departures come from the captures, so that nothing in the log is made up. That takes `capture: [hosts, bottleneck]` if the
bottleneck is the first stage behind the host, or else the name of the stage before it in place of `hosts`.
"""

from __future__ import annotations

import struct
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.exchange.exported import Exported
from dumbbell.plan.addresses import SUBNETS
from dumbbell.results.capacity import Capacity, capacities
from dumbbell.results.storage.place import read_capture
from dumbbell.scenario.units import ETHERNET_BYTES
from dumbbell.scenario.values.trace import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from dumbbell.metrics import Array
    from dumbbell.results import Run

_TUNNEL_BYTES = 4
_PACKET_BYTES = 1504
"""Bytes that mahimahi sends in an opportunity; a frame of full size is 10 bytes longer."""
_NS_PER_MS = 1_000_000
_MAGIC_NS = 0xA1B23C4D
"""Magic number of a pcap file with ns."""
_EPOCH_NS = 1_577_836_800 * 10**9
_SENDERS = {"forward": "left", "reverse": "right"}
_CAME, _COULD, _LEFT = range(3)
"""Order of events of one time."""


def write(run: Run, base: str) -> Exported:
    """The logs of a run. Raises `BadInput` if there is no queue with packets before and behind it."""
    known = capacities(run)
    ports, files, missing = run.required_plan["ports"], {}, []
    for path in run.required_plan["paths"]:
        for direction in ("forward", "reverse"):
            passed = [ports[i] for i in path[direction]]
            for i, port in enumerate(passed):
                name = f"{base}-{port['id']}.log"
                if port["id"] not in known or name in files:
                    continue
                before = f"{_SENDERS[direction]}.pcap" if i == 0 else f"port-{passed[i - 1]['name']}.pcap"
                points = (before, f"port-{port['name']}.pcap")
                if lacking := [each for each in points if each not in run.captures]:
                    missing.append(f"{port['id']} lacks {' and '.join(lacking)}")
                    continue
                came, left = (_packets(run.captures[each], SUBNETS[_SENDERS[direction]]) for each in points)
                files[name] = _log(run, port, known[port["id"]], came, left)
    if not files:
        why = "; ".join(missing) or "it has no queue with a rate"
        expected = "expected packets before and behind a queue, such as `capture: [hosts, delay, bottleneck]`"
        raise BadInput(f"run {run.key[:10]} ({run.name}): {why}; {expected}")
    return Exported(files, left_out=tuple(f"queue {each}" for each in missing))


def _log(run: Run, port: Mapping[str, Any], capacity: Capacity, came: Iterator[_Packet], left: Iterator[_Packet]) -> bytes:
    events: list[tuple[int, int, str]] = []
    inside: dict[bytes, deque[int]] = defaultdict(deque)
    for t_ns, size, what in came:
        events.append((t_ns, _CAME, f"+ {size}"))
        inside[what].append(t_ns)
    for there_ns, size, what in left:
        t_ns = there_ns - port["delay_ns"]
        if inside[what]:  # else it was there before the capture of the stage before began
            came_ns = inside[what].popleft()
            events.append((t_ns, _LEFT, f"- {size} {t_ns // _NS_PER_MS - came_ns // _NS_PER_MS}"))
    events += [(t_ns, _COULD, f"# {_PACKET_BYTES}") for t_ns in (_opportunities_s(capacity) * 1e9).astype(np.int64).tolist()]
    head = [
        f"# mahimahi mm-link ({port['id']}) [dumbbell run {run.key}]",
        f"# queue: {port['qdisc']['kind']}",
        "# init timestamp: 0",
        "# base timestamp: 0",
    ]
    return "\n".join([*head, *(f"{t_ns // _NS_PER_MS} {what}" for t_ns, _, what in sorted(events)), ""]).encode()


def _opportunities_s(capacity: Capacity) -> Array:
    """Return the times at which the link could have sent one more packet of full size."""
    if capacity.opportunities_s is not None:
        return capacity.opportunities_s
    times, mbit = capacity.rates
    edges = np.append(times, capacity.end_s)
    each = OPPORTUNITY_BYTES - capacity.uncounted_bytes
    frames = np.concatenate([[0.0], np.cumsum(mbit * 1e6 / 8 * np.diff(edges))]) / each
    found: Array = np.interp(np.arange(1, int(frames[-1]) + 1), frames, edges)
    return found


_Packet = tuple[int, int, bytes]
"""Time at which a packet was seen (ns from the start), its size as mahimahi counts it, and its identity."""


def _packets(capture: bytes | Path, subnet: str) -> Iterator[_Packet]:
    """The IP packets in a capture of a run that hosts of a subnet sent."""
    content = capture if isinstance(capture, bytes) else read_capture(capture)
    if len(content) < 24 or struct.unpack_from("<I", content)[0] != _MAGIC_NS:
        raise BadInput(f"{'a capture' if isinstance(capture, bytes) else capture}: is no capture of a run; expected pcap with ns")
    side = bytes(int(part) for part in subnet.split("."))
    at = 24
    while at + 16 <= len(content):
        seconds, nanoseconds, kept, size = struct.unpack_from("<IIII", content, at)
        frame = content[at + 16 : at + 16 + kept]
        at += 16 + kept
        header = frame[ETHERNET_BYTES:]
        if header[:1] != b"\x45" or header[12:14] != side:
            continue
        # Without the fields that routers and queues change: ECN, TTL and the header's checksum.
        what = header[2:6] + header[9:10] + header[12:60]
        yield seconds * 10**9 + nanoseconds - _EPOCH_NS, size - ETHERNET_BYTES + _TUNNEL_BYTES, what
