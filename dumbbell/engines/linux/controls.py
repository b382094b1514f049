"""Parameters of congestion controls: those of Linux's modules. A module has one value of each for all connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dumbbell.plan import Place, Plan, Refusal
from dumbbell.plan.parameters import Parameter, shown

_MODULES: Mapping[str, tuple[Parameter, ...]] = {
    "cubic": (
        Parameter("hystart", "flag", True, meaning="leave slow start when delay rises"),
        Parameter("hystart_detect", "integer", 3, (1, 3), "by 1 ACK trains, 2 delay, 3 both"),
        Parameter("hystart_low_window", "integer", 16, (0, 1 << 20), "window below which HyStart does nothing, packets"),
        Parameter("hystart_ack_delta_us", "integer", 2000, (0, 10**6), "most time between the ACKs of a train"),
        Parameter("fast_convergence", "flag", True, meaning="leave room for new flows after a loss"),
        Parameter("tcp_friendliness", "flag", True, meaning="grow at least as reno does"),
        Parameter("initial_ssthresh", "integer", 0, (0, 1 << 20), "packets; 0: none"),
    ),
}
"""Those that take effect while the kernel runs; others (beta) are put into tables when it starts."""

PARAMETERS: Mapping[str, Mapping[str, Parameter]] = {kind: {each.name: each for each in listed} for kind, listed in _MODULES.items()}
"""By congestion control and name."""


def conflicts(plan: Plan) -> Iterator[Refusal]:
    """Parameters that flows of one congestion control would have different values of."""
    first: dict[tuple[str, str], object] = {}
    for i, workload in enumerate(plan.tcp):
        kind = workload.cc["kind"]
        for name in PARAMETERS.get(kind, ()):
            value = workload.cc[name]
            if (others := first.setdefault((kind, name), value)) != value:
                what = f"{shown(value)} differs from the {shown(others)} of other flows, and Linux has one value for all of {kind}"
                yield Refusal(Place("workload", i), f"cc.{name}", what, "the same in all flows, or another cc")


def changed(plan: Plan) -> dict[str, tuple[str, str]]:
    """What is to be written for parameters that have not the module's default: file of the value -> value, and where it goes."""
    found = {}
    for workload in plan.tcp:
        kind = workload.cc["kind"]
        for name, parameter in PARAMETERS.get(kind, {}).items():
            if (value := workload.cc[name]) != parameter.default:
                found[f"{kind}.{name}"] = (f"{int(value)}\n", f"/sys/module/tcp_{kind}/parameters/{name}")
    return found
