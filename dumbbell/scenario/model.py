"""The settings of a scenario as a user writes them: paths and flows. Quantities are in `units`, queues in `qdiscs`, sweeps in `sweep`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Discriminator, Field, GetJsonSchemaHandler, Tag, model_validator
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Unfit
from dumbbell.scenario.base import EngineName, Kinded, Name
from dumbbell.scenario.captures import Points, at_hosts
from dumbbell.scenario.faults import Faults
from dumbbell.scenario.function import Function, numbered
from dumbbell.scenario.generated.paths import Delay as Delay
from dumbbell.scenario.generated.paths import ShaperKind as ShaperKind
from dumbbell.scenario.program import Given, GivenFile, Program, Scalar
from dumbbell.scenario.qdiscs import Cake, Dummynet, Qdisc
from dumbbell.scenario.series import Events, Series
from dumbbell.scenario.tcp import Cc, Connections, Start
from dumbbell.scenario.traffic import Background
from dumbbell.scenario.units import ETHERNET_BYTES, ETHERNET_MTU, Duration, Limit, Packets, Rate, Size
from dumbbell.scenario.values.trace import Trace

# --- queues --------------------------------------------------------------------------------------------------------


class Bottleneck(Model):
    """A queue discipline behind a shaper."""

    rate: Rate | None = None
    """Rate of the shaper, counted in Ethernet frames; may be left out if the qdisc has a rate of its own."""
    trace: Trace | None = None
    """Instead of a rate: a file with a capacity that varies, in mahimahi's format or as rates."""
    shaper: ShaperKind | None = None
    """`link` stores and forwards; `tbf` and `htb` let a packet of an idle bucket go at once; `cake` and `dummynet` are
    those of these qdiscs.

    By default cake's own for cake, always dummynet's own for dummynet, else `link`.
    """
    burst: Size | None = None
    """Bucket of `tbf` (by default 1540 bytes) or `htb` (1600 bytes). A path's `mtu` above 1500 adds the difference."""
    qdisc: Qdisc
    """Queue discipline: a kind alone (`fq_codel`), or keys with a kind (`{kind: codel, target: 10ms}`)."""

    @property
    def shaper_kind(self) -> ShaperKind:
        """The shaper; the default one if none is given."""
        if self.shaper is not None:
            return self.shaper
        by_rate = self.trace is None or self.trace.opportunities_ms is None
        return "cake" if isinstance(self.qdisc, Cake) and by_rate else "dummynet" if isinstance(self.qdisc, Dummynet) else "link"

    @property
    def rate_bps(self) -> int | None:
        """The rate at which packets leave, bit/s, that of a trace on average; None if nothing limits it."""
        if self.trace is not None:
            return self.trace.mean_bps
        own = self.qdisc.rate if isinstance(self.qdisc, Cake) else None
        rate = self.rate if self.rate is not None else own
        return None if rate is None else int(rate)


# --- paths ---------------------------------------------------------------------------------------------------------


class Access(Model):
    """Store-and-forward link of the sending host."""

    rate: Rate
    """Rate of the link, counted in Ethernet frames."""


class DelayStage(Faults):
    """A stage that delays, optionally behind a store-and-forward link. If it is mirrored, it has the same faults in both directions."""

    name: Name | None = None
    """Name of the port in the results; by default `delay-N` at place N of the list."""
    delay: Duration = Duration(0)
    """Time that the stage holds every packet for."""
    rate: Rate | None = None
    """Rate of a store-and-forward link in front of the delay, counted in Ethernet frames. Without it the stage only delays."""
    limit: Limit | None = None
    """Maximum number of packets (or `bdp`) that the stage holds, as in netem. Without a limit it never overflows."""


class QueueStage(Bottleneck):
    """A stage that queues, then delays."""

    name: Name | None = None
    """Name of the port in the results; by default `queue-N` at place N of the list."""
    delay: Duration = Duration(0)
    """Time that every packet takes from the queue to the next stage."""


def _stage_tag(value: Any) -> str:
    keys = value.keys() if isinstance(value, dict) else getattr(value, "model_fields_set", ())
    return "QueueStage" if {"qdisc", "shaper", "burst"} & set(keys) else "DelayStage"


Stage = Annotated[Annotated[DelayStage, Tag("DelayStage")] | Annotated[QueueStage, Tag("QueueStage")], Discriminator(_stage_tag)]


