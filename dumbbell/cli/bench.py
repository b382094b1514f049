"""`dumbbell bench`: what the simulator costs on this machine, in delivered packets a second of CPU time."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, note, print_columns, print_json

_CAKE: dict[str, Any] = {"kind": "cake"}
_REPEATS = 3


def _scenario(name: str, cc: str, rate: str, rtt: str, qdisc: dict[str, Any], count: int = 1, duration: str = "60s") -> dict[str, Any]:
    shaper = {} if qdisc["kind"] == "cake" else {"shaper": "tbf"}
    return {
        "name": name,
        "path": {"rtt": rtt, "bottleneck": {"rate": rate, "qdisc": qdisc} | shaper},
        "flows": [{"cc": cc, "count": count, "start": {"every": "10ms"}}],
        "duration": duration,
    }


BENCHMARKS: dict[str, dict[str, Any]] = {
    each["name"]: each
    for each in (
        _scenario("cubic-cake-1", "cubic", "100mbit", "40ms", _CAKE),
        _scenario("cubic-cake-32", "cubic", "100mbit", "40ms", _CAKE, count=32),
        _scenario("dctcp-cake-32", "dctcp", "100mbit", "40ms", _CAKE, count=32),
        _scenario("reno-pfifo-1", "reno", "50mbit", "80ms", {"kind": "pfifo", "limit": "1bdp"}),
        _scenario("cubic-pfifo-256", "cubic", "100mbit", "40ms", {"kind": "pfifo", "limit": "1bdp"}, count=256),
    )
}
"""Whole runs by name; sampling is switched off."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(name="bench")(_bench)


def _bench(
    names: Annotated[list[str] | None, typer.Argument(help="Benchmarks; all by default.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure delivered packets per CPU second, set-up and hand-over to Python included (the best of three runs)."""
    from dumbbell.errors import BadInput

    for name in names or ():
        if name not in BENCHMARKS:
            raise BadInput(f"unknown benchmark {name!r}; expected one of {', '.join(BENCHMARKS)}")
    rows = []
    for name in names or BENCHMARKS:
        note(f"{name} ...")
        rows.append({"name": name} | _measure(BENCHMARKS[name]))
    if json:
        print_json(rows)
        return
    columns = [(row["name"], f"{row['packets']:,} packets", f"{row['cpu_s']:.3f} CPU s", _rate(row)) for row in rows]
    print_columns(columns)


def _rate(row: dict[str, Any]) -> str:
    return f"{row['packets_per_cpu_s'] / 1e6:.2f} M packets per CPU second"


def _measure(settings: dict[str, Any]) -> dict[str, Any]:
    """Packets delivered, CPU seconds, and their ratio."""
    import json
    import time

    from dumbbell.engines import sim
    from dumbbell.scenario import Scenario

    (resolved,) = Scenario.model_validate(settings).expand()
    best, packets = float("inf"), 0
    for _ in range(_REPEATS):
        began = time.thread_time()
        network = sim.lower(resolved) | {"sample_ns": 0}
        output = sim.native().simulate(json.dumps(network))
        best = min(best, time.thread_time() - began)
        packets = sum(dict(counters)["arrived_packets"] for entity, counters in output["counters"] if entity.startswith("flow/"))
    return {"packets": packets, "cpu_s": best, "packets_per_cpu_s": packets / best}
