"""The background traffic: web transfers in both directions, and what a calibration chose for them.

The page says of it that it is made after Surge (Barford and Crovella, SIGMETRICS 1998) with a wider range of sizes, that each
connection has an RTT of its own from an exponential distribution (after Aikat et al., IMC 2003), that it loads either direction with about
70 Mbit/s, and that the bandwidth it leaves varies by 0.05 (type 1) or 0.15 (type 2). It prints no parameters. Here

- connections come in a Poisson process, as those of many independent users do;
- sizes are those of Surge: lognormal (mu 9.357, sigma 1.318) below 133 kB, and above it Pareto (shape 1.1), cut off where the calibration
  says;
- windows of type 1 are 128 KiB, the most that kernels of the time tune them to (tcp_rmem 174760, of which three quarters are window); with
  larger ones the bursts of slow start take from the high-speed flows what the page says they get (see `fitted`). Type 2 is not possible
  without: it takes megabytes at 35 Mbit/s and more, so that its windows have 2 MB, and its tail has a larger share;
- RTTs have a mean of 100 ms (Aikat et al. found 60 % below 100 ms) and are clipped to 10 and 600 ms;
- congestion control and stack are those of the other flows' hosts, with SACK.

`laws/` has the lognormal and the exponential distribution as points, which `points` makes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from dumbbell.scenario.values.web import (
    BODY_BYTES,
    LEAST_RTT_MS,
    LOAD_MBIT,
    MEAN_RTT_MS,
    MOST_RTT_MS,
    MU,
    RATE_MBIT,
    RCVBUF,
    SHAPE,
    SIGMA,
    TAIL,
)
from dumbbell.study.calibration import Knob, Task, read_rows, settings_of
from dumbbell_studies.ordering.controls import ERA, Mode, validated

if TYPE_CHECKING:
    from dumbbell.scenario import Scenario
    from dumbbell.scenario.generated.kinds import Transfers

LAWS = Path(__file__).parent / "laws"
FROZEN = Path(__file__).parent / "calibration.csv"
"""Result of `dumbbell calibrate ordering`: the settings of the two types, and the load and variability that they give."""

_POINTS = 400
_TAIL_KEY = "background.0.size.mixture.1.of.pareto.most"


@dataclass(frozen=True)
class Type:
    """A type of background traffic."""

    name: str
    cov: float
    """CoV of the bandwidth that it leaves."""
    tail: float
    """Share of the transfers whose size is of the tail."""
    buffer: str
    """SO_RCVBUF of the receivers, which Linux doubles. On hosts of 2006 three quarters of that are window, on those of today half."""
    every: str
    """Between connections, before the calibration."""
    most: tuple[int, int]
    """The range in which the calibration looks for the largest size, bytes."""


TYPES: Mapping[str, Type] = {
    each.name: each
    for each in (
        Type("type1", 0.05, TAIL, RCVBUF, "7ms", (1_000_000, 100_000_000)),
        Type("type2", 0.15, 0.30, "1400KiB", "30ms", (10_000_000, 3_000_000_000)),
        Type("type1-large-windows", 0.05, 0.07, "700KiB", "5.4ms", (500_000, 30_000_000)),
    )
}


def points() -> dict[str, str]:
    """The distributions as CSV files: name -> content."""
    inside = NormalDist(MU, SIGMA).cdf(math.log(BODY_BYTES))
    shares = [max(i, 0.04) / _POINTS for i in range(_POINTS)]
    body = [(math.exp(NormalDist(MU, SIGMA).inv_cdf(share * inside)), share if share > 0.001 else 0.0) for share in shares]
    body.append((float(BODY_BYTES), 1.0))
    below, above = (1 - math.exp(-clip / MEAN_RTT_MS) for clip in (LEAST_RTT_MS, MOST_RTT_MS))
    rtts = [below + (above - below) * i / _POINTS for i in range(_POINTS + 1)]
    rtt = [(-math.log1p(-share) * MEAN_RTT_MS, share) for share in rtts] + [(MOST_RTT_MS, 1.0)]
    return {
        "body.csv": "B,share\n" + "".join(f"{value:.0f},{share:.6g}\n" for value, share in body),
        "rtt.csv": "ms,share\n" + "".join(f"{value:.3f},{share:.6f}\n" for value, share in rtt),
    }


def web(type_: Type, mode: Mode) -> dict[str, Any]:
    """An entry of `background:` with the parameters of before the calibration."""
    tail = {"pareto": {"shape": SHAPE, "least": f"{BODY_BYTES}B", "most": f"{type_.most[0]}B"}}
    return {
        "kind": "transfers",
        "name": "web",
        "direction": "both",
        "cc": "reno",
        "stack": mode.stack,
        "host": {"rcvbuf": type_.buffer},
        "size": {"mixture": [{"share": 1 - type_.tail, "of": {"file": "body.csv"}}, {"share": type_.tail, "of": tail}]},
        "rtt": {"file": "rtt.csv"},
        "exact_rtts": True,
        "arrivals": {"kind": "poisson", "every": type_.every},
    }


@cache
def calibrated(name: str, mode: Mode) -> Transfers:
    """An entry of `background:` with what the calibration chose. It is validated: its files need not be read again for each run."""
    (entry,) = _alone(TYPES[name], frozen()[name], mode).background
    assert entry.kind == "transfers"
    return entry


@cache
def frozen() -> Mapping[str, Mapping[str, str]]:
    """Type -> settings that the calibration chose."""
    return {name: settings_of(row) for name, row in read_rows(FROZEN).items()}


def tasks() -> list[Task]:
    """The calibrations of both types, on hosts of 2006 and the base condition's queue."""
    return [
        Task(
            type_.name, partial(_alone, type_), LOAD_MBIT, type_.cov, Knob(_TAIL_KEY, *type_.most), seeds=10, warm_up_s=60.0, window_s=600.0
        )
        for type_ in TYPES.values()
    ]


def _alone(type_: Type, changes: Mapping[str, Any], mode: Mode = ERA) -> Scenario:
    from dumbbell.documents.keys import assigned_at

    document: dict[str, Any] = {
        "name": f"ordering-{type_.name}",
        "path": {
            "rtt": f"{MEAN_RTT_MS:g}ms",
            "delay": {"where": "after"},
            "bottleneck": {"rate": f"{RATE_MBIT}mbit", "qdisc": {"kind": "dummynet", "limit": "1MiB"}},
        },
        "background": [web(type_, mode)],
        "duration": "660s",
    }
    for key, value in changes.items():
        document = assigned_at(document, key.split("."), value)
    return validated(document, str(LAWS))
