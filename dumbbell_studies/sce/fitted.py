"""Choices of the study that were made to fit the published tables, each with its alternative.

The repository does not contain the sources of June 2019 for these parts. The versions before and after that date differ, and the published
tables decide between them.
"""

from __future__ import annotations

from dumbbell.study.model import Fitted
from dumbbell_studies.sce.implementation import STACK


def _stack(**options: object) -> dict[str, object]:
    return {"flows.*.stack": {"base": STACK, **options}}


FITTED = (
    Fitted(
        "receiver-t0",
        "receiver answers a change of marking with two ACKs and one quick ACK (T1)",
        "the same without the quick ACK (T0, tcp_input.c 4b2c3632)",
        "both stand in the repository, their order in time is unknown",
        _stack(sce_echo_variant="t0"),
    ),
    Fitted(
        "receiver-ta",
        "receiver T1",
        "every SCE segment is acknowledged at once, no second ACK (T-a, tcp_input.c 7b32f85e)",
        "an earlier version in the repository",
        _stack(sce_echo_variant="ta"),
    ),
    Fitted(
        "receiver-tb",
        "receiver T1",
        "every segment of an ECN flow is acknowledged (T-b, tcp_input.c 67049ea8)",
        "an earlier version in the repository",
        _stack(sce_echo_variant="tb"),
    ),
    Fitted(
        "no-cached-ssthresh",
        "ssthresh 5 remembered for the destination: connections start in congestion avoidance",
        "nothing remembered: slow start",
        "Linux keeps ssthresh in its metrics cache; netperf's idle control connection closes last and lowers it to 5",
        {"flows.*.host.cached_ssthresh": None},
    ),
    Fitted(
        "no-window-cut",
        "DCTCP cuts its window by alpha / 2 at the end of every observation window",
        "as mainline: only on entering CWR",
        "seen in a later version (tcp_dctcp.c 117dae93), absent from c54f3c5a",
        _stack(dctcp_window_cut=False),
    ),
    Fitted(
        "ssthresh-ratchet",
        "an echoed SCE mark sets ssthresh to half the window",
        "it only ever raises ssthresh (tcp_reno_sce.c 63982553)",
        "a newer version in the repository",
        _stack(sce_ssthresh_ratchet=True),
    ),
    Fitted(
        "half-response",
        "Reno-SCE's window falls by the square root of itself a fully marked RTT",
        "by half of that (tcp_reno_sce.c 07bbe597)",
        "an older version in the repository",
        _stack(sce_half_response=True),
    ),
    Fitted(
        "no-extra-delay",
        "0.3 ms of delay per direction in addition to netem's",
        "none",
        "the published RTTs at 0 ms and high rates",
        {"path.delay.extra": "0ms"},
    ),
    Fitted(
        "scale-1448",
        "SCE senders scale acknowledged bytes by 536, the estimate of the peer's segment size of a socket that receives nothing",
        "by the 1448 bytes of the segments sent",
        "read in the source; its magnitude confirmed by the published ramps of 225 and 80 s",
        _stack(sce_scale_bytes=1448),
    ),
)
