"""Draws the figures of the front page and of the concept pages, from runs where a figure shows measurements.

    python docs/drawings.py [NAME...]

The figures are SVG with text as text, so that the site can turn their colours for dark pages (docs/theme/site.css). Same sources, same
bytes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import dumbbell
from dumbbell.drawing import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = Path(__file__).parent / "figures" / "concepts"
INK, FAINT, RED, BLUE, GREEN = "#333333", "#9a9a9a", "#d55e00", "#0072b2", "#009e73"
"""Colours of drawings; the last three are Okabe and Ito's."""
UPLOAD = """
name: upload
path: {rtt: 30ms, bottleneck: {rate: 10mbit, qdisc: cake}}
flows: [{cc: cubic, start: 5s}]
background: [{kind: ping}]
sweep: {path.bottleneck.qdisc: [{kind: pfifo, limit: 1000p}, cake]}
duration: 40s
"""
"""The scenario of the front page (README.md has the same)."""
WINDOWS = """
name: windows
path: {rtt: 40ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1000p}}}
flows: [{cc: cubic, host: {rcvbuf: 20kB}}]
duration: 20s
sweep: {flows.0.host.rcvbuf: [12kB, 24kB, 36kB, 48kB, 60kB, 72kB, 84kB, 96kB, 120kB, 144kB, 168kB, 192kB, 240kB, 288kB]}
"""
QUEUES = """
name: queues
path: {rtt: 40ms, bottleneck: {rate: 20mbit, qdisc: {kind: pfifo, limit: 500p}}}
flows: [{cc: cubic, start: 2s}]
background: [{kind: ping, interval: 50ms}]
duration: 20s
sweep: {path.bottleneck.qdisc: [{kind: pfifo, limit: 500p}, codel, fq_codel]}
"""
WINDOW = """
name: window
path: {rtt: 40ms, bottleneck: {rate: 20mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: reno}]
duration: 30s
sweep: {flows.0.cc: [reno, cubic, bbr]}
"""


