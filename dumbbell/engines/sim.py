"""The simulator as an engine: lowers a scenario to the simulator's network and turns what comes back into a run."""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from dumbbell.engines.capabilities import Capabilities
from dumbbell.engines.pool import default_workers, in_parallel
from dumbbell.engines.refusal import placed
from dumbbell.errors import BadInput, EnvironmentFault, Interrupted
from dumbbell.scenario import (
    Bfifo,
    Cake,
    DelayStage,
    Flow,
    Problem,
    QueueStage,
    ResolvedScenario,
    ScenarioError,
    flow_names,
    stages,
)
from dumbbell.scenario.units import FRAME_BYTES

if TYPE_CHECKING:
    from types import ModuleType

    from dumbbell.results import Run, Store

NAME = "sim"
_SEGMENT_BYTES = 1448
"""Payload of a full segment."""
_TBF_BURST_BYTES = 1540
_SCE_SINGLE = 65535
"""What Linux's keyword `sce-single` becomes."""
_FLOW_SERIES, _PORT_SERIES = 10, 8
"""Series of a flow and of a port."""
_MOST_VALUES = 50_000_000
"""Sampled values of a run, which are in memory at once."""
_SOURCE, _DESTINATION = 1, 2
"""The hosts of flows that name none; those that are named count on."""

Progress = Callable[[int, int], None]
"""Called with (runs done, runs to do)."""


def native() -> ModuleType:
    """The native module. Raises `EnvironmentFault` if it is not built."""
    try:
        from dumbbell import _native
    except ImportError as error:
        raise EnvironmentFault(f"the simulator is not built ({error}); expected `make setup` to have run") from None
    return _native


@cache
def capabilities() -> Capabilities:
    """What the simulator can run."""
    return Capabilities.from_table(NAME, json.loads(native().capabilities()))


def refuse(runs: Sequence[ResolvedScenario]) -> None:
    """Raises `ScenarioError` with everything in the runs that the simulator cannot run; each problem once. Runs nothing."""
    capabilities().refuse(runs)
    problems: dict[Problem, None] = {}
    for resolved in runs:
        if problem := _refusal(resolved):
            problems[problem] = None
    if problems:
        raise ScenarioError(list(problems))


def _refusal(resolved: ResolvedScenario) -> Problem | None:
    settings = resolved.settings
    if (values := expected_samples(resolved)) > _MOST_VALUES:
        what = f"{settings.sample} takes {values} values in {settings.duration}"
        return resolved.problem(("sample",), f"{what}; expected at most {_MOST_VALUES}, by a longer interval")
    try:
        native().check(json.dumps(lower(resolved)))
    except ValueError as error:
        location, what = placed(settings, str(error))
        return resolved.problem(location, what)
    return None


# --- lowering ------------------------------------------------------------------------------------------------------


def lower(resolved: ResolvedScenario) -> dict[str, Any]:
    """The simulator's description of the run (`Network` of crates/sim): numbers in ns, bit/s, bytes and packets."""
    settings = resolved.settings
    table = capabilities()
    ports: dict[str, dict[str, Any]] = {}
    indices: dict[str, int] = {}
    hosts: dict[str, int] = {}
    flows = []
    for group, names in zip(settings.flows, flow_names(settings.flows), strict=True):
        way = stages(settings.path, settings.flows, group)
        directions = []
        for direction in (way.forward, way.reverse):
            for stage in direction:
                ports.setdefault(str(stage.name), _port(stage, way.base_rtt_ns, settings.path_rate_bps))
                indices.setdefault(str(stage.name), len(indices))
            directions.append([indices[str(stage.name)] for stage in direction])
        ecn, sce_echo = _marks(group, table)
        src, dst = (
            default if host is None else hosts.setdefault(host, _DESTINATION + 1 + len(hosts))
            for host, default in ((group.src, _SOURCE), (group.dst, _DESTINATION))
        )
        for i, name in enumerate(names):
            start = group.start.first + i * group.start.every + _jitter(settings.seed, name, group.start.jitter)
            stop = None if group.duration is None else start + group.duration
            flows.append(
                {
                    "name": name,
                    "cc": group.cc,
                    "stack": {"name": group.stack.base, "options": group.stack.options},
                    "host": _host(group),
                    "ecn": ecn,
                    "sce_echo": sce_echo,
                    "forward": directions[0],
                    "reverse": directions[1],
                    "start_ns": start,
                    "stop_ns": None if stop is None or stop >= settings.duration else stop,
                    "transfer_bytes": None if group.bytes is None else int(group.bytes),
                    "src_host": src,
                    "dst_host": dst,
                }
            )
    return {
        "seed": settings.seed,
        "duration_ns": int(settings.duration),
        "sample_ns": int(settings.sample),
        "ports": list(ports.values()),
        "flows": flows,
    }


