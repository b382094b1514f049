"""Plans as JSON text, which the simulator reads and which is part of a run's key."""

from __future__ import annotations

from functools import partial

from pydantic_core import to_json

from dumbbell.plan.kept import Kept
from dumbbell.plan.model import Plan, Workload

_NONE = b'"workloads":[]'


def as_json(plan: Plan, kept: Kept) -> str:
    """What `plan.plain()` is as JSON. The text of a workload is made once for all plans that share it (`kept`, see `make`).

    By pydantic's serialiser, the fastest there is here: this is done for every cell of a sweep.
    """
    # In strings quotes are escaped, and no other key has this name: the first is the one.
    before, _, after = to_json(plan.plain(workloads=False)).partition(_NONE)
    texts = [kept.get(("text", i), workload, (), partial(_text, workload)) for i, workload in enumerate(plan.workloads)]
    return b"".join((before, b'"workloads":[', b",".join(texts), b"]", after)).decode()


def _text(workload: Workload) -> bytes:
    return to_json(workload.plain())
