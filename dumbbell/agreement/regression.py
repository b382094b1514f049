"""Compares two kernels on the same workloads, and names the workloads that differ.

A workload has several starts, which differ in the jitter of its flows. A measure of it has moved if its mean over the starts differs by
more than the target of the measure and by more than chance: Welch's t-test, with the p-values of all measures of all workloads adjusted
together after Holm (`metrics.statistics`). Kernels whose code does the same give the
same series to the last bit, since a guest's random numbers and times depend on nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from dumbbell.agreement.measures import ALL, DEFINITIONS, measures
from dumbbell.agreement.sets import ScenarioSet
from dumbbell.comparing.tables import Table
from dumbbell.files import write_within
from dumbbell.metrics.statistics import holm, welch
from dumbbell.scenario import Scenario

if TYPE_CHECKING:
    from dumbbell.agreement.comparison import Comparison
    from dumbbell.results import Run

SET = "tcp"
STARTS = 6
_OF_GROUPS = "transfers_median"
"""The measure that groups have, not all flows together."""
LEVEL = 0.01
"""Probability that chance alone moves any measure of a set."""


@dataclass(frozen=True)
class Bar:
    """The change of a measure that counts."""

    title: str
    unit: str
    least: float
    """The smallest change that counts, as a share of the baseline's mean."""
    floor: float = 0.0
    """The smallest denominator of that share, in the measure's unit."""


BARS: Mapping[str, Bar] = {
    "goodput": Bar("goodput", "Mbit/s", 0.01, 0.01),
    "rtt_mean": Bar("mean srtt", "ms", 0.02, 1.0),
    "retransmits": Bar("retransmits", "packets", 0.10, 10.0),
    "transfers_median": Bar("median completion of transfers", "ms", 0.02, 1.0),
    "acks": Bar("ACKs per data packet", "", 0.01, 0.1),
    "rwnd_limited": Bar("limited by the receive window", "of the time", 0.02, 1.0),
}
"""`acks` and `rwnd_limited` are means over the bulk flows."""


@dataclass(frozen=True)
class Moved:
    """A measure of a workload that differs."""

    workload: str
    measure: str
    baseline: float
    """Mean over the starts."""
    kernel: float
    change: float
    """Change as a share of the baseline's mean, or of the target's floor."""
    p: float
    """Probability of a difference as large by chance, adjusted for all measures of all workloads."""


@dataclass(frozen=True)
class Regression:
    """The changes that a kernel makes, compared with a baseline."""

    moved: tuple[Moved, ...]
    """Sorted by workload, the largest change of each first."""
    same: tuple[str, ...]
    """Workloads whose runs all have the same series on both kernels."""
    noise: tuple[str, ...]
    """Workloads whose runs differ, but not beyond chance or not beyond the targets."""
    broken: tuple[str, ...]
    """Workloads with a run that is invalid on one of the kernels alone."""

    @property
    def alike(self) -> bool:
        """True if nothing moved."""
        return not self.moved and not self.broken


NONE = Regression((), (), (), ())
"""The changes of no workload."""


def workloads(starts: int = STARTS) -> ScenarioSet:
    """The workloads that TCP of a kernel is tried on: one bulk flow or one kind of transfers each, so that a name says what moves."""
    return ScenarioSet(SET, (1,), starts, tuple(Scenario.model_validate({**each, "repeat": starts}) for each in _workloads()))


def with_starts(chosen: ScenarioSet, starts: int) -> ScenarioSet:
    """The same scenarios, with several starts of those that have one, too."""
    return ScenarioSet(chosen.name, chosen.seeds, starts, tuple(_jittered(each, starts) for each in chosen.scenarios))


def _jittered(scenario: Scenario, starts: int) -> Scenario:
    written = scenario.dump()
    flows = [{**flow, "start": flow.get("start", {"jitter": _JITTER})} for flow in written.get("flows", ())]
    return Scenario.model_validate({**written, "flows": flows, "repeat": starts})


_JITTER = "500ms"