def _reverse_tag(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "stages"
    return "Bottleneck" if isinstance(value, dict | Bottleneck) else "word"


Reverse = Annotated[
    Annotated[Literal["mirror", "none"], Tag("word")] | Annotated[Bottleneck, Tag("Bottleneck")] | Annotated[list[Stage], Tag("stages")],
    Discriminator(_reverse_tag),
]


class Path(Model):
    """The path between the two hosts.

    Write either a dumbbell (`rtt`, `delay`, `access`, `bottleneck`, `reverse`), or `forward` and `reverse` as lists of stages. The dumbbell
    becomes stages: forward = the access link, the delay before, the bottleneck, the delay behind; reverse = the same without the access
    link, with the bottleneck mirrored, absent or its own.
    """

    rtt: Duration | None = None
    """Base RTT of the dumbbell."""
    delay: Delay = Delay()
    access: Access | None = None
    """Link of the sending host. Without it the host is infinitely fast."""
    bottleneck: Bottleneck | None = None
    mtu: Annotated[int, Field(ge=ETHERNET_MTU, le=9000)] = ETHERNET_MTU
    """Largest IP packet that every stage carries, bytes. Connections fill it unless their `mss` is less."""
    forward: list[Stage] | None = None
    """Stages that data pass, in order, in place of `rtt`, `delay`, `access` and `bottleneck`."""
    reverse: Reverse = "mirror"
    """The way back of the ACKs: `mirror` has the forward path's stages, `none` has no queue; or a bottleneck, or a list of stages."""
    # Factories: pydantic copies a default that it cannot hash each time.
    impairments: list[Impairment] = Field(default_factory=list)
    """Disturbances at set times: outages, changes of the rate, lost and delayed packets."""

    @property
    def frame_bytes(self) -> int:
        """Its largest frame."""
        return self.mtu + ETHERNET_BYTES


# --- several paths ---------------------------------------------------------------------------------------------------


class NamedPath(Model):
    """One of several paths, through stages that paths may share."""

    forward: Annotated[list[Name], Field(min_length=1)]
    """Names of `stages`, in the order in which data pass them."""
    reverse: Annotated[Literal["return", "none"], Tag("word")] | Annotated[list[Name], Tag("stages")] = "return"
    """`return`: the other directions of the same stages, from the last to the first; or those of the stages in a list, in its order;
    `none`: packets that go back pass no stage."""

    def passed(self, direction: Literal["forward", "reverse"]) -> list[Name]:
        """The stages that packets of a direction pass, in order."""
        if direction == "forward":
            return self.forward
        return self.reverse if isinstance(self.reverse, list) else self.forward[::-1] if self.reverse == "return" else []


# --- impairments -----------------------------------------------------------------------------------------------------


class OneImpairment(Kinded):
    """Keys that all impairments share."""

    at: Duration
    """Virtual time of the run."""
    direction: Literal["forward", "reverse", "both"] = "forward"
    """Direction of the packets concerned: `forward` is from left to right."""
    stage: Name | None = None
    """The queue stage concerned, of `path.forward` or of `stages`; by default the bottleneck, or the only queue stage of the path."""


class Outage(OneImpairment):
    """An outage: all packets that leave the bottleneck are lost for a while."""

    kind: Literal["outage"] = "outage"
    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    for_: Annotated[Duration, Field(alias="for")]
    """Duration; the key is `for`."""


class RateStep(OneImpairment):
    """The shaper's rate changes."""

    kind: Literal["rate"] = "rate"
    rate: Rate
    """Rate of the shaper from `at` on."""


class Drop(OneImpairment):
    """Some of the packets that leave the queue are lost, from `at` on."""

    kind: Literal["drop"] = "drop"
    packets: Packets
    """Number of packets to lose."""
    every: Annotated[int, Field(ge=1, lt=2**32)] = 1
    """One packet in this number is lost: the first that leaves, then each time after so many."""


class Hold(OneImpairment):
    """Packets that leave the queue are set aside, and go on together after a time: reordering, or a link that stalls."""

    kind: Literal["hold"] = "hold"
    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    for_: Annotated[Duration, Field(alias="for")]
    """Time after `at` at which they go on; the key is `for`."""
    packets: Packets | None = None
    """Number of packets to set aside, so that later ones overtake them. By default all that leave in that time."""


Impairment = Annotated[Outage | RateStep | Drop | Hold, Field(discriminator="kind")]
"""A disturbance of a path; `kind` says which."""


# --- flows ---------------------------------------------------------------------------------------------------------


class HostQueue(Model):
    """Properties of a host, the same for all its flows."""

    egress: Bottleneck
    """The queue that all packets of the host leave through, before the first stage of any path; its TCP hears of drops there."""


class Flow(Connections):
    """A group of flows that are alike."""

    # A flow of a program needs no congestion control.
    model_config = ConfigDict(json_schema_extra=lambda found: found["required"].remove("cc"))

    name: Name | None = None
    """Name in the results; by default the cc. Flows that share a name are numbered."""
    count: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Number of flows in the group."""
    start: Start = Start()
    duration: Duration | None = None
    """Time from the start until the sender is cut off; by default to the end of the run."""
    bytes: Size | None = None
    """Payload of a sized transfer; by default unlimited."""
    first_write: Size | None = None
    """Payload of a first, short write, which leaves in a segment of its own: iperf 2 sends 24 bytes ahead of its data."""
    direction: Literal["forward", "reverse"] = "forward"
    """Direction of the data; ACKs go the other way."""
    path: Name | None = None
    """One of `paths`; by default the scenario's `path`, or the only one."""
    opens: Literal["sender", "receiver"] = "sender"
    """The end that calls connect(). `receiver` is a download: the data begin to flow when the server has heard that the connection is
    open."""
    application: Literal["iperf3", "ftp"] | None = None
    """A real program that makes the flow (engines `kernel` and `testbed`): iperf3, or FTP by vsftpd and curl. The end that `opens` is its
    client."""
    program: Name | None = None
    """A program that makes the flow: one of `programs`, or a ready-made one (`dumbbell list program`)."""
    arguments: dict[str, Scalar] = Field(default_factory=dict)
    """Values of the program's own words in braces, such as `{size: 1000000}`."""

    @model_validator(mode="before")
    @classmethod
    def _of_program(cls, written: Any) -> Any:
        """A flow of a program needs no congestion control, and iperf3 and ftp are applications."""
        if not isinstance(written, dict) or not isinstance(written.get("program"), str):
            return written
        return {**written, "cc": written.get("cc") or "cubic"}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        found = handler(schema)
        mapping = handler.resolve_ref_schema(found)
        mapping["required"] = [key for key in mapping.get("required", ()) if key != "cc"]
        mapping["anyOf"] = [{"required": ["cc"]}, {"required": ["program"]}]
        return found

    @property
    def made_by(self) -> str | None:
        """The name of the program that makes it."""
        return self.application or self.program

    @property
    def opener(self) -> Literal["from", "to"]:
        """The sender's end is `from`."""
        return "from" if self.opens == "sender" else "to"


# --- the whole -----------------------------------------------------------------------------------------------------


class Measure(Model):
    """A part of a run."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    from_: Annotated[Duration, Field(alias="from")] = Duration(0)
    """Begin: what is before it, such as the start of the flows, does not count."""
    until: Duration | None = None
    """End; by default that of the run."""

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.until is not None and self.until <= self.from_:
            raise Unfit(f"until: {self.until} is not after from: {self.from_}", f"more than {self.from_}")
        return self


def _module(file: GivenFile) -> GivenFile:
    """A module of the kernel. Raises `Unfit`."""
    if not file.name.endswith(".ko") or "/" in file.name:
        raise Unfit(f"{file.name!r} is no name of a module", "e.g. ./sch_mine.ko")
    return file


def _clock(written: str) -> str:
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        found = None
    if found is None or found.tzinfo is not None or not 1990 <= found.year < 2100:
        raise Unfit(f"{written!r} is no time of day", "a date such as 2026-01-01, or 2026-01-01T12:00:00")
    return written


class Settings(Model):
    """Settings of one run: a scenario without its sweep."""

    name: Name
    """Name of the results folder, results/NAME."""
    path: Path = Field(default_factory=Path)
    """Path of all traffic that names none of `paths`. Its `mtu` and `impairments` apply to the whole network. If there are `paths`, it may
    have only these two keys."""
    stages: dict[Name, Stage] = Field(default_factory=dict)
    """Stages that `paths` consist of, by name. A stage is one port for each direction in which something passes it, even if several paths
    share it."""
    paths: dict[Name, NamedPath] = Field(default_factory=dict)
    """Several paths by name, for a `path` of flows and other traffic."""
    hosts: dict[Name, HostQueue] = Field(default_factory=dict)
    """Hosts by name. `left` and `right` are the hosts of flows that name none; a flow's `src` or `dst` names others."""
    programs: dict[Name, Program] = Field(default_factory=dict)
    """Programs that make flows, by name, for a `program` of flows (engines `kernel` and `testbed`). They run only with `dumbbell run
    --allow-program`."""
    flows: list[Flow] = Field(default_factory=list)
    """Bulk flows. The list may be empty if there is other traffic."""
    background: list[Background] = Field(default_factory=list)
    """Traffic that is not bulk."""
    duration: Duration
    """Virtual time of the run; at most 4h."""
    sample: Duration = Duration.parse("100ms")
    """Interval of the samples; `0s` switches them off."""
    series: Series = Series()
    """Entities that samples are taken of; by default every flow and port."""
    events: Events = []
    """Record what happens to the flows that get series: `acks` (each ACK with window, RTT and delivery rate), `losses` (lost segments,
    retransmissions, timeouts, drops by ports), `marks` (ECN echoes), `state` (changes of the congestion state, and of what the congestion
    control does). `all` stands for the four. dumbbell writes events.parquet, which `dumbbell explain` and `dumbbell export` read."""
    measure: Measure | None = None
    """The part of the run that metrics are taken over, such as `{from: 40s, until: 120s}`; by default the whole run. `--from` and `--until`
    of `table`, `plot` and `compare` choose another for runs that are stored."""
    capture: Points = False
    """Keep the packets that the hosts see (`true`), or that some points see: a list of `hosts` and of ports by the names that they have in
    results. A port's capture has the packets that come out of the port, and out of the port that mirrors it. dumbbell writes pcap files
    with ns, 128 bytes of each packet; the run starts at 2020-01-01 00:00 UTC."""
    passive_rtt: Flag = False
    """Measure each flow's RTT between its two hosts from their packets (synthetic packet pairs): series `passive_rtt_ms`."""
    analyze: Flag = False
    """Read the packets of each TCP flow at its sending host as tcptrace does: columns `trace_packets`, `trace_retransmits`, `trace_rtt_ms`
    and `trace_window_bytes` of the table of flows."""
    clock: Annotated[str, AfterValidator(_clock)] | None = None
    """Time of day that programs see at time 0 (engine `kernel`), in UTC: `2026-01-01` or `2026-01-01T12:00:00`. By default 2023-11-14."""
    modules: list[Annotated[Given, AfterValidator(_module)]] = Field(default_factory=list)
    """Modules that the kernel of the engine `kernel` loads before the run, such as a queue discipline of your own: `[./sch_mine.ko]`, paths
    from the scenario's file. `qdisc: {kind: tc, command: mine}` uses it. They need `--allow-module`."""
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 1
    """Seed of every random stream: jittered starts, random arrivals, queues that draw or hash."""
    engine: EngineName | None = None
    """The engine that computes it, one of `dumbbell list engine`; by default the first of them.

    `{kernel: 7.3}` or `kernel:7.3` is the engine `kernel` with another kernel than the default one: a series, or a kernel that you gave a
    name (`dumbbell kernel list`)."""

    @property
    def captures_hosts(self) -> bool:
        """True if packets are captured at the hosts, to keep them or to read numbers from them."""
        return at_hosts(self.capture) or self.passive_rtt or self.analyze

    @property
    def libraries(self) -> dict[str, str]:
        """The libraries that congestion controls are in: paths by SHA-256."""
        return {str(cc.sha256): cc.library for cc in self._controls if cc.library is not None}

    @property
    def clock_s(self) -> int | None:
        """The time of day at time 0, s since 1970; None: that of the engine."""
        return None if self.clock is None else int(datetime.fromisoformat(self.clock).replace(tzinfo=UTC).timestamp())

    @property
    def in_kernel(self) -> dict[str, str]:
        """The modules and congestion controls that the kernel loads: paths by SHA-256."""
        controls = {str(cc.sha256): cc.in_kernel[1] for cc in self._controls if cc.in_kernel is not None}
        return {**{file.sha256: file.path for file in self.modules}, **controls}

    @property
    def places(self) -> dict[str, dict[str, str]]:
        """The files that the scenario names, by SHA-256: the key that names each, and its path. The content of a run has no paths."""
        controls = {str(cc.sha256): {"library": cc.library} for cc in self._controls if cc.library is not None}
        loaded = {str(cc.sha256): {cc.in_kernel[0]: cc.in_kernel[1]} for cc in self._controls if cc.in_kernel is not None}
        given = {file.sha256: {"path": file.path} for files in self._given for file in files}
        return {**controls, **loaded, **given}

    @property
    def _given(self) -> Iterator[list[GivenFile]]:
        """The lists of files that the scenario gives to programs and to the kernel."""
        return chain([self.modules], (program.files for program in self.programs.values()))

    @property
    def own_programs(self) -> dict[str, str]:
        """The programs of the scenario's own that make flows, with the commands of their clients."""
        return {flow.program: shlex.join(self.programs[flow.program].client) for flow in self.flows if flow.program in self.programs}

    @property
    def functions(self) -> dict[int, Function]:
        """The functions that are congestion controls, by number. Raises `Unfit` for those of another process."""
        return {cc.function: numbered(cc.function) for cc in self._controls if cc.function is not None}

    @property
    def controls(self) -> list[Cc]:
        """The congestion controls of all connections."""
        return self._controls

    @property
    def _controls(self) -> list[Cc]:
        over_tcp = (*self.flows, *[traffic for traffic in self.background if isinstance(traffic, Connections)])
        return [each.cc for each in over_tcp]
