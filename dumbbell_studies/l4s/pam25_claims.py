"""The claims of the PAM 2025 study about Prague. pam25_claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from dumbbell.comparing.format import Key
from dumbbell.study.claims import Findings, MissingRunError, Outcome, judge_claims, read_claims
from dumbbell.study.model import Claim


class Cell(NamedTuple):
    """Rates of both sides, Mbit/s, and the mean smoothed RTT of the first L4S flow, ms."""

    l4s_mbit: float
    classic_mbit: float
    srtt_ms: float


Cells = Mapping[Key, Cell]
"""By flows of each side, classic congestion control and its ECN, queue, threshold, buffer and RTT."""


def check_claims(path: Path, found: Iterable[tuple[Key, Cell]], with_fallback: Iterable[tuple[Key, Cell]]) -> list[Claim]:
    """Return the outcome of each claim, by the means over seeds. `with_fallback`: the cells in which Prague looks for classic queues."""
    fallback = _means(with_fallback)
    checks = {**CHECKS, "PAM25-4": lambda _cells: _fallback(fallback)}
    return judge_claims(read_claims(path), checks, _means(found))


def _means(found: Iterable[tuple[Key, Cell]]) -> Cells:
    several: dict[Key, list[Cell]] = {}
    for key, cell in found:
        several.setdefault(key, []).append(cell)
    return {key: Cell(*(fmean(values) for values in zip(*cells, strict=True))) for key, cells in several.items()}


def _chosen(
    cells: Cells,
    aqms: tuple[str, ...],
    classic: str,
    ecn: tuple[str, ...],
    least_bdp: float = 0.0,
    rtt: float = 10.0,
    n: tuple[int, int] = (1, 1),
) -> list[tuple[str, Cell]]:
    """Return the cells of some experiments with a name for each. Raises `MissingRunError`."""
    found = []
    for (n_l4s, n_classic, cc, its_ecn, aqm, _, bdp, rtt_ms), cell in cells.items():
        if (n_l4s, n_classic) == n and aqm in aqms and cc == classic and its_ecn in ecn and float(bdp) >= least_bdp and rtt_ms == rtt:
            found.append((f"{aqm} {bdp:g} BDP, {cc} {its_ecn}", cell))
    if not found:
        raise MissingRunError(f"no run with {classic} through {', '.join(aqms)}")
    return found


def _within(low: float, high: float, chosen: list[tuple[str, Cell]]) -> Outcome:
    findings = Findings()
    for name, cell in chosen:
        findings.add(f"{name}: {cell.l4s_mbit:.1f}", low <= cell.l4s_mbit <= high)
    return findings.outcome()


def _neither_is_safe(cells: Cells) -> Outcome:
    findings = Findings()
    single = ("FIFO", "single_queue_FQ", "Codel", "Codel_drop", "pie_drop", "DualPI2")
    beside_cubic = [cell.l4s_mbit for _, cell in _chosen(cells, single, "cubic", ("on", "off"))]
    beside_bbr = [cell.l4s_mbit for _, cell in _chosen(cells, single, "bbr", ("off",))]
    findings.add(f"with CUBIC {min(beside_cubic):.1f} at least", min(beside_cubic) < 1)
    findings.add(f"with CUBIC {max(beside_cubic):.1f} at most", max(beside_cubic) > 80)
    findings.add(f"with BBRv1 {min(beside_bbr):.1f} at least", min(beside_bbr) < 4)
    return findings.outcome()


def _isolation_shares(cells: Cells) -> Outcome:
    findings = Findings()
    for classic, ecn in (("cubic", ("on", "off")), ("bbr", ("off",))):
        for name, cell in _chosen(cells, ("FQ_Codel", "FQ_Codel_L4S"), classic, ecn) + _chosen(cells, ("FQ",), classic, ecn, 2):
            findings.add(f"{name}: {cell.l4s_mbit:.1f}", 38 <= cell.l4s_mbit <= 49)
    return findings.outcome()


def _classic_marking(cells: Cells) -> Outcome:
    findings = Findings()
    for name, cell in _chosen(cells, ("Codel",), "cubic", ("on", "off"), 2):
        findings.add(f"{name}: {cell.l4s_mbit:.1f}", cell.l4s_mbit > 85)
    for name, cell in _chosen(cells, ("single_queue_FQ",), "cubic", ("on",), 1):
        findings.add(f"{name}: {cell.l4s_mbit:.1f}", cell.l4s_mbit > 85)
    for name, cell in _chosen(cells, ("single_queue_FQ",), "cubic", ("off",), 1):
        findings.add(f"{name}: {cell.l4s_mbit:.1f}", cell.l4s_mbit < 2)
    return findings.outcome()


def _fallback(cells: Cells) -> Outcome:
    findings = Findings()
    for low, high, aqms in ((34, 49, ("Codel", "single_queue_FQ")), (4, 17, ("DualPI2",)), (34, 45, ("FQ_Codel_L4S",))):
        for name, cell in _chosen(cells, aqms, "cubic", ("on",)):
            findings.add(f"{name}: {cell.l4s_mbit:.1f}", low <= cell.l4s_mbit <= high)
    return findings.outcome()


def _coupled(cells: Cells) -> Outcome:
    findings = Findings()
    for name, cell in _chosen(cells, ("DualPI2",), "cubic", ("on", "off")):
        findings.add(f"{name}: CUBIC {cell.classic_mbit:.1f}", 48 <= cell.classic_mbit <= 57)
    for name, cell in _chosen(cells, ("DualPI2",), "bbr", ("off",)):
        findings.add(f"{name}: BBR {cell.classic_mbit:.1f}", 76 <= cell.classic_mbit <= 87)
    return findings.outcome()


def _low_latency(cells: Cells) -> Outcome:
    findings = Findings()
    for name, cell in _chosen(cells, ("DualPI2", "FQ_Codel_L4S"), "cubic", ("on", "off")):
        findings.add(f"{name}: {cell.srtt_ms:.1f} ms", cell.srtt_ms <= 11.5)
    return findings.outcome()


def _several_classic(cells: Cells) -> Outcome:
    findings = Findings()
    multiples = []
    for n in (2, 5, 10, 25):
        chosen = _chosen(cells, ("Codel",), "cubic", ("on",), 2, n=(1, n))
        multiples.append(fmean(cell.l4s_mbit for _, cell in chosen) * (n + 1) / 95.6)
        findings.add(f"with {n}: {multiples[-1]:.1f} shares", multiples[-1] > 2)
    findings.add("the multiple grows", multiples == sorted(multiples))
    return findings.outcome()


CHECKS: Mapping[str, Callable[[Cells], Outcome]] = {
    "PAM25-1": _neither_is_safe,
    "PAM25-2": _isolation_shares,
    "PAM25-3": _classic_marking,
    "PAM25-5": _coupled,
    "PAM25-6": _low_latency,
    "PAM25-7": _several_classic,
    "PAM25-8": lambda cells: _within(
        3, 17, _chosen(cells, ("DualPI2", "single_queue_FQ", "Codel_drop", "pie_drop"), "bbr3", ("low",), rtt=2)
    ),
}
