"""The claims of "L4S Tests" about two flows. claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import fmean

from dumbbell.comparing.format import Key
from dumbbell.study.claims import Findings, MissingRunError, Outcome, judge_claims, read_claims
from dumbbell.study.model import Claim

Rates = Mapping[Key, tuple[float, float]]
"""By rate, queue discipline, and congestion control and RTT of each flow: mean goodput of both, Mbit/s."""
_LONG_MS, _SHORT_MS = 160.0, 10.0
_EQUAL_MS = (10.0, 20.0)


def check_claims(path: Path, rates: Iterable[tuple[Key, tuple[float, float]]]) -> list[Claim]:
    """Return the outcome of each claim, by the means over seeds."""
    several: dict[Key, list[tuple[float, float]]] = {}
    for key, both in rates:
        several.setdefault(key, []).append(both)
    means = {key: (fmean(one for one, _ in found), fmean(two for _, two in found)) for key, found in several.items()}
    return judge_claims(read_claims(path), CHECKS, means)


def _of(rates: Rates, rate_mbit: float, qdisc: str, ccs: tuple[str, str], rtts: tuple[float, float]) -> tuple[float, float]:
    key = (rate_mbit, qdisc, ccs[0], rtts[0], ccs[1], rtts[1])
    if key not in rates:
        raise MissingRunError(f"no run of {ccs[0]} and {ccs[1]} through {qdisc} at {rate_mbit:g} Mbit/s")
    return rates[key]


def _ratio_to_prague(qdisc: str, least: float, most: float, of: str) -> Callable[[Rates], Outcome]:
    """Check the rate of `of` over that of the other one of Prague and CUBIC, in both orders, at 50 Mbit/s."""

    def check(rates: Rates) -> Outcome:
        findings = Findings()
        for rtt in _EQUAL_MS:
            for ccs in (("prague", "cubic"), ("cubic", "prague")):
                both = dict(zip(ccs, _of(rates, 50.0, qdisc, ccs, (rtt, rtt)), strict=True))
                other = next(cc for cc in ccs if cc != of)
                ratio = both[of] / both[other]
                findings.add(f"{rtt:g} ms, {ccs[0]} first: {ratio:.2f}", least <= ratio <= most)
        return findings.outcome()

    return check


def _flow_queues_share_alike(rates: Rates) -> Outcome:
    findings = Findings()
    for key, (one, two) in rates.items():
        if key[1] == "fq_codel" and key[3] == key[5]:
            jain = (one + two) ** 2 / (2 * (one**2 + two**2))
            findings.add(f"{key[2]} and {key[4]}, {key[3]:g} ms, {key[0]:g} Mbit/s: {jain:.3f}", jain >= 0.975)
    if not findings.text:
        raise MissingRunError("no run through fq_codel with equal RTTs")
    return findings.outcome()


def _long_path_starves(rates: Rates) -> Outcome:
    findings = Findings()
    for key, (one, two) in rates.items():
        if key[1] == "dualpi2" and (key[3], key[5]) == (_LONG_MS, _SHORT_MS):
            findings.add(f"{key[2]} and {key[4]}, {key[0]:g} Mbit/s: {two / one:.1f}", two >= 3 * one)
    if not findings.text:
        raise MissingRunError("no run through dualpi2 with 160 and 10 ms")
    return findings.outcome()


def _tail_drop_dilutes(rates: Rates) -> Outcome:
    findings = Findings()
    for rate in (10.0, 50.0):
        one, two = _of(rates, rate, "pfifo", ("cubic", "cubic"), (_LONG_MS, _SHORT_MS))
        findings.add(f"{rate:g} Mbit/s: {two / one:.2f}", two < 2 * one)
    return findings.outcome()


CHECKS: Mapping[str, Callable[[Rates], Outcome]] = {
    "L4S-1": _ratio_to_prague("dualpi2", 1.2, 3.5, "prague"),
    "L4S-2": _ratio_to_prague("pfifo", 2.0, float("inf"), "cubic"),
    "L4S-3": _flow_queues_share_alike,
    "L4S-4": _long_path_starves,
    "L4S-5": _tail_drop_dilutes,
}