def sheet(width: float = 7.2, height: float = 3.0) -> tuple[Figure, Axes]:
    """Return an empty figure with one frame."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def plain(axes: Axes) -> None:
    """Take away the frame and the axes: a drawing without a scale."""
    axes.set_axis_off()


def ran(text: str) -> list[dumbbell.Run]:
    """Return the runs of a scenario, in the order of its sweep."""
    return list(dumbbell.run(dumbbell.Scenario.from_text(text)))


def upload() -> Figure:
    """A ping while an upload runs, through a plain queue and through cake."""
    figure, axes = sheet(height=3.2)
    for run, name, colour in zip(ran(UPLOAD), ("plain queue (pfifo)", "cake"), (RED, BLUE), strict=True):
        time_s, rtt_ms = run.series("ping/ping", "rtt_ms")
        axes.plot(time_s, rtt_ms, color=colour, linewidth=2)
        axes.text(28, 520 if "pfifo" in name else 36, name, color=colour, weight="bold")
    axes.axvline(5, color=FAINT, linestyle=":")
    axes.text(5.4, 22.5, "the upload starts", color=INK)
    axes.set_yscale("log")
    axes.set_ylim(20, 2000)
    axes.set_yticks([30, 100, 300, 1000], ["30 ms", "100 ms", "300 ms", "1 s"])
    axes.set_yticks([], minor=True)
    axes.set_xlim(0, 40)
    axes.set_xlabel("time (s)")
    axes.set_title("Ping during an upload, 10 Mbit/s", loc="left")
    return figure


def path() -> Figure:
    """Three links with a queue before the narrow one."""
    from matplotlib.patches import Rectangle

    figure, axes = sheet(height=2.4)
    plain(axes)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 34)
    for left, right, half, label in ((12, 38, 6, "1 Gbit/s"), (52, 76, 2, "10 Mbit/s: the bottleneck"), (76, 92, 6, "1 Gbit/s")):
        axes.add_patch(Rectangle((left, 16 - half), right - left, 2 * half, facecolor="#e8eef4", edgecolor=INK))
        axes.text((left + right) / 2, 25, label, ha="center", color=INK)
    for place in (16, 25, 33):
        axes.add_patch(Rectangle((place, 14.5), 1.6, 3, facecolor=BLUE))
    for place in range(6):
        axes.add_patch(Rectangle((40.2 + 1.9 * place, 14.5), 1.6, 3, facecolor=RED))
    for place in (54, 60, 66, 72, 80, 88):
        axes.add_patch(Rectangle((place, 14.5), 1.6, 3, facecolor=BLUE))
    axes.text(6, 16, "sender", ha="center", va="center", color=INK)
    axes.text(97, 16, "receiver", ha="center", va="center", color=INK)
    axes.text(46, 6, "queue", ha="center", color=RED, weight="bold")
    axes.annotate("", (92, 2), (12, 2), arrowprops={"arrowstyle": "<->", "color": FAINT})
    axes.text(72, 4, "base RTT: there and back without the queue", ha="center", color=INK)
    return figure


def bdp() -> Figure:
    """Goodput and RTT of one flow over the data that it keeps in flight."""
    from dumbbell import metrics

    flight, goodput, rtt = [], [], []
    for run in ran(WINDOWS):
        sent = metrics.throughput_mbit(run.series("flow/cubic", "rx_bytes"), 5, 20)
        srtt = metrics.mean(run.series("flow/cubic", "srtt_ms"), 5, 20)
        goodput.append(sent)
        rtt.append(srtt)
        flight.append(sent * srtt / 8)  # Little's law: kB in flight = rate x time
    figure, axes = sheet(height=3.4)
    right = axes.twinx()
    axes.plot(flight, goodput, color=BLUE, marker="o", markersize=4)
    right.plot(flight, rtt, color=RED, marker="o", markersize=4)
    axes.axvline(50, color=FAINT, linestyle=":")
    axes.annotate("1 BDP = 10 Mbit/s x 40 ms = 50 kB", (50, 1), (6, 0), textcoords="offset points", color=INK)
    axes.annotate("goodput", (flight[-3], goodput[-3]), (0, -16), textcoords="offset points", color=BLUE, weight="bold")
    right.annotate("RTT", (flight[-3], rtt[-3]), (-4, 12), textcoords="offset points", color=RED, weight="bold", ha="right")
    axes.set_ylim(0, 12)
    right.set_ylim(0, 240)
    axes.set_xlim(0)
    axes.set_xlabel("data in flight (kB)")
    axes.set_ylabel("goodput (Mbit/s)", color=BLUE)
    right.set_ylabel("RTT (ms)", color=RED)
    return figure


def kinds() -> Figure:
    """A FIFO, an AQM and a fair queue as boxes of packets of three flows."""
    from matplotlib.patches import Circle, Rectangle

    figure, axes = sheet(height=3.4)
    plain(axes)
    axes.set_xlim(0, 100)
    axes.set_ylim(0, 62)

    def packets(y: float, hues: Sequence[str], start: float = 36) -> None:
        for i, hue in enumerate(hues):
            axes.add_patch(Rectangle((start + 2.6 * i, y), 2, 4, facecolor=hue))

    def row(y: float, title: str, note: str) -> None:
        axes.text(2, y + 2, title, va="center", color=INK, weight="bold")
        axes.text(76, y + 2, note, va="center", color=INK)

    row(52, "plain queue (FIFO)", "everybody waits")
    packets(52, [BLUE] * 8 + [GREEN] + [BLUE] * 4 + [RED])
    row(36, "queue with AQM", "drops early, so the\nqueue stays short")
    packets(36, [BLUE, BLUE, GREEN, BLUE, RED], start=36 + 9 * 2.6)
    axes.add_patch(Circle((52, 38), 1.6, facecolor="none", edgecolor=RED, linewidth=2))
    axes.plot([50.9, 53.1], [36.9, 39.1], color=RED, linewidth=2)
    row(14, "fair queue", "a queue per flow, taken\nin turns: small flows\ndo not wait")
    packets(20, [BLUE] * 6, start=36 + 8 * 2.6)
    packets(14, [GREEN], start=36 + 13 * 2.6)
    packets(8, [RED], start=36 + 13 * 2.6)
    return figure


def delays() -> Figure:
    """The delay of a queue over time through three disciplines."""
    figure, axes = sheet(height=3.2)
    looks = (("pfifo, 500 packets", RED, 10), ("codel", GREEN, 9), ("fq_codel", BLUE, -14))
    for run, (name, colour, above) in zip(ran(QUEUES), looks, strict=True):
        time_s, rtt_ms = run.series("ping/ping", "rtt_ms")
        axes.plot(time_s, rtt_ms, color=colour, linewidth=1.6)
        middle = float(np.median(rtt_ms[time_s > 10]))
        axes.annotate(name, (19.8, middle), (0, above), textcoords="offset points", ha="right", color=colour, weight="bold")
    axes.set_yscale("log")
    axes.set_ylim(30, 600)
    axes.set_yticks([40, 100, 300], ["40 ms", "100 ms", "300 ms"])
    axes.set_yticks([], minor=True)
    axes.set_xlim(0, 20)
    axes.set_xlabel("time (s)")
    axes.set_title("Ping next to one CUBIC flow, 20 Mbit/s", loc="left")
    return figure


def window() -> Figure:
    """The congestion window of three congestion controls over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), layout="constrained")
    frames = figure.subplots(3, sharex=True, sharey=True)
    for axes, run, name in zip(frames, ran(WINDOW), ("reno", "cubic", "bbr"), strict=True):
        time_s, cwnd = run.series(f"flow/{name}", "cwnd")
        axes.plot(time_s, cwnd, color=style.colour(name), linewidth=1.6)
        axes.axhline(66, color=FAINT, linestyle=":")
        axes.set_title(name, loc="left", color=style.colour(name), weight="bold")
        axes.set_ylim(0, 200)
    frames[0].annotate("1 BDP", (28, 66), (0, -12), textcoords="offset points", color=INK)
    frames[0].set_xlim(0, 30)
    frames[1].set_ylabel("congestion window (packets)")
    frames[2].set_xlabel("time (s)")
    return figure


