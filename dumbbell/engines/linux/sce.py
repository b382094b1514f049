"""SCE on Linux: what a kernel with our changes has beyond its series, and how it is set (kernel/series/6.12/patch/sce).

The sysctls and the parameters of modules are those of the patches. All of them have the kernel's own behaviour as their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.plan import Place, Plan, Refusal, Tcp
from dumbbell.plan.parameters import shown

NAME = "sce"
"""The name of the set of changes."""
_RULES_SYSCTL = "net.ipv4.tcp_rules_5_1"
_RULES: Mapping[str, tuple[Any, Any, int]] = {
    "prr_below_ssthresh": ("una", "retransmission", 1),
    "tso_defer": ("ack-near", "head-old", 2),
    "cwnd_limited": ("sticky", "at-maximum", 4),
    "ack_full_push": (True, False, 8),
}
"""Option -> its value in the series, its value in Linux 5.1, and the bit of the sysctl for that."""
_ECHOES = {"t1": 1, "t0": 2, "tb": 3, "ta": 4}
"""Variant of the echo -> value of the sysctl tcp_sce."""
OF_CONTROLS: Mapping[str, str] = {
    "sce_scale_bytes": "scale_bytes",
    "sce_ssthresh_ratchet": "ssthresh_ratchet",
    "sce_half_response": "half_response",
    "sce_cut_twice": "cut_twice",
    "dctcp_window_cut": "window_cut",
}
"""Option of the stack -> the parameter of congestion controls that it gives a value to."""
OPTIONS: Mapping[str, Any] = {
    **{name: value for name, (value, _, _) in _RULES.items()},
    "tso_rtt_log": 9,
    "sce_echo_variant": "t1",
    "dctcp_sce_latch": False,
    "sce_scale_bytes": 1448,
    **dict.fromkeys(("sce_ssthresh_ratchet", "sce_half_response", "sce_cut_twice", "dctcp_window_cut"), False),
}
"""Options of the stack that a plan may override, with their defaults."""


def sysctls(workload: Tcp) -> dict[str, str]:
    """Return the sysctls of the hosts of a workload that only such a kernel has or that only it gets."""
    options, found = workload.options, {}
    if workload.sce_echo:
        found["net.ipv4.tcp_sce"] = str(_ECHOES[options.get("sce_echo_variant", "t1")])
        if options.get("dctcp_sce_latch"):
            found["net.ipv4.tcp_sce_keeps_ce"] = "1"
    if bits := sum(bit for name, (_, early, bit) in _RULES.items() if name in options and options[name] == early):
        found[_RULES_SYSCTL] = str(bits)
    if "tso_rtt_log" in options:
        # With 0 a segment grows only if the RTT is below 32 us.
        found["net.ipv4.tcp_tso_rtt_log"] = str(options["tso_rtt_log"] or 0)
    return found


def ramp_lines(qdisc: Mapping[str, Any], place: str) -> Iterator[str]:
    """Yield the line that gives a cake its SCE ramp, as tc would have it. `place`: device, parent and handle in tc's words."""
    if qdisc["kind"] == "cake" and qdisc.get("sce"):
        yield f"qdisc change {place} cake sce {qdisc['sce']}"


def has_ramps(plan: Plan) -> bool:
    """True if a queue of a plan marks SCE."""
    return any(getattr(port, "qdisc", {}).get("sce") for port in plan.ports)


def refusals(plan: Plan) -> Iterator[Refusal]:
    """Yield values of options that neither the series nor Linux 5.1 has."""
    for i, prefix, workload in plan.over_tcp:
        for name, (value, early, _) in _RULES.items():
            if (found := workload.options.get(name, value)) not in (value, early):
                what = f"{shown(found)} is no rule of the kernel"
                yield Refusal(
                    Place("workload", i), f"{prefix}stack.options.{name}", what, f"{shown(value)} or {shown(early)}, or engine: sim"
                )
