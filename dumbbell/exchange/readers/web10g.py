"""Logs of web10g-logger, for Linux kernels with the patch web10g (RFC 4898): a line of comma-separated variables for each connection
and each poll.

The first line names the variables, and begins with `Timestamp`. Dumbbell takes them by their names: `CurCwnd` and `CurSsthresh` in bytes,
`CurMSS`, `SmoothedRTT` and `SampleRTT` in ms. Names that a log does not have are looked for where TEACUP's scripts look (analyse.py
0.9: fields 1, 3 to 6, 23, 26, and 45 of 122 or 47 of 128 columns, versions 2.0.7 and 2.0.9). Lines with errors of netlink, and a last line
that is cut, are skipped, as those scripts do. So are polls during which nothing of a connection changed. A file that TEACUP named has its
coordinates in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from dumbbell.exchange.imported import Connections, Found
from dumbbell.exchange.reading import FilePlace, lines
from dumbbell.exchange.teacup_names import coordinates

VERSION = 1
_HEAD = b"Timestamp"
_TIME, _ENDS = 0, slice(2, 6)
_PLACES = {"SmoothedRTT": 22, "CurCwnd": 25}
_SAMPLE_RTT = {122: 44, 128: 46}
"""Number of columns -> place of the last RTT."""
_UNSET = 1 << 30
"""ssthresh before it is set: 2^31 - 1 segments, in the bits that are left."""
_MOST_MS = 1e9
_USUAL_MSS = 1448
_SETTLED = ("CurCwnd", "SmoothedRTT", "CurSsthresh", "SampleRTT")


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    return content.startswith(_HEAD) and b",CurCwnd" in content.partition(b"\n")[0].replace(b" ", b"")


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    log = lines(content, place)
    head = [word.strip() for word in next(log, "").split(",")]
    where = _places(head, place)
    began_s: float | None = None
    connections = Connections()
    last: dict[tuple[str, ...], tuple[str, ...]] = {}
    skipped = 0
    for number, fields, is_whole in _rows(log, len(head)):
        if not is_whole:
            skipped += 1
            continue
        at = place.line(number)
        time_s = at.number(fields[_TIME], 0.0, 1e12)
        began_s = time_s if began_s is None else began_s
        whose = tuple(fields[_ENDS])
        settled = tuple(fields[where[name]] for name in _SETTLED if name in where)
        if last.get(whose) == settled:
            continue
        last[whose] = settled
        t_ns = at.time_ns(fields[_TIME], began_s)
        mss = at.number(fields[where["CurMSS"]], 1.0, 1e6) if "CurMSS" in where else _USUAL_MSS
        values = {"cwnd": at.number(fields[where["CurCwnd"]]) / mss}
        if "CurSsthresh" in where and (ssthresh := at.number(fields[where["CurSsthresh"]])) < _UNSET:
            values["ssthresh"] = ssthresh / mss
        for name, series in (("SmoothedRTT", "srtt_ms"), ("SampleRTT", "rtt_ms")):
            if name in where and (rtt := at.number(fields[where[name]], 0.0, _MOST_MS)):
                values[series] = rtt
        connections.add(whose, mss, t_ns, values, at)
    unknown = ["what was received, and the direction of the data, are not known; polls that changed nothing are left out"]
    if "CurMSS" not in where:
        unknown.append(f"the log has no CurMSS: windows in packets are of segments of {_USUAL_MSS} bytes")
    if skipped:
        unknown.append(f"{skipped} lines are skipped: errors of netlink, or cut")
    return [Found("web10g-logger", unknown, connections.flows(place), cell=coordinates(place.file.name, "web10g"))]


def _places(head: list[str], place: FilePlace) -> Mapping[str, int]:
    """Return the place of each variable in a line, by its name or as TEACUP's scripts know it."""
    first = place.line(1)
    if not head or not head[0].startswith(_HEAD.decode()):
        raise first.wrong("does not begin with Timestamp", "the names of web10g-logger's variables")
    named = {name: head.index(name) for name in (*_SETTLED, "CurMSS") if name in head}
    known = {name: at for name, at in _PLACES.items() if at < len(head)}
    if len(head) in _SAMPLE_RTT:
        known["SampleRTT"] = _SAMPLE_RTT[len(head)]
    where = {**known, **named}
    if "CurCwnd" not in where:
        raise first.wrong(f"has {len(head)} names without CurCwnd", "the names of web10g-logger's variables")
    return where


def _rows(log: Iterator[str], columns: int) -> Iterator[tuple[int, list[str], bool]]:
    """Yield number and fields of each line, and whether it is whole."""
    for number, line in enumerate(log, 2):
        fields = [field.strip() for field in line.split(",")]
        yield number, fields, len(fields) == columns and not re.search("[a-z]", line)