def agreement() -> Figure:
    """The distance of each throughput of a study's quick set from the published number, in tolerances."""
    from dumbbell.results.folder import open_folder
    from dumbbell.study.reproduction import compare_folder

    with tempfile.TemporaryDirectory() as folder:
        command = ["reproduce", "sce", "--part", "one-flow", "--quick", "--no-figures", "--out", folder]
        subprocess.run([sys.executable, "-m", "dumbbell", *command], check=True, capture_output=True)
        _, found = compare_folder(open_folder(Path(folder))).principal
    cells = sorted((cell for cell in found.cells if cell.metric == "throughput_mbit"), key=lambda cell: cell.error / cell.allowed)
    errors = [cell.error / cell.allowed for cell in cells]
    figure, axes = sheet(height=3.4)
    axes.axhspan(-1, 1, color="#e3efe9")
    axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.scatter(range(1, len(errors) + 1), errors, s=26, color=[BLUE if cell.within else RED for cell in cells], zorder=3)
    within = sum(cell.within for cell in cells)
    axes.text(1, 0.35, f"within the tolerance: {within} of {len(cells)}", color=BLUE, weight="bold")
    worst = cells[-1]
    axes.annotate(
        f"{worst.key['cc']}, {worst.key['bandwidth_mbit']:g} Mbit/s, {worst.key['delay_ms']:g} ms:\n"
        f"dumbbell {worst.ours:.3g}, published {worst.theirs:.3g} Mbit/s",
        (len(errors), errors[-1]),
        (-10, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        color=RED,
    )
    axes.set_xticks([])
    axes.set_xlabel("cells of the study, sorted")
    axes.set_ylabel("error (tolerances)")
    axes.set_title("Throughput compared with draft-heist-tsvwg-sce, quick set", loc="left")
    return figure


DRAWN: Mapping[str, Callable[[], Figure]] = {
    function.__name__: function for function in (upload, path, bdp, kinds, delays, window, agreement)
}


def main(names: Sequence[str]) -> None:
    """Draw the named figures, or all."""
    from matplotlib import rc_context

    for name in names or DRAWN:
        with style.styled("screen"), rc_context({"svg.hashsalt": "dumbbell", "svg.fonttype": "none", "axes.grid": False}):
            DRAWN[name]().savefig(FIGURES / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main(sys.argv[1:])
