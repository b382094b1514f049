"""The report's claims. Each is decided by a small function of medians over the seeds; claims.csv has their wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.metrics import jain
from dumbbell.study.claims import Findings, Outcome, judge_claims
from dumbbell.study.model import Claim
from dumbbell_studies.fairness.experiments import SWAPPED
from dumbbell_studies.fairness.hosts import scenario_names, senders
from dumbbell_studies.fairness.published import claim_rows
from dumbbell_studies.fairness.transfers import Transfers, transfers

if TYPE_CHECKING:
    from dumbbell.results import Run

_VARIANTS = ("CUBIC", "HIGHSPEED", "WESTWOOD")
"""In the order of the scenarios of one delay."""
_FAIR, _ALMOST_ALL = 0.95, 0.75
"""Jain's index from which two transfers count as fair, and the share of scenarios that counts as almost all."""


def _combos(first: int, last: int) -> list[str]:
    return [f"Combo{number}" for number in range(first, last + 1)]


def _baselines(first: int, last: int) -> list[str]:
    return [f"Baseline{number}" for number in range(first, last + 1)]


def _row(found: Transfers, names: Sequence[str], sender: str = "S1") -> list[float]:
    return [found.middle(name, sender) for name in names]


def _listed(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def alone_without_delay(found: Transfers) -> Outcome:
    """A001."""
    values = _row(found, _baselines(1, 4))
    findings = Findings()
    findings.add(f"{_listed(values)} Mbit/s", all(88 <= value <= 95 for value in values))
    findings.add(f"range {max(values) - min(values):.2f}", max(values) - min(values) <= 2)
    return findings.outcome()


def alone_at_100_ms(found: Transfers) -> Outcome:
    """A002+A004: SACK, CUBIC, HighSpeed."""
    elapsed = [found.middle(name, "S1", lambda each: each.elapsed_s) for name in _baselines(5, 7)]
    sack, cubic, highspeed = values = _row(found, _baselines(5, 7))
    findings = Findings()
    findings.add(f"{_listed(elapsed)} s", all(9.5 <= each <= 15.5 for each in elapsed))
    findings.add(f"{_listed(values)} Mbit/s", all(54 <= value <= 88 for value in values))
    findings.add("order CUBIC > HighSpeed > SACK", cubic > highspeed > sack)
    return findings.outcome()


def westwood_alone(found: Transfers) -> Outcome:
    """A003: without a segment retransmitted in any repeat."""
    westwood, others = found.middle("Baseline8", "S1"), _row(found, _baselines(5, 7))
    again = [each.retransmits for each in found.of("Baseline8", "S1")]
    findings = Findings()
    findings.add(f"{westwood:.2f} of {min(others):.2f} Mbit/s", westwood <= 0.4 * min(others))
    findings.add(f"retransmitted {max(again)}", max(again) == 0)
    return findings.outcome()


def alike_up_to_100_ms(found: Transfers) -> Outcome:
    """A005."""
    values = _row(found, _combos(1, 6))
    findings = Findings()
    findings.add(f"mean {fmean(values):.2f} Mbit/s", 42 <= fmean(values) <= 51)
    findings.add(f"range {max(values) - min(values):.2f}", max(values) - min(values) <= 2)
    return findings.outcome()


def sack_is_held(found: Transfers) -> Outcome:
    """A006."""
    values = _row(found, _combos(1, 6), "S2")
    changes = [
        found.middle(name, "S2", lambda each: each.alone_mbit) / found.middle(name, "S2", lambda each: each.shared_mbit)
        for name in _combos(1, 6)
    ]
    findings = Findings()
    findings.add(f"mean {fmean(values):.2f} Mbit/s", 9.5 <= fmean(values) <= 11.5)
    findings.add(f"alone x {_listed(changes)}", all(abs(change - 1) <= 0.1 for change in changes))
    return findings.outcome()


def at_200_ms(found: Transfers) -> Outcome:
    """A007."""
    names = _combos(7, 9)
    cubic, highspeed, westwood = first = _row(found, names)
    second = _row(found, names, "S2")
    findings = Findings()
    findings.add(f"S1 {_listed(first)}, S2 {_listed(second)}", all(b > a for a, b in zip(first, second, strict=True)))
    findings.add(f"Westwood over HighSpeed {westwood / highspeed:.2f}", westwood <= 0.4 * highspeed)
    findings.add("CUBIC >= HighSpeed", cubic >= highspeed)
    return findings.outcome()


def at_400_ms(found: Transfers) -> Outcome:
    """A008+A009."""
    names = _combos(10, 12)
    first, second = _row(found, names), _row(found, names, "S2")
    findings = Findings()
    findings.add(f"S2 mean {fmean(second):.2f} Mbit/s", 54 <= fmean(second) <= 66)
    for name, value, (low, high) in zip(_VARIANTS, first, ((18, 28), (13, 22), (3, 6)), strict=True):
        findings.add(f"{name} {value:.2f}", low <= value <= high)
    findings.add("order CUBIC > HighSpeed > Westwood", first[0] > first[1] > first[2])
    return findings.outcome()


def outage_at_20_ms(found: Transfers) -> Outcome:
    """A011."""
    cubic, highspeed, westwood = values = _row(found, _combos(13, 15))
    findings = Findings()
    findings.add(f"{_listed(values)} Mbit/s", westwood <= 0.8 * min(cubic, highspeed))
    findings.add(f"HighSpeed over CUBIC {highspeed / cubic:.2f}", abs(highspeed - cubic) <= 0.15 * cubic)
    findings.add("order HighSpeed > CUBIC > Westwood", highspeed > cubic > westwood)
    return findings.outcome()


def outage_at_100_ms(found: Transfers) -> Outcome:
    """A012."""
    first, second = _row(found, _combos(16, 18)), _row(found, _combos(16, 18), "S2")
    findings = Findings()
    ratios = [b / a for a, b in zip(first, second, strict=True)]
    findings.add(f"S2 over S1 {_listed(ratios)}", min(ratios) >= 2)
    sums = [a + b for a, b in zip(first, second, strict=True)]
    findings.add(f"sums {_listed(sums)} Mbit/s", max(sums) <= 70)
    return findings.outcome()


def outage_at_long_rtts(found: Transfers) -> Outcome:
    """A013."""
    ratios = [found.middle(name, "S2") / found.middle(name, "S1") for name in _combos(19, 24)]
    findings = Findings()
    findings.add(f"S2 over S1 {_listed(ratios)}", sum(ratio > 1 for ratio in ratios) >= 5)
    findings.add("five times at 400 ms", min(ratios[3:]) >= 5)
    return findings.outcome()


def inverse_to_rtt(found: Transfers) -> Outcome:
    """A015: without an outage."""
    findings = Findings()
    for place, variant in enumerate(_VARIANTS):
        names = scenario_names()[8 + place : 20 : len(_VARIANTS)]
        delays = [senders(name)["S1"].delay_ms for name in names]
        slope = float(np.polyfit(np.log(delays), np.log(_row(found, names)), 1)[0])
        findings.add(f"{variant} slope {slope:.2f}", -1.3 <= slope <= -0.7)
    return findings.outcome()


def sack_is_superior(found: Transfers) -> Outcome:
    """A016: SACK at the delay of the first sender, from runs with the two congestion controls exchanged, over the other one there."""
    findings = Findings()
    for name in _combos(16, 24):
        ratio = found.middle(name, "S1", experiment=SWAPPED) / found.middle(name, "S1")
        setup = senders(name)["S1"]
        findings.add(f"{setup.cc} {setup.delay_ms:g} ms {ratio:.2f}", ratio > 1)
    return findings.outcome()


def not_fair(found: Transfers) -> Outcome:
    """A017: Jain's index over the time that two transfers have in common; the published throughputs are below 0.95 in 19 of the 24."""
    indices = []
    for name in _combos(1, 24):
        pairs = zip(found.of(name, "S1"), found.of(name, "S2"), strict=True)
        indices.append(median(jain([first.shared_mbit, second.shared_mbit]) for first, second in pairs))
    unfair = sum(index < _FAIR for index in indices)
    findings = Findings()
    findings.add(f"Jain's index below {_FAIR} in {unfair} of {len(indices)}", unfair >= _ALMOST_ALL * len(indices))
    return findings.outcome()


def rtts_by_sender(found: Transfers) -> Outcome:
    """A018: mean RTT at the senders' devices, of either sender at each delay, as the median over the three scenarios."""
    findings = Findings()
    for delay_ms, first in ((20, 13), (100, 16), (200, 19), (400, 22)):
        names = _combos(first, first + 2)
        one, two = (median(found.middle(name, sender, lambda each: each.trace_rtt_ms) for name in names) for sender in ("S1", "S2"))
        findings.add(f"{delay_ms} ms: {one:.1f} and {two:.1f} ms", (two > one) == (delay_ms < 400))
    return findings.outcome()


CHECKS: Mapping[str, Callable[[Transfers], Outcome]] = {
    "A001": alone_without_delay,
    "A002+A004": alone_at_100_ms,
    "A003": westwood_alone,
    "A005": alike_up_to_100_ms,
    "A006": sack_is_held,
    "A007": at_200_ms,
    "A008+A009": at_400_ms,
    "A011": outage_at_20_ms,
    "A012": outage_at_100_ms,
    "A013": outage_at_long_rtts,
    "A015": inverse_to_rtt,
    "A016": sack_is_superior,
    "A017": not_fair,
    "A018": rtts_by_sender,
}
EXCUSED = {
    "A015": "the report's own tables contradict it",
}
"""Claims that the report's own numbers do not bear out, and why."""


def check_claims(runs: Sequence[Run]) -> list[Claim]:
    """All claims of claims.csv, judged on these runs. A claim is not applicable if its runs are missing."""
    return judge_claims(claim_rows(), CHECKS, transfers(runs), excused=EXCUSED)