def _workloads() -> Iterator[dict[str, Any]]:
    lossy = {"kind": "pfifo", "limit": "1bdp"}
    yield _bulk("cubic-loss", {"cc": "cubic"}, 20, "40ms", lossy, 12)
    yield _bulk("reno-loss", {"cc": "reno"}, 20, "40ms", lossy, 12)
    yield _bulk("cubic-fq_codel", {"cc": "cubic"}, 40, "30ms", {"kind": "fq_codel"}, 8)
    yield _bulk("dctcp-marks", {"cc": "dctcp"}, 20, "30ms", {"kind": "codel", "ecn": True}, 8)
    yield _bulk("bbr-pfifo", {"cc": "bbr"}, 20, "40ms", {"kind": "pfifo", "limit": "2bdp"}, 8)
    # Timers of compressed SACKs are 1 ms at most, so that their share of the RTT matters where the RTT is short.
    yield _bulk("reno-short-rtt", {"cc": "reno"}, 100, "3ms", {"kind": "pfifo", "limit": "20p"}, 4)
    # The window of 6 MiB of buffer is 3 MiB, or 126 Mbit/s at 200 ms.
    wide = {"cc": "bbr", "host": {"rmem": "kernel", "wmem": ["4KiB", "16KiB", "64MiB"]}}
    yield _bulk("bbr-wide-area", wide, 150, "200ms", {"kind": "pfifo", "limit": "1bdp"}, 8)
    # Windows grow to fit what is out of order behind a loss.
    yield _bulk("reno-out-of-order", {"cc": "reno"}, 50, "100ms", {"kind": "pfifo", "limit": "1bdp"}, 8)
    transfers = {"kind": "transfers", "cc": "reno", "size": "60kB", "arrivals": {"kind": "poisson", "load": 0.5}}
    yield {**_bulk("reno-transfers", {}, 10, "50ms", {"kind": "pfifo", "limit": "1bdp"}, 10), "flows": [], "background": [transfers]}


