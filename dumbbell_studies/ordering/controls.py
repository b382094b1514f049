"""The protocols of the page as congestion controls: of the kernels of 2006, and of today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell.scenario import Scenario

Words = Mapping[str, Any]
"""A congestion control as scenarios have it: its kind, and parameters."""


@dataclass(frozen=True)
class Protocol:
    """A protocol by the name that the page gives it."""

    name: str
    era: Words
    """Parameters as the kernels of 2006 had them."""
    today: str
    """The congestion control of a current kernel."""
    tolerance: float | None
    """How near to the published utilisation dumbbell's must come; None where only orderings are judged."""

    @property
    def style(self) -> str:
        """The congestion control whose colour it has in figures."""
        return str(self.era["kind"])


FAST_ALPHA = 100
"""Fitted: the page prints none. It is the default of FAST's ns-2 module, see `fitted`."""
INITIAL_SSTHRESH = 100
"""`initial_ssthresh` of BIC and CUBIC: the default of their modules in 2006, segments."""

PROTOCOLS: Mapping[str, Protocol] = {
    each.name: each
    for each in (
        # The authors' own patch of the time: version 2.1, with the initial ssthresh of the module before it.
        Protocol("CUBIC", {"kind": "cubic", "version": "2.1", "initial_ssthresh": INITIAL_SSTHRESH}, "cubic", 0.03),
        Protocol("BIC", {"kind": "bic", "initial_ssthresh": INITIAL_SSTHRESH}, "bic", 0.03),
        Protocol("HTCP", {"kind": "htcp", "version": "linux-2.6.18"}, "htcp", 0.05),
        Protocol("HSTCP", {"kind": "highspeed"}, "highspeed", 0.03),
        # An increase every 50 ACKs, each of two segments: tcp_scalable.c until Linux 4.16.
        Protocol("STCP", {"kind": "scalable", "ai_cnt": 50}, "scalable", 0.03),
        Protocol("FAST", {"kind": "fast", "alpha": FAST_ALPHA}, "fast", None),
        Protocol("SACK", {"kind": "reno"}, "reno", None),
        Protocol("WESTWOOD", {"kind": "westwood", "version": "linux-2.6.16"}, "westwood", None),
    )
}
"""In the order of the page's tables."""
JUDGED = tuple(each.name for each in PROTOCOLS.values() if each.tolerance is not None)
"""The five whose utilisation is compared within a tolerance."""


@dataclass(frozen=True)
class Mode:
    """The hosts of all flows."""

    name: str
    stack: str
    of_its_time: bool
    """Congestion controls are those of 2006, else those of today."""

    def control(self, protocol: str) -> Words:
        """The congestion control of a protocol."""
        found = PROTOCOLS[protocol]
        # FAST is in no kernel, and its parameter is the same.
        return found.era if self.of_its_time or protocol == "FAST" else {"kind": found.today}


MODES: Mapping[str, Mode] = {mode.name: mode for mode in (Mode("2006", "linux-2.6", True), Mode("modern", "linux-6.12", False))}
ERA, MODERN = MODES["2006"], MODES["modern"]

LARGE_BUFFERS: Words = {"rcvbuf": "64MiB", "sndbuf": "64MiB"}
"""Buffers of long-lived flows, which never limit them. A single flow at 320 ms with a buffer of 8 MiB has 24 MB under way."""


def validated(document: Mapping[str, Any], folder: str) -> Scenario:
    """A scenario whose files are in a folder."""
    from dumbbell.documents.source import FOLDER

    return Scenario.model_validate(document, context={FOLDER: folder})
