"""What the kernel engine can run: what the configuration of the kernel that `dumbbell kernel build` makes has built in."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache

from dumbbell.engines.capabilities import CAPTURE, OFFLOAD, OUTAGE, RATE_STEP, REVERSE, SYSCTLS, UDP, Capabilities
from dumbbell.engines.linux import PARAMETERS, STACK_OPTIONS

NAME = "kernel"

_CC = {
    "reno": "NewReno (tcp_cong.c)",
    "cubic": "CUBIC with HyStart (tcp_cubic.c)",
    "dctcp": "DCTCP (tcp_dctcp.c)",
    "bbr": "BBR version 1 (tcp_bbr.c)",
    "bic": "BIC (tcp_bic.c)",
    "cdg": "CAIA delay gradient (tcp_cdg.c)",
    "highspeed": "HighSpeed TCP, RFC 3649 (tcp_highspeed.c)",
    "htcp": "H-TCP (tcp_htcp.c)",
    "hybla": "Hybla (tcp_hybla.c)",
    "illinois": "Illinois (tcp_illinois.c)",
    "lp": "Low Priority (tcp_lp.c)",
    "nv": "New Vegas (tcp_nv.c)",
    "scalable": "Scalable TCP (tcp_scalable.c)",
    "vegas": "Vegas (tcp_vegas.c)",
    "veno": "Veno (tcp_veno.c)",
    "westwood": "Westwood+ (tcp_westwood.c)",
    "yeah": "YeAH (tcp_yeah.c)",
}
_QDISC = {
    "pfifo": "tail drop by packets",
    "bfifo": "tail drop by bytes",
    "cake": "CAKE, besteffort: shaper, COBALT, DRR++, flow and host isolation",
    "codel": "CoDel",
    "fq_codel": "FlowQueue-CoDel",
    "pie": "PIE",
    "fq_pie": "FlowQueue-PIE",
    "red": "RED",
    "sfq": "stochastic fairness queueing",
    "fq": "fair queue",
    "tc": "any queue discipline of Linux by its command",
}


@cache
def capabilities() -> Capabilities:
    """What the kernel can run."""
    return Capabilities.from_table(
        NAME,
        {
            "cc": {
                name: {
                    "summary": summary,
                    "needs_ecn": name == "dctcp",
                    "parameters": {each: asdict(parameter) for each, parameter in PARAMETERS.get(name, {}).items()},
                }
                for name, summary in _CC.items()
            },
            "qdisc": {name: {"summary": summary} for name, summary in _QDISC.items()},
            "stack": {"linux-6.12": {"summary": "Linux 6.12 itself", "options": STACK_OPTIONS}},
            "shaper": ["link", "tbf", "htb", "cake"],
            "feature": [*OFFLOAD.values(), SYSCTLS, OUTAGE, RATE_STEP, UDP, REVERSE, CAPTURE],
            "listeners": "own",
        },
    )
