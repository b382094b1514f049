"""State variables that Linux tells: the structures that the agent wrote down (agent/state.c) as series by the catalogue's names.

Layouts and units are those of include/uapi/linux/tcp.h, inet_diag.h and pkt_sched.h of Linux 6.12 and 7.3; what fills them is
`tcp_get_info`, `get_info` of a congestion control, and `dump_stats` and `dump_class_stats` of a discipline (net/ipv4, net/sched).

Linux does not tell everything that the catalogue lists: nothing of cubic without the patch of `kernel build --with state`, of bbr neither
mode nor round, of pie not the rest of its burst, of red no average. These have no series.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.catalogue import states
from dumbbell.plan import Link, Plan, Tcp, Traffic
from dumbbell.plan.model import Workload
from dumbbell.scenario.series import CONTROL, QUEUE

if TYPE_CHECKING:
    from dumbbell.results import Block

Told = dict[str, float]
"""Variable -> value."""

_HEAD = struct.Struct("<qII")
_CLASS = struct.Struct("<II")
_NO_RATE = (1 << 64) - 1
_NO_RTT_US = 0x7FFFFFFF
_PIE_WHOLE = float(1 << 64)
"""The probability 1, as pie tells it (MAX_PROB << 8)."""
_DUALPI2_WHOLE = float((1 << 32) - 1)
"""The probability 1 of dualpi2 (MAX_PROB)."""
_COBALT_WHOLE = float((1 << 32) - 1)
_SHARE_OF_DCTCP = 1024
_GAIN_OF_BBR = 256
_K_PER_S = 1024
_HANDSHAKES = (2, 3)
"""TCP_SYN_SENT and TCP_SYN_RECV, in which a congestion control is not initialised."""


@dataclass(frozen=True)
class Record:
    """A report of the kernel at one time."""

    t_ns: int
    first: bytes
    """TCP_INFO of a sender; statistics of a discipline."""
    second: bytes
    """TCP_CC_INFO of a sender; statistics of a discipline's classes."""


def records(path: Path) -> Iterator[Record]:
    """Yield the records in a file of the agent."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        t_ns, first, second = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        yield Record(t_ns, content[at : at + first], content[at + first : at + first + second])
        at += first + second


def wants(plan: Plan) -> tuple[bool, bool]:
    """Return True for senders if a plan asks for their state, and True for queues."""
    of_senders = {each.name for group in ("sender", "cc") for listed in states(group).values() for each in listed}
    of_queues = {each.name for listed in states("qdisc").values() for each in listed}
    chosen = set(plan.series.state)
    return bool(chosen & (of_senders | {CONTROL})), bool(chosen & (of_queues | {QUEUE}))


def state_lines(plan: Plan) -> Iterator[str]:
    """Yield the agent's line that asks for state."""
    senders, queues = wants(plan)
    if senders or queues:
        yield " ".join(["state", *(("senders",) if senders else ()), *(("queues",) if queues else ())])


def state_blocks(plan: Plan, folder: Path) -> Iterator[Block]:
    """Yield the series of state that a plan asks for, flows first."""
    senders, queues = wants(plan)
    chosen = {plan.workloads[i].id for i in plan.series.flows} if senders else set()
    asked = frozenset(plan.series.state)
    for i, (workload, connection) in enumerate(plan.flows):
        path = folder / f"state-flow-{i}"
        if workload.id in chosen and path.is_file():
            yield from _block(f"flow/{connection.name}", path, _teller(workload), asked, whole=CONTROL in asked)
    for i in plan.series.ports if queues else ():
        port = plan.ports[i]
        path = folder / f"state-port-{i}"
        tell = None if isinstance(port, Link) else QDISCS.get(str(port.qdisc["kind"]))
        if tell is not None and path.is_file():
            yield from _block(f"port/{port.id}", path, tell, asked, whole=QUEUE in asked)


def _block(entity: str, path: Path, tell: Callable[[Record], Told], asked: frozenset[str], whole: bool) -> Iterator[Block]:
    from dumbbell.results import Block

    times: list[int] = []
    rows: list[Told] = []
    for record in records(path):
        times.append(record.t_ns)
        rows.append(tell(record))
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if whole or name in asked]
    if names:
        values = np.array([[row.get(name, np.nan) for row in rows] for name in names])
        yield Block(entity, tuple(names), np.array(times, dtype=np.int64), values)


