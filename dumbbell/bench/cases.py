"""The benchmarks: whole runs as a user would write them, each with its targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.scenario.values.trace import pack

_USUAL = ("cubic", "100mbit", "40ms")
_CAKE: dict[str, Any] = {"kind": "cake"}
_FQ_CODEL: dict[str, Any] = {"kind": "fq_codel", "ecn": True}
_DROPS: dict[str, Any] = {"kind": "fq_codel", "ecn": False}
_ONE_BDP: dict[str, Any] = {"kind": "pfifo", "limit": "1bdp"}
_LONG = {"rmem": ["4KiB", "128KiB", "1GiB"], "wmem": ["4KiB", "16KiB", "1GiB"]}
"""Socket buffers that hold 60,000 segments."""
_VERY_LONG = {"rmem": ["4KiB", "128KiB", "2147483647B"], "wmem": ["4KiB", "16KiB", "2147483647B"]}
"""Socket buffers that hold 826,000 segments."""


@dataclass(frozen=True)
class Case:
    """A benchmark: a run without sampling."""

    name: str
    title: str
    scenario: Mapping[str, Any]
    """The keys of a scenario file."""
    targets: Mapping[str, float] = field(default_factory=dict)
    """Column of the result -> target: a minimum for packets per CPU second, a maximum for everything else."""
    cost_relative_to: str | None = None
    """The case whose cost per packet is the denominator of the cost ratio."""
    counted: bool = False
    """True if its instructions are counted and recorded."""
    repeats: int = 5
    """Number of measurements. The best counts."""


def _case(
    title: str,
    cc: str,
    rate: str,
    rtt: str,
    qdisc: dict[str, Any],
    label: str,
    *,
    count: int = 1,
    ecn: bool | None = None,
    host: Mapping[str, Any] | None = None,
    packets: float | None = None,
    instructions: float | None = None,
    cost_relative_to: str | None = None,
    counted: bool = False,
) -> Case:
    name = f"{cc}-{label}"
    shaper = {} if qdisc["kind"] == "cake" else {"shaper": "tbf"}
    flows: dict[str, Any] = {"cc": cc, "count": count, "start": {"every": "10ms"}}
    flows |= {key: value for key, value in {"ecn": ecn, "host": host}.items() if value is not None}
    scenario = {
        "name": name,
        "path": {
            "rtt": rtt,
            "delay": {"where": "ack-path"},
            "bottleneck": {"rate": rate, "qdisc": qdisc} | shaper,
            "reverse": "none",
        },
        "flows": [flows],
        "duration": "60s",
        "sample": "0s",
    }
    wanted = {
        "packets_per_cpu_s": packets,
        "instructions_per_packet": instructions,
        "cost_ratio": 1.3 if cost_relative_to else None,
    }
    return Case(name, title, scenario, {key: value for key, value in wanted.items() if value is not None}, cost_relative_to, counted)


def _long_and_short(cc: str) -> list[Case]:
    """Two runs whose bandwidth-delay products differ by a factor of 100. Reno, which has no HyStart, loses half a window at once."""
    short = _case(f"BDP of 300 packets, {cc}, pfifo of a BDP", cc, "100mbit", "36ms", _ONE_BDP, "pfifo-bdp-300", counted=True)
    title = f"BDP of 30,000 packets, {cc}, pfifo of a BDP"
    return [short, _case(title, cc, "1gbit", "363ms", _ONE_BDP, "pfifo-bdp-30000", host=_LONG, cost_relative_to=short.name)]


def _many_flows(count: int, packets: float) -> Case:
    """A case with so many flows that their state exceeds the processor's caches. Delay and queue in both directions, as by default."""
    name = f"many-flows-{count}"
    scenario = {
        "name": name,
        "path": {"rtt": "50ms", "bottleneck": {"rate": "10gbit", "qdisc": {"kind": "fq_codel"}}},
        "flows": [{"cc": "cubic", "count": count}],
        "duration": "10s",
        "sample": "0s",
    }
    return Case(name, f"{count:,} flows, 10 Gbit/s, 50 ms, fq_codel", scenario, {"packets_per_cpu_s": packets})


def _very_long(relative_to: str) -> Case:
    """A case whose queue and window exceed the processor's caches."""
    name = "one-flow-100gbit"
    scenario = {
        "name": name,
        "path": {
            "rtt": "50ms",
            "delay": {"where": "ack-path"},
            "bottleneck": {"rate": "100gbit", "qdisc": _ONE_BDP, "shaper": "tbf"},
            "reverse": "none",
        },
        "flows": [{"cc": "cubic", "host": _VERY_LONG}],
        "duration": "5s",
        "sample": "0s",
    }
    return Case(name, "BDP of 413,000 packets (100 Gbit/s, 50 ms), cubic, pfifo of a BDP", scenario, {"cost_ratio": 2.0}, relative_to)


def _one_flow(name: str, title: str, path: dict[str, Any]) -> Case:
    """One cubic flow through what a link has besides a rate and a delay; nothing queues on the way back."""
    scenario = {
        "name": name,
        "path": {"rtt": "40ms", **path, "reverse": "none"},
        "flows": [{"cc": "cubic"}],
        "duration": "60s",
        "sample": "0s",
    }
    return Case(name, title, scenario, {"packets_per_cpu_s": 5e6})


