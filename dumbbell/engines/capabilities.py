"""Tables of what engines can run, and the refusals of plans that ask for more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, NamedTuple

from dumbbell.catalogue import Parameter, entries
from dumbbell.catalogue.feature import Feature
from dumbbell.errors import nearest, one_of
from dumbbell.plan import RUN, Drop, Hold, Link, Outage, Place, Plan, Queue, RateChange, Refusal, Tcp, Traffic, Workload, over_tcp
from dumbbell.plan.addresses import Listeners
from dumbbell.plan.parameters import expected as expected_of
from dumbbell.plan.parameters import shown, takes
from dumbbell.scenario import Host
from dumbbell.scenario.check import LEAST_BUFFER, MOST_BUFFER
from dumbbell.scenario.qdiscs import features, kind_written
from dumbbell.scenario.units import Size

APPLICATIONS = {"iperf3": Feature.FLOWS_BY_IPERF3, "ftp": Feature.FLOWS_BY_FTP}
OFFLOAD = {"tso": Feature.OFFLOAD_TSO, "on": Feature.OFFLOAD_ON}
"""Features by the value of a setting."""
_INSTEAD: Mapping[str, str] = {Feature.OPPORTUNITIES: "trace: {file: ..., bin: 100ms}, which makes rates of them"}
"""Replacement of a feature that an engine lacks."""


@dataclass(frozen=True)
class Capability:
    """A congestion control, queue discipline or stack of an engine."""

    summary: str
    needs_ecn: bool = False
    """For a congestion control: it works on marks."""
    needs_accecn: bool = False
    """For a congestion control: it works on the number of marks."""
    wants_sce: bool = False
    """For a congestion control: it answers to SCE marks."""
    draws: bool = False
    """For a congestion control: it draws random numbers, so that a run with another seed is another run."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    """For a congestion control: its parameters by name."""
    later: Mapping[str, str] = field(default_factory=dict)
    """For a queue discipline: its parameters that the engine's Linux does not have, with the series that has them first."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For a stack: the fields a scenario may override, and their values."""
    cc: Collection[str] | None = None
    """For a stack: the congestion controls that run on it; None: all."""
    ecn: bool = True
    """For a stack: it negotiates ECN."""
    offload: bool = True
    """For a stack: it builds TSO segments."""
    buffer_factor: int = 2
    """For a stack: its factor on the size of a socket buffer that an application asks for (Linux doubles it)."""
    has_own_buffers: bool = False
    """For a stack: it is a kernel's, which has sizes of buffers by itself."""
    buffer_options: Mapping[str, str] = field(default_factory=dict)
    """For a stack: its options that correspond to Linux's sysctls `rmem` and `wmem`."""


class _Need(NamedTuple):
    """A capability that a plan asks for."""

    place: Place
    field: str
    kind: str
    """The table of an engine that must name it."""
    name: str
    owner: str = ""
    """The stack of an option, or the congestion control of a parameter."""


