"""Checks that no single key allows: settings that contradict each other or can never work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from dumbbell.catalogue import entries, state_names
from dumbbell.documents.problems import Location
from dumbbell.errors import nearest, one_of
from dumbbell.scenario import ready_made
from dumbbell.scenario.bounds import SLOWEST_CAKE, Wrong, all_beyond, too_fast, too_long
from dumbbell.scenario.connections import Connections
from dumbbell.scenario.generated.kinds import Background
from dumbbell.scenario.impaired import wrong_impairment
from dumbbell.scenario.model import Flow, NamedPath, Path, Settings
from dumbbell.scenario.passing import (
    WAYS,
    is_a_path,
    path_named,
    shaped_bps,
    taken,
    written_delays,
    written_stages,
    wrong_choice,
    wrong_faults,
    wrong_paths,
)
from dumbbell.scenario.program import wrong_use
from dumbbell.scenario.qdiscs import Cake, Dummynet
from dumbbell.scenario.series import CONTROL, NONE, QUEUE
from dumbbell.scenario.stages import Bottleneck, QueueStage, Stage
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size
from dumbbell.scenario.values.trace import MOST_STEPS, Trace

_LONGEST_RUN = Duration.parse("4h")
_HOST = {each.name: each for each in entries("host")["host"].parameters}
LEAST_BUFFER = Size(_HOST["rcvbuf"].least or 0)
"""Two full packets as the kernel charges them."""
MOST_BUFFER = Size(_HOST["rcvbuf"].most or 0)
"""Socket buffers are an `int` in Linux, once SO_RCVBUF and SO_SNDBUF are doubled."""
_MOST_FLOWS = 100_000
"""With the connections of other traffic that stay open."""
MOST_HOSTS = 65_000
"""With names: each has an address of its own."""
MOST_COMING = 40
"""Entries whose connections come and go: each has a range of TCP ports of its own."""
_MOST_TOLD = 100
"""Unknown names in a list that are reported."""


class Check:
    """Check settings, one after another. It skips the parts that the last settings which passed share."""

    def __init__(self) -> None:
        self._passed: tuple[Settings, _Around] | None = None

    def wrong(self, settings: Settings) -> list[tuple[Location, str, str]]:
        """Yield every contradiction: where, what is wrong, and what was expected."""
        around = _Around.of(settings)
        found = list(_wrong(settings, around, self._passed))
        if not found:
            self._passed = settings, around
        return found


def _wrong(settings: Settings, around: _Around, passed: tuple[Settings, _Around] | None) -> Wrong:
    if settings.duration == 0:
        yield ("duration",), "0s is no time at all", "a time above 0"
    elif settings.sample > settings.duration:
        what = f"{settings.sample} is longer than the run's {settings.duration}"
        yield ("sample",), what, "a shorter interval, or 0s for no samples"
    yield from too_long(("duration",), settings.duration, _LONGEST_RUN)
    yield from _path(settings)
    if settings.stages or settings.paths or not is_a_path(settings.path):
        yield from wrong_paths(settings, _stage_names(settings.path) if is_a_path(settings.path) else frozenset())
    for i, impairment in enumerate(settings.path.impairments):
        for location, what, expected in wrong_impairment(impairment, settings):
            yield ("path", "impairments", i, *location), what, expected
    before, around_before = passed or (None, None)
    known = {id(each) for each in (*before.flows, *before.background)} if before is not None and around == around_before else ()
    for i, flow in enumerate(settings.flows):
        for location, what, expected in _flow(flow, around, settings) if id(flow) not in known else ():
            yield ("flows", i, *location), what, expected
    for i, traffic in enumerate(settings.background):
        for location, what, expected in _background(traffic, around, settings) if id(traffic) not in known else ():
            yield ("background", i, *location), what, expected
    if settings.measure is not None:
        end = settings.measure.until or settings.duration
        for key, value in (("from", settings.measure.from_), ("until", end)):
            if value > settings.duration or (key == "from" and value >= end):
                yield (
                    ("measure", key),
                    f"{value} is not within the duration",
                    f"less than {end}" if key == "from" else f"at most {settings.duration}",
                )
        if settings.sample == Duration(0):
            yield ("measure",), "is made of samples, and none are taken", "sample above 0s"
    if before is None or _named(settings) != _named(before):
        if not settings.flows and not settings.background:
            yield ("flows",), "are none, and there is no other traffic", "at least one flow, or an entry of background"
        if too_many := list(_too_many(settings)):
            yield from too_many
            return
        yield from _host_queues(settings)
        yield from _names(settings)
        yield from _names_of_rows(settings)
        yield from _series(settings)


class _Around(NamedTuple):
    """All that the check of a single flow or entry of `background` depends on, apart from the entry."""

    duration: Duration
    paths: Mapping[str | None, _PathFacts]
    """By name; that of traffic that names none has None."""
    lists: tuple[object, object, object, object]
    """Objects that have the names of stages, and programs."""
    unknown: Mapping[str | None, tuple[tuple[Location, str, str], ...]]
    """Errors in the names of paths."""

    @classmethod
    def of(cls, settings: Settings) -> _Around:
        names: set[str | None] = {None, *taken(settings)}
        unknown = {name: found for name in names if (found := tuple(wrong_choice(settings, name)))}
        paths = {name: _PathFacts.of(settings, name) for name in names if name not in unknown}
        return cls(settings.duration, paths, (settings.path.forward, settings.path.reverse, settings.stages, settings.programs), unknown)


class _PathFacts(NamedTuple):
    """Facts of a path that the check of its traffic depends on."""

    has_stages: bool
    """It is made of stages as they are listed, not a dumbbell."""
    has_limit: bool
    """Its delay has a limit or faults."""
    shaped: Mapping[str, int | None]
    """See `shaped_bps`, by direction. Given only for settings with traffic other than flows, because only that looks at it."""

    @classmethod
    def of(cls, settings: Settings, name: str | None) -> _PathFacts:
        path = path_named(settings, name)
        ways = WAYS if settings.background else ()
        shaped: dict[str, int | None] = {direction: shaped_bps(settings, name, direction) for direction in ways}
        if isinstance(path, NamedPath):
            return cls(True, False, shaped)
        limited = path.delay.limit is not None or path.delay.planned_faults() is not None
        return cls(path.forward is not None, limited, shaped)


def _named(settings: Settings) -> tuple[object, ...]:
    """Return the settings that the checks of names depend on."""
    return settings.flows, settings.background, settings.hosts, settings.series


def is_random(settings: Settings) -> bool:
    """True if another seed gives another run on every engine: jittered starts, random arrivals, a queue that draws random numbers or
    perturbs a hash. Random congestion controls are left out, because only their engine knows which they are."""
    return (
        any(flow.start.jitter for flow in settings.flows)
        or any(traffic.is_random for traffic in settings.background)
        or any(bottleneck.qdisc.depends_on_seed for _, bottleneck in bottlenecks(settings))
        or any(link.planned_faults() is not None for link in written_delays(settings))
    )


def over_tcp(settings: Settings) -> list[Connections]:
    """Everything that is written of TCP connections: flows, and other traffic over TCP."""
    return [*settings.flows, *(traffic for traffic in settings.background if isinstance(traffic, Connections))]


def flow_bases(flows: list[Flow]) -> list[str]:
    """Return the name of each group of flows."""
    return [flow.name or flow.program or flow.cc.kind for flow in flows]


def flow_names(flows: list[Flow]) -> list[list[str]]:
    """The names of each group's flows: the group's name or cc, numbered from 1 where several flows share it."""
    bases = flow_bases(flows)
    totals: Counter[str] = Counter()
    for base, flow in zip(bases, flows, strict=True):
        totals[base] += flow.count
    given = dict.fromkeys(bases, 0)
    names = []
    for base, flow in zip(bases, flows, strict=True):
        first = given[base] + 1
        given[base] += flow.count
        names.append([base] if totals[base] == 1 else [f"{base}-{first + i}" for i in range(flow.count)])
    return names


def _path(settings: Settings) -> Wrong:
    path = settings.path
    if path.forward is not None:
        yield from _listed(path, path.forward)
    elif is_a_path(path):
        yield from _dumbbell(path)
    for location, stage in written_stages(settings):
        if isinstance(stage, QueueStage):
            yield from too_long((*location, "delay"), stage.delay)
        else:
            yield from _delay_limit((*location, "limit"), stage.limit)
            yield from all_beyond(location, stage)
    yield from all_beyond(("path",), path)
    yield from all_beyond(("path", "delay"), path.delay)
    yield from _delay_limit(("path", "delay", "limit"), path.delay.limit)
    yield from wrong_faults(settings)
    if path.access is not None:
        yield from all_beyond(("path", "access"), path.access)
    for location, bottleneck in bottlenecks(settings):
        for where, what, expected in _bottleneck(bottleneck, path.frame_bytes, settings.duration):
            yield location + where, what, expected


def _dumbbell(path: Path) -> Wrong:
    if path.rtt is None:
        yield ("path", "rtt"), "is missing", Duration.EXPECTED
    if path.bottleneck is None:
        yield ("path", "bottleneck"), "is missing", "a rate and a qdisc"
    if isinstance(path.reverse, list):
        yield ("path", "reverse"), "stages need path.forward", "mirror, none or a bottleneck"


def _listed(path: Path, forward: Sequence[Stage]) -> Wrong:
    for key in ("rtt", "delay", "access", "bottleneck"):
        if key in path.model_fields_set:
            yield ("path", key), "cannot be combined with path.forward", "the one or the other"
    if not forward:
        yield ("path", "forward"), "is empty", "at least one stage"
    elif not any(stage.rate or isinstance(stage, QueueStage) for stage in forward):
        yield ("path", "forward"), "limits no rate anywhere", "a stage with a rate"
    if isinstance(path.reverse, Bottleneck):
        yield ("path", "reverse"), "is a bottleneck, which path.forward excludes", "mirror, none or stages"
    for name in WAYS:
        listed = getattr(path, name)
        names = Counter(stage.name for stage in listed if stage.name) if isinstance(listed, list) else Counter()
        for i, stage in enumerate(listed if isinstance(listed, list) else ()):
            if stage.name and names[stage.name] > 1:
                yield ("path", name, i, "name"), f"{stage.name!r} is given twice", "names that differ"


def bottlenecks(settings: Settings) -> Iterator[tuple[Location, Bottleneck]]:
    """Every bottleneck that is written, and where."""
    path = settings.path
    for name, host in settings.hosts.items():
        yield ("hosts", name, "egress"), host.egress
    if path.bottleneck is not None:
        yield ("path", "bottleneck"), path.bottleneck
    if isinstance(path.reverse, Bottleneck):
        yield ("path", "reverse"), path.reverse
    for location, stage in written_stages(settings):
        if isinstance(stage, QueueStage):
            yield location, stage


def _bottleneck(bottleneck: Bottleneck, frame_bytes: int, duration: Duration) -> Wrong:
    qdisc, shaper = bottleneck.qdisc, bottleneck.shaper_kind
    yield from too_fast(("rate",), bottleneck.rate)
    if isinstance(qdisc, Cake):
        for where, what, expected in _cake(qdisc, bottleneck):
            yield ("qdisc", *where), what, expected
    elif isinstance(qdisc, Dummynet):
        if shaper != "dummynet":
            yield ("shaper",), f"dummynet shapes behind the shaper {shaper}", "no other shaper"
        if bottleneck.trace is not None:
            yield ("trace",), "cannot be combined with dummynet, which has a rate", "a rate such as 10mbit"
            return
    elif shaper in ("cake", "dummynet"):
        yield ("shaper",), f"{qdisc.kind} cannot shape", "the shaper link, tbf or htb"
    if bottleneck.trace is not None:
        yield from _trace(bottleneck, bottleneck.trace, duration)
    elif bottleneck.rate is None and (shaper != "cake" or bottleneck.rate_bps is None):
        yield ("rate",), "is missing", "a rate such as 10mbit"
    if bottleneck.burst is not None:
        if not entries("shaper")[shaper].parameters:
            yield ("burst",), f"the shaper {shaper} has no bucket", "the shaper tbf or htb"
        elif bottleneck.burst < frame_bytes:
            what = f"{bottleneck.burst} never lets a full packet go"
            yield ("burst",), what, f"at least {frame_bytes}B"
    parameters = vars(qdisc)
    for key in ("limit", "min", "max"):
        limit = parameters.get(key)
        if not isinstance(limit, Limit):
            continue
        if limit.unit == "B" and not qdisc.counts_bytes():
            yield ("qdisc", key), f"{limit} is in bytes, {qdisc.kind} counts packets", "e.g. 180p or 1bdp"
        elif limit.unit == "p" and qdisc.counts_bytes():
            yield ("qdisc", key), f"{limit} is in packets, {qdisc.kind} counts bytes", "e.g. 64KiB or 1bdp"
        elif limit.unit == "B" and limit.value < frame_bytes:
            yield ("qdisc", key), f"{limit} has no room for a full packet", f"at least {frame_bytes}B"
    for where, what, expected in qdisc.wrong():
        yield ("qdisc", *where), what, expected


def _trace(bottleneck: Bottleneck, trace: Trace, duration: Duration) -> Wrong:
    if bottleneck.rate is not None:
        yield ("rate",), f"{bottleneck.rate} cannot be combined with a trace", "the one or the other"
    if isinstance(bottleneck.qdisc, Cake) and bottleneck.qdisc.rate is not None:
        yield ("qdisc", "rate"), f"{bottleneck.qdisc.rate} cannot be combined with a trace", "the one or the other"
    if trace.opportunities_ms is not None:
        for key in ("shaper", "burst"):
            if getattr(bottleneck, key) is not None:
                yield (
                    (key,),
                    "cannot be combined with opportunities, which pace by themselves",
                    f"no {key}, or a trace of rates or with a bin",
                )
    elif (count := trace.steps_each_s * int(duration) / 10**9) > MOST_STEPS:
        yield ("trace",), f"has about {round(count)} rates in a run of {duration}", f"at most {MOST_STEPS}, such as longer bins"
    if isinstance(trace.bin, Duration):
        yield from too_long(("trace", "bin"), trace.bin, duration)


def _cake(cake: Cake, bottleneck: Bottleneck) -> Wrong:
    if cake.rate is not None and bottleneck.shaper_kind != "cake":
        what = f"{cake.rate} makes cake shape behind the shaper {bottleneck.shaper_kind}"
        yield ("rate",), what, "no rate of cake's own, or the shaper cake"
    elif None not in (bottleneck.rate, cake.rate) and bottleneck.rate != cake.rate:
        yield ("rate",), f"{cake.rate} differs from the bottleneck's {bottleneck.rate}", "one rate"
    elif bottleneck.shaper_kind == "cake" and (rate := bottleneck.rate_bps) is not None:
        yield from too_fast(("rate",), Rate(rate))
        if cake.rate is None and rate < SLOWEST_CAKE:
            yield ("rate",), f"{Rate(rate)} is too slow for cake", f"at least {SLOWEST_CAKE}"
    if cake.autorate_ingress and bottleneck.shaper_kind != "cake":
        yield ("autorate_ingress",), f"cake has no rate of its own behind the shaper {bottleneck.shaper_kind}", "the shaper cake"


def _delay_limit(location: Location, limit: Limit | None) -> Wrong:
    if limit is not None and limit.unit == "B":
        yield location, f"{limit} is in bytes, a delay stage counts packets", Packets.EXPECTED


def _flow(flow: Flow, around: _Around, settings: Settings) -> Wrong:
    if flow.path in around.unknown:
        yield from around.unknown[flow.path]
        return
    if flow.bytes == 0:
        yield ("bytes",), "0B is nothing to send", "a size above 0"
    yield from _program(flow, settings)
    if flow.duration == 0:
        yield ("duration",), "0s is no time at all", "a time above 0"
    last = flow.start.first + (flow.count - 1) * flow.start.every + flow.start.jitter
    if around.duration and last >= around.duration:
        key = "first" if flow.start.first >= around.duration else "every" if flow.start.every else "jitter"
        what = f"the last flow may start at {Duration(last)}, after the run's {around.duration}"
        yield ("start", key), what, "an earlier start or a longer duration"
    yield from _connections(flow, settings, around.paths[flow.path])


def _program(flow: Flow, settings: Settings) -> Wrong:
    """Yield the errors in a flow that a program makes."""
    if flow.program is None:
        if flow.arguments:
            yield ("arguments",), "belong to no program", "the key program too"
        return
    if flow.application is not None:
        yield ("program",), "cannot be combined with application", "one of them"
        return
    known = [*settings.programs, *ready_made.NAMES]
    program = ready_made.of(flow.program, settings.programs)
    if flow.program not in known:
        yield (
            ("program",),
            f"there is no program {flow.program!r}{nearest(flow.program, known)}",
            f"one of programs, or {one_of(ready_made.NAMES)}",
        )
    elif program is None:
        if flow.arguments:
            yield ("arguments",), f"are none of {flow.program}", "the keys of a flow"
    else:
        yield from wrong_use(program, flow.arguments, flow.bytes is not None)
        if flow.opens != "sender":
            yield ("opens",), f"is what the program says: its {program.sends} sends", "no opens, or another program"


def _background(traffic: Background, around: _Around, settings: Settings) -> Wrong:
    if traffic.path in around.unknown:
        yield from around.unknown[traffic.path]
        return
    path = around.paths[traffic.path]
    yield from traffic.wrong(around.duration)
    yield from traffic.wrong_with(path.shaped, around.duration)
    if isinstance(traffic, Connections):
        yield from _connections(traffic, settings, path)


def _connections(written: Connections, settings: Settings, path: _PathFacts) -> Wrong:
    """Yield the errors in the settings that flows and other traffic over TCP share."""
    if (written.rtts or written.has_own_rtts) and path.has_stages:
        yield ("rtt",), "needs path.rtt to replace", "a path with rtt"
    if written.has_own_rtts and path.has_limit:
        yield ("exact_rtts",), "true needs delays without a limit and without faults", "no limit and no faults of path.delay, or false"
    yield from too_long(("rtt",), max(written.rtts, default=None))
    if written.sce_echo and written.ecn is False:
        yield ("sce_echo",), "true needs ECN, which is off", "ecn: true, or no sce_echo"
    if written.ect == 1 and written.ecn is False:
        yield ("ect",), "1 needs ECN, which is off", "ecn: true, or no ect"
    if written.accecn_option is not None and written.ecn not in (None, "accecn"):
        yield ("accecn_option",), "is of AccECN, which the flow does not negotiate", "ecn: accecn, or no accecn_option"
    if written.ecn == "accecn" and written.sce_echo:
        yield ("sce_echo",), "AccECN takes the bits of the echo", "no sce_echo, or ecn: on"
    if written.ect == 1 and written.sce_echo:
        yield ("ect",), "1 is a mark of SCE, which sce_echo echoes", "0, or no sce_echo"
    if written.src is not None and written.src == written.dst:
        yield ("dst",), f"{written.dst!r} is the source as well", "two hosts"
    for key in ("rmem", "sender_rmem", "wmem"):
        sizes = getattr(written.host, key)
        if sizes in ("kernel", None):
            continue
        if not 0 < sizes[0] <= sizes[1] <= sizes[2]:
            yield ("host", key), f"{', '.join(map(str, sizes))} do not rise", "least, initial and most"
        elif (size := sizes[2] if key == "wmem" else sizes[1]) < LEAST_BUFFER:
            what = f"{size} of {', '.join(map(str, sizes))} has no room for two packets"
            yield ("host", key), what, f"at least {LEAST_BUFFER}"
        elif sizes[2] > MOST_BUFFER:
            yield ("host", key), f"{sizes[2]} is more than Linux has a number for", f"at most {int(MOST_BUFFER)}B"
    yield from all_beyond(("host",), written.host, "rcvbuf", "sndbuf")  # their bounds differ between stacks
    for key in ("src", "dst"):
        if (name := getattr(written, key)) is not None and name in _stage_names(settings.path) | settings.stages.keys():
            yield (key,), f"{name!r} is a stage of the path, and flows pass all stages", "the name of a host, such as client"


def _series(settings: Settings) -> Wrong:
    """Names of ports are those of the plan, and looked at there."""
    series, bases = settings.series, dict.fromkeys(flow_bases(settings.flows))
    with_applications = bases | dict.fromkeys(applications(settings).values())
    with_coming = bases | dict.fromkeys(groups_coming(settings).values())
    both = (("flows", series.flows, with_applications), ("groups", series.groups, with_coming))
    for kind, choice, known in both:
        unknown = ((i, name) for i, name in enumerate(choice if isinstance(choice, list) else ()) if name not in known)
        for i, name in islice(unknown, _MOST_TOLD):
            yield ("series", kind, i), f"there are no flows {name!r}{nearest(name, known)}", one_of(known)
    if not settings.libraries and not any(cc.function is not None for cc in settings.controls):  # their own names are not known here
        known_states = {CONTROL, QUEUE, *state_names()}
        for i, name in enumerate(series.state):
            if name not in known_states:
                near = nearest(name, known_states)
                expected = f"{CONTROL}, {QUEUE}, or a name of `dumbbell list state`"
                yield ("series", "state", i), f"there is no state variable {name!r}{near}", expected
    if series.state and settings.sample == Duration(0):
        yield ("series", "state"), "no samples are taken", "sample above 0s"
    if series.shares not in (NONE, []) and series.flows in (NONE, []) and series.groups in (NONE, []):
        yield ("series", "shares"), "no flows and no groups have series", "series.flows or series.groups too"


def applications(settings: Settings) -> dict[int, str]:
    """Return the names of the entries of `background` that are applications over TCP connections which stay open, by their positions."""
    coming = groups_coming(settings)
    return {i: each.name or each.kind for i, each in enumerate(settings.background) if isinstance(each, Connections) and i not in coming}


def groups_coming(settings: Settings) -> dict[int, str]:
    """Return the names of the entries of `background` whose connections come and go, by their positions."""
    return {i: each.name or each.kind for i, each in enumerate(settings.background) if not isinstance(each.starts, tuple)}


def _stage_names(path: Path) -> frozenset[str]:
    """The names of all stages of a path."""
    written = [path.forward or [], path.reverse if isinstance(path.reverse, list) else []]
    names = {stage.name for listed in written for stage in listed if stage.name}
    if path.forward is None:
        names |= {"access", "delay", "bottleneck"}
    return frozenset(names | {f"{name}-reverse" for name in names})


def _host_queues(settings: Settings) -> Wrong:
    """A host with a queue of its own is used, and on one side only: one queue cannot stand in both directions."""
    sides: dict[str, set[str]] = {"left": {"left"}, "right": {"right"}}
    ends = [(each.src, each.dst, direction) for each in over_tcp(settings) for direction in _directions(each)]
    for src, dst, direction in ends:
        for side, name in zip(("left", "right"), (src, dst) if direction == "forward" else (dst, src), strict=True):
            if name is not None:
                sides.setdefault(name, set()).add(side)
    for name in settings.hosts:
        if name not in sides:
            yield ("hosts", name), f"{name!r} is named by no flow", one_of(sorted(sides))
        elif len(sides[name]) > 1:
            yield ("hosts", name), f"{name!r} is on both sides of the path", "a host of one side"


def _directions(written: Connections) -> tuple[str, ...]:
    """Return the directions of a flow or of other traffic."""
    direction: str = getattr(written, "direction")  # noqa: B009
    return ("forward", "reverse") if direction == "both" else (direction,)


def _too_many(settings: Settings) -> Wrong:
    """More connections than memory is meant to hold: each takes some 13 kB before anything is sent."""
    flows, more = sum(flow.count for flow in settings.flows), 0
    for each in settings.background:
        if isinstance(each, Connections) and isinstance(each.starts, tuple):
            more += each.starts[1] * each.connections_each * len(_directions(each))
    if flows + more > _MOST_FLOWS:
        yield ("background" if more else "flows",), f"are {flows + more} connections in all", f"at most {_MOST_FLOWS}"


def _names(settings: Settings) -> Wrong:
    hosts = {name for each in over_tcp(settings) for name in (each.src, each.dst) if name is not None}
    if len(hosts) > MOST_HOSTS:
        yield ("flows",), f"name {len(hosts)} hosts", f"at most {MOST_HOSTS}"
    if (coming := len(groups_coming(settings))) > MOST_COMING:
        yield ("background",), f"has {coming} entries whose connections come and go", f"at most {MOST_COMING}"
    given = Counter(flow.name for flow in settings.flows)
    seen: set[str] = set()
    for i, (flow, names) in enumerate(zip(settings.flows, flow_names(settings.flows), strict=True)):
        if (flow.name is not None and given[flow.name] > 1) or not seen.isdisjoint(names):
            yield ("flows", i, "name"), f"{flow.name or flow.program or flow.cc.kind!r} is given twice", "names that differ"
        seen.update(names)


def _names_of_rows(settings: Settings) -> Wrong:
    """The connections of an entry that makes them during the run are numbered, and no other flow may have such a name."""
    names = [name for group in flow_names(settings.flows) for name in group]
    for each in settings.background:
        if isinstance(each, Connections) and isinstance(each.starts, tuple):
            base = each.name or each.kind
            names += [base] if each.starts[1] == 1 else [f"{base}-{i}" for i in range(1, each.starts[1] + 1)]
    numbered = {base: name for name in reversed(names) for base, _, number in (name.rpartition("-"),) if number.isdecimal()}
    for i, base in groups_coming(settings).items():
        if (clash := numbered.get(base)) is not None:
            what = f"{base!r} has connections {base}-1, {base}-2 ..., and {clash!r} is another flow"
            yield ("background", i, "name"), what, "another name"
