"""Quality of a voice call over packets: playout and the E-model.

Source: ITU-T Rec. G.107 (06/2015), whose symbols the formulas keep, with its default values (table 2) for everything but delay and packet
loss; the equipment is that of G.711 without loss concealment (G.113 Appendix I: Ie 0, Bpl 4.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.metrics.datagrams import UNDER_WAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLR, _RLR = 8.0, 2.0
"""Loudness ratings at the send and the receive side, dB."""
_OLR = _SLR + _RLR
_STMR, _LSTR, _DS = 15.0, 18.0, 3.0
"""Sidetone masking rating, listener sidetone rating, D-value of the telephone at the send side, dB."""
_TELR, _WEPL = 65.0, 110.0
"""Talker echo loudness rating and weighted echo path loss, dB."""
_NC, _NFOR = -70.0, -64.0
"""Circuit noise (dBm0p) and noise floor at the receive side (dBmp)."""
_PS, _PR = 35.0, 35.0
"""Room noise, dB(A)."""
_QDU = 1.0
_IE, _BPL = 0.0, 4.3
_DELAY_SENSITIVITY, _LEAST_DELAY_MS = 1.0, 100.0
"""sT and mT."""
_MOST_R, _MOST_MOS = 100.0, 4.5


def r_factor(delay_ms: float, lost_share: float = 0.0, burst_ratio: float = 1.0) -> float:
    """Return the rating R of the E-model; it may be negative.

    Args:
        delay_ms: From mouth to ear. The echo paths are as long: T = Ta and Tr = 2 Ta.
        lost_share: Share of the packets that are not played, 0 to 1.
        burst_ratio: BurstR, see `burst_ratio`.
    """
    noise_send = _PS - _SLR - _DS - 100 + 0.004 * (_PS - _OLR - _DS - 14) ** 2
    room = _PR + 10 * math.log10(1 + 10 ** ((10 - _LSTR) / 10))
    noise_receive = _RLR - 121 + room + 0.008 * (room - 35) ** 2
    noise = 10 * math.log10(sum(10 ** (each / 10) for each in (_NC, noise_send, noise_receive, _NFOR + _RLR)))
    basic = 15 - 1.5 * (_SLR + noise)
    return basic - _simultaneous(noise, basic, delay_ms) - _delay(noise, basic, delay_ms) - _equipment(lost_share, burst_ratio)


def _simultaneous(noise: float, basic: float, delay_ms: float) -> float:
    """Is: impairments that come with the voice signal (7.3)."""
    loud = _OLR + 0.2 * (64 + noise - _RLR)
    too_loud = 20 * ((1 + (loud / 8) ** 8) ** (1 / 8) - loud / 8)
    masked = -10 * math.log10(10 ** (-_STMR / 10) + math.exp(-delay_ms / 4) * 10 ** (-_TELR / 10))
    sidetone: float = (
        12 * (1 + ((masked - 13) / 6) ** 8) ** (1 / 8)
        - 28 * (1 + ((masked + 1) / 19.4) ** 35) ** (1 / 35)
        - 13 * (1 + ((masked - 3) / 33) ** 13) ** (1 / 13)
        + 29
    )
    quality = 37 - 15 * math.log10(_QDU)
    g = 1.07 + 0.258 * quality + 0.0602 * quality**2
    quantising = 15 * math.log10(1 + 10 ** ((basic - 100) / 15 + 46 / 8.4 - g / 9) + 10 ** (46 / 30 - g / 40))
    return float(too_loud + sidetone + quantising)


def _delay(noise: float, basic: float, delay_ms: float) -> float:
    """Return Id: talker echo, listener echo, and the delay alone (7.4)."""
    terv = _TELR - 40 * math.log10((1 + delay_ms / 10) / (1 + delay_ms / 150)) + 6 * math.exp(-0.3 * delay_ms * delay_ms)
    half = (-1.5 * (noise - _RLR) - (80 + 2.5 * (terv - 14))) / 2
    talker = (half + math.sqrt(half**2 + 100) - 1) * (1 - math.exp(-delay_ms))
    half = (basic - 10.5 * (_WEPL + 7) * (2 * delay_ms + 1) ** -0.25) / 2
    listener = half + math.sqrt(half**2 + 169)
    if delay_ms <= _LEAST_DELAY_MS:
        return float(talker + listener)
    x, power = math.log2(delay_ms / _LEAST_DELAY_MS), 6 * _DELAY_SENSITIVITY
    late = 25 * ((1 + x**power) ** (1 / power) - 3 * (1 + (x / 3) ** power) ** (1 / power) + 2)
    return float(talker + listener + late)


def _equipment(lost_share: float, burst_ratio: float) -> float:
    """Ie-eff: codec and packet loss (7.5)."""
    percent = 100 * lost_share
    return _IE + (95 - _IE) * percent / (percent / burst_ratio + _BPL)


def mos(r: float) -> float:
    """The mean opinion score, 1 to 4.5, that a rating stands for (G.107, annex B)."""
    if r <= 0:
        return 1.0
    if r >= _MOST_R:
        return _MOST_MOS
    return max(1.0, 1 + 0.035 * r + r * (r - 60) * (_MOST_R - r) * 7e-6)


def burst_ratio(lost: NDArray[np.bool_]) -> float:
    """BurstR: mean length of the bursts of losses over that of random losses of the same share; 1 if nothing or all is lost, never below 1.

    Args:
        lost: By packet, in order of sending.

    Source: ITU-T Rec. G.107, 7.5.
    """
    share = float(lost.mean()) if lost.size else 0.0
    if not 0 < share < 1:
        return 1.0
    bursts = int(lost[0]) + int((lost[1:] & ~lost[:-1]).sum())
    return max(1.0, int(lost.sum()) / bursts * (1 - share))


@dataclass(frozen=True)
class Playout:
    """Playout of a stream by a receiver with a fixed playout buffer."""

    delay_ms: float
    """Time from the sending of a packet to its playing; NaN if none arrived."""
    late: int
    """Packets that arrived after they should have been played."""
    missing: NDArray[np.bool_]
    """For each packet that is not under way: true if it was lost or late."""

    @classmethod
    def of(cls, sent_ns: NDArray[np.int64], arrived_ns: NDArray[np.int64], buffer_ns: int) -> Playout:
        """The first packet that arrives is played `buffer_ns` later, and all others with the same delay from their sending."""
        there = arrived_ns >= 0
        if not there.any():
            return cls(math.nan, 0, np.ones(int((arrived_ns != UNDER_WAY).sum()), dtype=bool))
        first = int(np.argmin(np.where(there, arrived_ns, np.iinfo(np.int64).max)))
        delay_ns = int(arrived_ns[first] - sent_ns[first]) + buffer_ns
        late = there & (arrived_ns - sent_ns > delay_ns)
        return cls(delay_ns / 1e6, int(late.sum()), (late | ~there)[arrived_ns != UNDER_WAY])
