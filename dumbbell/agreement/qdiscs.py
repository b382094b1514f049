"""Parameters of queue disciplines: the defaults in the fixed sets, random ones in the random set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dumbbell.agreement.draw import Draw
from dumbbell.scenario.qdiscs import DISCIPLINES
from dumbbell.scenario.units import FRAME_BYTES

_FLAG = (False, True)
_AQM_TIMES = ("5ms", "20ms", "50ms")
_NETEM_DELAYS = ("1ms", "10ms", "40ms")
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
        "diffserv": ("diffserv3", "diffserv4", "diffserv8", "precedence"),
        "wash": (True,),
        "ingress": (True,),
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
"""Kind -> parameter -> the values that may be drawn instead of the default."""
_LEAST_PACKETS: Mapping[str, int] = {"sfq": 2}
"""Minimum limit of the qdiscs that refuse a limit of one packet."""
_OF_OVERHEAD = ("mpu", "framing")
"""Options that cake ignores unless an overhead is given."""
_MOST_RED_BYTES = 1_000_000
"""Maximum scale of RED's thresholds: scaled by the weight that tc chooses, larger ones overflow 32 bits."""
_OWN_LIMIT = 0.5
"""Probability that a qdisc with a default limit gets another limit."""
_OTHER_VALUE = 0.3
"""Probability that a parameter is not at its default."""


def is_randomised(kind: str) -> bool:
    """True if the qdisc draws a random number per packet. Its runs are then compared over several seeds, like those of several flows."""
    return DISCIPLINES[kind].is_randomised


def with_defaults(kind: str, packets: int, frame_bytes: int = FRAME_BYTES) -> dict[str, Any]:
    """A qdisc in a scenario's syntax with Linux's defaults; the limit of FIFOs, netem and RED is `packets` frames."""
    frames = packets * frame_bytes
    thresholds = min(frames, _MOST_RED_BYTES)
    limits: dict[str, dict[str, Any]] = {
        "pfifo": {"limit": f"{packets}p"},
        "bfifo": {"limit": f"{frames}B"},
        "dummynet": {"limit": f"{frames}B"},
        "netem": {"delay": _NETEM_DELAYS[1], "limit": f"{packets}p"},
        "red": {"limit": f"{4 * thresholds}B", "min": f"{thresholds // 2}B", "max": f"{3 * thresholds // 2}B"},
    }
    return {"kind": kind, **limits.get(kind, {})}


def drawn(draw: Draw, kind: str, bdp_packets: float, frame_bytes: int) -> dict[str, Any]:
    """A qdisc with drawn parameters; limits are log-uniform from one packet to four bandwidth-delay products, and not less than 40."""
    packets = round(draw.log("limit", 1, max(40.0, 4 * bdp_packets)))
    qdisc: dict[str, Any] = {"kind": kind}
    if kind == "pfifo":
        qdisc["limit"] = f"{packets}p"
    elif kind in ("bfifo", "dummynet"):  # not a whole number of frames
        qdisc["limit"] = f"{packets * frame_bytes + draw.whole('odd bytes', 0, frame_bytes - 1)}B"
    elif kind == "red":
        qdisc |= with_defaults(kind, max(4, packets), frame_bytes)
    elif kind != "cake" and draw.chance("own limit", _OWN_LIMIT):
        qdisc["limit"] = f"{max(packets, _LEAST_PACKETS.get(kind, 1))}p"
    if kind == "netem":
        qdisc["delay"] = draw.choice("delay", _NETEM_DELAYS)
    for key, options in _CHOICES.get(kind, {}).items():
        if key in _OF_OVERHEAD and "overhead" not in qdisc:
            continue
        if draw.chance(f"other {key}", _OTHER_VALUE):
            qdisc[key] = draw.choice(key, options)
    return qdisc