def _teller(workload: Workload) -> Callable[[Record], Told]:
    """Return what reads the records of a workload's senders."""
    tcp = workload if isinstance(workload, Tcp) else workload.tcp if isinstance(workload, Traffic) else None
    control = CONTROLS.get(str(tcp.cc.get("kind")), _nothing) if tcp is not None else _nothing

    def told(record: Record) -> Told:
        known = record.second and record.first[0] not in _HANDSHAKES
        return _sender(record.first) | (control(record.second) if known else {})

    return told


def _sender(info: bytes) -> Told:
    """The variables of every sender, from TCP_INFO."""
    (rto_us,) = struct.unpack_from("<I", info, 8)
    sacked, lost, retransmitted = struct.unpack_from("<3I", info, 28)
    rtt_us, rttvar_us = struct.unpack_from("<2I", info, 68)
    (reordering,) = struct.unpack_from("<I", info, 88)
    (pacing,) = struct.unpack_from("<Q", info, 104)
    told: Told = {}
    if pacing != _NO_RATE:
        told["pacing_bps"] = pacing * 8.0
    told["rto_ms"] = rto_us / 1e3
    if rtt_us:
        told["rttvar_ms"] = rttvar_us / 1e3
    return told | {"sacked": sacked, "lost": lost, "retrans_out": retransmitted, "reordering": reordering}


def _ms(us: int) -> float:
    """Return ms; NaN for Linux's word for no measurement."""
    return np.nan if us >= _NO_RTT_US else us / 1e3


def _nothing(_: bytes) -> Told:
    return {}


def _bbr(info: bytes) -> Told:
    low, high, min_rtt_us, pacing_gain, cwnd_gain = struct.unpack_from("<5I", info)
    return {
        "bw_bps": (low | high << 32) * 8.0,
        "model_min_rtt_ms": np.nan if min_rtt_us == (1 << 32) - 1 else min_rtt_us / 1e3,
        "pacing_gain": pacing_gain / _GAIN_OF_BBR,
        "cwnd_gain": cwnd_gain / _GAIN_OF_BBR,
    }


def _dctcp(info: bytes) -> Told:
    """Nothing if the connection has no ECN, so that it is Reno."""
    enabled, _, alpha, marked_bytes, all_bytes = struct.unpack_from("<2H3I", info)
    return {"alpha": alpha / _SHARE_OF_DCTCP, "window_bytes": all_bytes, "window_ce_bytes": marked_bytes} if enabled else {}


def _vegas(info: bytes) -> Told:
    enabled, samples, base_us, round_us = struct.unpack_from("<4I", info)
    return {"base_rtt_ms": _ms(base_us), "round_rtt_ms": _ms(round_us), "rtt_samples": samples, "watched": enabled}


def _illinois(info: bytes) -> Told:
    _, samples, mean_us, base_us = struct.unpack_from("<4I", info)
    mean = {"mean_rtt_ms": _ms(mean_us)} if samples else {}
    return {"base_rtt_ms": _ms(base_us), **mean, "rtt_samples": samples}


def _westwood(info: bytes) -> Told:
    _, _, rtt_us, least_us = struct.unpack_from("<4I", info)
    return {"base_rtt_ms": _ms(least_us), "last_rtt_ms": _ms(rtt_us)}


def _nv(info: bytes) -> Told:
    _, _, last_us, least_us = struct.unpack_from("<4I", info)
    return {"base_rtt_ms": _ms(least_us), **({"mean_rtt_ms": _ms(last_us)} if last_us else {})}


def _cubic(info: bytes) -> Told:
    """`struct tcp_cubic_info` of the patch of `kernel build --with state`."""
    cnt, w_max, origin, k, base_us, has_epoch, epoch_us, w_est, found, round_us, round_rtt_us, samples = struct.unpack_from("<12I", info)
    told: Told = {"w_max": w_max, "cnt": cnt, "hystart_found": found}
    if base_us:
        told["base_rtt_ms"] = base_us / 1e3
    if has_epoch:
        told |= {"origin": origin, "k_s": k / _K_PER_S, "epoch_s": epoch_us / 1e6, "w_est": w_est}
    if not found:
        rtt_ms = np.nan if round_rtt_us == (1 << 32) - 1 else round_rtt_us / 1e3
        told |= {"hystart_round_s": round_us / 1e6, "hystart_rtt_ms": rtt_ms, "hystart_samples": samples}
    return told


