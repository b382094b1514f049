"""Runs the examples and writes the page of them, examples.md next to this file, with a figure each.

    python docs/gallery.py [NAME...]

The figure of a sweep is that of its first run. Examples of the kernel engine are left out, because the kernel is built separately.
"""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import dumbbell
from dumbbell.drawing.run_figure import run_figure

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
FIGURES = DOCS / "figures" / "examples"
COLOURS = 64
"""Lines need few. A palette makes the files a third as large."""
HEAD = """# Examples

Each file in [examples](../examples) is a whole experiment, and its head says what it shows. This page has all of them, with the figure of
their first run. `python docs/gallery.py` makes the page. To run an example and draw it (for a sweep, a summary of its runs), type

    dumbbell run examples/NAME.yaml
    dumbbell plot results/NAME
"""


def shown() -> list[Path]:
    """The examples of the simulator, by name."""
    return [path for path in sorted(EXAMPLES.glob("*.yaml")) if "engine: kernel" not in path.read_text()]


def head(path: Path) -> list[str]:
    """The paragraph with which a file begins, without comment signs."""
    lines = path.read_text().splitlines()
    comments = [line.lstrip("#").strip() for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]]
    return comments[: comments.index("") if "" in comments else None]


def entry(path: Path) -> Iterator[str]:
    """Its section of the page."""
    yield f"\n## {path.stem}\n"
    yield textwrap.fill(
        " ".join([*head(path), f"([{path.name}](../examples/{path.name}))"]), 140, break_long_words=False, break_on_hyphens=False
    )
    yield f"\n![{path.stem} over time](figures/examples/{path.stem}.png)"


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD.rstrip("\n"), *(line for path in shown() for line in entry(path))]) + "\n"


def draw(path: Path) -> None:
    """Write the figure of the first run."""
    from PIL import Image

    first, *_ = dumbbell.run(dumbbell.Scenario.from_file(path))
    buffer = io.BytesIO()
    figure = run_figure(first, "screen")
    figure.savefig(buffer)
    image = Image.open(buffer).convert("RGB")
    image.quantize(COLOURS).save(FIGURES / f"{path.stem}.png", optimize=True)


def main(names: Sequence[str]) -> None:
    """Draw what is named, or all, and write the page."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    for path in shown():
        if not names or path.stem in names:
            draw(path)
    (DOCS / "examples.md").write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
