"""The capabilities that two engines share, from which the scenarios of a set are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dumbbell.engines import Capabilities
from dumbbell.errors import BadInput, nearest

USUAL_STACK = "linux-6.12"
"""The stack of flows that name none."""
_NEEDS_COMMAND = "tc"
"""The kind of qdisc for which a scenario contains a tc command."""


@dataclass(frozen=True)
class Shared:
    """The intersection of two tables of capabilities, in the order of the first table."""

    cc: tuple[str, ...]
    needs_ecn: frozenset[str]
    """Congestion controls that respond to ECN marks."""
    qdisc: tuple[str, ...]
    shaper: tuple[str, ...]
    stack: str
    """The stack of the scenarios: linux-6.12, or the only one of a kernel of another series if both engines have that."""
    option: frozenset[str]
    """Options of this stack."""
    feature: frozenset[str]
    wants_sce: frozenset[str]
    """Shared congestion controls that answer to SCE marks; they are known for segments of 1448 bytes alone."""

    @classmethod
    def of(cls, first: Capabilities, second: Capabilities) -> Shared:
        """The capabilities common to both engines. Raises `BadInput` if no scenario can be made from them."""
        stack = _stack(first, second)
        shared = cls(
            cc=tuple(name for name in first.cc if name in second.cc),
            needs_ecn=frozenset(name for table in (first, second) for name, cc in table.cc.items() if cc.needs_ecn),
            qdisc=tuple(name for name in first.qdisc if name in second.qdisc and name != _NEEDS_COMMAND),
            shaper=tuple(name for name in first.shaper if name in second.shaper),
            stack=stack,
            option=_options(first, stack) & _options(second, stack),
            feature=first.feature & second.feature,
            wants_sce=frozenset(name for name, cc in first.cc.items() if name in second.cc and cc.wants_sce),
        )
        for what, names in (("congestion control", shared.cc), ("qdisc", shared.qdisc), ("shaper", shared.shaper)):
            if not names:
                raise BadInput(f"the engines {first.engine} and {second.engine} share no {what}; expected engines that can be compared")
        return shared

    def with_qdiscs(self, names: Sequence[str]) -> Shared:
        """The same, restricted to these qdiscs. Raises `BadInput` for a qdisc that is not shared."""
        for name in names:
            if name not in self.qdisc:
                raise BadInput(f"qdisc {name!r} is not shared{nearest(name, self.qdisc)}; expected some of {', '.join(self.qdisc)}")
        return replace(self, qdisc=tuple(names))

    def shapers(self, qdisc: str) -> tuple[str, ...]:
        """The shapers under which the qdisc can run, its own first."""
        others = tuple(name for name in self.shaper if name not in ("cake", "dummynet"))
        if qdisc == "dummynet":
            return ("dummynet",)
        return ("cake", *others) if qdisc == "cake" and "cake" in self.shaper else others


def _stack(first: Capabilities, second: Capabilities) -> str:
    for table, other in ((first, second), (second, first)):
        own = table.stands_for.get(USUAL_STACK, USUAL_STACK)
        if own != USUAL_STACK and own in other.stack:
            return own
    return USUAL_STACK


def _options(table: Capabilities, stack: str) -> frozenset[str]:
    """The options of the stack that an engine has by this name."""
    found = table.stack.get(table.stands_for.get(stack, stack))
    return frozenset() if found is None else frozenset(found.options)
