"""Choices that the report leaves open and that its numbers decided: which kernel it was, it does not say.

All of them are what Linux 2.6.18 of CentOS 5 had, but for the charge of a segment. With 1,904 bytes (an sk_buff of 176, which the listed
rmem_default shows, and cache lines of 64 bytes) full buffers carry what the second senders do; kernels of the time had others as well.
"""

from __future__ import annotations

from dumbbell.study.model import Fitted

FITTED = (
    Fitted(
        "send-truesize",
        "a segment takes 1904 bytes of the send buffer",
        "1964 bytes: cache lines of 128 bytes and an sk_buff of 172, as in 2.6.18 of CentOS 5 for servers",
        "elapsed times of the second senders of Combo1 to Combo6 and of the first ones of Combo1 to Combo3",
        {"stack.send_truesize": 1964},
    ),
    Fitted(
        "netem-tick",
        "netem's timer is bound to a clock of 1 ms, as before 2.6.22",
        "timers are exact",
        "elapsed times of transfers that a buffer bounds: they show RTTs a millisecond above the delay",
        {"netem.tick": None},
    ),
    Fitted(
        "outage-length",
        "an outage lasts 107.5 ms: the script's sleep of 100 ms, and 5 to 10 ms for starting two processes",
        "100 ms",
        "elapsed times of the second senders of Combo20 to Combo24: at RTTs of 101 ms it matters whether a few segments are left",
        {"outage.for": "100ms"},
    ),
    Fitted(
        "cubic-version",
        "CUBIC is version 2.2 of its module, which CentOS 5 took into 2.6.18",
        "version 2.0, of 2.6.18 itself",
        "the elapsed times of Baseline6 and Combo7",
        {"cubic.version": "2.0"},
    ),
)
