"""The settings of a scenario as a user writes them: paths and flows. Quantities are in `units`, stages in `stages`, sweeps in `sweep`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Unfit
from dumbbell.scenario.base import EngineName, Name
from dumbbell.scenario.connections import Connections
from dumbbell.scenario.function import Function, numbered
from dumbbell.scenario.generated import networks, workloads
from dumbbell.scenario.generated.kinds import Background
from dumbbell.scenario.generated.networks import HostQueue
from dumbbell.scenario.program import Given, GivenFile, Program
from dumbbell.scenario.series import Events, Points, Series, at_hosts
from dumbbell.scenario.stages import Stage
from dumbbell.scenario.tcp import Cc
from dumbbell.scenario.units import ETHERNET_BYTES, Duration


class Path(networks.Path):
    __doc__ = networks.Path.__doc__

    @property
    def frame_bytes(self) -> int:
        """Its largest frame."""
        return self.mtu + ETHERNET_BYTES


class NamedPath(networks.NamedPath):
    __doc__ = networks.NamedPath.__doc__

    def passed(self, direction: Literal["forward", "reverse"]) -> list[Name]:
        """The stages that packets of a direction pass, in order."""
        if direction == "forward":
            return self.forward
        return self.reverse if isinstance(self.reverse, list) else self.forward[::-1] if self.reverse == "return" else []


class Flow(workloads.Flow, Connections):
    __doc__ = workloads.Flow.__doc__
    # A flow of a program needs no congestion control.
    model_config = ConfigDict(json_schema_extra=lambda found: found["required"].remove("cc"))

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
