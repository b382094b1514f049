"""mahimahi's logs of a link (`mm-link --uplink-log`): arrivals, departures with their waiting times, drops, and the opportunities.

After a header with `# base timestamp: N`, a line is an event at a time in ms: `T + BYTES` (a packet came), `T - BYTES DELAY` (a packet
left, after DELAY ms), `T # BYTES` (an opportunity), `T d PACKETS BYTES` (packets were dropped). Sizes have the 4 bytes that mahimahi's
tunnel adds.
"""

from __future__ import annotations

from dumbbell.exchange.imported import Found, FoundPort, Points
from dumbbell.exchange.reading import FilePlace, lines

VERSION = 2
_BASE = "# base timestamp: "
_NS_PER_MS = 1_000_000
_MOST_MS = 1e11
_FIELDS = {"+": 1, "-": 2, "#": 1, "d": 2}
"""Event -> numbers behind it."""


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    return _BASE.encode() in content[:4096] or content.startswith(b"# mahimahi")


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    base: float | None = None
    counts = dict.fromkeys(("came", "left", "left_bytes", "dropped"), 0)
    sent, packets, waited, drops, queued = Points(), Points(), Points(), Points(), Points()
    for number, line in enumerate(lines(content, place), 1):
        at = place.line(number)
        if line.startswith("#"):
            if line.startswith(_BASE):
                base = at.number(line.removeprefix(_BASE).strip(), 0.0, 1e15)
            continue
        words = line.split()
        if len(words) < 2 or words[1] not in _FIELDS or len(words) != 2 + _FIELDS[words[1]]:
            raise at.wrong(f"is {line[:40]!r}", "'T + BYTES', 'T # BYTES', 'T - BYTES DELAY' or 'T d PACKETS BYTES'")
        if base is None:
            raise at.wrong("an event comes before the base timestamp", f"a line {_BASE}N first")
        t_ns = round(at.number(words[0], base, base + _MOST_MS) - base) * _NS_PER_MS
        numbers = [at.count(word) for word in words[2:]]
        if words[1] == "+":
            counts["came"] += 1
        elif words[1] == "-":
            counts["left"] += 1
            counts["left_bytes"] += numbers[0]
            sent.add(t_ns, counts["left_bytes"])
            packets.add(t_ns, counts["left"])
            waited.add(t_ns, numbers[1])
        elif words[1] == "d":
            counts["dropped"] += numbers[0]
            drops.add(t_ns, counts["dropped"])
        if words[1] != "#":
            queued.add(t_ns, max(0, counts["came"] - counts["left"] - counts["dropped"]))
    if base is None:
        raise place.wrong("has no base timestamp", f"a line {_BASE}N")
    series = {"sent_bytes": sent, "sent_packets": packets, "sojourn_ms": waited, "drops": drops, "backlog_packets": queued}
    port = FoundPort("link", series={name: points.samples() for name, points in series.items() if points})
    port.columns = {"arrived_packets": counts["came"], "sent_packets": counts["left"], "sent_bytes": counts["left_bytes"]}
    if counts["dropped"]:
        port.columns["dropped_overflow"] = counts["dropped"]
    unknown = ["flows are not known", "sizes have the 4 bytes of mahimahi's tunnel; times are whole ms; opportunities are not read"]
    if not counts["dropped"]:
        unknown.append("whether packets were dropped is not known: the log has no line of a drop")
    return [Found("mahimahi", unknown, ports=[port] if queued else [])]
