"""The hosts of every transfer: which buffers its sender and its receiver had, and the congestion controls by the report's names.

The report lists settings by group of scenarios, and its numbers show that not every run had them; hosts.csv says of each transfer what it
is run with, whether that is as listed or inferred, and from what. The window that a sender advertises, which nobody fills, tells its own
largest receive buffer, and whether windows are scaled.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dumbbell_studies.fairness.published import Place

Words = Mapping[str, Any]
"""Keys of a scenario."""

_FILE = Path(__file__).parent / "hosts.csv"
_FIRST_WITH_OUTAGE = 13
"""The first Combo of the third group."""


@dataclass(frozen=True)
class Control:
    """A congestion control of the report."""

    era: Words
    """Parameters as kernels of the time had them."""
    today: str

    @property
    def style(self) -> str:
        """The congestion control whose colour it has in figures."""
        return self.today


CONTROLS: Mapping[str, Control] = {
    "SACK": Control({"kind": "reno"}, "reno"),
    # CentOS 5 took it into its 2.6.18.
    "CUBIC": Control({"kind": "cubic", "version": "2.2"}, "cubic"),
    "HIGHSPEED": Control({"kind": "highspeed"}, "highspeed"),
    "WESTWOOD": Control({"kind": "westwood"}, "westwood"),
}
"""By the report's names."""


@dataclass(frozen=True)
class Setup:
    """How a transfer is run."""

    cc: str
    """A name of `CONTROLS`."""
    delay_ms: float
    """netem's, at the sender."""
    send_buffer: int
    """Most that tcp_wmem allows the sender, bytes."""
    receive_buffer: int
    """Initial receive buffer (tcp_rmem[1]; it does not adapt), bytes."""
    own_receive_buffer: int
    """The sender's own largest, which decides the scale of the window that it advertises, bytes."""
    window_scaling: bool
    """True if the two hosts negotiate scaled windows."""
    inferred: bool
    """Not as the report lists it."""
    reason: str
    """Reason for the choice."""


@cache
def setups() -> Mapping[Place, Setup]:
    """Return the setup of every transfer of the report."""
    with _FILE.open(newline="", encoding="utf-8") as file:
        return {
            (row["scenario"], row["sender"]): Setup(
                cc=row["cc"],
                delay_ms=float(row["delay_ms"]),
                send_buffer=int(row["send_buffer"]),
                receive_buffer=int(row["receive_buffer"]),
                own_receive_buffer=int(row["own_receive_buffer"]),
                window_scaling=row["window_scaling"] == "on",
                inferred=row["standing"] == "inferred",
                reason=row["reason"],
            )
            for row in csv.DictReader(file)
        }


@cache
def scenario_names() -> tuple[str, ...]:
    """Return the names of all scenarios, in the report's order."""
    return tuple(dict.fromkeys(scenario for scenario, _ in setups()))


@cache
def senders(scenario: str) -> Mapping[str, Setup]:
    """Sender -> how its transfer is run, of a scenario."""
    return {sender: setup for (each, sender), setup in setups().items() if each == scenario}


def has_outage(scenario: str) -> bool:
    """The scenario is of the report's third group, with 100 ms in which everything is lost."""
    return scenario.startswith("Combo") and int(scenario.removeprefix("Combo")) >= _FIRST_WITH_OUTAGE
