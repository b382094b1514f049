"""Congestion controls of Linux with the parameters of their modules. A module has one value of each for all connections.

Leaves out: parameters that the kernel puts into tables when it starts (cubic's beta and bic_scale), which no later change reaches, and
those that it takes no other value of while it runs (all of illinois, window of cdg).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dumbbell.plan import Place, Plan, Refusal
from dumbbell.plan.parameters import Parameter, shown

_WINDOW = 1 << 24
_CUBIC: Mapping[str, Parameter] = {
    "fast_convergence": Parameter("flag", True, "a flow that meets congestion below its last peak aims lower"),
    "initial_ssthresh": Parameter("integer", 0, "threshold at the start if HyStart is off, packets; 0: none", 0, _WINDOW),
    "tcp_friendliness": Parameter("flag", True, "grows at least as Reno would"),
    "hystart": Parameter("flag", True, "leaves slow start by HyStart"),
    "hystart_detect": Parameter("choice", "both", "what ends slow start", words=("both", "train", "delay")),
    "hystart_low_window": Parameter("integer", 16, "least window that HyStart looks at, packets", 0, _WINDOW),
    "hystart_ack_delta_us": Parameter("integer", 2000, "ACKs no further apart than this belong to a train, us", 0, 10**6),
}
_BIC: Mapping[str, Parameter] = {
    "fast_convergence": _CUBIC["fast_convergence"],
    "max_increment": Parameter("integer", 16, "most packets a round trip", 1, 1 << 16),
    "low_window": Parameter("integer", 14, "grows and loses as Reno up to this window, packets", 0, _WINDOW),
    "beta": Parameter("integer", 819, "window after a loss, 1024ths", 1, 1023),
    "initial_ssthresh": Parameter("integer", 0, "threshold at the start, packets; 0: none", 0, _WINDOW),
    "smooth_part": Parameter("integer", 20, "round trips for the last packets of the search, times 4", 1, 1 << 10),
}
_HTCP: Mapping[str, Parameter] = {
    "use_rtt_scaling": Parameter("flag", True, "grows by time, not by round trips"),
    "use_bandwidth_switch": Parameter("flag", True, "halves the window where the throughput has changed by a fifth"),
}
_VEGAS: Mapping[str, Parameter] = {
    "alpha": Parameter("integer", 2, "below so many packets in queues the window grows", 0, 1 << 20),
    "beta": Parameter("integer", 4, "above so many packets in queues it shrinks", 0, 1 << 20),
    "gamma": Parameter("integer", 1, "above so many packets in queues slow start ends", 0, 1 << 20),
}
_HYBLA: Mapping[str, Parameter] = {"rtt0": Parameter("integer", 25, "reference RTT, ms", 1, 10_000)}
_CDG: Mapping[str, Parameter] = {
    "backoff_beta": Parameter("integer", 724, "window after backing off, 1024ths", 0, 1024),
    "backoff_factor": Parameter("integer", 42, "backs off with probability 1 - exp(-so many millionths of the gradient in us)", 0, 1 << 16),
    "hystart_detect": Parameter("choice", "both", "what ends slow start", words=("both", "train", "delay", "off")),
    "use_ineff": Parameter("integer", 5, "after so many times without effect it does not back off; 0: it does", 0, 1 << 15),
    "use_shadow": Parameter("flag", True, "a loss leaves at least half of the shadow window"),
    "use_tolerance": Parameter("flag", False, "a loss while the queue is not full leaves the window"),
}
_NV: Mapping[str, Parameter] = {
    "pad": Parameter("integer", 10, "packets that may wait in queues", 0, 1 << 16),
    "reset_period": Parameter("integer", 5, "the least RTT is taken anew about that often, s", 1, 600),
    "min_cwnd": Parameter("integer", 2, "least window without losses, packets", 1, 1 << 16),
}
_DCTCP: Mapping[str, Parameter] = {
    "shift_g": Parameter("integer", 4, "gain of the share of marked packets: 2^-shift_g", 0, 10),
    "alpha_on_init": Parameter("integer", 1024, "share of marked packets assumed at first, 1024ths", 0, 1024),
}


@dataclass(frozen=True)
class Control:
    """A congestion control."""

    summary: str
    needs_ecn: bool = False
    """It works on marks."""
    draws: bool = False
    """It draws random numbers."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    prefix: str = ""
    """Prefix of the module's names of its parameters."""


CONTROLS: Mapping[str, Control] = {
    "reno": Control("NewReno (tcp_cong.c)"),
    "cubic": Control("CUBIC with HyStart (tcp_cubic.c)", parameters=_CUBIC),
    "dctcp": Control("DCTCP (tcp_dctcp.c)", needs_ecn=True, parameters=_DCTCP, prefix="dctcp_"),
    "bbr": Control("BBR version 1 (tcp_bbr.c)", draws=True),
    "bic": Control("BIC (tcp_bic.c)", parameters=_BIC),
    "cdg": Control("CAIA delay gradient (tcp_cdg.c)", draws=True, parameters=_CDG),
    "highspeed": Control("HighSpeed TCP, RFC 3649 (tcp_highspeed.c)"),
    "htcp": Control("H-TCP (tcp_htcp.c)", parameters=_HTCP),
    "hybla": Control("Hybla (tcp_hybla.c)", parameters=_HYBLA),
    "illinois": Control("Illinois (tcp_illinois.c)"),
    "lp": Control("Low Priority (tcp_lp.c)", draws=True),
    "nv": Control("New Vegas (tcp_nv.c)", draws=True, parameters=_NV, prefix="nv_"),
    "scalable": Control("Scalable TCP (tcp_scalable.c)"),
    "vegas": Control("Vegas (tcp_vegas.c)", parameters=_VEGAS),
    "veno": Control("Veno (tcp_veno.c)"),
    "westwood": Control("Westwood+ (tcp_westwood.c)"),
    "yeah": Control("YeAH (tcp_yeah.c)"),
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
                place = f"/sys/module/tcp_{kind}/parameters/{CONTROLS[kind].prefix}{name}"
                found[f"{kind}.{name}"] = (f"{_DETECT[value] if parameter.words else int(value)}\n", place)
    return found


def _parameters(kind: str) -> Mapping[str, Parameter]:
    control = CONTROLS.get(kind)
    return control.parameters if control else {}
