"""Parameters of queue disciplines: the defaults for the fixed sets, drawn ones for the random set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.agreement.draw import Draw
from dumbbell.scenario.qdiscs import DISCIPLINES
from dumbbell.scenario.units import FRAME_BYTES

_FLAG = (False, True)
_AQM_TIMES = ("5ms", "20ms", "50ms")
_PIE: Mapping[str, Sequence[Any]] = {
    "target": ("5ms", "20ms", "50ms"),
    "tupdate": ("5ms", "30ms"),
    "alpha": (1, 4),
    "beta": (10, 30),
    "ecn": _FLAG,
    "bytemode": _FLAG,
    "dq_rate_estimator": _FLAG,
}
_CHOICES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "cake": {
        "isolation": ("flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"),
        "rtt": ("10ms", "30ms", "300ms"),
        "overhead": (0, 18, 44),
        "mpu": (64, 84),
        "framing": ("atm", "ptm"),
        "memlimit": ("64KiB", "1MiB", "4MiB"),
    },
    "codel": {"target": _AQM_TIMES, "interval": ("50ms", "300ms"), "ecn": _FLAG, "ce_threshold": ("2ms", "20ms")},
    "fq_codel": {"target": _AQM_TIMES, "interval": ("50ms", "300ms"), "ecn": _FLAG, "flows": (1, 16, 4096), "quantum": ("3028B",)},
    "pie": _PIE,
    "fq_pie": {**_PIE, "flows": (1, 16, 4096), "quantum": ("3028B",)},
    "red": {"probability": (0.01, 0.1, 1.0), "avpkt": ("500B", "1514B"), "ecn": _FLAG, "harddrop": _FLAG},
    "sfq": {"divisor": (2, 16), "depth": ("32p", "100p"), "headdrop": _FLAG, "quantum": ("3028B",), "perturb": ("1s", "5s")},
    "fq": {"flow_limit": ("20p", "300p"), "quantum": ("1514B", "6056B"), "initial_quantum": ("1514B", "45420B")},
}
"""By kind and parameter: the values that may be drawn in place of the default."""
_LEAST_PACKETS: Mapping[str, int] = {"sfq": 2}
"""The least limit of a qdisc that refuses a limit of one packet."""
_OF_OVERHEAD = ("mpu", "framing")
"""Options that cake ignores unless an overhead is given."""
_MOST_RED_BYTES = 1_000_000
"""Scale of RED's thresholds: larger ones do not fit its 32 bits together with the weight that tc chooses for them."""
_OWN_LIMIT = 0.5
"""How many of the drawn qdiscs, among those with a default limit, have another limit."""
_OTHER_VALUE = 0.3
"""How many of the parameters are not at their default."""


def is_randomised(kind: str) -> bool:
    """Whether the qdisc decides at random for each packet: its runs are compared over many seeds, as those of several flows are."""
    return DISCIPLINES[kind].is_randomised


def with_defaults(kind: str, packets: int) -> dict[str, Any]:
    """A qdisc with the defaults of Linux, as a scenario is written; FIFOs and RED, which have no default limit, hold `packets` frames."""
    frames = packets * FRAME_BYTES
    thresholds = min(frames, _MOST_RED_BYTES)
    limits: dict[str, dict[str, Any]] = {
        "pfifo": {"limit": f"{packets}p"},
        "bfifo": {"limit": f"{frames}B"},
        "red": {"limit": f"{4 * thresholds}B", "min": f"{thresholds // 2}B", "max": f"{3 * thresholds // 2}B"},
    }
    return {"kind": kind, **limits.get(kind, {})}


def drawn(draw: Draw, kind: str, bdp_packets: float) -> dict[str, Any]:
    """A qdisc with drawn parameters; limits are log-uniform from one packet to four bandwidth-delay products, and not less than 40."""
    packets = round(draw.log("limit", 1, max(40.0, 4 * bdp_packets)))
    qdisc: dict[str, Any] = {"kind": kind}
    if kind == "pfifo":
        qdisc["limit"] = f"{packets}p"
    elif kind == "bfifo":  # not a whole number of frames
        qdisc["limit"] = f"{packets * FRAME_BYTES + draw.whole('odd bytes', 0, FRAME_BYTES - 1)}B"
    elif kind == "red":
        qdisc |= with_defaults(kind, max(4, packets))
    elif kind != "cake" and draw.chance("own limit", _OWN_LIMIT):
        qdisc["limit"] = f"{max(packets, _LEAST_PACKETS.get(kind, 1))}p"
    for key, options in _CHOICES.get(kind, {}).items():
        if key in _OF_OVERHEAD and "overhead" not in qdisc:
            continue
        if draw.chance(f"other {key}", _OTHER_VALUE):
            qdisc[key] = draw.choice(key, options)
    return qdisc
