"""Draws the window of every congestion control with that of the kernel, and writes the section of these figures in controls.md.

    `python docs/controls.py [NAME...]`

draws what is named, or all. Both engines run what `results/controls` lacks; the kernel engine must have been built
(`dumbbell kernel build`), but for congestion controls that no kernel has.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dumbbell
from dumbbell.agreement.space import randomised
from dumbbell.agreement.windows import FIRST_S, trace
from dumbbell.drawing import style
from dumbbell.drawing.timeline import Line, Panel, timeline
from dumbbell.engines import engine
from dumbbell.errors import BadInput, DumbbellError, nearest
from dumbbell.results import Run

DOCS = Path(__file__).parent
PAGE = DOCS / "controls.md"
FIGURES = DOCS / "figures" / "controls"
RUNS = DOCS.parent / "results" / "controls"
BLOCK = re.compile(r"(<!-- generated controls figures -->\n).*?(<!-- end -->)", re.DOTALL)
ENGINES = ("kernel", "sim")
"""In the order in which they are drawn."""
COLOURS, DPI = 32, 130
"""Colours and dots per inch of the files: lines need few colours, and 130 dots an inch make them 920 wide."""
FIFO = {"kind": "pfifo", "limit": "1bdp"}
OTHER_QUEUES: dict[str, dict[str, Any]] = {
    "dctcp": {"kind": "codel", "ecn": True, "ce_threshold": "2ms"},
    "sce": {"kind": "cake", "isolation": "flowblind", "sce": True},
}
"""Queues for congestion controls that answer to marks, which a FIFO does not set: dctcp's, and that of all that answer to SCE."""


def controls() -> list[str]:
    """Return the simulator's congestion controls, by name."""
    return sorted(engine("sim").capabilities().cc)


def on(name: str) -> tuple[str, ...]:
    """The engines that have a congestion control."""
    return tuple(each for each in ENGINES if name in engine(each).capabilities().cc)


def scenario(name: str) -> dumbbell.Scenario:
    """One flow over 20 Mbit/s and 40 ms through a FIFO of one bandwidth-delay product, or a queue that marks if the `cc` needs it."""
    flow: dict[str, Any] = {"cc": name}
    bottleneck: dict[str, Any] = {"rate": "20mbit", "qdisc": OTHER_QUEUES.get(name, FIFO)}
    if engine("sim").capabilities().cc[name].wants_sce:
        flow |= {"stack": "linux-5.1-sce", "ecn": True, "sce_echo": True}
        bottleneck["qdisc"] = OTHER_QUEUES["sce"]
    elif name in OTHER_QUEUES:
        flow["ecn"] = True
    path = {"rtt": "40ms", "bottleneck": bottleneck}
    return dumbbell.Scenario.model_validate({"name": name, "path": path, "flows": [flow], "duration": "40s"})


def title(name: str, runs: Sequence[Run]) -> str:
    """Return the title of a figure: how near the windows are, unless they depend on chance."""
    if len(runs) == 1:
        return name
    if name in randomised():
        return f"{name}: draws random numbers, others on each engine"
    found = trace(name, [(runs[0], runs[1])])
    assert found is not None  # a flow of 40 s has samples
    return f"{name}: {100 * found.within:.1f} % of the samples of the first {FIRST_S:g} s within 2 %"


def draw(name: str) -> None:
    """Run it on every engine that has it, and write its figure."""
    from PIL import Image

    asked = [scenario(name).model_copy(update={"engine": each}) for each in on(name)]
    runs = [run for each in asked for run in dumbbell.run(each, RUNS, workers=1)]
    lines = [
        Line(run.engine["name"], run.series(f"flow/{name}", "cwnd"), style.colour(name), wide=run.engine["name"] == "kernel")
        for run in runs
    ]
    figure = timeline(title(name, runs), [Panel("cwnd (packets)", lines)], "print")
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=DPI)
    FIGURES.mkdir(parents=True, exist_ok=True)
    Image.open(buffer).convert("RGB").quantize(COLOURS).save(FIGURES / f"{name}.png", optimize=True)


def entry(name: str) -> Iterator[str]:
    """Its part of the section."""
    known = engine("sim").capabilities().cc[name]
    yield f"\n### {name}\n"
    yield f"{known.summary[0].upper()}{known.summary[1:]}." + ("" if len(on(name)) > 1 else " The simulator alone.")
    yield f"\n![Window of {name} over time](figures/controls/{name}.png)"


def section() -> str:
    """All of it, without the markers."""
    return "\n".join(line for name in controls() for line in entry(name)) + "\n\n"


def rewritten(text: str) -> str:
    """The page with its section rewritten."""
    return BLOCK.sub(lambda match: match[1] + section() + match[2], text)


def main(names: Sequence[str]) -> None:
    """Draw what is named, or all, and write the page."""
    for name in names:
        if name not in controls():
            raise BadInput(f"congestion control {name!r} is unknown{nearest(name, controls())}; expected one of {', '.join(controls())}")
    chosen = names or controls()
    for each in {each for name in chosen for each in on(name)}:
        engine(each).require()
    for name in chosen:
        draw(name)
    for stale in set(FIGURES.glob("*.png")) - {FIGURES / f"{name}.png" for name in controls()}:
        stale.unlink()
    PAGE.write_text(rewritten(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DumbbellError as error:
        sys.exit(str(error))