def _loss() -> Case:
    """A link that draws for each packet whether it is lost."""
    path = {"delay": {"loss": "0.01%"}, "bottleneck": {"rate": "100mbit", "qdisc": _FQ_CODEL}}
    return _one_flow("cubic-loss", "one flow, fq_codel behind a link that loses 0.01 %", path)


def _trace() -> Case:
    """A line that gives out packets by its trace: eight opportunities a millisecond."""
    trace = {"file": "eight.down", "format": "mahimahi", "packed": pack([ms for ms in range(1, 1001) for _ in range(8)])}
    path = {"bottleneck": {"trace": trace, "qdisc": _FQ_CODEL}}
    return _one_flow("cubic-trace", "one flow, fq_codel behind a trace of opportunities", path)


def _transfers() -> Case:
    """A million short transfers in four minutes, half the load of a gigabit."""
    name = "transfers-1000000"
    background = {"kind": "transfers", "cc": "cubic", "size": "15kB", "arrivals": {"kind": "poisson", "load": 0.5}}
    scenario = {
        "name": name,
        "path": {"rtt": "10ms", "bottleneck": {"rate": "1gbit", "qdisc": {"kind": "pfifo", "limit": "1000p"}}},
        "flows": [],
        "background": [background],
        "duration": "240s",
        "sample": "0s",
    }
    return Case(name, "1,000,000 transfers of 15 kB, half the load of 1 Gbit/s, 240 s", scenario, {"run_cpu_s": 10.0}, repeats=2)


CASES: Mapping[str, Case] = {
    case.name: case
    for case in (
        _case("one flow, fq_codel", *_USUAL, _FQ_CODEL, "fq_codel-1", packets=10e6, instructions=1200, counted=True),
        _case("one flow, cake", *_USUAL, _CAKE, "cake-1", packets=8e6, counted=True),
        _case(
            "32 flows, fq_codel, ECN",
            *_USUAL,
            _FQ_CODEL,
            "fq_codel-ecn-32",
            count=32,
            ecn=True,
            packets=6e6,
            instructions=1600,
            counted=True,
        ),
        _case(
            "32 flows, fq_codel without ECN: losses", *_USUAL, _DROPS, "fq_codel-32", count=32, packets=4e6, instructions=2400, counted=True
        ),
        _case("256 flows, fq_codel without ECN: losses", *_USUAL, _DROPS, "fq_codel-256", count=256, packets=2e6, counted=True),
        _case("256 flows, pfifo of a BDP: losses", *_USUAL, _ONE_BDP, "pfifo-256", count=256, packets=2e6),
        *(each for cc in ("cubic", "reno") for each in _long_and_short(cc)),
        _case("one reno flow, 50 Mbit/s, 80 ms, pfifo of a BDP", "reno", "50mbit", "80ms", _ONE_BDP, "pfifo-1"),
        _case("32 flows, cake", *_USUAL, _CAKE, "cake-32", count=32),
        _case("32 dctcp flows, cake", "dctcp", "100mbit", "40ms", _CAKE, "cake-32", count=32),
        _case("one bbr flow, paced, pfifo of a BDP", "bbr", "100mbit", "40ms", _ONE_BDP, "pfifo-1", packets=5e6),
        _case("32 bbr flows, paced, pfifo of a BDP", "bbr", "100mbit", "40ms", _ONE_BDP, "pfifo-32", count=32, packets=3e6),
        _many_flows(1000, packets=2e6),
        _many_flows(10_000, packets=1e6),
        _very_long(relative_to="cubic-pfifo-bdp-300"),
        _loss(),
        _trace(),
        _transfers(),
    )
}
"""Name -> case. Unless the title says otherwise: cubic, 100 Mbit/s, 40 ms in the direction of the ACKs and no queue there."""


def _guest(count: int, qdisc: dict[str, Any]) -> Case:
    """Flows of a guest, delay and queue in both directions, as by default."""
    name = f"kernel-{qdisc['kind']}-{count}"
    scenario = {
        "name": name,
        "engine": "kernel",
        "path": {"rtt": "40ms", "bottleneck": {"rate": "100mbit", "qdisc": qdisc}},
        "flows": [{"cc": "cubic", "count": count}],
        "duration": "20s",
        "sample": "0s",
    }
    title = f"engine `kernel`, {count} flow{'s' if count > 1 else ''}, {qdisc['kind']}"
    return Case(name, title, scenario, {"packets_per_cpu_s": 150e3}, repeats=3)


GUESTS: Mapping[str, Case] = {case.name: case for case in (_guest(count, qdisc) for count in (1, 8) for qdisc in (_DROPS, _ONE_BDP))}
"""Name -> case of the engine `kernel`; measured only when it is asked for, as the kernel has to be built."""

DRAFT = "sce-draft"
"""All runs of the SCE study, one start each. Takes minutes: measured only when it is asked for."""
START_UP = "start-up"
"""CPU time of a 60 s run that is not spent on packets."""
TABLE = "table-1000-runs"
"""CPU time of `dumbbell table` on a store of 1,000 runs, including the start of Python."""
CELL = "prepare-cell"
"""CPU time of preparing one run of a sweep: checking, planning, compiling it, and its key."""
PLAN = "plan-99000-runs"
"""CPU time of `dumbbell plan` on a sweep of 99,000 runs, including the start of Python."""
USUAL = (*CASES, START_UP, CELL, PLAN, TABLE)
"""The names of the benchmarks that are measured unless others are asked for."""
NAMES = (*USUAL, *GUESTS, DRAFT)
"""The names of all benchmarks."""
