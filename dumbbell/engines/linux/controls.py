"""Congestion controls of Linux with the parameters of their modules, which the catalogue names. A module has one value of each for all
connections.

The catalogue has no module's name of parameters that the kernel puts into tables when it starts (cubic's beta and bic_scale), which no
later change reaches, and of those that it takes no other value of while it runs (all of illinois, window of cdg).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dumbbell.catalogue import Parameter, entries
from dumbbell.engines.linux import sce
from dumbbell.plan import Place, Plan, Refusal, Tcp
from dumbbell.plan.parameters import shown


@dataclass(frozen=True)
class Control:
    """A congestion control."""

    summary: str
    needs_ecn: bool = False
    """It works on marks."""
    wants_sce: bool = False
    """It answers to SCE marks."""
    draws: bool = False
    """It draws random numbers."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """Parameters of its module."""


def _control(name: str, summary: str, needs_ecn: bool = False, draws: bool = False) -> Control:
    parameters = {each.name: each for each in entries("cc")[name].parameters if each.word}
    return Control(summary, needs_ecn, draws=draws, parameters=parameters)


def _of_sce(name: str, summary: str, modules: Mapping[str, str]) -> Control:
    """Return a congestion control of the patches for SCE. `modules`: parameter -> its name in the module."""
    parameters = {each.name: replace(each, word=modules[each.name]) for each in entries("cc")[name].parameters if each.name in modules}
    return Control(summary, wants_sce=True, parameters=parameters)


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
_SCALE = {"scale_bytes": "scale_bytes"}
_CUTS = {"ssthresh_ratchet": "ssthresh_ratchet", "cut_twice": "cut_twice"}
_DCTCP = {"count": "dctcp_count_acked", "window_cut": "dctcp_window_cut"}
_OF_SETS: Mapping[str, Mapping[str, Control]] = {
    sce.NAME: {
        "reno-sce": _of_sce("reno-sce", "Reno-SCE (patch/sce)", {**_SCALE, **_CUTS, "half_response": "half_response"}),
        "dctcp-sce": _of_sce("dctcp-sce", "DCTCP-SCE (patch/sce)", {**_SCALE, **_CUTS}),
        "cubic-sce": _of_sce("cubic-sce", "CUBIC-SCE (patch/sce)", _SCALE),
        "dctcp": replace(CONTROLS["dctcp"], parameters={**CONTROLS["dctcp"].parameters, **_of_sce("dctcp", "", _DCTCP).parameters}),
    }
}
"""By set of changes, the congestion controls that a kernel with it has or has with more parameters."""
_NUMBERS = {"off": 0, "train": 1, "delay": 2, "both": 3, "delivered": 0, "acked": 1}
"""The modules' numbers for words: ways to end slow start, and what a share is taken of."""


def controls(sets: Collection[str] = ()) -> dict[str, Control]:
    """Return the congestion controls of a kernel with these sets of changes, by name."""
    return {**CONTROLS, **{name: control for each in sets for name, control in _OF_SETS.get(each, {}).items()}}


_EVERY = controls(tuple(_OF_SETS))


def conflicts(plan: Plan) -> Iterator[Refusal]:
    """Parameters that flows of one congestion control would have different values of."""
    first: dict[tuple[str, str], Any] = {}
    for i, prefix, workload in plan.over_tcp:
        kind = workload.cc["kind"]
        for name, parameter in _parameters(kind).items():
            value = _value(workload, name, parameter)
            if (others := first.setdefault((kind, name), value)) != value:
                what = f"{shown(value)} differs from the {shown(others)} of other flows, and Linux has one value for all of {kind}"
                yield Refusal(Place("workload", i), f"{prefix}cc.{name}", what, "the same in all flows, or another cc")


def changed(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return the values of parameters that differ from the module's defaults: file of the value -> value, and its place in the plan."""
    found = {}
    for _, _, workload in plan.over_tcp:
        kind = workload.cc["kind"]
        for name, parameter in _parameters(kind).items():
            if (value := _value(workload, name, parameter)) != parameter.default:
                place = f"/sys/module/tcp_{kind.replace('-', '_')}/parameters/{parameter.word}"
                found[f"{kind}.{name}"] = (f"{_NUMBERS[value] if parameter.words else int(value)}\n", place)
    return found


def _value(workload: Tcp, name: str, parameter: Parameter) -> Any:
    """Return the value of a parameter: what the congestion control is given, or what the stack says, or the default."""
    by_stack = (value for option, value in workload.options.items() if sce.OF_CONTROLS.get(option) == name)
    return workload.cc.get(name, next(by_stack, parameter.default))


def _parameters(kind: str) -> Mapping[str, Parameter]:
    control = _EVERY.get(kind)
    return control.parameters if control else {}
