"""Logs of siftr, FreeBSD's kernel module, of version 1.2: a line a packet with the state of its connection.

Fields, counted from 1: direction, 3 time, 4 to 7 addresses and ports, 8 ssthresh and 9 cwnd in bytes, 16 the segment size, 17 the smoothed
RTT in ticks of 1/(hz x tcp_rtt_scale) s, both of which the first line has, 25 bytes in flight. TEACUP's siftr appends the last RTT (27),
which it draws as ms as it is. A file that TEACUP named (`PREFIX_SHORT_VALUE_.._HOST_siftr.log.gz`) has its coordinates in its name. Later
versions of siftr have other fields in these places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from dumbbell.exchange.imported import Connections, Found
from dumbbell.exchange.reading import MOST_TIME_S, FilePlace, lines
from dumbbell.exchange.teacup_names import coordinates

VERSION = 2
_FIRST, _LAST = "enable_time_secs=", "disable_time_secs="
_LEAST_FIELDS = 25
_UNSET = 1 << 30
"""FreeBSD's ssthresh before it is set: TCP_MAXWIN << TCP_MAX_WINSHIFT is 1,073,725,440."""
_MOST_US = 1e12


def recognises(content: bytes) -> bool:
    """True if a file looks like one."""
    return content.startswith(_FIRST.encode())


def found_in(content: bytes, place: FilePlace) -> list[Found]:
    """Return the content of a file. Raises `BadInput`."""
    log = lines(content, place)
    first = place.line(1)
    head = dict(word.partition("=")[::2] for word in next(log, "").split("\t"))
    version = head.get("siftrver", "")
    if not re.fullmatch(r"1\.2(\.\d+)?", version):
        raise first.wrong(f"siftrver is {version[:20]!r}", "version 1.2 of siftr")
    tick_ms = 1e3 / (_of_head(head, "hz", first) * _of_head(head, "tcp_rtt_scale", first))
    began_s = first.number(head.get("enable_time_secs"), 0.0, 1e12) + first.number(head.get("enable_time_usecs", "0"), 0.0, _MOST_US) / 1e6
    connections = Connections()
    whole = False
    for number, line in enumerate(log, 2):
        at = place.line(number)
        if line.startswith(_LAST):
            whole = True
            break
        fields = line.split(",")
        if len(fields) < _LEAST_FIELDS or fields[0] not in ("i", "o"):
            raise at.wrong(f"is {line[:40]!r}", f"at least {_LEAST_FIELDS} fields, i or o first")
        t_ns = at.time_ns(fields[2], began_s)
        whose = tuple(fields[3:7])
        mss = at.number(fields[15], 1.0, 1e6)
        values = {"cwnd": at.number(fields[8]) / mss}
        if (ssthresh := at.number(fields[7])) < _UNSET - (1 << 16):
            values["ssthresh"] = ssthresh / mss
        if srtt := at.number(fields[16], 0.0, _MOST_US):
            values["srtt_ms"] = srtt * tick_ms
        values["inflight"] = at.number(fields[24]) / mss
        if len(fields) == 27 and (rtt := at.number(fields[26], 0.0, _MOST_US)):
            values["rtt_ms"] = rtt
        connections.add(whose, mss, t_ns, values, at)
    unknown = ["what was received, and the direction of the data, are not known; samples are of packets, not of an interval"]
    if not whole:
        unknown.append(f"the log has no {_LAST.rstrip('=')}: it is not complete")
    return [Found(f"siftr {version}", unknown, connections.flows(place), cell=coordinates(place.file.name, "siftr"))]


def _of_head(head: Mapping[str, str], key: str, first: FilePlace) -> float:
    if key not in head:
        raise first.wrong(f"has no {key}: the unit of the RTTs is not known", f"{key}=N")
    return first.number(head[key], 1.0, MOST_TIME_S)
