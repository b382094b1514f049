"""The SCE kernel of June 2019 as it was built, and as its authors describe it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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

    @property
    def stack(self) -> str | dict[str, Any]:
        """The stack in the form that a scenario expects."""
        return {"base": STACK, **self.options} if self.options else STACK

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
