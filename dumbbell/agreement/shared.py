"""The capabilities that two engines share, from which the scenarios of a set are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dumbbell.engines import Capabilities
from dumbbell.errors import BadInput, nearest

_STACK = "linux-6.12"
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
    option: frozenset[str]
    """Options of the stack linux-6.12."""
    feature: frozenset[str]
    wants_sce: frozenset[str]
    """Shared congestion controls that answer to SCE marks; they are known for segments of 1448 bytes alone."""

    @classmethod
    def of(cls, first: Capabilities, second: Capabilities) -> Shared:
        """The capabilities common to both engines. Raises `BadInput` if no scenario can be made from them."""
        shared = cls(
            cc=tuple(name for name in first.cc if name in second.cc),
            needs_ecn=frozenset(name for table in (first, second) for name, cc in table.cc.items() if cc.needs_ecn),
            qdisc=tuple(name for name in first.qdisc if name in second.qdisc and name != _NEEDS_COMMAND),
            shaper=tuple(name for name in first.shaper if name in second.shaper),
            option=_options(first) & _options(second),
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


def _options(table: Capabilities) -> frozenset[str]:
    """The options of the stack that an engine has by the name of the usual one."""
    stack = table.stack.get(table.stands_for.get(_STACK, _STACK))
    return frozenset() if stack is None else frozenset(stack.options)