def _port(stage: DelayStage | QueueStage, base_rtt_ns: int, path_rate_bps: int) -> dict[str, Any]:
    if isinstance(stage, DelayStage):
        limit = None if stage.limit is None else stage.limit.packets(int(stage.rate or path_rate_bps), base_rtt_ns)
        return {
            "kind": "delay",
            "name": stage.name,
            "delay_ns": int(stage.delay),
            "rate_bps": _number(stage.rate),
            "limit_packets": limit,
        }
    rate_bps = stage.rate_bps
    assert rate_bps is not None  # checked by the scenario
    return {
        "kind": "queue",
        "name": stage.name,
        "qdisc": _qdisc(stage, rate_bps, base_rtt_ns),
        "shaper": _shaper(stage, rate_bps),
        "delay_ns": int(stage.delay),
    }


def _qdisc(stage: QueueStage, rate_bps: int, base_rtt_ns: int) -> dict[str, Any]:
    qdisc = stage.qdisc
    if isinstance(qdisc, Cake):
        own = rate_bps if stage.shaper_kind == "cake" else None
        ramps: dict[bool | str, int] = {False: 0, True: 1, "single": _SCE_SINGLE}
        return {
            "kind": "cake",
            "rate_bps": own,
            "isolation": qdisc.isolation,
            "rtt_ns": int(qdisc.rtt),
            "overhead_bytes": qdisc.overhead,
            "mpu_bytes": qdisc.mpu,
            "framing": qdisc.framing,
            "memory_limit_bytes": _number(qdisc.memlimit),
            "sce": ramps[qdisc.sce] if isinstance(qdisc.sce, bool | str) else qdisc.sce,
        }
    if isinstance(qdisc, Bfifo):
        return {"kind": "bfifo", "limit_bytes": qdisc.limit.bytes(rate_bps, base_rtt_ns)}
    return {"kind": "pfifo", "limit_packets": qdisc.limit.packets(rate_bps, base_rtt_ns)}


def _shaper(stage: QueueStage, rate_bps: int) -> dict[str, Any]:
    if stage.shaper_kind == "cake":
        return {"kind": "own"}
    if stage.shaper_kind == "tbf":
        return {"kind": "tbf", "rate_bps": rate_bps, "burst_bytes": int(stage.burst or _TBF_BURST_BYTES)}
    return {"kind": "link", "rate_bps": rate_bps}


def _marks(flow: Flow, table: Capabilities) -> tuple[bool, bool]:
    """Whether ECN is negotiated and SCE echoed."""
    cc = table.cc.get(flow.cc)
    wants_sce = cc is not None and cc.wants_sce
    sce_echo = wants_sce and flow.ecn is not False if flow.sce_echo is None else flow.sce_echo
    needs_ecn = cc is not None and (cc.needs_ecn or wants_sce)
    return needs_ecn or sce_echo if flow.ecn is None else flow.ecn, sce_echo


def _host(flow: Flow) -> dict[str, Any]:
    host = flow.host
    return {
        "tso": host.tso,
        "rmem": [int(size) for size in host.rmem],
        "rcvbuf": None if host.rcvbuf is None else 2 * host.rcvbuf,
        "wmem": [int(size) for size in host.wmem],
        "sndbuf": None if host.sndbuf is None else 2 * host.sndbuf,
        "cached_ssthresh": _number(host.cached_ssthresh),
    }


def _jitter(seed: int, flow: str, most_ns: int) -> int:
    """Uniform in 0..most_ns, a stream of its own per flow, so that another flow does not shift it."""
    digest = hashlib.sha256(f"{seed}/flow/{flow}/start".encode()).digest()
    return int.from_bytes(digest[:16], "big") % (most_ns + 1)


def _number(quantity: int | None) -> int | None:
    return None if quantity is None else int(quantity)


# --- running -------------------------------------------------------------------------------------------------------


