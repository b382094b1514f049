"""@NAME@: goodput and RTT of one flow. The numbers in published.csv are made up: those of a paper go there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell import Run, metrics
from dumbbell.scenario import ResolvedScenario
from dumbbell.study import Format, Measured, Metric, Part, Request, Study, Tolerance
from dumbbell.study.repeats import repeats

CELLS = [(cc, rtt_ms) for cc in ("cubic", "reno") for rtt_ms in (20, 80)]
WARM_UP_S = 10


def document(cc: str, rtt_ms: int) -> Mapping[str, Any]:
    """One experiment, as a scenario file has it."""
    return {
        "name": f"@NAME@-{cc}-{rtt_ms}",
        "path": {"rtt": f"{rtt_ms}ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "pfifo", "limit": "1bdp"}}},
        "flows": [{"name": "own", "cc": cc}],
        "duration": "30s",
    }


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The runs of all cells; with --quick only those with 20 ms."""
    chosen = [(cc, rtt_ms) for cc, rtt_ms in CELLS if rtt_ms == 20 or not request.quick]
    return [run for cc, rtt_ms in chosen for run in repeats(document(cc, rtt_ms), {"cc": cc, "path_rtt_ms": rtt_ms}, request)]


def measure(runs: Sequence[Run]) -> Measured:
    """Our values of what was published: cell and metric -> a value a seed. Runs of something else are passed over."""
    found: Measured = {}
    for run in runs:
        if {"cc", "path_rtt_ms"} <= run.cell.keys():
            key = (str(run.cell["cc"]), float(run.cell["path_rtt_ms"]))
            rate = metrics.throughput_mbit(run.series("flow/own", "rx_bytes"), WARM_UP_S)
            found.setdefault((key, "goodput_mbit"), []).append(rate)
            found.setdefault((key, "srtt_ms"), []).append(metrics.mean(run.series("flow/own", "srtt_ms"), WARM_UP_S))
    return found


FORMAT = Format(
    name="@NAME@",
    columns=("cc", "path_rtt_ms", "goodput_mbit", "srtt_ms"),
    keys=("cc", "path_rtt_ms"),
    numbers=frozenset({"path_rtt_ms"}),
    metrics={
        "goodput_mbit": Metric("Mbit/s", "goodput", Tolerance(relative=0.05)),
        "srtt_ms": Metric("ms", "mean srtt", Tolerance(relative=0.1, absolute=1)),
    },
    measure=measure,
)
ONE_FLOW = Part(
    name="one-flow",
    title="@NAME@: one flow, 2 congestion controls x 2 RTTs",
    formats=(FORMAT,),
    published={FORMAT.name: Path(__file__).parent / "published.csv"},
    scenarios=scenarios,
    quick_note="only 20 ms",
    figures={},
)
STUDY = Study(name="@NAME@", title="@NAME@: one flow", source="made up", parts={ONE_FLOW.name: ONE_FLOW})
