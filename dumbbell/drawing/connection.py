"""One connection of a capture over time: sequence numbers, RTT, outstanding data and windows, throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.drawing.layout import figure_of, head, legend_columns, set_head, with_fixed_layout
from dumbbell.drawing.style import Size, of_flow, styled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

_RESENT = "#B2182B"
_ACKS = "#1B7837"
_WINDOW = "#E69F00"


@dataclass(frozen=True)
class Way:
    """One direction of a connection that carried data, as arrays. Times are in s, counted as the capture does."""

    title: str
    """Title that says from where to where the data go."""
    sent: Mapping[str, NDArray[np.float64]]
    """Packets with payload: `t_s`, `start`, `end` (bytes of the stream), `again` (bytes that were sent before), `outstanding`."""
    answers: Mapping[str, NDArray[np.float64]]
    """Packets that acknowledge: `t_s`, `ack`, `window`, `outstanding` after them, `rtt_ms` (NaN if it has none)."""
    rates: tuple[NDArray[np.float64], NDArray[np.float64]]
    """Starts of windows and Mbit/s in them, of payload that was not sent before."""


def connection_figure(title: str, ways: list[Way], size: Size, from_s: float, to_s: float) -> Figure:
    """Draw a column for each direction and a row for each of time-sequence, RTT, outstanding data and window, throughput.

    Time counts from `from_s`.
    """
    with styled(size) as geometry:
        figure, axes = figure_of(4, len(ways), geometry.width, 0.95 * geometry.tall, sharex=True)
        set_head(figure, head(title, geometry))
        for column, way in zip(axes.T, ways, strict=True):
            _sequence(column[0], way, geometry.line, from_s)
            _rtt(column[1], way, geometry.line, from_s)
            _outstanding(column[2], way, geometry.line, from_s)
            column[3].step(way.rates[0] - from_s, way.rates[1], where="post", linewidth=geometry.line, color=of_flow(0)[0])
            column[3].set_ylabel("new payload (Mbit/s)")
            for axis in column:
                axis.grid(True)
                axis.set_axisbelow(True)
                axis.set_ylim(bottom=0)
            column[0].set_title(way.title, loc="left")
            column[3].set_xlabel("time (s)")
            column[3].set_xlim(0, max(to_s - from_s, 1e-6))
        handles = {label: handle for axis in axes.flat for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=legend_columns(list(handles), geometry))
        figure.align_ylabels()
        return with_fixed_layout(figure)


def _sequence(axis: Axes, way: Way, width: float, from_s: float) -> None:
    """Draw payload as vertical strokes from its first to its last number, retransmissions in red, and the acknowledged number as steps."""
    sent, again = way.sent, way.sent["again"] > 0
    for chosen, colour, label, stroke in ((~again, of_flow(0)[0], "sent", width), (again, _RESENT, "retransmitted", 1.6 * width)):
        if chosen.any():
            low, high = sent["start"][chosen] / 1e6, sent["end"][chosen] / 1e6
            # Rasterised in the SVG too: tens of thousands of strokes as shapes would take megabytes.
            axis.vlines(sent["t_s"][chosen] - from_s, low, high, colors=colour, linewidth=stroke, label=label, rasterized=True, zorder=3)
    known = np.isfinite(way.answers["ack"])
    highest = np.maximum.accumulate(way.answers["ack"][known]) / 1e6
    axis.step(way.answers["t_s"][known] - from_s, highest, where="post", linewidth=0.7 * width, color=_ACKS, label="acknowledged")
    axis.set_ylabel("sequence (MB)")


def _rtt(axis: Axes, way: Way, width: float, from_s: float) -> None:
    known = np.isfinite(way.answers["rtt_ms"])
    colour, marker = of_flow(0)
    times = way.answers["t_s"][known] - from_s
    axis.plot(times, way.answers["rtt_ms"][known], color=colour, marker=marker, markersize=1.6 * width, linestyle="none", rasterized=True)
    axis.set_ylabel("RTT (ms)")


def _outstanding(axis: Axes, way: Way, width: float, from_s: float) -> None:
    times = np.concatenate([way.sent["t_s"], way.answers["t_s"]])
    values = np.concatenate([way.sent["outstanding"], way.answers["outstanding"]])
    order = np.argsort(times, kind="stable")
    axis.step(times[order] - from_s, values[order] / 1e3, where="post", linewidth=0.7 * width, color=of_flow(0)[0], label="outstanding")
    window = way.answers["window"] / 1e3
    axis.step(way.answers["t_s"] - from_s, window, where="post", linewidth=0.7 * width, color=_WINDOW, label="advertised window")
    axis.set_ylabel("data (kB)")