def key(resolved: ResolvedScenario) -> str:
    """The content hash of a run: what was asked (with seed and sampling), what that was lowered to, and the engine's sources."""
    content = {
        "engine": NAME,
        "sources": native().SOURCE_HASH,
        "scenario": resolved.dump(),
        "network": lower(resolved),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def run(resolved: ResolvedScenario) -> Run:
    """Runs one scenario. A crash of the simulator gives a run of status `invalid` without series.

    Raises `ScenarioError` for what the simulator cannot do.
    """
    refuse([resolved])
    return _run(resolved, key(resolved))


def _run(resolved: ResolvedScenario, run_key: str) -> Run:
    import numpy as np

    from dumbbell.results import Block, Run, digest, judge

    facts: dict[str, Any] = {"name": NAME, "sources": native().SOURCE_HASH}
    common: dict[str, Any] = {"key": run_key, "name": resolved.name, "cell": resolved.cell, "scenario": resolved.dump()}
    network = lower(resolved)
    try:
        output = native().simulate(json.dumps(network))
    except ValueError as error:
        raise BadInput(f"{_label(resolved)}: the simulator refuses this: {error}") from None
    except RuntimeError as error:
        failure = (f"the simulator failed: {' '.join(str(error).split())}",)
        return Run(**common, status="invalid", reasons=failure, counters={}, digest=digest(()), engine=facts)
    blocks = []
    for table in output["tables"]:
        names = tuple(name for name, _ in table["columns"])
        units = tuple(unit for _, unit in table["columns"])
        t_ns = np.frombuffer(table["t_ns"], dtype="<i8")
        values = np.frombuffer(table["values"], dtype="<f8").reshape(len(t_ns), len(names))
        blocks.append(Block(table["entity"], names, units, t_ns, np.ascontiguousarray(values.T)))
    counters = {entity: dict(values) for entity, values in output["counters"]}
    for flow in network["flows"]:
        counters[f"flow/{flow['name']}"]["start_ns"] = flow["start_ns"]
    status, reasons = judge(counters, output["conservation"], {port["name"] for port in network["ports"] if port["kind"] == "delay"})
    facts |= {"events": output["events"], "delivered_packets": output["delivered_packets"]}
    return Run(
        **common,
        status=status,
        reasons=reasons,
        counters=counters,
        digest=digest(blocks),
        engine=facts,
        samples=tuple(blocks),
    )


def execute(
    runs: Sequence[ResolvedScenario],
    store: Store | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Run]:
    """Runs those that the store does not have, the longest first, and returns all in the order given.

    The results do not depend on the number of workers. A run that crashed is returned but not kept, so that it is tried again.
    Raises `ScenarioError` for what the simulator cannot do, `Interrupted` on Ctrl-C, `EnvironmentFault` if the disk is full;
    the store then holds whole runs, and the same call goes on from there.
    """
    refuse(runs)
    keys = [key(resolved) for resolved in runs]
    if store is not None:
        store.ask([(resolved.name, resolved.cell, k) for resolved, k in zip(runs, keys, strict=True)])
    todo = list(range(len(runs))) if store is None else [i for i, k in enumerate(keys) if store.missing([k])]
    todo.sort(key=lambda i: -expected_packets(runs[i]))
    if progress is not None:
        progress(0, len(todo))
    jobs = [partial(_keep, runs[i], keys[i], store) for i in todo]
    done: dict[int, Run] = {}
    try:
        for job, finished in in_parallel(jobs, workers or default_workers()):
            done[todo[job]] = finished
            if progress is not None:
                progress(len(done), len(todo))
    except (Interrupted, KeyboardInterrupt):
        place = f"; {len(runs) - len(store.missing(keys))} of {len(runs)} runs are in {store.path}" if store is not None else ""
        raise Interrupted(f"interrupted{place}, the same command goes on from there" if place else "interrupted") from None
    return [
        done[i] if store is None or i in done else replace(store.get(k), name=resolved.name, cell=resolved.cell)
        for i, (resolved, k) in enumerate(zip(runs, keys, strict=True))
    ]


def _keep(resolved: ResolvedScenario, run_key: str, store: Store | None) -> Run:
    if store is None:
        return _run(resolved, run_key)
    with store.claim(run_key) as there:
        if there is not None:  # another process has run it since
            return replace(there, name=resolved.name, cell=resolved.cell)
        wall, cpu = time.perf_counter(), time.thread_time()
        finished = _run(resolved, run_key)
        if not finished.counters:
            return finished
        cost = {"wall_s": time.perf_counter() - wall, "cpu_s": time.thread_time() - cpu}
        return store.write(finished, shlex.join(sys.argv), {**host(), **cost})


@cache
def host() -> Mapping[str, Any]:
    """Facts about this machine, for host.json."""
    from dumbbell import __version__

    return {
        "dumbbell": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "processors": default_workers(),
    }


def _label(resolved: ResolvedScenario) -> str:
    cell = ", ".join(f"{name}: {value}" for name, value in resolved.cell.items())
    return f"{resolved.name} ({cell})" if cell else resolved.name


# --- cost ----------------------------------------------------------------------------------------------------------


def expected_packets(resolved: ResolvedScenario) -> int:
    """About how many data packets a run delivers, at most: the bottleneck full all the time, or all transfers complete."""
    settings = resolved.settings
    packets = settings.path_rate_bps * int(settings.duration) // (8 * FRAME_BYTES * 10**9)
    sizes = [flow.bytes for flow in settings.flows]
    if None not in sizes:
        packets = min(packets, sum(flow.count * (int(flow.bytes or 0) // _SEGMENT_BYTES + 1) for flow in settings.flows))
    return packets


def expected_samples(resolved: ResolvedScenario) -> int:
    """Rows of a run's series: times x series."""
    settings = resolved.settings
    if not settings.sample:
        return 0
    network = lower(resolved)
    series = _FLOW_SERIES * len(network["flows"]) + _PORT_SERIES * len(network["ports"])
    return (int(settings.duration) // int(settings.sample) + 1) * series
