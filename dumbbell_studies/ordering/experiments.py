"""Experiments that explain what the page's numbers show: each takes away the mechanism that is supposed, compared with the page's own runs.

- `free-acks`: FAST with next to no queue on the way back. FAST takes the delay of ACKs for its own queue.
- `crowded-acks`: FAST with twenty long-lived flows on the way back instead of two, which keep its queue fuller.
- `todays-filter`: Westwood with the bandwidth filter of later kernels, which begins at its first sample instead of at 0 and forgets the
  least RTT.
- `cubic-2.0`: the first version of CUBIC in Linux, whose curve and whose limit of growth were wrong by factors of 12.8 and 8.
- `no-overshoot`: SACK with slow start ended at half of a flow's share, so that it never overshoots: is what happens then all that matters?
- `small-start-sack`, `small-start-westwood`: slow start ends at 100 segments, where modules of the time ended that of BIC and CUBIC, as if
  most of the window had been lost in it. At 320 ms a flow grows by half a segment a round trip for the rest of the ten minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.comparing.tables import Table
from dumbbell.scenario.values.web import LOAD_MBIT, RATE_MBIT
from dumbbell.study.model import Request
from dumbbell_studies.ordering.conditions import BASE, BUFFERS_MIB, PRINTED, RTTS_MS, Condition
from dumbbell_studies.ordering.controls import ERA, INITIAL_SSTHRESH, LARGE_BUFFERS, Words
from dumbbell_studies.ordering.published import utilization
from dumbbell_studies.ordering.scenarios import TICK, run_of
from dumbbell_studies.ordering.trials import interval, trials

if TYPE_CHECKING:
    from dumbbell.results import Run
    from dumbbell.scenario import ResolvedScenario

_SEGMENT_BITS = 1500 * 8
_RTTS = tuple(replace(BASE, rtt_ms=rtt) for rtt in RTTS_MS)
_BUFFERS = tuple(replace(BASE, buffer_mib=size) for size in BUFFERS_MIB)
_LONG_OR_LARGE = tuple(dict.fromkeys((*_RTTS, *_BUFFERS)))


@dataclass(frozen=True)
class Experiment:
    """A change, and the cells of the page that it is made in."""

    name: str
    title: str
    protocol: str
    conditions: Sequence[Condition]
    control: Words | None = None
    """Instead of the protocol's own."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted key of the scenario -> value."""


def _slow_start_until(segments: int) -> dict[str, Any]:
    """Has slow start of the high-speed flows end there."""
    return {f"flows.{i}.host": {**LARGE_BUFFERS, "cached_ssthresh": f"{segments}p"} for i in range(2)}


def _half_share() -> int:
    """Half of what each of the base condition's flows may have under way, segments."""
    share_bits = (RATE_MBIT - LOAD_MBIT) * 1e6 * (BASE.rtt_ms or 0) / 1e3 / BASE.flows
    return round(share_bits / _SEGMENT_BITS / 2)


EXPERIMENTS = (
    Experiment(
        "free-acks",
        "FAST, 30 kB of queue on the way back",
        "FAST",
        _BUFFERS,
        changes={"path.reverse": {"rate": f"{RATE_MBIT}mbit", "qdisc": {"kind": "dummynet", "limit": "30kB", "tick": TICK}}},
    ),
    Experiment(
        "crowded-acks",
        "FAST, 20 long-lived flows on the way back",
        "FAST",
        _BUFFERS,
        changes={f"flows.{i}.count": 10 for i in (2, 3)},
    ),
    Experiment("todays-filter", "Westwood with today's filter", "WESTWOOD", _LONG_OR_LARGE, {"kind": "westwood"}),
    Experiment(
        "cubic-2.0",
        "CUBIC 2.0",
        "CUBIC",
        _LONG_OR_LARGE,
        {"kind": "cubic", "version": "2.0", "initial_ssthresh": INITIAL_SSTHRESH},
    ),
    Experiment(
        "no-overshoot",
        "SACK, slow start ends at half of a flow's share",
        "SACK",
        (BASE,),
        changes=_slow_start_until(_half_share()),
    ),
    *(
        Experiment(
            f"small-start-{protocol.lower()}",
            f"{protocol}, slow start ends at {INITIAL_SSTHRESH} segments",
            protocol,
            _LONG_OR_LARGE,
            changes=_slow_start_until(INITIAL_SSTHRESH),
        )
        for protocol in ("SACK", "WESTWOOD")
    ),
)
"""Scenarios with a common RTT: their high-speed flows are the first two entries, the long-lived ones on the way back the next two."""
QUICK_NOTE = "one seed of each experiment and of the page's own runs compared with it"


def experiments(request: Request) -> list[ResolvedScenario]:
    """The runs of all experiments, and the page's own next to them."""
    own = dict.fromkeys((each.protocol, condition) for each in EXPERIMENTS for condition in each.conditions)
    seeds = range(1, request.seeds + 1)
    runs = [run_of(condition, protocol, ERA, seed) for protocol, condition in own for seed in seeds]
    for each in EXPERIMENTS:
        for condition in each.conditions:
            runs += [run_of(condition, each.protocol, ERA, seed, each.control, each.changes, each.name) for seed in seeds]
    return runs


def experiment_table(runs: Sequence[Run]) -> Table:
    """One row per experiment and cell: utilisation as published, of our own run, and of the experiment."""
    found = trials(runs)
    cells = {(trial.experiment, trial.condition) for trial in found.all}
    rows = []
    for each in EXPERIMENTS:
        for condition in each.conditions:
            if (each.name, condition) not in cells:
                continue
            level = next(level for level, printed in PRINTED.items() if printed == condition)
            values = [
                [trial.utilization for trial in found.of(each.protocol, condition, experiment)]
                for experiment in ("", each.name)
                if (experiment, condition) in cells
            ]
            published = f"{utilization()[(*level, each.protocol)]:.4f}"
            rows.append([each.title, condition.name, published, *(_shown(each) for each in values)])
    return Table(
        "Experiments that explain the page's numbers: link utilisation",
        ["experiment", "condition", "published", "dumbbell", "experiment's"],
        rows,
    )


def _shown(values: Sequence[float]) -> str:
    mean, low, _ = interval(values)
    return f"{np.mean(values):.4f}" + (f" ± {mean - low:.4f}" if np.isfinite(low) else "")
