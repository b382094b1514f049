"""Cake, which is a shaper as well as a queue discipline: rules between its keys, and its values in a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dumbbell.documents.problems import Location
from dumbbell.scenario.discipline import PortFacts
from dumbbell.scenario.generated import qdiscs as generated
from dumbbell.scenario.typed import ENCAPSULATIONS, SCE_RAMPS, charged, words


class Cake(generated.Cake):
    __doc__ = generated.Cake.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Two keys that say the same."""
        yield from super().wrong()
        written = words(self.framing)
        lines = [word for word in written if word in ENCAPSULATIONS]
        if lines and self.overhead is not None:
            yield ("overhead",), f"{lines[0]} has an overhead of its own", "one of both"
        if "raw" in written and (len(written) > 1 or self.overhead is not None):
            yield ("framing",), "raw stands beside other words", "raw alone"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return super().planned(port) | {
            "rate_bps": port.rate_bps if port.shaped_here else None,
            **charged(self.framing, self.overhead, self.mpu),
            "sce": SCE_RAMPS[self.sce] if isinstance(self.sce, bool | str) else self.sce,
        }
