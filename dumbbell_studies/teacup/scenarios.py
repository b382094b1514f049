"""The trials: three flows through one bottleneck, 60 s each, started 20 s apart.

    host1, host2, host3 --1 Gbit/s-- [htb 10 Mbit/s: qdisc] [netem RTT/2, 1000 packets] -- host4, host5, host6   (data)
    host1, host2, host3 ------------ [netem RTT/2, 1000 packets] [htb 10 Mbit/s: qdisc] -- host4, host5, host6   (ACKs)

Each direction is first shaped, as in TEACUP's router, with the queue discipline under test as the leaf of htb, and then delayed. htb is
given only rate and ceil, so its burst is tc's minimum of one MTU. Source: TEACUP's routersetup.py, `init_tc_pipe`, published with the
report.

Control runs keep the AQM inactive at first. They test the claim that the AQM ends slow start too soon: see `control`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dumbbell.study.model import Request, overrides_of
from dumbbell.study.repeats import JITTER, repeats
from dumbbell_studies.teacup.fitted import LINUX
from dumbbell_studies.teacup.published import Experiment

if TYPE_CHECKING:
    from dumbbell.scenario import ResolvedScenario


@dataclass(frozen=True)
class Sender:
    """Congestion control and stack for one of the report's names of a congestion control."""

    cc: str
    stack: str


SENDERS: Mapping[str, Sender] = {
    "newreno": Sender(cc="reno", stack="freebsd-9"),
    "cubic": Sender(cc="cubic", stack="linux-3.9"),
}
FURTHER: Mapping[str, Sender] = {
    "cdg": Sender(cc="cdg", stack="freebsd-9"),
    "freebsd-cubic": Sender(cc="cubic", stack="freebsd-9"),
}
"""Senders of further trials: CDG, whose hosts the appendix of the report lists, and the CUBIC that these hosts had."""
QDISCS: Mapping[str, Mapping[str, Any]] = {
    "pfifo": {"kind": "pfifo"},
    "pie": {"kind": "pie", "variant": "2013", "hz": 10_000, "target": "20ms", "tupdate": "30ms", "alpha": 2, "beta": 20},
    "codel": {"kind": "codel", "variant": "linux-3.10", "target": "5ms", "interval": "100ms", "ecn": True},
    "fq_codel": {
        "kind": "fq_codel",
        "variant": "linux-3.10",
        "flows": 1024,
        "quantum": "1514B",
        "target": "5ms",
        "interval": "100ms",
        "ecn": True,
    },
}
TAIL_DROP = "pfifo"
AQMS = tuple(name for name in QDISCS if name != TAIL_DROP)
RTTS_MS = (20.0, 200.0)
TAIL_DROP_LIMIT, LIMITS_PACKETS = 180, (180, 2000)
"""Queue limits of tail drop and of the AQMs."""
RATE = "10mbit"
OPEN_RATE = "1gbit"
"""Rate of the hosts' links, and of a stage that is not the bottleneck."""
STARTS_S, FLOW_S = (0.0, 20.0, 40.0), 60.0
RUN_S = STARTS_S[-1] + FLOW_S + 1
"""Duration of a trial: until the last flow has ended, with any jitter."""
HEADER = "24B"
"""Header that iperf 2 writes before its data, in a separate write (`client_hdr`, six words; src/Client.cpp, `InitiateServer`)."""
SAMPLE = "20ms"
SEEDS = 10
"""Runs of each experiment; the claims are judged on all of them."""

CONTROL_RTT_MS, CONTROL_LIMIT, CONTROL_S = 200.0, 180, 20.0
CONTROL_FROM_S = tuple(fifths / 5 for fifths in range(5, 31))
"""Onset times of the AQM in the control runs: every 0.2 s from 1 to 6 s."""
CONTROL_SEEDS = 3
"""Maximum number of seeds of a control run."""
ONSET = "onset_s"
"""Coordinate of the control runs: when the AQM becomes active."""
QUICK_NOTE = "2 seeds unless --seeds says otherwise, without the runs for comparison"


def experiments() -> list[Experiment]:
    """The experiments of the report, and those with AQMs, 2000 packets and 200 ms, which it leaves out."""
    return _trials_of(tuple(SENDERS))


def further() -> list[Experiment]:
    """The same trials with CDG, and with FreeBSD's CUBIC."""
    return _trials_of(tuple(FURTHER))


def _trials_of(ccs: Sequence[str]) -> list[Experiment]:
    tail_drop = [Experiment(cc, TAIL_DROP, rtt, TAIL_DROP_LIMIT) for cc in ccs for rtt in RTTS_MS]
    return tail_drop + [Experiment(*each) for each in itertools.product(ccs, AQMS, RTTS_MS, LIMITS_PACKETS)]