@dataclass(frozen=True)
class Capabilities:
    """The table of an engine."""

    engine: str
    cc: Mapping[str, Capability]
    qdisc: Mapping[str, Capability]
    stack: Mapping[str, Capability]
    shaper: tuple[str, ...]
    feature: frozenset[str]
    stands_for: Mapping[str, str] = field(default_factory=dict)
    """Names by which scenarios may call a stack of the engine, with that stack."""
    listeners: Listeners = "shared"
    """`shared` if connections to one host share a port that is listened on."""

    @classmethod
    def from_table(cls, engine: str, table: Mapping[str, Any]) -> Capabilities:
        """From plain data.

        `{"cc": {name: {summary, needs_ecn, needs_accecn, wants_sce, draws, parameters: {name: {kind, default, meaning, ...}}}},
        "qdisc": {name: {summary}}, "stack": {name: {summary, options, cc, ecn, offload, buffer_factor, has_own_buffers,
        buffer_options}},
        "shaper": [names], "feature": [names], "stands_for": {name: stack},
        "listeners": ...}`; missing facts have their defaults, unknown ones are ignored
        """
        known = [each.name for each in fields(Capability)]

        def entries(kind: str) -> dict[str, Capability]:
            return {
                name: Capability(**{key: read(key, entry[key]) for key in known if key in entry}) for name, entry in table[kind].items()
            }

        def read(key: str, value: Any) -> Any:
            return {name: Parameter(**each) for name, each in value.items()} if key == "parameters" else value

        own = {name: table[name] for name in ("stands_for", "listeners") if name in table}
        return cls(engine, entries("cc"), entries("qdisc"), entries("stack"), tuple(table["shaper"]), frozenset(table["feature"]), **own)

    def refusals(self, plan: Plan, others: Callable[[], Sequence[Capabilities]] = tuple, passed: Plan | None = None) -> Iterator[Refusal]:
        """Yield all parts of a plan that the engine cannot run. A refusal names those of the `others` that have what this engine lacks.

        Workloads that are the very same objects as in a plan that has passed are not checked again.
        """
        known = set() if passed is None else set(map(id, passed.workloads))
        workloads = [(i, workload) for i, workload in enumerate(plan.workloads) if id(workload) not in known]
        for need in _needs(plan, workloads):
            if need.name in self._known(need) or not self._has_owner(need):
                continue  # a part without a known owner has a refusal of its own
            holders = [other.engine for other in others() if need.name in other._known(need)]
            yield Refusal(need.place, need.field, *self._lack(need, holders))
        yield from self._later(plan)
        for place, name, what, expected in self._contradictions(workloads):
            yield Refusal(place, name, what, f"{expected}; the engine is {self.engine}")

    def _later(self, plan: Plan) -> Iterator[Refusal]:
        """Yield the parameters of queue disciplines that only a later Linux has."""
        for i, port in enumerate(plan.ports):
            kind = kind_written(port.qdisc) if isinstance(port, Queue) else ""
            capability = self.qdisc.get(kind)
            if not isinstance(port, Queue) or capability is None or not capability.later:
                continue
            for parameter in entries("qdisc")[kind].parameters:
                since = capability.later.get(parameter.name)
                if since is not None and parameter.of(port.qdisc) not in (None, parameter.default):
                    what = f"is in Linux since {since}, and the engine {self.engine} has an earlier one"
                    yield Refusal(Place("port", i), f"qdisc.{parameter.field}", what, f"{kind} without {parameter.name}")

    def _has_owner(self, need: _Need) -> bool:
        return not need.owner or need.owner in (self.stack if need.kind == "option" else self.cc)

    def _known(self, need: _Need) -> Collection[str]:
        if not need.owner:
            return getattr(self, need.kind)  # type: ignore[no-any-return]
        if not self._has_owner(need):
            return ()
        return self.stack[need.owner].options if need.kind == "option" else self.cc[need.owner].parameters

    def _lack(self, need: _Need, holders: Sequence[str]) -> tuple[str, str]:
        """Return the error, and what is expected."""
        if need.kind == "feature":
            expected = f"engine: {' or '.join(holders)}" if holders else "a scenario without"
            instead = f", or {_INSTEAD[need.name]}" if need.name in _INSTEAD else ""
            return f"the engine {self.engine} has no {need.name}", expected + instead
        noun = {"option": "option of the stack", "parameter": f"parameter of {need.owner}"}.get(need.kind, need.kind)
        known = sorted(self._known(need))
        if holders:
            expected = " or ".join(f"engine: {holder}" for holder in holders)
            return f"the engine {self.engine} has no {noun} {need.name!r}", f"{one_of(known)}, or {expected}" if known else expected
        expected = one_of(known) if known else "none"
        return f"unknown {noun} {need.name!r}{nearest(need.name, known)}", f"{expected}; the engine is {self.engine}"

    def _contradictions(self, workloads: Sequence[tuple[int, Workload]]) -> Iterator[tuple[Place, str, str, str]]:
        for i, prefix, workload in over_tcp(workloads):
            for name, what, expected in self._contradictions_of(workload):
                yield Place("workload", i), prefix + name, what, expected

    def _contradictions_of(self, workload: Tcp) -> Iterator[tuple[str, str, str]]:
        """Yield field, what is wrong, what is expected."""
        kind = workload.cc["kind"]
        cc, stack = self.cc.get(kind), self.stack.get(workload.stack)
        for name, parameter in (cc.parameters if cc is not None else {}).items():
            if name in workload.cc and not takes(parameter, value := workload.cc[name]):
                yield f"cc.{name}", f"{shown(value)!r} is no value of {name}", expected_of(parameter)
        if cc is not None and cc.needs_ecn and not workload.ecn:
            yield "ecn", f"false leaves {kind} without the marks that it works on", "true, or another cc"
        if stack is None:
            return
        if cc is not None and stack.cc is not None and kind not in stack.cc:
            yield "cc.kind", f"{kind} does not run on the stack {workload.stack}", self._runs(kind, sorted(stack.cc))
            return
        yield from _unlike(workload, stack)
        yield from _buffers(workload, stack)

    def _runs(self, kind: str, others: Sequence[str]) -> str:
        """Return what runs instead of a cc that the stack lacks: the stacks that have it, or another cc of the stack."""
        able = [name for name, stack in self.stack.items() if stack.cc is None or kind in stack.cc]
        if not able:
            return one_of(others)
        return f"stack: {' or '.join(able)}, or {f'cc: {others[0]}' if len(others) == 1 else 'another cc'}"


