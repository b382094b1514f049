"""Entities that the figure of a run draws, and their looks: colours tell congestion controls and groups apart, line styles directions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dumbbell.comparing.across.observations import arrived
from dumbbell.drawing import style
from dumbbell.drawing.timeline import Line, Stroke
from dumbbell.metrics import Series

if TYPE_CHECKING:
    from dumbbell.results import Run

MOST_SHOWN = 12
"""Flows that have a line in the legend and a shade each; of more, those of a group are one."""
_OF_FLOWS = ("cwnd", "rx_bytes", "srtt_ms")
"""Series of which a flow that is drawn has one; those from here have all of them."""
_NS_PER_S = 1e9
_PORT_COLOURS = ("#444444", "#999999", "#BBBBBB")


@dataclass(frozen=True)
class Drawn:
    """A flow, or a group of connections."""

    entity: str
    label: str
    """In the legend; several may share one."""
    colour: str
    direction: str
    look: str
    """Key that entities of one look share."""
    thin: bool = False
    """It is one of many."""
    end_s: float = np.inf
    """End of its life."""
    received_bytes: float = np.nan
    """Bytes received until then; NaN if that is not known."""

    def line(self, series: Series) -> Line:
        """One of its series, until it was over."""
        return Line(self.label, until(series, self.end_s), self.colour, self.stroke, thin=self.thin)

    @property
    def stroke(self) -> Stroke:
        """Return the style of its lines."""
        return _stroke(self.direction)


@dataclass(frozen=True)
class _Flow:
    """A bulk flow or a group, as far as its look depends on it."""

    entity: str
    name: str
    cc: str
    group: str
    direction: str
    end_s: float = np.inf
    received_bytes: float = np.nan

    @property
    def is_flow(self) -> bool:
        return self.entity.startswith("flow/")


def received(run: Run, drawn: Drawn, in_order: bool) -> Series:
    """Return the bytes that arrived, or those that were read, `in_order`: the samples, and the total at the end, which may be before the
    next sample."""
    sampled = run.sampled[drawn.entity.partition("/")[0]]
    series = {(drawn.entity, name): run.series(drawn.entity, name) for name in ("rx_bytes", "delivered") if name in sampled}
    t_s, values = until(series[drawn.entity, "rx_bytes"] if in_order else arrived(run, drawn.entity, series), drawn.end_s)
    if not t_s.size or not t_s[-1] < drawn.end_s < np.inf or np.isnan(drawn.received_bytes):
        return t_s, values
    return np.append(t_s, drawn.end_s), np.append(values, max(drawn.received_bytes, values[-1]))


def until(series: Series, end_s: float) -> Series:
    """A series up to its first sample at or after a time."""
    t_s, values = series
    last = int(np.searchsorted(t_s, end_s - 1e-9)) + 1
    return t_s[:last], values[:last]


def flows(run: Run) -> list[Drawn]:
    """The bulk flows that were sampled, and the groups of connections that come and go and were.

    Each has a shade of its control's colour, among those of its direction; of more than `MOST_SHOWN` flows those of a group look alike,
    and if there are as many groups, those of a congestion control. Raises `BadInput` if the run has no valid scenario.
    """
    found = _sampled_flows(run)
    looks = [flow.name for flow in found]
    if len(found) > MOST_SHOWN:
        looks = [flow.group for flow in found]
        if len(set(looks)) > MOST_SHOWN:
            looks = [f"{flow.cc} {flow.direction}" for flow in found]
    alike = Counter(looks)
    found += (coming := _sampled_groups(run))
    looks += [group.name for group in coming]
    shades = _shades(dict(zip(looks, found, strict=True)))
    return [
        Drawn(
            flow.entity,
            _label(flow, look, alike[look]),
            shades[look],
            flow.direction,
            look,
            thin=alike[look] > MOST_SHOWN,
            end_s=flow.end_s,
            received_bytes=flow.received_bytes,
        )
        for flow, look in zip(found, looks, strict=True)
    ]


def _shades(looks: Mapping[str, _Flow]) -> dict[str, str]:
    """The colour of each look, given with any flow that has it.

    Congestion controls have their colours. If all flows have the same one, colours tell groups and directions apart, or if these are the
    same, flows.
    """
    if len(looks) > 1 and len({flow.cc for flow in looks.values()}) == 1:
        parts = {look: (flow.group, flow.direction) for look, flow in looks.items()}
        if len(set(parts.values())) == 1 and len(looks) <= style.MOST_HUES:
            parts = {look: (look, flow.direction) for look, flow in looks.items()}
        order = list(dict.fromkeys(parts.values()))
        if len(order) <= style.MOST_HUES:
            hues = [style.of_flow(order.index(part))[0] for part in parts.values()]
            return dict(zip(looks, style.shaded(hues), strict=True))
    shades: dict[str, str] = {}
    for direction in ("forward", "reverse"):
        ccs = {look: flow.cc for look, flow in looks.items() if flow.direction == direction}
        shades |= zip(ccs, style.colours(list(ccs.values())), strict=True)
    return shades


def _label(flow: _Flow, look: str, count: int) -> str:
    """In the legend; `count` flows look alike."""
    name = flow.name if count <= 1 else flow.group if look == flow.group else flow.cc
    notes = [] if flow.cc in name or not flow.is_flow else [flow.cc]
    notes += [f"{count} flows"] if count > 1 else []
    notes += ["reverse"] if flow.direction == "reverse" and "reverse" not in name else []
    return f"{name} ({', '.join(notes)})" if notes else name


def others(run: Run, *names: str) -> list[Line]:
    """Return lines of the other entities that have one of these series, not bulk flows or ports: connections with requests, pages, probes.

    The second of two series of an entity is dashed; many entities look alike.
    """
    bulk = {flow.entity for flow in _sampled_flows(run)}
    found = {key: series for key, series in run.all_series(*names).items() if key[0] not in bulk and key[1] in names}
    entities = list(dict.fromkeys(entity for entity, _ in found))
    many = len(entities) > MOST_SHOWN
    lines = []
    for (entity, name), series in found.items():
        kind, _, own = entity.partition("/")
        label = f"{len(entities)} {'connections' if kind == 'flow' else kind}" if many else own
        colour = style.OTHERS[0 if many else entities.index(entity) % len(style.OTHERS)]
        second = name != names[0]
        lines.append(Line(f"{label}, back" if second else label, series, colour, "dashed" if second else "solid", thin=many))
    return lines


def ports(run: Run, name: str) -> list[Line]:
    """A series of the ports where packets waited."""
    waited = [entity for (entity, _), (_, values) in run.all_series("backlog_packets").items() if np.any(values > 0)]
    shown = [entity for entity in waited if (entity, name) in run.all_series(name)]
    directions = {port["id"]: port["direction"] for port in (run.plan or {}).get("ports", ())}
    return [
        Line(port, run.series(f"port/{port}", name), _PORT_COLOURS[i % len(_PORT_COLOURS)], _stroke(directions.get(port, "forward")))
        for i, port in enumerate(entity.removeprefix("port/") for entity in shown)
    ]


def _sampled_flows(run: Run) -> list[_Flow]:
    from dumbbell.results import asked_flows

    asked, sampled, directions = asked_flows(run), {entity for entity, _ in run.all_series(*_OF_FLOWS)}, _directions(run)
    rows = {str(row["flow"]): row for row in run.flows.rows()}
    found = []
    for name, flow in asked.items():
        if f"flow/{name}" in sampled:
            row = rows.get(name, {})
            group, end_ns = str(row.get("group", flow.name or flow.cc.kind)), row.get("end_ns")
            end_s = np.inf if end_ns is None else end_ns / _NS_PER_S
            received = np.nan if (count := row.get("rx_bytes")) is None else float(count)
            found.append(_Flow(f"flow/{name}", name, flow.cc.kind, group, directions.get(group, flow.direction), end_s, received))
    return found


def _sampled_groups(run: Run) -> list[_Flow]:
    sampled, directions = run.all_series("cwnd"), _directions(run)
    ccs = zip(run.groups.names, run.groups.column("cc"), strict=True)
    return [
        _Flow(f"group/{name}", name, str(cc), name, directions.get(name, "forward"))
        for name, cc in ccs
        if (f"group/{name}", "cwnd") in sampled
    ]


def _directions(run: Run) -> dict[str, str]:
    """By workload."""
    workloads = (run.plan or {}).get("workloads", ())
    return {place["id"]: place["direction"] for place in (workload.get("tcp", workload) for workload in workloads)}


def _stroke(direction: str) -> Stroke:
    return "dashed" if direction == "reverse" else "solid"
