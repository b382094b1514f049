"""What an engine can run, and the refusal of what it cannot."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from dumbbell.scenario import (
    Bottleneck,
    Cake,
    Codel,
    Flow,
    Fq,
    FqCodel,
    Outage,
    Pie,
    Problem,
    Red,
    ResolvedScenario,
    ScenarioError,
    bottlenecks,
    nearest,
    one_of,
)
from dumbbell.scenario.check import LEAST_BUFFER
from dumbbell.scenario.problems import Location
from dumbbell.scenario.units import Size

SCE = "SCE"
SYSCTLS = "sysctls"
OUTAGE = "outages"
RATE_STEP = "rate steps"
UDP = "UDP"
REVERSE = "reverse flows"
CAPTURE = "captures"
FIRST_WRITE = "first writes"
OTHER_KERNELS = "qdiscs of other kernels"
ADAPTIVE_RED = "adaptive RED"
GENTLE_RED = "gentle RED"
FQ_CE_THRESHOLD = "ce_threshold of fq"
OFFLOAD = {"tso": "offload tso", "on": "offload on"}
"""Names of features that an engine may have or lack."""


@dataclass(frozen=True)
class Capability:
    """Something an engine knows by name."""

    summary: str
    needs_ecn: bool = False
    """For a congestion control: it works on marks."""
    wants_sce: bool = False
    """For a congestion control: it answers to SCE marks."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For a stack: the fields a scenario may override, and their values."""
    cc: Collection[str] | None = None
    """For a stack: the congestion controls that run on it; None: all."""
    ecn: bool = True
    """For a stack: it negotiates ECN."""
    offload: bool = True
    """For a stack: it builds multi-segment chunks."""
    buffer_factor: int = 2
    """For a stack: what it makes of the size of a socket buffer that an application asks for (Linux doubles it)."""
    buffer_options: Mapping[str, str] = field(default_factory=dict)
    """For a stack: its options that stand in place of Linux's sysctls `rmem` and `wmem`."""


@dataclass(frozen=True)
class _Need:
    """Something that a scenario asks for."""

    location: Location
    kind: str
    """The table of an engine that must name it."""
    name: str
    stack: str = ""
    """For an option: the stack whose it is."""


@dataclass(frozen=True)
class Capabilities:
    """The table of an engine."""

    engine: str
    cc: Mapping[str, Capability]
    qdisc: Mapping[str, Capability]
    stack: Mapping[str, Capability]
    shaper: tuple[str, ...]
    feature: frozenset[str]

    @classmethod
    def from_table(cls, engine: str, table: Mapping[str, Any]) -> Capabilities:
        """From plain data.

        `{"cc": {name: {summary, needs_ecn, wants_sce}}, "qdisc": {name: {summary}}, "stack": {name: {summary, options, cc, ecn, offload,
        buffer_factor, buffer_options}}, "shaper": [names], "feature": [names]}`; what an entry does not name has its default, and what is
        unknown is left
        """
        known = [each.name for each in fields(Capability)]

        def entries(kind: str) -> dict[str, Capability]:
            return {name: Capability(**{key: entry[key] for key in known if key in entry}) for name, entry in table[kind].items()}

        return cls(engine, entries("cc"), entries("qdisc"), entries("stack"), tuple(table["shaper"]), frozenset(table["feature"]))

    def refuse(self, runs: Iterable[ResolvedScenario], others: Sequence[Capabilities] = ()) -> None:
        """Raises `ScenarioError` with everything in the runs that the engine cannot run; each problem once.

        A problem names those of the `others` that have what this engine lacks.
        """
        problems: dict[Problem, None] = {}
        for run in runs:
            for need in _needs(run):
                if need.name in self._known(need) or (need.kind == "option" and need.stack not in self.stack):
                    continue  # an unknown stack is complained about as such
                holders = [other.engine for other in others if need.name in other._known(need)]
                problems[run.problem(need.location, self._lack(need, holders))] = None
            for location, what in self._contradictions(run):
                problems[run.problem(location, f"{what}; the engine is {self.engine}")] = None
        if problems:
            raise ScenarioError(list(problems))

    def _known(self, need: _Need) -> Collection[str]:
        if need.kind == "option":
            stack = self.stack.get(need.stack)
            return stack.options if stack else ()
        return getattr(self, need.kind)  # type: ignore[no-any-return]

    def _lack(self, need: _Need, holders: Sequence[str]) -> str:
        if need.kind == "feature":
            instead = f"engine: {' or '.join(holders)}" if holders else "a scenario without"
            return f"the engine {self.engine} has no {need.name}; expected {instead}"
        noun = "option of the stack" if need.kind == "option" else need.kind
        known = sorted(self._known(need))
        expected = one_of(known)
        if holders:
            return f"the engine {self.engine} has no {noun} {need.name!r}; expected {expected}, or engine: {' or '.join(holders)}"
        return f"unknown {noun} {need.name!r}{nearest(need.name, known)}; expected {expected}; the engine is {self.engine}"

    def _contradictions(self, run: ResolvedScenario) -> Iterator[tuple[Location, str]]:
        for i, flow in enumerate(run.settings.flows):
            cc = self.cc.get(flow.cc)
            if cc is not None and cc.needs_ecn and flow.ecn is False:
                yield ("flows", i, "ecn"), f"false leaves {flow.cc} without the marks that it works on; expected true, or another cc"
            if stack := self.stack.get(flow.stack.base):
                if cc is not None and stack.cc is not None and flow.cc not in stack.cc:
                    what = f"{flow.cc} does not run on the stack {flow.stack.base}"
                    yield ("flows", i, "cc"), f"{what}; expected {one_of(sorted(stack.cc))}"
                yield from _unlike(("flows", i), flow, stack)
                yield from _buffers(("flows", i, "host"), flow, stack)


