"""Draws loss.png next to this file: goodput of one flow under random losses, and what the formulae say.

    dumbbell run docs/figures/loss.yaml --out SIM
    dumbbell run docs/figures/loss.yaml --out KERNEL --set engine=kernel --set duration=60s --set repeat=2 \\
        --set 'sweep={path.delay.loss: [0.01%, 0.1%, 1%], flows.0.cc: [reno, cubic]}'
    python docs/figures/loss.py SIM KERNEL

Goodput is the mean of all starts from a quarter of the run on (at least 20 s), when slow start is over; the kernel's runs are shorter.

Reno: MSS / RTT * sqrt(3 / (2 b p)) (Mathis and others 1997) with b = 1: Linux acknowledges every second segment, but grows by what an ACK
acknowledges, as if each segment had an ACK of its own. Cubic: RFC 9438, section 5.1 (C = 0.4, beta = 0.7), and Reno's where that is more,
as the Reno-friendly region has it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from dumbbell.drawing import style
from dumbbell.results import Run, load

SEGMENT_BITS = 1448 * 8
RTT_S = 0.05
SHARES = np.geomspace(1e-5, 1e-2, 100)
CUBIC_C, CUBIC_BETA = 0.4, 0.7


def reno(p: np.ndarray) -> np.ndarray:
    """Mean rate after the square-root formula, Mbit/s."""
    return SEGMENT_BITS / RTT_S * np.sqrt(1.5 / p) / 1e6


def cubic(p: np.ndarray) -> np.ndarray:
    """Mean rate after RFC 9438, Mbit/s."""
    window = (CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))) ** 0.25 * (RTT_S / p) ** 0.75
    return np.maximum(window * SEGMENT_BITS / RTT_S / 1e6, reno(p))


def goodput(run: Run) -> float:
    """Mean goodput of the run's flow after slow start, Mbit/s."""
    flow = run.flows.rows()[0]["flow"]
    time_s, received = run.series(f"flow/{flow}", "rx_bytes")
    steady = time_s >= max(20.0, time_s[-1] / 4)
    return float((received[steady][-1] - received[steady][0]) * 8 / 1e6 / (time_s[steady][-1] - time_s[steady][0]))


def means(folder: Path) -> Mapping[str, Mapping[float, tuple[float, float]]]:
    """Congestion control -> share of losses -> mean goodput and its standard error, Mbit/s."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in load(folder):
        cell = run.cell
        found[str(cell["flows.0.cc"])][float(str(cell["path.delay.loss"]).rstrip("%")) / 100].append(goodput(run))
    return {
        cc: {p: (float(np.mean(all_)), float(np.std(all_, ddof=1) / len(all_) ** 0.5)) for p, all_ in sorted(by_p.items())}
        for cc, by_p in found.items()
    }


def main(sim: Path, kernel: list[Path]) -> None:
    """Draws the figure from results folders."""
    from matplotlib.figure import Figure

    simulated = means(sim)
    with style.styled("screen") as geometry:
        figure = Figure(figsize=(geometry.width * 0.6, geometry.width * 0.4), layout="constrained")
        axes = figure.add_subplot()
        for cc, formula in (("reno", reno), ("cubic", cubic)):
            colour = style.colour(cc)
            name = "square-root formula" if cc == "reno" else "RFC 9438"
            axes.plot(SHARES, formula(SHARES), color=colour, linestyle="--", label=f"{cc}, {name}")
            rates = [mean for mean, _ in simulated[cc].values()]
            axes.plot(simulated[cc].keys(), rates, color=colour, marker=style.marker(cc), label=f"{cc}, simulator")
            points = {p: mean for folder in kernel for p, (mean, _) in means(folder)[cc].items()}
            axes.plot(points.keys(), points.values(), "x", color="black", markersize=9, label="kernel" if cc == "cubic" else None, zorder=3)
            for p, (mean, error) in simulated[cc].items():
                expected = float(formula(np.array(p)))
                print(f"{cc} {p:g}: {mean:.2f} +- {error:.2f}, formula {expected:.2f}, kernel {points.get(p, np.nan):.2f}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.set_xlabel("share of packets lost")
        axes.set_ylabel("goodput (Mbit/s)")
        axes.grid(visible=True, which="major")
        axes.legend()
        figure.savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
