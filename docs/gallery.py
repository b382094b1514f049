"""Runs the examples and writes the page of them, examples.md in this folder: by question, each with the figure that answers it.

    python docs/gallery.py [NAME...]

A figure is what `dumbbell plot` draws with the options of its entry. It is SVG with text as text, so that the site can turn its colours for
dark pages. Examples of the kernel engine are left out, because the kernel is built separately.
"""

from __future__ import annotations

import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from docs.pages import here

DOCS = Path(__file__).parent
EXAMPLES = DOCS.parent / "examples"
FIGURES = DOCS / "figures" / "examples"


class Entry(NamedTuple):
    """A question, and the options with which `dumbbell plot` answers it from the runs of an example."""

    question: str
    options: str


GALLERY: Mapping[str, Mapping[str, Entry]] = {
    "Home and access links": {
        "probes": Entry("How long does a ping wait in the queue?", "--kind cdf --samples --per stream --y rtt --by qdisc --log x"),
        "voip": Entry("Does a voice call survive an upload?", "--per stream --x qdisc --y mos"),
        "asymmetric": Entry("Which queue does a slow uplink need?", "--kind cdf --samples --per port --y backlog_bytes --by qdisc"),
        "cake-home": Entry("How does cake share a home?", "--x time --y goodput --by flow --window 1"),
    },
    "Applications during a download": {
        "web-page": Entry("How long does a page take?", "--per group --x qdisc --y latency_p95"),
        "requests": Entry("How long does a request take?", "--per group --x qdisc --y latency_p95"),
        "streaming": Entry("How long does a video stall?", "--per group --x qdisc --y stalled"),
        "onoff": Entry("How late are frames of a camera?", "--per group --x qdisc --y latency_p95 --log y"),
    },
    "Many connections": {
        "arrivals": Entry("How long do transfers take, by their size?", "--per group --x kind --y completion_p95 --log y"),
        "rtts": Entry("How long do transfers take over paths of different lengths?", "--per group --x group --y completion_median"),
        "short-transfers": Entry("What do short transfers cost a long one?", "--x time --y goodput"),
    },
    "Congestion controls": {
        "one-flow": Entry("How does a window move?", "--x time --y cwnd"),
        "bbr": Entry("Does BBR share with CUBIC?", "--x time --y goodput --by flow"),
        "bbr3": Entry("Does BBRv3 share with CUBIC?", "--x time --y goodput --by flow"),
        "staggered": Entry("Do flows that start later get their share?", "--kind box --per flow --x flow --y goodput"),
    },
    "Buffers and paths": {
        "buffer-sweep": Entry("How large must a buffer be?", "--x limit --y goodput --by cc --log x"),
        "space": Entry("Where in a space of paths is sharing unfair?", "--kind scatter --x srtt_mean --y jain_index"),
        "parking-lot": Entry("What does a flow over three bottlenecks get?", "--per flow --x flow --y goodput"),
        "routers": Entry("Which router of a chain holds the queue?", "--x time --y goodput --by flow --window 1"),
        "stages": Entry("How do flows share a path of several stages?", "--x time --y goodput --by cc --window 1"),
    },
    "Marks and classes": {
        "ecn": Entry("What does ECN change?", "--x time --y cwnd --by flow"),
        "dscp": Entry("What do codepoints change?", "--x time --y goodput --by flow --window 1"),
        "sce": Entry("What do marks of SCE do to a window?", "--x time --y cwnd --by cc"),
        "two-flows": Entry("Does SCE share with flows that do not know it?", "--per flow --x sce --y goodput --by flow --over stack"),
    },
    "Links that change, lose and reorder": {
        "rates": Entry("What happens when the rate changes?", "--x time --y goodput --by cc --window 1"),
        "trace": Entry("How does a cellular link delay a ping?", "--x time --per stream --y rtt --log y"),
        "loss": Entry("What does random loss do to a window?", "--x time --y cwnd --by cc"),
        "reordering": Entry("What does reordering cost?", "--x time --y retransmits"),
    },
    "Hosts": {
        "why-so-slow": Entry("Why is a connection slow?", "--per flow --x flow --y goodput"),
        "slow-reader": Entry("What does a slow reader do?", "--x time --y goodput --by reads"),
        "host-queue": Entry("Does the queue of the sender matter?", "--per flow --x qdisc --y goodput --by cc"),
        "jumbo": Entry("Do large packets get more?", "--x time --y goodput --by flow"),
    },
}
"""Group of questions -> example -> its question."""
HEAD = """# Examples

Each file in [examples](../examples) is a whole experiment, and its head says what it shows. This page has a question for each, and the
figure that answers it. `dumbbell new examples` writes the files into a folder of yours. For programs such as iperf3, see
[Real programs](howto/programs.md). `python docs/gallery.py` makes the page.
"""


def shown() -> list[Path]:
    """The examples of the simulator, by name."""
    return [path for path in sorted(EXAMPLES.glob("*.yaml")) if "engine: kernel" not in path.read_text()]


def head(path: Path) -> list[str]:
    """The paragraph with which a file begins, without comment signs."""
    lines = path.read_text().splitlines()
    comments = [line.lstrip("#").strip() for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("#"))]]
    return comments[: comments.index("") if "" in comments else None]


def plot(name: str) -> str:
    """The command that draws the figure of an example."""
    (options,) = (entries[name].options for entries in GALLERY.values() if name in entries)
    return f"dumbbell plot results/{name} {options}"


def section(name: str, entry: Entry) -> Iterator[str]:
    """An example's part of the page."""
    path = EXAMPLES / f"{name}.yaml"
    yield f'\n<a id="{name}"></a>\n'
    yield f"### {entry.question}\n"
    yield textwrap.fill(
        " ".join([*head(path), f"([{path.name}](../examples/{path.name}))"]), 140, break_long_words=False, break_on_hyphens=False
    )
    yield f"\n    dumbbell run examples/{path.name}\n    {plot(name)}"
    yield f"\n![{entry.question} {name}](figures/examples/{name}.svg)"


def page() -> str:
    """The whole page."""
    lines = [HEAD.rstrip("\n")]
    for group, entries in GALLERY.items():
        lines.append(f"\n## {group}")
        for name, entry in entries.items():
            lines += section(name, entry)
    return "\n".join(lines) + "\n"


def draw(name: str, folder: Path) -> None:
    """Run an example, and write its figure."""
    results = folder / name
    for command in (f"dumbbell run {EXAMPLES / name}.yaml --out {results} --quiet", plot(name).replace(f"results/{name}", str(results))):
        figures = f" --out {results}-figures --format svg" if " plot " in command else ""
        status, _, said = here(shlex.split(command + figures))
        if status:
            raise SystemExit(f"{command}: {said}")
    (figure,) = Path(f"{results}-figures").iterdir()
    (FIGURES / f"{name}.svg").write_bytes(figure.read_bytes())


def main(names: Sequence[str]) -> None:
    """Draw what is named, or all, and write the page."""
    FIGURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in (name for entries in GALLERY.values() for name in entries):
            if not names or name in names:
                draw(name, Path(folder))
    (DOCS / "examples.md").write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
