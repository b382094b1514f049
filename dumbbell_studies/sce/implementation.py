"""The SCE kernel of June 2019 as it was built, and as its authors describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

STACK = "linux-5.1-sce"


@dataclass(frozen=True)
class Implementation:
    """Options of stack, host and queue in which the two differ."""

    name: str
    options: Mapping[str, Any]
    """Options of the TCP stack."""
    cached_ssthresh: str | None
    """The hosts' cached ssthresh; None if connections begin in slow start."""
    single: str
    """The ramp that cake uses for the keyword `sce-single`."""
    base: str = STACK
    """The stack whose options these are."""
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters of congestion controls, by name."""

    @property
    def stack(self) -> str | dict[str, Any]:
        """The stack in the form that a scenario expects."""
        return {"base": self.base, **self.options} if self.options else self.base

    def control(self, cc: str) -> str | dict[str, Any]:
        """Return a congestion control in the form that a scenario expects."""
        return {"kind": cc, **self.parameters[cc]} if cc in self.parameters else cc

    def queue(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Cake's keywords, with `sce-single` replaced by the ramp of this implementation."""
        return {**keywords, "sce": self.single} if keywords["sce"] == "single" else dict(keywords)


DRAFT = Implementation("as built", {}, "5p", "single")
"""The implementation that the draft measured."""

DESIGNED = Implementation(
    "as designed",
    {"sce_scale_bytes": 1448, "sce_cut_twice": False, "dctcp_window_cut": False, "dctcp_sce_latch": False},
    None,
    "single-steep",
)
"""The implementation that the draft describes.

SCE senders scale by the segment size that they send, and reduce the window once per CE mark, by a quarter or an eighth. DCTCP is that of
mainline. Connections begin in slow start. `sce-single` shifts the ramp without flattening it."""

_AS_BUILT: Mapping[str, Any] = {"sce_scale_bytes": 536, "sce_cut_twice": True, "dctcp_window_cut": True, "dctcp_sce_latch": True}
"""The quirks of June 2019 as options of a stack that is a later one."""
_5_1: Mapping[str, Any] = {
    "prr_below_ssthresh": "retransmission",
    "tso_defer": "head-old",
    "cwnd_limited": "at-maximum",
    "tso_rtt_log": None,
    "ack_full_push": False,
}
"""The five rules of Linux 5.1 that options give to Linux 6.12."""

LIKE_6_12 = Implementation("Linux 6.12 as built", _AS_BUILT, "5p", "single", "linux-6.12")
"""The SCE code of June 2019 in Linux 6.12, which a kernel of this project can be (`dumbbell kernel build --with sce`)."""
LIKE_5_1 = Implementation("Linux 5.1 as built", {**_AS_BUILT, **_5_1}, "5p", "single", "linux-6.12", {"dctcp": {"count": "acked"}})
"""The same with five rules of TCP, and the bytes that DCTCP counts, as in Linux 5.1."""
