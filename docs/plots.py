"""Runs docs/figures/plots.yaml and draws the figures of the page on plots.

python docs/plots.py
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dumbbell

FIGURES = Path(__file__).parent / "figures"
SCENARIO = FIGURES / "plots.yaml"
ASKED: Mapping[str, Mapping[str, Any]] = {
    "plots-lines": {"x": "rtt", "y": "goodput", "by": ("group", "qdisc"), "panels": "flows.0.cc"},
    "plots-ellipses": {"kind": "scatter", "by": ("flows.0.cc", "qdisc"), "where": {"rtt": "80ms"}, "size": "two-column"},
}
"""Name of a figure -> what is asked for."""
COLOURS = 64
"""Lines need few; a palette makes the files a third as large."""


def main() -> None:
    """Draws them."""
    from PIL import Image

    results = dumbbell.run(dumbbell.Scenario.from_file(SCENARIO))
    for name, asked in ASKED.items():
        buffer = io.BytesIO()
        dumbbell.plot(results, **asked).savefig(buffer)
        Image.open(buffer).convert("RGB").quantize(COLOURS).save(FIGURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