def _unlike(workload: Tcp, stack: Capability) -> Iterator[tuple[str, str, str]]:
    """Yield the abilities that the stack of a workload lacks: field, what is wrong, what is expected."""
    name = f"the stack {workload.stack}"
    if not stack.ecn and workload.ecn:
        yield "ecn", f"{name} does not negotiate ECN", "false"
    if not stack.ecn and workload.sce_echo:
        yield "sce_echo", f"{name} does not echo marks", "false"
    if not stack.offload and workload.host.tso:
        yield "host.tso", f"{name} sends packet by packet", "none"


def _buffers(workload: Tcp, stack: Capability) -> Iterator[tuple[str, str, str]]:
    """Yield socket buffers that the stack does not know, that hold too little, or that Linux has no number for: field, what is wrong, what
    is expected."""
    for key, option in stack.buffer_options.items():
        if list(getattr(workload.host, key)) != Host.model_fields[key].default:
            what = f"the stack {workload.stack} has no sysctl tcp_{key}"
            yield f"host.{key}", what, f"the option {option} of the stack, or rcvbuf and sndbuf"
    for key in ("rcvbuf", "sndbuf"):
        size = getattr(workload.host, key)
        if size is not None and size < LEAST_BUFFER:
            asked = Size(size // stack.buffer_factor)
            what = f"{asked}, which the kernel doubles," if stack.buffer_factor == 2 else str(asked)
            yield f"host.{key}", f"{what} has no room for two packets", f"at least {Size(LEAST_BUFFER // stack.buffer_factor)}"
        elif size is not None and size > MOST_BUFFER and stack.buffer_factor == 2:
            what = f"{Size(size // 2)}, which the kernel doubles, is more than it has a number for"
            yield f"host.{key}", what, f"at most {MOST_BUFFER // 2}B"


def _needs(plan: Plan, workloads: Sequence[tuple[int, Workload]]) -> Iterator[_Need]:
    """Yield the needs of a plan; for its workloads only those of the given ones, which come with their positions."""
    for i, host in enumerate(plan.hosts):
        if host.egress is not None:
            yield _Need(Place("host", i), "egress", "feature", Feature.HOST_QUEUES)
    for i, prefix, workload in over_tcp(workloads):
        yield from _tcp_needs(Place("workload", i), prefix, workload)
        if workload.host.reads_bps is not None:
            feature = Feature.SLOW_READERS if isinstance(plan.workloads[i], Tcp) else Feature.SLOW_READERS_OF_OTHERS
            yield _Need(Place("workload", i), f"{prefix}host.reads_bps", "feature", feature)
    for i, each in workloads:
        if isinstance(each, Traffic):
            yield _Need(Place("workload", i), "", "feature", each.feature)
            if "rtt_ns" in each.parameters:
                yield _Need(Place("workload", i), "exact_rtts", "feature", Feature.OWN_RTTS)
    for i, port in enumerate(plan.ports):
        if isinstance(port, Queue):
            yield from _queue_needs(Place("port", i), port)
        else:
            yield from _link_needs(Place("port", i), port)
    for i, change in enumerate(plan.schedule):
        yield _Need(Place("change", i), "", "feature", _CHANGES[type(change)])
    if plan.clock_s is not None:
        yield _Need(RUN, "clock_s", "feature", Feature.FLOWS_BY_PROGRAMS)
    if plan.modules:
        yield _Need(RUN, "modules", "feature", Feature.MODULE_CONTROLS)
    if plan.captures:
        yield _Need(RUN, "capture", "feature", Feature.CAPTURES)
    if any(not isinstance(plan.workloads[i], Tcp) for i in plan.series.flows):
        yield _Need(RUN, "series.flows", "feature", Feature.APPLICATION_SERIES)
    if plan.series.groups:
        yield _Need(RUN, "series.groups", "feature", Feature.GROUP_SERIES)
    if plan.series.shares:
        yield _Need(RUN, "series.shares", "feature", Feature.PORT_SHARES)
    if plan.series.state:
        yield _Need(RUN, "series.state", "feature", Feature.STATE_SERIES)
    if plan.series.events:
        yield _Need(RUN, "series.events", "feature", Feature.EVENTS)


def _tcp_needs(place: Place, prefix: str, workload: Tcp) -> Iterator[_Need]:
    def need(name: str, kind: str, what: str, owner: str = "") -> _Need:
        return _Need(place, prefix + name, kind, what, owner)

    if own := [key for key in ("library", "function") if key in workload.cc]:
        yield need(f"cc.{own[0]}", "feature", Feature.OWN_CONTROLS)
    elif "struct_ops" in workload.cc:
        yield need("cc.struct_ops", "feature", Feature.BPF_CONTROLS)
    elif "module" in workload.cc:
        yield need("cc.module", "feature", Feature.MODULE_CONTROLS)
    elif workload.transport == "tcp":
        yield need("cc.kind", "cc", workload.cc["kind"])
        for parameter in workload.cc:
            if parameter != "kind":
                yield need(f"cc.{parameter}", "parameter", parameter, workload.cc["kind"])
    yield need("stack.name", "stack", workload.stack)
    for option in workload.options:
        yield need(f"stack.options.{option}", "option", option, workload.stack)
    if workload.first_write_bytes is not None:
        yield need("first_write_bytes", "feature", Feature.FIRST_WRITES)
    if workload.application is not None:
        if workload.program is not None:
            yield need("program", "feature", Feature.FLOWS_BY_PROGRAMS)
        else:
            yield need("application", "feature", APPLICATIONS[workload.application])
    if workload.opener == "to":
        yield need("opener", "feature", Feature.SERVER_OPENS)
    if workload.sce_echo:
        yield need("sce_echo", "feature", Feature.SCE)
    if workload.accecn is not None:
        yield need("accecn", "feature", Feature.ACC_ECN)
    if workload.ect:
        yield need("ect", "feature", Feature.ECT1)
    if workload.direction == "reverse":
        yield need("direction", "feature", Feature.REVERSE_FLOWS)
    if workload.host.tso:
        yield need("host.tso", "feature", OFFLOAD["on" if workload.host.gso else "tso"])
    if workload.gro:
        yield need("gro", "feature", Feature.OFFLOAD_GRO)
    if workload.host.sysctls:
        yield need("host.sysctls", "feature", Feature.SYSCTLS)


_CHANGES = {Outage: Feature.OUTAGES, RateChange: Feature.RATE_STEPS, Drop: Feature.CHOSEN_PACKETS, Hold: Feature.CHOSEN_PACKETS}
"""Feature of each kind of change."""
_SHAPERS = {"own": "cake"}
"""Shapers that scenarios and tables call by another name."""


def _link_needs(place: Place, port: Link) -> Iterator[_Need]:
    for fault, parameters in (port.faults or {}).items():
        kind = parameters.get("kind") if isinstance(parameters, dict) else None  # `ecn` is a flag
        yield _Need(place, f"faults.{fault}", "feature", _LOSSES.get(str(kind), Feature.FAULTS))


_LOSSES = {"bit-errors": Feature.BIT_ERRORS, "regular": Feature.REGULAR_LOSSES}
"""Losses that not every engine with faults has."""


@lru_cache(maxsize=1000)
def _kinds_needed(place: Place, qdisc: str, shaper: str) -> tuple[_Need, _Need]:
    """The same for most cells of a sweep."""
    paced = ("trace", "feature", Feature.OPPORTUNITIES) if shaper == "trace" else ("shaper.kind", "shaper", _SHAPERS.get(shaper, shaper))
    return _Need(place, "qdisc.kind", "qdisc", qdisc), _Need(place, *paced)


def _queue_needs(place: Place, port: Queue) -> Iterator[_Need]:
    yield from _kinds_needed(place, kind_written(port.qdisc), port.shaper["kind"])
    for parameter, feature in features(port.qdisc):
        yield _Need(place, f"qdisc.{parameter}", "feature", feature)
