"""Parameters of congestion controls: those of Linux's modules. A module has one value of each for all connections.

Leaves out: parameters that the kernel puts into tables when it starts (cubic's beta and bic_scale), which no later change reaches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.plan import Place, Plan, Refusal
from dumbbell.plan.parameters import Parameter, shown

_WINDOW = 1 << 24
PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {
    "cubic": {
        "fast_convergence": Parameter("flag", True, "a flow that meets congestion below its last peak aims lower"),
        "initial_ssthresh": Parameter("integer", 0, "threshold at the start if HyStart is off, packets; 0: none", 0, _WINDOW),
        "tcp_friendliness": Parameter("flag", True, "grows at least as Reno would"),
        "hystart": Parameter("flag", True, "leaves slow start by HyStart"),
        "hystart_detect": Parameter("choice", "both", "what ends slow start", words=("both", "train", "delay")),
        "hystart_low_window": Parameter("integer", 16, "least window that HyStart looks at, packets", 0, _WINDOW),
        "hystart_ack_delta_us": Parameter("integer", 2000, "ACKs no further apart than this belong to a train, us", 0, 10**6),
    },
    "dctcp": {
        "shift_g": Parameter("integer", 4, "gain of the share of marked packets: 2^-shift_g", 0, 10),
        "alpha_on_init": Parameter("integer", 1024, "share of marked packets assumed at first, 1024ths", 0, 1024),
    },
}
"""By congestion control and name."""
_PREFIXES = {"dctcp": "dctcp_"}
"""That a module's own names of its parameters have."""
_DETECT = {"train": 1, "delay": 2, "both": 3}
"""The module's numbers for what ends slow start."""


def conflicts(plan: Plan) -> Iterator[Refusal]:
    """Parameters that flows of one congestion control would have different values of."""
    first: dict[tuple[str, str], Any] = {}
    for i, workload in enumerate(plan.tcp):
        kind = workload.cc["kind"]
        for name, parameter in PARAMETERS.get(kind, {}).items():
            value = workload.cc.get(name, parameter.default)
            if (others := first.setdefault((kind, name), value)) != value:
                what = f"{shown(value)} differs from the {shown(others)} of other flows, and Linux has one value for all of {kind}"
                yield Refusal(Place("workload", i), f"cc.{name}", what, "the same in all flows, or another cc")


def changed(plan: Plan) -> dict[str, tuple[str, str]]:
    """What is to be written for parameters that have not the module's default: file of the value -> value, and where it goes."""
    found = {}
    for workload in plan.tcp:
        kind = workload.cc["kind"]
        for name, parameter in PARAMETERS.get(kind, {}).items():
            if (value := workload.cc.get(name, parameter.default)) != parameter.default:
                place = f"/sys/module/tcp_{kind}/parameters/{_PREFIXES.get(kind, '')}{name}"
                found[f"{kind}.{name}"] = (f"{_DETECT[value] if parameter.words else int(value)}\n", place)
    return found
