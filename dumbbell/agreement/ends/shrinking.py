"""The fewest actions of a case in which two ends still differ (delta debugging; Zeller and Hildebrandt 2002)."""

from __future__ import annotations

from collections.abc import Iterator

from dumbbell.agreement.ends.kernel import Case
from dumbbell.agreement.ends.rounds import Compared, replayed

_AFTER_NS = 1_000_000
"""How long a shrunken case goes on after its difference."""


def shrunken(each: Compared, name: str | None = None) -> Compared:
    """A case with as few actions as can be found that still differs from the kernel `name` in the same class. Raises `EnvironmentFault`."""
    best = _after(each, [_cut(each)], name) or each
    parts = 2
    while parts <= 2 * len(best.case["actions"]):
        tried = list(_candidates(best.case, parts))
        if found := _after(best, tried, name):
            best = _after(found, [_cut(found)], name) or found
            parts = max(2, parts - 1)
        elif parts > len(best.case["actions"]):
            break
        else:
            parts *= 2
    return best


def _cut(each: Compared) -> Case:
    """Without what comes after the difference."""
    if each.difference is None:
        return each.case
    end = each.difference.at_ns + _AFTER_NS
    last = max(answer["at_ns"] for answer in (each.difference.kernel, each.difference.sim) if answer is not None)
    return each.case | {
        "actions": [action for action in each.case["actions"] if action["at_ns"] <= end],
        "end_ns": last + _AFTER_NS,
    }


def _candidates(case: Case, parts: int) -> Iterator[Case]:
    """The case without each of so many parts of its actions, the later first.

    The call that opens stays, and so do all calls at a one-way end: that of the simulator writes its transfer and closes by itself.
    """
    actions, stay = case["actions"], ("open",) if case["kind"] == "both" else ("open", "write", "read", "close")
    size = -(-len(actions) // parts)
    for start in reversed(range(0, len(actions), size)):
        kept = [action for i, action in enumerate(actions) if not start <= i < start + size or action["do"] in stay]
        if len(kept) < len(actions):
            yield case | {"actions": kept}


def _after(before: Compared, tried: list[Case], kernel: str | None) -> Compared | None:
    """The first of some cases that differs as the one before does."""
    name = before.difference.name if before.difference is not None else ""
    for each in replayed(tried, kernel):
        if each is not None and each.difference is not None and each.difference.name == name:
            return each
    return None