CONTROLS: Mapping[str, Callable[[bytes], Told]] = {
    "bbr": _bbr,
    "cubic": _cubic,
    "dctcp": _dctcp,
    "vegas": _vegas,
    "yeah": _vegas,
    "illinois": _illinois,
    "westwood": _westwood,
    "nv": _nv,
}
"""Congestion control -> what reads its TCP_CC_INFO."""


def _classes(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield for each class the packets that it holds, and its own statistics."""
    at = 0
    while at < len(content):
        packets, size = _CLASS.unpack_from(content, at)
        at += _CLASS.size
        yield packets, content[at : at + size]
        at += size


def _attributes(content: bytes) -> dict[int, bytes]:
    """Return netlink's attributes in a row, by type."""
    found, at = {}, 0
    while at + 4 <= len(content):
        size, kind = struct.unpack_from("<HH", content, at)
        if size < 4:
            break
        found[kind & 0x3FFF] = content[at + 4 : at + size]
        at += (size + 3) & ~3
    return found


def _number(attribute: bytes | None) -> int:
    return 0 if attribute is None else int.from_bytes(attribute, "little")


def _codel(record: Record) -> Told:
    """`struct tc_codel_xstats`."""
    _, count, last_count, _, next_us = struct.unpack_from("<4Ii", record.first)
    dropping = struct.unpack_from("<I", record.first, 28)[0]
    told: Told = {"codel_count": count, "codel_last_count": last_count, "dropping": float(bool(dropping))}
    return told | ({"drop_next_ms": next_us / 1e3} if dropping else {})


def _pie(record: Record) -> Told:
    """`struct tc_pie_xstats`."""
    probability, delay_us, rate, estimates = struct.unpack_from("<Q3I", record.first)
    told: Told = {"probability": probability / _PIE_WHOLE, "qdelay_ms": delay_us / 1e3}
    return told | ({"departure_bps": rate * 8.0} if estimates and rate else {})


def _fq_codel(record: Record) -> Told:
    """`struct tc_fq_codel_cl_stats` of each queue, after the word that says what it is."""
    queues, counts = 0, []
    for packets, content in _classes(record.second):
        _, _, _, count, _, dropping, _ = struct.unpack_from("<IiIIIIi", content)
        queues += packets > 0
        if dropping:
            counts.append(count)
    return {"queues": queues, "dropping_queues": len(counts), "codel_count": max(counts, default=0)}


_CAKE_TINS, _CAKE_BULK = 10, 22
_CAKE_COUNT, _CAKE_DROPPING, _CAKE_BLUE = 12, 13, 15


def _cake(record: Record) -> Told:
    """The attributes TCA_CAKE_STATS_ of cake and of each of its queues."""
    tins = _attributes(_attributes(record.first).get(_CAKE_TINS, b""))
    bulk = sum(_number(_attributes(tin).get(_CAKE_BULK)) for tin in tins.values())
    queues, counts, blue = 0, [], 0.0
    for packets, content in _classes(record.second):
        found = _attributes(content)
        queues += packets > 0
        blue = max(blue, _number(found.get(_CAKE_BLUE)) / _COBALT_WHOLE)
        if _number(found.get(_CAKE_DROPPING)):
            counts.append(_number(found.get(_CAKE_COUNT)))
    told: Told = {"queues": queues, "dropping_queues": len(counts), "codel_count": max(counts, default=0)}
    return told | {"probability": blue, "bulk_flows": bulk}


def _dualpi2(record: Record) -> Told:
    """`struct tc_dualpi2_xstats`. Its delays are those of the packets that wait, not of the last one that left."""
    (probability,) = struct.unpack_from("<I", record.first)
    (credit,) = struct.unpack_from("<i", record.first, 32)
    return {"base_probability": probability / _DUALPI2_WHOLE, "wrr_credit_bytes": credit}


QDISCS: Mapping[str, Callable[[Record], Told]] = {
    "codel": _codel,
    "pie": _pie,
    "fq_codel": _fq_codel,
    "cake": _cake,
    "dualpi2": _dualpi2,
}
"""Queue discipline -> what reads its statistics."""
