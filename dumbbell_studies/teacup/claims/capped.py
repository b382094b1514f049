"""Claims about CUBIC over tail drop on the long path: a lone flow, capped by a buffer and sending in bursts, and losses in overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dumbbell import metrics
from dumbbell.study.claims import Findings, Outcome
from dumbbell_studies.teacup.claims.evidence import median
from dumbbell_studies.teacup.scenarios import TAIL_DROP
from dumbbell_studies.teacup.trials import Trial, Trials, counted

RAMP_STARTS_S = 1.5
"""The ramps of slow start are those that begin until then."""
LEAST_FALL_MS = 5.0
"""By how much the RTT falls, at least, from the end of a ramp to the start of the next."""
LEAST_SAMPLES = 3
"""Samples of a ramp, at least. The handshake's RTT is no ramp."""
LATER_S = (2.0, 2.5)
"""Interval that the report's figure shows of the time after slow start."""
STEP_MS = 1.0
"""Resolution of the autocorrelation."""
OVERLAPS_S = ((20.0, 40.0), (40.0, 60.0), (60.0, 80.0))
"""Intervals in which two or three flows share the path."""


def capped_without_loss(
    trials: Trials,
    cc: str,
    flow: int,
    between_kb: tuple[float, float],
    lossless_s: tuple[float, float],
    constant_s: tuple[float, float],
    least_mbit: float = 0.0,
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T049+T050+T051, T052: nothing is retransmitted in one interval; in another, cwnd lies in a range and is constant within 10 %, and the
    flow has at least this throughput."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    found = Findings()
    again = median(runs, lambda t: counted(t.flows[flow - 1].retransmits, *lossless_s))
    least, most = (median(runs, lambda t, of=of: float(of(_cwnd_kb(t, flow, constant_s)))) for of in (np.min, np.max))  # type: ignore[misc]
    swing = median(runs, lambda t: float(np.ptp(_cwnd_kb(t, flow, constant_s)) / _cwnd_kb(t, flow, constant_s).mean()))
    rate = median(runs, lambda t: t.thr(flow, *constant_s))
    found.add(f"{again:g} retransmissions", again == 0)
    found.add(f"cwnd {least:.0f} to {most:.0f} kB", between_kb[0] <= least and most <= between_kb[1])
    found.add(f"constant within {100 * swing:.1f} %", swing <= 0.10)
    found.add(f"{rate:.2f} Mbit/s", rate >= least_mbit)
    return found.outcome()


def slow_start_ramps(
    trials: Trials,
    cc: str,
    count: tuple[int, int],
    above_base_ms: float = 15,
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T056+T057+T058: slow start shows as ramps of the RTT, one a round trip, each from the base to a greater maximum.

    A ramp begins where the RTT has fallen back to the base, or after a pause.
    """
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    ramps = [_ramps(trial, rtt_ms + above_base_ms) for trial in runs]
    found = Findings()
    number = float(np.median([len(each) for each in ramps]))
    found.add(f"{number:g} ramps", count[0] <= number <= count[1])
    spaces = [1e3 * np.diff([times[0] for times, _ in each]) for each in ramps if len(each) > 1]
    if spaces:
        nearest, furthest = (float(np.median([of(each) for each in spaces])) for of in (np.min, np.max))
        found.add(f"{nearest:.0f} to {furthest:.0f} ms apart", rtt_ms - 10 <= nearest and furthest <= rtt_ms + 10)
        first = float(np.median([max(values[0] for _, values in each) for each in ramps if each]))
        found.add(f"from {first:.0f} ms at most", first <= rtt_ms + above_base_ms)
        rising = float(np.median([min(np.diff([values.max() for _, values in each])) for each in ramps if len(each) > 1]))
        found.add(f"maxima at least {rising:.0f} ms apart", rising > 0)
    return found.outcome()


def later_ramps(
    trials: Trials,
    cc: str,
    period_ms: tuple[float, float],
    low_ms: tuple[float, float],
    high_ms: tuple[float, float],
    qdisc: str = TAIL_DROP,
    rtt_ms: float = 200,
    limit: int = 180,
) -> Outcome:
    """T059+T060: after slow start the RTT of the lone flow goes up and down with a period; its 2nd and 98th percentile."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    period = median(runs, lambda t: _period_ms(t.flows[0].rtt_ms, LATER_S))
    low, high = (median(runs, lambda t, q=q: float(np.percentile(t.rtt([LATER_S], [1]), q))) for q in (2, 98))  # type: ignore[misc]
    found = Findings()
    found.add(f"period {period:.0f} ms" if math.isfinite(period) else "no period", period_ms[0] <= period <= period_ms[1])
    found.add(f"p2 {low:.0f} ms", low_ms[0] <= low <= low_ms[1])
    found.add(f"p98 {high:.0f} ms", high_ms[0] <= high <= high_ms[1])
    return found.outcome()


def losses_in_overlap(
    trials: Trials, cc: str, reductions: int = 2, qdisc: str = TAIL_DROP, rtt_ms: float = 200, limit: int = 180
) -> Outcome:
    """T053: while flows overlap, the queue drops in each interval, and each flow's window is reduced several times."""
    runs = trials.of(cc, qdisc, rtt_ms, limit)
    drops = [median(runs, lambda t, window=window: counted(t.drops, *window)) for window in OVERLAPS_S]  # type: ignore[misc]
    cuts = [median(runs, lambda t, flow=flow: _reductions_in_overlap(t, flow)) for flow in (1, 2, 3)]  # type: ignore[misc]
    found = Findings()
    found.add(f"drops {_list(drops)}", min(drops) > 0)
    found.add(f"reductions of the flows {_list(cuts)}", min(cuts) >= reductions)
    return found.outcome()


def _cwnd_kb(trial: Trial, flow: int, window_s: tuple[float, float]) -> metrics.Array:
    return metrics.in_window(trial.flows[flow - 1].cwnd_kb, *window_s)[1]


def _ramps(trial: Trial, base_ms: float) -> list[metrics.Series]:
    """The first flow's RTT samples of each ramp of slow start."""
    times, values = metrics.in_window(trial.flows[0].rtt_ms, 0, LATER_S[0])
    pause_s = trial.experiment.rtt_ms / 2e3
    begins = [
        i
        for i in range(1, len(values))
        if values[i] <= base_ms and (values[i] < values[i - 1] - LEAST_FALL_MS or times[i] > times[i - 1] + pause_s)
    ]
    parts = zip(np.split(times, begins), np.split(values, begins), strict=True)
    return [(at, rtts) for at, rtts in parts if len(at) >= LEAST_SAMPLES and at[0] <= RAMP_STARTS_S and rtts[0] <= base_ms]


def _period_ms(series: metrics.Series, window_s: tuple[float, float]) -> float:
    """The lag (ms) of the first peak of the autocorrelation beyond its first zero, up to half of the window; infinite if there is none."""
    times, values = metrics.in_window(series, *window_s)
    if len(times) < LEAST_SAMPLES:
        return math.inf
    even = np.interp(np.arange(1e3 * window_s[0], 1e3 * window_s[1], STEP_MS), 1e3 * times, values)
    even -= even.mean()
    lags = len(even) // 2
    correlation = np.array([np.mean(even[: len(even) - lag] * even[lag:]) for lag in range(lags)])
    signs = np.flatnonzero(np.diff(correlation < 0)) + 1
    if len(signs) < 2:
        return math.inf
    rises, falls = signs[1], signs[2] if len(signs) > 2 else lags
    return STEP_MS * float(rises + np.argmax(correlation[rises:falls]))


def _reductions_in_overlap(trial: Trial, flow: int) -> int:
    return sum(OVERLAPS_S[0][0] <= each.start_s <= OVERLAPS_S[-1][1] for each in trial.reductions(flow))


def _list(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)