def _unlike(location: Location, flow: Flow, stack: Capability) -> Iterator[tuple[Location, str]]:
    """What the stack of a flow does not do."""
    name = f"the stack {flow.stack.base}"
    if not stack.ecn and flow.ecn:
        yield (*location, "ecn"), f"{name} does not negotiate ECN; expected false"
    if not stack.ecn and flow.sce_echo:
        yield (*location, "sce_echo"), f"{name} does not echo marks; expected false"
    if not stack.offload and flow.host.offload != "none":
        yield (*location, "host", "offload"), f"{name} sends packet by packet; expected none"


def _buffers(location: Location, flow: Flow, stack: Capability) -> Iterator[tuple[Location, str]]:
    """Socket buffers that the stack does not know or that hold too little."""
    for key, option in stack.buffer_options.items():
        if getattr(flow.host, key) != type(flow.host).model_fields[key].default:
            what = f"the stack {flow.stack.base} has no sysctl tcp_{key}"
            yield (*location, key), f"{what}; expected the option {option} of the stack, or rcvbuf and sndbuf"
    for key in ("rcvbuf", "sndbuf"):
        size = getattr(flow.host, key)
        if size is not None and stack.buffer_factor * size < LEAST_BUFFER:
            what = f"{size}, which the kernel doubles," if stack.buffer_factor == 2 else str(size)
            yield (*location, key), f"{what} has no room for two packets; expected at least {Size(LEAST_BUFFER // stack.buffer_factor)}"


def _needs(run: ResolvedScenario) -> Iterator[_Need]:
    settings = run.settings
    for i, flow in enumerate(settings.flows):
        yield from _flow_needs(("flows", i), flow)
    for location, bottleneck in bottlenecks(settings):
        yield from _queue_needs(location, bottleneck)
    for i, impairment in enumerate(settings.path.impairments):
        yield _Need(("path", "impairments", i), "feature", OUTAGE if isinstance(impairment, Outage) else RATE_STEP)
    for key in ("capture", "passive_rtt"):
        if getattr(settings, key):
            yield _Need((key,), "feature", CAPTURE)
    for i in range(len(settings.background)):
        yield _Need(("background", i), "feature", UDP)


def _flow_needs(location: Location, flow: Flow) -> Iterator[_Need]:
    yield _Need((*location, "cc"), "cc", flow.cc)
    yield _Need((*location, "stack", "base"), "stack", flow.stack.base)
    for option in flow.stack.options:
        yield _Need((*location, "stack", option), "option", option, flow.stack.base)
    if flow.first_write is not None:
        yield _Need((*location, "first_write"), "feature", FIRST_WRITE)
    if flow.sce_echo:
        yield _Need((*location, "sce_echo"), "feature", SCE)
    if flow.direction == "reverse":
        yield _Need((*location, "direction"), "feature", REVERSE)
    if flow.host.offload in OFFLOAD:
        yield _Need((*location, "host", "offload"), "feature", OFFLOAD[flow.host.offload])
    if flow.host.sysctls:
        yield _Need((*location, "host", "sysctls"), "feature", SYSCTLS)


def _queue_needs(location: Location, bottleneck: Bottleneck) -> Iterator[_Need]:
    yield _Need((*location, "qdisc", "kind"), "qdisc", bottleneck.qdisc.kind)
    yield _Need((*location, "shaper"), "shaper", bottleneck.shaper_kind)
    if isinstance(bottleneck.qdisc, Cake) and bottleneck.qdisc.sce:
        yield _Need((*location, "qdisc", "sce"), "feature", SCE)
    if isinstance(bottleneck.qdisc, Codel | FqCodel | Pie) and bottleneck.qdisc.variant != "linux-6.12":
        yield _Need((*location, "qdisc", "variant"), "feature", OTHER_KERNELS)
    if isinstance(bottleneck.qdisc, Red):
        for key, feature in (("adaptive", ADAPTIVE_RED), ("gentle", GENTLE_RED)):
            if getattr(bottleneck.qdisc, key):
                yield _Need((*location, "qdisc", key), "feature", feature)
    if isinstance(bottleneck.qdisc, Fq) and bottleneck.qdisc.ce_threshold is not None:
        yield _Need((*location, "qdisc", "ce_threshold"), "feature", FQ_CE_THRESHOLD)
