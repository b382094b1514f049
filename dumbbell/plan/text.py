"""Plans as JSON text, which the simulator reads and which is part of a run's key."""

from __future__ import annotations

from functools import partial

from pydantic_core import to_json

from dumbbell.plan.kept import Kept
from dumbbell.plan.model import Plan, Workload

_NONE = b'"workloads":[]'
_SEED = b'"seed":%d,'


def as_json(plan: Plan, kept: Kept) -> str:
    """Return `plan.plain()` as JSON. The text of a workload is made once for all plans that share the workload (`kept`, see `make`). The
    text of all else but the seed is made once for all runs of a cell.

    It uses pydantic's serialiser, the fastest at hand, because every run of a sweep needs this text.
    """
    # Equal parts are the same text: apart from ports and workloads a plan has no numbers that may be True instead of 1.
    run = plan.duration_ns, plan.sample_ns, plan.capture, plan.captured_ports, plan.mtu_bytes
    parts = *run, plan.hosts, plan.paths, plan.schedule, plan.series
    begin, middle, end = kept.get("around", plan.ports, parts, partial(_around, plan))
    texts = [kept.get(("text", i), workload, (), partial(_text, workload)) for i, workload in enumerate(plan.workloads)]
    return b"".join((begin, _SEED % plan.seed, middle, b'"workloads":[', b",".join(texts), b"]", end)).decode()


def _around(plan: Plan) -> tuple[bytes, bytes, bytes]:
    """Return the text before the seed, the text between the seed and the workloads, and the text after the workloads."""
    # In strings quotes are escaped, and no other key has these names: the first is the one.
    begin, _, rest = to_json(plan.plain(workloads=False)).partition(_SEED % plan.seed)
    middle, _, end = rest.partition(_NONE)
    return begin, middle, end


def _text(workload: Workload) -> bytes:
    return to_json(workload.plain())