def _bulk(name: str, flow: Mapping[str, Any], mbit: int, rtt: str, qdisc: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    return {
        "name": name,
        "path": {"rtt": rtt, "bottleneck": {"rate": f"{mbit}mbit", "qdisc": dict(qdisc)}},
        "flows": [{**flow, "start": {"jitter": _JITTER}}],
        "duration": f"{seconds}s",
    }


def regression(compared: Comparison) -> Regression:
    """Return the changes of the second kernel, compared with the reference."""
    names = [scenario.name for scenario in compared.scenario_set.scenarios]
    pairs: dict[str, list[tuple[Run, Run]]] = {name: [] for name in names}
    for pair in zip(compared.reference, compared.ours, strict=True):
        pairs[pair[0].name].append(pair)
    broken = [name for name in names if any((one.status == "invalid") != (other.status == "invalid") for one, other in pairs[name])]
    same = [name for name in names if name not in broken and all(one.digest == other.digest for one, other in pairs[name])]
    differing = [name for name in names if name not in broken and name not in same]
    tests = [each for name in differing for each in _tests(name, pairs[name])]
    adjusted = [replace(each, p=p) for each, p in zip(tests, holm([each.p for each in tests]), strict=True)]
    moved = [each for each in adjusted if each.p < LEVEL and abs(each.change) > BARS[each.measure].least]
    moved.sort(key=lambda each: (names.index(each.workload), -abs(each.change) / BARS[each.measure].least))
    noise = [name for name in differing if name not in {each.workload for each in moved}]
    return Regression(tuple(moved), tuple(same), tuple(noise), tuple(broken))


def _tests(name: str, pairs: Sequence[tuple[Run, Run]]) -> Iterator[Moved]:
    """The test of each measure of a workload that has a value in each run of both kernels, before the adjustment."""
    ones, others = ([_measures(pair[i]) for pair in pairs if pair[i].status != "invalid"] for i in (0, 1))
    for measure, bar in BARS.items():
        one, other = ([values[measure] for values in each if measure in values] for each in (ones, others))
        if len(one) != len(ones) or len(other) != len(others) or min(len(one), len(other)) < 2:
            continue
        before, after = fmean(one), fmean(other)
        yield Moved(name, measure, before, after, (after - before) / max(abs(before), bar.floor), welch(one, other)[2])


def _measures(run: Run) -> dict[str, float]:
    """The measures of a run by name; finite ones alone."""
    known = measures(run).items()
    found = {metric: value for (entity, metric), value in known if metric in BARS and (entity == ALL or metric == _OF_GROUPS)}
    rows = [row for row in run.flows.rows() if row.get("arrived_packets")]
    acks = [row["acks_arrived"] / row["arrived_packets"] for row in rows if row.get("acks_arrived") is not None]
    shares = [row["rwnd_limited_ms"] * 1e6 / _lived_ns(row) for row in rows if row.get("rwnd_limited_ms") is not None]
    found |= {name: fmean(values) for name, values in {"acks": acks, "rwnd_limited": shares}.items() if values}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _lived_ns(row: Mapping[str, Any]) -> int:
    return max(int(row["end_ns"]) - int(row["start_ns"]), 1)


def moved_table(found: Regression) -> Table:
    """The measures that moved."""
    rows = []
    for each in found.moved:
        bar = BARS[each.measure]
        title = f"{bar.title} ({bar.unit})" if bar.unit else bar.title
        is_small = abs(each.baseline) < bar.floor
        change = f"{each.kernel - each.baseline:+.4g}" if is_small else f"{100 * each.change:+.1f} %"
        rows.append([each.workload, title, f"{each.baseline:.4g}", f"{each.kernel:.4g}", change, f"{each.p:.1g}"])
    return Table("", ["workload", "measure", "baseline", "kernel", "change", "p"], rows)


def plain(found: Regression) -> dict[str, Any]:
    """Return the changes as plain data."""
    named = {name: list(getattr(found, name)) for name in ("same", "noise", "broken")}
    return {"alike": found.alike, "level": LEVEL, **named, "moved": [asdict(each) for each in found.moved]}


def section(found: Regression) -> str:
    """Return what changed for which workload as a section of a page in Markdown."""
    lines = ["## What changed for which scenario\n", f"{sentence(found)}.\n"]
    if found.moved:
        lines += [
            moved_table(found).markdown(),
            f"p is that of Welch's t-test over the starts, adjusted for all measures of all scenarios; below {LEVEL}.\n",
        ]
    return "\n".join(lines)


def sentence(found: Regression) -> str:
    """Return the result in one sentence."""
    moved = list(dict.fromkeys(each.workload for each in found.moved))
    total = len(moved) + len(found.same) + len(found.noise) + len(found.broken)
    others = f"{len(found.same)} have the same series, {len(found.noise)} differ by chance or little"
    if found.alike:
        return f"alike: no workload of {total} moved ({others})"
    parts = [f"moved: {', '.join(moved)}"] if moved else []
    parts += [f"invalid on one kernel alone: {', '.join(found.broken)}"] if found.broken else []
    return f"{'; '.join(parts)} (of {total} workloads; {others})"


def write(folder: Path, compared: Comparison, found: Regression) -> dict[str, Any]:
    """Write regress.json and regress.md into a folder. Returns the contents of regress.json."""
    baseline, kernel = (runs[0].engine for runs in (compared.reference, compared.ours))
    document = {
        "set": compared.scenario_set.name,
        "starts": compared.scenario_set.starts,
        "baseline": {name: baseline[name] for name in ("name", "version", "kernel") if name in baseline},
        "kernel": {name: kernel[name] for name in ("name", "version", "kernel") if name in kernel},
        "bars": {name: asdict(bar) for name, bar in BARS.items()},
        **plain(found),
    }
    write_within(folder, "regress.json", json.dumps(document, indent=1, allow_nan=False) + "\n")
    write_within(folder, "regress.md", _page(document, found))
    return document


def _page(document: Mapping[str, Any], found: Regression) -> str:
    definitions = {
        "acks": "ACKs that reached the sender per data packet that reached the receiver",
        "rwnd_limited": "share of a flow's time in which the receive window held it back",
    }
    lines = [
        f"# {document['kernel']['name']} compared with {document['baseline']['name']}\n",
        f"{sentence(found)}.\n",
        f"{_described(document['kernel'])} and {_described(document['baseline'])}, {document['starts']} starts of each workload.\n",
        *([moved_table(found).markdown()] if found.moved else []),
        "A measure has moved if its mean differs by more than its limit, and if p is below "
        f"{LEVEL}. This p is adjusted for all measures of all workloads.\n",
        Table(
            "",
            ["measure", "limit", "definition"],
            [[bar.title, f"{100 * bar.least:.0f} %", definitions.get(name) or DEFINITIONS[name]] for name, bar in BARS.items()],
        ).markdown(),
    ]
    return "\n".join(lines)


def _described(facts: Mapping[str, Any]) -> str:
    """The name of an engine with the version and the key of its kernel."""
    return f"{facts['name']} (Linux {facts.get('version', 'unknown')}, {facts.get('kernel', 'no key')})"