def document(experiment: Experiment) -> dict[str, Any]:
    """The scenario of an experiment, as a user would write it."""
    queue = {"rate": RATE, "shaper": "htb", "qdisc": _qdisc(experiment.qdisc, experiment.limit_packets)}
    return {
        "name": f"teacup-{experiment.cc}-{experiment.qdisc}-{experiment.rtt_ms:g}ms-{experiment.limit_packets}p",
        "path": {
            "rtt": f"{experiment.rtt_ms:g}ms",
            "delay": {"where": "after", "limit": "1000p"},
            "access": {"rate": OPEN_RATE},
            "bottleneck": queue,
        },
        "flows": [_flow(experiment.cc, number, start_s, f"{FLOW_S:g}s") for number, start_s in enumerate(STARTS_S, 1)],
        "duration": f"{RUN_S:g}s",
        "sample": SAMPLE,
        "passive_rtt": True,
    }


def control(experiment: Experiment, onset_s: float) -> dict[str, Any]:
    """The first 20 s of the first flow, with an AQM that drops nothing before `onset_s`.

    Until then a tail-drop queue with the same limit is the bottleneck, followed by the AQM at a high rate. At `onset_s` the two stages swap
    their rates, and the standing queue moves to the AQM.
    """
    delay = {"name": "delay", "delay": f"{experiment.rtt_ms / 2:g}ms", "limit": "1000p"}
    aqm = _qdisc(experiment.qdisc, experiment.limit_packets)
    tail_drop = _qdisc(TAIL_DROP, experiment.limit_packets)

    def queue(name: str, rate: str, discipline: Mapping[str, Any]) -> dict[str, Any]:
        return {"name": name, "rate": rate, "shaper": "htb", "qdisc": discipline}

    return {
        "name": f"teacup-control-{experiment.cc}-{experiment.qdisc}-{onset_s:g}s",
        "path": {
            "forward": [{"name": "access", "rate": OPEN_RATE}, queue("front", RATE, tail_drop), queue("bottleneck", OPEN_RATE, aqm), delay],
            "reverse": [queue("bottleneck", RATE, aqm), delay],
            "impairments": [
                {"kind": "rate", "at": f"{onset_s:g}s", "stage": "front", "rate": OPEN_RATE},
                {"kind": "rate", "at": f"{onset_s:g}s", "stage": "bottleneck", "rate": RATE},
            ],
        },
        "flows": [_flow(experiment.cc, 1, STARTS_S[0], f"{CONTROL_S:g}s")],
        "duration": f"{CONTROL_S + 1:g}s",
        "sample": SAMPLE,
        "passive_rtt": True,
    }


def scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs: trials, and control runs unless the request is quick. All runs start with jitter."""
    runs = [run for each in experiments() for run in repeats(document(each), cell(each), for_hosts(request, each.cc))]
    if not request.quick:
        few = replace(request, seeds=min(request.seeds, CONTROL_SEEDS))
        for cc, name, onset_s in itertools.product(SENDERS, AQMS, CONTROL_FROM_S):
            each = Experiment(cc, name, CONTROL_RTT_MS, CONTROL_LIMIT)
            runs += repeats(control(each, onset_s), {**cell(each), ONSET: onset_s}, for_hosts(few, cc))
    return runs


def further_scenarios(request: Request) -> list[ResolvedScenario]:
    """The requested runs of the further trials."""
    return [run for each in further() for run in repeats(document(each), cell(each), for_hosts(request, each.cc))]


def for_hosts(request: Request, cc: str) -> Request:
    """Return the request for the senders of one congestion control: options of Linux's stack are for the Linux hosts alone."""
    base = _sender(cc).stack
    options, others = overrides_of(LINUX, request.override), request.without(LINUX)
    if not options or not base.startswith(LINUX):
        return others
    return replace(others, override={**others.override, "flows.*.stack": {"base": base, **options}})


def cell(experiment: Experiment) -> dict[str, str | float]:
    """The coordinates of an experiment."""
    return {
        "cc": experiment.cc,
        "qdisc": experiment.qdisc,
        "rtt_ms": experiment.rtt_ms,
        "limit_packets": float(experiment.limit_packets),
    }


def _sender(cc: str) -> Sender:
    return {**SENDERS, **FURTHER}[cc]


def _qdisc(name: str, limit_packets: int) -> dict[str, Any]:
    return {**QDISCS[name], "limit": f"{limit_packets}p"}


def _flow(cc: str, number: int, start_s: float, duration: str) -> dict[str, Any]:
    sender = _sender(cc)
    return {
        "name": str(number),
        "cc": sender.cc,
        "stack": sender.stack,
        "ecn": False,
        "src": f"host{number}",
        "dst": f"host{number + len(STARTS_S)}",
        "host": {"sndbuf": "600kB", "rcvbuf": "600kB"},
        "first_write": HEADER,
        "start": {"first": f"{start_s:g}s", "jitter": JITTER},
        "duration": duration,
    }
