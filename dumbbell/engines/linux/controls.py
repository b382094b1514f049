"""Congestion controls of Linux with the parameters of their modules, which the catalogue names. A module has one value of each for all
connections.

The catalogue has no module's name of parameters that the kernel puts into tables when it starts (cubic's beta and bic_scale), which no
later change reaches, and of those that it takes no other value of while it runs (all of illinois, window of cdg).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.catalogue import Parameter, entries
from dumbbell.plan import Place, Plan, Refusal
from dumbbell.plan.parameters import shown


@dataclass(frozen=True)
class Control:
    """A congestion control."""

    summary: str
    needs_ecn: bool = False
    """It works on marks."""
    draws: bool = False
    """It draws random numbers."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Parameters of its module."""


def _control(name: str, summary: str, needs_ecn: bool = False, draws: bool = False) -> Control:
    parameters = {each.name: each for each in entries("cc")[name].parameters if each.word}
    return Control(summary, needs_ecn, draws, parameters)


CONTROLS: Mapping[str, Control] = {
    "reno": _control("reno", "NewReno (tcp_cong.c)"),
    "cubic": _control("cubic", "CUBIC with HyStart (tcp_cubic.c)"),
    "dctcp": _control("dctcp", "DCTCP (tcp_dctcp.c)", needs_ecn=True),
    "bbr": _control("bbr", "BBR version 1 (tcp_bbr.c)", draws=True),
    "bic": _control("bic", "BIC (tcp_bic.c)"),
    "cdg": _control("cdg", "CAIA delay gradient (tcp_cdg.c)", draws=True),
    "highspeed": _control("highspeed", "HighSpeed TCP, RFC 3649 (tcp_highspeed.c)"),
    "htcp": _control("htcp", "H-TCP (tcp_htcp.c)"),
    "hybla": _control("hybla", "Hybla (tcp_hybla.c)"),
    "illinois": _control("illinois", "Illinois (tcp_illinois.c)"),
    "lp": _control("lp", "Low Priority (tcp_lp.c)", draws=True),
    "nv": _control("nv", "New Vegas (tcp_nv.c)", draws=True),
    "scalable": _control("scalable", "Scalable TCP (tcp_scalable.c)"),
    "vegas": _control("vegas", "Vegas (tcp_vegas.c)"),
    "veno": _control("veno", "Veno (tcp_veno.c)"),
    "westwood": _control("westwood", "Westwood+ (tcp_westwood.c)"),
    "yeah": _control("yeah", "YeAH (tcp_yeah.c)"),
}
"""By name."""
_DETECT = {"off": 0, "train": 1, "delay": 2, "both": 3}
"""The module's numbers for the ways to end slow start."""


def conflicts(plan: Plan) -> Iterator[Refusal]:
    """Parameters that flows of one congestion control would have different values of."""
    first: dict[tuple[str, str], Any] = {}
    for i, prefix, workload in plan.over_tcp:
        kind = workload.cc["kind"]
        for name, parameter in _parameters(kind).items():
            value = workload.cc.get(name, parameter.default)
            if (others := first.setdefault((kind, name), value)) != value:
                what = f"{shown(value)} differs from the {shown(others)} of other flows, and Linux has one value for all of {kind}"
                yield Refusal(Place("workload", i), f"{prefix}cc.{name}", what, "the same in all flows, or another cc")


def changed(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return the values of parameters that differ from the module's defaults: file of the value -> value, and its place in the plan."""
    found = {}
    for _, _, workload in plan.over_tcp:
        kind = workload.cc["kind"]
        for name, parameter in _parameters(kind).items():
            if (value := workload.cc.get(name, parameter.default)) != parameter.default:
                place = f"/sys/module/tcp_{kind}/parameters/{parameter.word}"
                found[f"{kind}.{name}"] = (f"{_DETECT[value] if parameter.words else int(value)}\n", place)
    return found


def _parameters(kind: str) -> Mapping[str, Parameter]:
    control = CONTROLS.get(kind)
    return control.parameters if control else {}
