"""The results of several machines as those of one, as `engines.linux.collect` reads them.

Each machine has its own half of a flow: its numbers are taken from there, and its series stay at the times at which they were read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.engines.linux import came_file, coming
from dumbbell.engines.testbed.deployment import Deployment
from dumbbell.plan import Plan, Tcp, Traffic, Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.results import Block, Table

_ROW = 11
"""Numbers of a row of a flow (sample.c); the last but one are the bytes that its receiver has read."""
_READ = 9
_CAME = 8
"""Numbers of a connection that came and went."""
_RX = "rx_bytes"
_OF_TARGET = {"received", "arrived_packets", "completed_ns", "reply_sent"}
"""Numbers that are counted at the end where data arrive."""
_OF_SERVER = {"received", "arrived_packets", *(f"reply_{name}" for name in ("sent_packets", "retransmits", "delivered", "delivered_ce"))}
"""Numbers of an application that are counted at the end that is not its client or source."""
_LIMITS = {"busy_us", "rwnd_limited_us", "sndbuf_limited_us"}
"""Numbers of the end whose data matter."""
_SOURCE = "onoff"
"""The application whose data are those of its first end, and that only the second knows to have arrived."""
_CAME_OF_TARGET = [0, 1, 4]
"""Numbers of a connection that came and went that are counted where its data arrive (struct came in transfers.c)."""


def merge(plan: Plan, deployment: Deployment, router: str, place: Path, into: Path) -> None:
    """Put together the output of the machines in the folders of their names below `place`."""
    counters = (place / router / "counters").read_text(encoding="ascii").splitlines()
    counters = [line for line in counters if not line.startswith("flow ")]
    flows = {name: _flows(place / name / "counters") for name in deployment.parts if name != router}
    for i, (workload, _) in enumerate(plan.flows):
        source, target = deployment.ends[workload.id]
        there = _counted_at_target(workload)
        found = {key: value for key, value in flows[source][i].items() if key not in there}
        found |= {key: value for key, value in flows[target][i].items() if key in there}
        counters += [f"flow {i} {key} {value}" for key, value in found.items()]
        if isinstance(workload, Tcp) and plan.sample_ns:
            rows = np.fromfile(place / source / f"flow-{i}", dtype="<f8").reshape(-1, _ROW)
            rows.tofile(into / f"flow-{i}")
        if isinstance(workload, Traffic) and workload.over is not None:
            shutil.copy(place / (target if workload.kind == _SOURCE else source) / f"transactions-{i}", into)
        elif (path := place / source / f"datagrams-{i}").is_file():
            _merge_datagrams(path, place / target / f"datagrams-{i}", into / f"datagrams-{i}")
        for path in chain(*((place / name).glob(f"application-{i}-*") for name in {source, target})):
            shutil.copy(path, into)
    for i, workload in coming(plan):
        begun, ended = (_came(place / name / came_file(i)) for name in deployment.ends[workload.id])
        begun[:, _CAME_OF_TARGET] = ended[:, _CAME_OF_TARGET]
        begun.tofile(into / came_file(i))
    for i, (name, device) in deployment.queues.items():
        counters += [line for line in (place / name / "counters").read_text(encoding="ascii").splitlines() if line.startswith("queue ")]
        file = f"{deployment.devices.queues[i]}.json"
        shown = [each for each in json.loads((place / name / file).read_text(encoding="utf-8")) if each["dev"] == device]
        (into / file).write_text(json.dumps(shown), encoding="utf-8")
    (into / "counters").write_text("".join(f"{line}\n" for line in counters), encoding="ascii")
    shutil.copy(place / router / "end.json", into)
    if plan.sample_ns:
        _copy_series(deployment, router, place, into)


def _copy_series(deployment: Deployment, router: str, place: Path, into: Path) -> None:
    """Series of ports: a machine numbers its own."""
    numbers = dict.fromkeys(deployment.parts, 0)
    for i, _ in enumerate(deployment.devices.queues):
        name, _ = deployment.queues.get(i, (router, ""))
        shutil.copy(place / name / f"port-{numbers[name]}", into / f"port-{i}")
        numbers[name] += 1


def receivers(plan: Plan, deployment: Deployment, place: Path) -> dict[int, NDArray[np.float64]]:
    """Return for each bulk flow the bytes that its receiver has read: time in ns and bytes, shape (samples, 2)."""
    if not plan.sample_ns:
        return {}
    ends = [deployment.ends[workload.id][1] for workload, _ in plan.connections]
    return {i: np.fromfile(place / name / f"flow-{i}", dtype="<f8").reshape(-1, _ROW)[:, (0, _READ)] for i, name in enumerate(ends)}


def with_receivers(plan: Plan, rows: Mapping[int, NDArray[np.float64]], blocks: Iterable[Block], flows: Table) -> Iterator[Block]:
    """Yield the series of the senders and the ports, then the bytes that the receivers have read, at times of their own."""
    from dumbbell.results import Block

    for block in blocks:
        kept = [i for i, name in enumerate(block.names) if name != _RX]
        yield (
            block
            if len(kept) == len(block.names)
            else Block(block.entity, tuple(block.names[i] for i in kept), block.t_ns, np.ascontiguousarray(block.values[kept]))
        )
    chosen = [workload.id for workload in map(plan.workloads.__getitem__, plan.series.flows)]
    for i, ((workload, connection), row) in enumerate(zip(plan.connections, flows.rows(), strict=False)):
        if workload.id in chosen:
            t_ns, read = rows[i][:, 0].astype(np.int64), np.ascontiguousarray(rows[i][:, 1][np.newaxis, :])
            yield Block(f"flow/{connection.name}", (_RX,), t_ns, read).until(row["end_ns"], row["rx_bytes"])


def _flows(path: Path) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for line in path.read_text(encoding="ascii").splitlines():
        match line.split():
            case ["flow", index, key, value]:
                found.setdefault(int(index), {})[key] = int(value)
    return found


def _counted_at_target(workload: Workload) -> set[str]:
    if not isinstance(workload, Traffic) or workload.over is None:
        return _OF_TARGET
    return _OF_SERVER | ({"transactions"} if workload.kind == _SOURCE else _LIMITS)


def _came(path: Path) -> NDArray[np.uint64]:
    return np.fromfile(path, dtype="<u8").reshape(-1, _CAME)


def _merge_datagrams(source: Path, target: Path, into: Path) -> None:
    """The sender's machine knows when each was sent and was back, the other machine when it arrived."""
    sent = np.fromfile(source, dtype="<i8").reshape(-1, 3)
    there = np.fromfile(target, dtype="<i8").reshape(-1, 3)
    count = min(len(sent), len(there))
    sent[:count, 1] = there[:count, 1]
    sent.tofile(into)


def captures(deployment: Deployment, place: Path) -> Mapping[str, bytes]:
    """The packets that machines have captured, by file; several hosts of a side have numbers."""
    found: dict[str, bytes] = {}
    for name, part in deployment.parts.items():
        for file in part.captures:
            stem, n = file.removesuffix(".pcap"), sum(each.startswith(file.removesuffix(".pcap")) for each in found)
            found[f"{stem}-{n}.pcap" if n else file] = (place / name / file).read_bytes()
    return found
