"""The SCE kernel of June 2019 as it was, and as its authors describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STACK = "linux-5.1-sce"


@dataclass(frozen=True)
class Implementation:
    """What differs, as named options."""

    name: str
    options: Mapping[str, Any]
    """Of the stack."""
    cached_ssthresh: str | None
    """Of the hosts; None: connections begin in slow start."""
    single: str
    """Cake's ramp for the keyword `sce-single`."""

    @property
    def stack(self) -> str | dict[str, Any]:
        """As a scenario writes it."""
        return {"base": STACK, **self.options} if self.options else STACK

    def queue(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Cake's keywords with the ramp that `sce-single` means."""
        return {**keywords, "sce": self.single} if keywords["sce"] == "single" else dict(keywords)


DRAFT = Implementation("as built", {}, "5p", "single")
"""What the draft measured."""

DESIGNED = Implementation(
    "as designed",
    {"sce_scale_bytes": 1448, "sce_cut_twice": False, "dctcp_window_cut": False, "dctcp_sce_latch": False},
    None,
    "single-steep",
)
"""What the draft describes: SCE senders count in segments of the size that they send, and answer CE once, by a quarter or an eighth;
DCTCP is mainline's; connections begin in slow start; `sce-single` moves the ramp without making it flatter."""
