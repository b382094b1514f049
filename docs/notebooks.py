"""Runs the notebooks of docs/notebooks, each in a kernel of its own, and shows them with their results as Markdown.

    python docs/notebooks.py [NAME...]

runs them and shows nothing: it prints a failure with its cell. docs/staging.py puts their results into the site. A notebook is Markdown for
jupytext; its code is what stands in blocks of `python`.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jupytext
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOKS = Path(__file__).resolve().parent / "notebooks"
LONGEST_S = 120
"""Maximum time of a cell, on a machine with much else to do."""


def executed(text: str, figures: Path, name: str) -> str:
    """A notebook with its results. Figures become files `NAME-1.png` ... in the folder that will have the page."""
    notebook = jupytext.reads(text, fmt="md")
    with tempfile.TemporaryDirectory() as folder:
        # Sockets in this folder, so that nobody else on the machine hears or says anything.
        config = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        place = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, timeout=LONGEST_S, startup_timeout=LONGEST_S, kernel_name="python3", resources=place, config=config
        ).execute()
    parts: list[str] = []
    numbered = (figures / f"{name}-{number}.png" for number in range(1, sys.maxsize))
    for cell in notebook.cells:
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [each for output in cell.outputs for each in shown(output, numbered)]
    return "\n\n".join(parts) + "\n"


def shown(output: Mapping[str, Any], figures: Iterator[Path]) -> Iterator[str]:
    """Yield the output of a cell as a page shows it, without progress (stderr)."""
    data = output.get("data", {})
    if output["output_type"] == "stream":
        if output["name"] == "stdout":
            yield f"```text\n{output['text'].rstrip()}\n```"
    elif "image/png" in data:
        figure = next(figures)
        figure.parent.mkdir(parents=True, exist_ok=True)
        figure.write_bytes(base64.b64decode(data["image/png"]))
        yield f"![The figure of this cell]({figure.name})"
    elif "text/html" in data:
        yield f'<div class="output">{data["text/html"]}</div>'
    elif "text/plain" in data:
        yield f"```text\n{data['text/plain']}\n```"


def main(names: Sequence[str]) -> None:
    """Run those that are named, or all."""
    for path in [NOTEBOOKS / f"{name}.md" for name in names] or sorted(NOTEBOOKS.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            executed(path.read_text(encoding="utf-8"), Path(folder), path.stem)


if __name__ == "__main__":
    main(sys.argv[1:])
