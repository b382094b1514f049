"""Responsiveness under working conditions, in round trips per minute (RPM).

Source: draft-ietf-ippm-responsiveness-08 (October 2025), sections "Measuring Responsiveness" and "Final Algorithm", the case without TLS.
The parameters have the draft's names and defaults. Left out: TLS, HTTP/2 framing and DNS; the limit of the probes' share of the capacity
(PTC), because the scenario says how often it probes; probes multiplexed on a load-generating connection, for which the smoothed RTT of its
TCP stands in, as the draft allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dumbbell.metrics.window import Series

_ID_S = 1.0
"""Interval duration, s."""
_MAD = 4
"""Moving average distance, intervals."""
_SDT = 0.05
"""Standard deviation tolerance."""
_TMP = 95
"""Trimmed mean percentage."""
_MS_PER_MIN = 60_000
GRADES = ((1000, "A"), (400, "B"), (200, "C"), (100, "D"))
"""Minimum RPM of each grade; below the last it is F. The rule is dumbbell's own, since the draft has none: a mean round trip under load
of at most 60, 150, 300 and 600 ms. 300 ms are two times the 150 ms one way up to which ITU-T G.114 sees most applications unaffected."""


@dataclass(frozen=True)
class Responsiveness:
    """The result of the algorithm."""

    rpm: float
    """Round trips per minute; NaN without probes."""
    at_s: float
    """End of the interval that it is of, s."""
    confidence: Literal["high", "medium", "low"]
    """High if responsiveness became stable; medium if there were enough intervals for it after goodput was stable; else low."""


def grade(rpm: float) -> str:
    """Return the grade, see `GRADES`; empty for NaN."""
    return "" if math.isnan(rpm) else next((name for least, name in GRADES if rpm >= least), "F")


def responsiveness(received: Series, connected: Series, answered: Series, loaded: Series, end_s: float) -> Responsiveness:
    """Run the algorithm of the draft over a load whose connections are added until after it ends: what comes later changes nothing before.

    Args:
        received: Bytes that all load-generating connections together have received so far.
        connected: Durations of the TCP handshakes of new connections, ms, at the times when their responses were there (`tcp_f`).
        answered: Time from request to response on the same connections, ms (`http_f`).
        loaded: Samples of the round-trip time on load-generating connections, ms (`http_l`).
        end_s: End of the test.
    """
    edges_s = _ID_S * np.arange(math.floor(end_s / _ID_S + 1e-9) + 1)
    goodput = np.diff(np.interp(edges_s, *received, left=0.0)) if len(received[0]) else np.zeros(len(edges_s) - 1)
    averages = np.array([goodput[max(0, i - _MAD + 1) : i + 1].sum() / _MAD for i in range(len(goodput))])
    saturated = next((i for i in range(_MAD - 1, len(averages)) if _stable(averages[i - _MAD + 1 : i + 1])), None)
    values: list[float] = []
    first = len(averages) if saturated is None else saturated + 1
    for i in range(first, len(averages)):
        values.append(_rpm(connected, answered, loaded, edges_s[max(0, i + 1 - _MAD)], edges_s[i + 1]))
        if len(values) >= _MAD and _stable(np.array(values[-_MAD:])):
            return Responsiveness(values[-1], float(edges_s[i + 1]), "high")
    last_s = float(edges_s[-1])
    rpm = values[-1] if values else _rpm(connected, answered, loaded, max(0.0, last_s - _MAD * _ID_S), last_s)
    return Responsiveness(rpm, last_s, "medium" if len(values) >= _MAD else "low")


def _stable(values: NDArray[np.float64]) -> bool:
    """True if the values spread little around the last of them."""
    return bool(np.std(values) < _SDT * values[-1])


def _rpm(connected: Series, answered: Series, loaded: Series, start_s: float, stop_s: float) -> float:
    """Responsiveness by the probes that were completed in a window."""
    tcp, http, load = (_trimmed(each, start_s, stop_s) for each in (connected, answered, loaded))
    return (_MS_PER_MIN / ((tcp + http) / 2) + _MS_PER_MIN / load) / 2 if tcp + http > 0 and load > 0 else math.nan


def _trimmed(series: Series, start_s: float, stop_s: float) -> float:
    """The mean of the values up to their 95th percentile; NaN without values."""
    times, values = series
    there = values[(times > start_s) & (times <= stop_s)]
    return float(there[there <= np.percentile(there, _TMP)].mean()) if there.size else math.nan
