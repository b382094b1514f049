"""Queue disciplines as a user writes them: tc's keywords, with the defaults of Linux 6.12."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dumbbell.scenario.base import Kinded
from dumbbell.scenario.problems import Location, Unfit
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size

_Ms5, _Ms15, _Ms100 = (Duration.parse(text) for text in ("5ms", "15ms", "100ms"))
_Frame = Size.parse("1514B")
_MS = 10**6
_MiB32 = Size.parse("32MiB")


class Discipline(Kinded):
    """What all queue disciplines have."""

    counts_bytes: ClassVar[bool] = False
    """Its limits are in bytes, not in packets."""
    depends_on_seed: ClassVar[bool] = True
    """It hashes or decides at random, so that runs with different seeds differ."""
    is_randomised: ClassVar[bool] = False
    """It decides at random for each packet: only its behaviour over many seeds can be compared."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Key, what is wrong and what was expected, of parameters that contradict each other or can never work."""
        yield from ()


class Pfifo(Discipline):
    """FIFO limited in packets (Linux pfifo)."""

    depends_on_seed = False

    kind: Literal["pfifo"] = "pfifo"
    limit: Limit
    """Packets or `bdp`."""


class Bfifo(Discipline):
    """FIFO limited in bytes (Linux bfifo)."""

    counts_bytes = True
    depends_on_seed = False

    kind: Literal["bfifo"] = "bfifo"
    limit: Limit
    """Bytes or `bdp`."""


def _sce(value: object) -> object:
    if isinstance(value, bool) or value in ("single", "single-steep"):
        return value
    if isinstance(value, int) and 1 <= value <= 1024:
        return value
    raise Unfit(f"{value!r} is not an SCE ramp", "true, false, single, single-steep or 1 to 1024")


class Cake(Discipline):
    """Cake, besteffort, with tc's keywords."""

    kind: Literal["cake"] = "cake"
    rate: Rate | None = None
    """Keyword bandwidth of the shaper cake; by default the bottleneck's rate. Behind another shaper cake has none."""
    isolation: Literal["flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"] = (
        "triple-isolate"
    )
    rtt: Duration = _Ms100
    """The interval of COBALT; its target is a twentieth of it."""
    overhead: Annotated[int, Field(ge=-64, le=256)] | None = None
    """Bytes added to each packet's IP length; none is `raw`, the frame's own length."""
    mpu: Annotated[int, Field(ge=0, le=256)] = 0
    """Least charged length in bytes."""
    framing: Literal["noatm", "atm", "ptm"] = "noatm"
    memlimit: Size | None = None
    """Most memory; none is Cake's own choice by rate."""
    sce: Annotated[bool | Literal["single", "single-steep"] | int, BeforeValidator(_sce)] = False
    """The SCE ramp: true (`sce`), `single` (`sce-single`), N (`sce-thresh N`), or `single-steep`: `single` with the slope of `sce`."""


def _without(model: Kinded, variant: str, keys: tuple[str, ...]) -> None:
    """Refuses what a variant does not have."""
    for key in keys:
        if key in model.model_fields_set and getattr(model, key) != type(model).model_fields[key].default:
            raise Unfit(f"the variant {variant} has no {key}", "it left out")


_CodelVariant = Literal["linux-6.12", "linux-3.10"]


class Codel(Discipline):
    """CoDel (RFC 8289, Linux codel)."""

    depends_on_seed = False

    kind: Literal["codel"] = "codel"
    variant: _CodelVariant = "linux-6.12"
    """The kernel whose code it is."""
    limit: Limit = Limit.parse("1000p")
    """Packets or `bdp`."""
    target: Duration = _Ms5
    interval: Duration = _Ms100
    ecn: bool = False
    ce_threshold: Duration | None = None
    """Marks everything that waited longer."""

    @model_validator(mode="after")
    def _of_its_time(self) -> Codel:
        if self.variant == "linux-3.10":
            _without(self, "linux-3.10", ("ce_threshold",))
        return self


class FqCodel(Discipline):
    """FlowQueue-CoDel (RFC 8290, Linux fq_codel)."""

    kind: Literal["fq_codel"] = "fq_codel"
    variant: _CodelVariant = "linux-6.12"
    """The kernel whose code it is; that of 3.10 drops a single packet of the fattest flow when the limit is met."""
    limit: Limit = Limit.parse("10240p")
    """Packets or `bdp`."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    target: Duration = _Ms5
    interval: Duration = _Ms100
    quantum: Size = _Frame
    memory_limit: Size = _MiB32
    drop_batch: Annotated[int, Field(ge=1)] = 64
    """Most packets dropped at once when the limit is met."""
    ecn: bool = True
    ce_threshold: Duration | None = None
    """Marks everything that waited longer."""

    @model_validator(mode="after")
    def _of_its_time(self) -> FqCodel:
        if self.variant == "linux-3.10":
            _without(self, "linux-3.10", ("memory_limit", "drop_batch", "ce_threshold"))
        return self


class Pie(Discipline):
    """PIE (RFC 8033, Linux pie)."""

    is_randomised = True

    kind: Literal["pie"] = "pie"
    variant: Annotated[Literal["linux-6.12", "2013"], BeforeValidator(lambda given: str(given) if given == 2013 else given)] = "linux-6.12"
    """`2013`: the module that its authors distributed before Linux had it; times in whole milliseconds."""
    hz: Annotated[int, Field(ge=100, le=10_000)] = 1000
    """Ticks a second, in which the variant 2013 counts time."""
    limit: Limit = Limit.parse("1000p")
    """Packets or `bdp`."""
    target: Duration = _Ms15
    tupdate: Duration = _Ms15
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """In sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """In sixteenths, Hz."""
    ecn: bool = False
    bytemode: bool = False
    dq_rate_estimator: bool = False
    """Estimates the delay by Little's law (the departure rate) instead of from time stamps."""

    @model_validator(mode="after")
    def _of_its_time(self) -> Pie:
        if self.variant == "2013":
            _without(self, "2013", ("ecn", "bytemode", "dq_rate_estimator"))
            for key in ("target", "tupdate"):
                if getattr(self, key) % _MS or not getattr(self, key):
                    raise Unfit(f"the variant 2013 counts {key} in milliseconds, not {getattr(self, key)}", "whole ones")
        else:
            _without(self, self.variant, ("hz",))
        return self


class FqPie(Discipline):
    """FlowQueue-PIE (Linux fq_pie)."""

    is_randomised = True

    kind: Literal["fq_pie"] = "fq_pie"
    limit: Limit = Limit.parse("10240p")
    """Packets or `bdp`."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    target: Duration = _Ms15
    tupdate: Duration = _Ms15
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """In sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """In sixteenths, Hz."""
    quantum: Size = _Frame
    memory_limit: Size = _MiB32
    ecn_prob: Annotated[int, Field(ge=0, le=100)] = 10
    """Above this drop probability (%) also ECN-capable packets are dropped."""
    ecn: bool = False
    bytemode: bool = False
    dq_rate_estimator: bool = False
    """Estimates the delay by Little's law (the departure rate) instead of from time stamps."""


class Red(Discipline):
    """RED (Floyd and Jacobson 1993, Linux red)."""

    counts_bytes = True
    is_randomised = True

    kind: Literal["red"] = "red"
    limit: Limit
    """Bytes or `bdp`: the real limit of the queue."""
    min: Limit
    """Bytes or `bdp`: the average queue at which marking begins."""
    max: Limit
    """Bytes or `bdp`: the average queue at which marking is most likely."""
    probability: Annotated[float, Field(gt=0, le=1)] = 0.02
    """Of marking at `max`."""
    avpkt: Size = Size.parse("1000B")
    """Average packet, for the time constant and for idle times."""
    burst: Packets | None = None
    """Packets let through as a burst; by default (2 min + max) / (3 avpkt), tc's recommendation."""
    ecn: bool = False
    harddrop: bool = False
    """Drops instead of marking above `max`."""
    adaptive: bool = False
    """Adapts the probability (Adaptive RED, Floyd et al. 2001); today's tc cannot start it on today's kernel."""
    gentle: bool = False
    """Above `max` the probability rises to 1 at twice `max` (Floyd 2000); Linux's RED knows no such thing."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """As far as sizes can be compared; tc derives the weight of the average from them."""
        if self.min.unit == self.max.unit and self.max.value <= self.min.value:
            yield ("max",), f"{self.max} is not above min", f"more than {self.min}"
        if self.avpkt == 0:
            yield ("avpkt",), "0B is no packet", "e.g. 1000B"
        elif self.min.unit == "B":
            if self.min.value < self.avpkt:
                yield ("avpkt",), f"{self.avpkt} is more than min", f"at most {self.min}"
            if self.burst is not None and self.burst * self.avpkt < self.min.value:
                least = -(-int(self.min.value) // self.avpkt)
                yield ("burst",), f"{self.burst} of {self.avpkt} do not reach min", f"at least {least}p"


class Sfq(Discipline):
    """Stochastic fairness queueing (McKenney 1990, Linux sfq)."""

    kind: Literal["sfq"] = "sfq"
    limit: Limit = Limit.parse("127p")
    """Packets or `bdp`."""
    divisor: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Buckets that flows are hashed to; a power of two."""
    perturb: Duration = Duration(0)
    """Between changes of the hash, in whole seconds; `0s`: never."""
    quantum: Size = _Frame
    depth: Packets = Packets.parse("127p")
    """Most packets of a flow."""
    headdrop: bool = False
    """Drops the oldest packet instead of the newest."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """What the kernel refuses or tc cannot say."""
        if self.divisor & (self.divisor - 1):
            yield ("divisor",), f"{self.divisor} is no power of two", "e.g. 128 or 1024"
        if self.perturb % 10**9:
            yield ("perturb",), f"{self.perturb} is no whole number of seconds", "e.g. 10s, or 0s for never"
        if self.limit.unit == "p" and self.limit.value < 2:
            yield ("limit",), f"{self.limit} is too little for sfq", "at least 2p"


class Fq(Discipline):
    """Fair queue (Linux fq); senders do not pace behind a router, so that it is a fair queue of flows."""

    kind: Literal["fq"] = "fq"
    limit: Limit = Limit.parse("10000p")
    """Packets or `bdp`."""
    flow_limit: Packets = Packets.parse("100p")
    """Most packets of a flow."""
    quantum: Size = Size.parse("3028B")
    initial_quantum: Size = Size.parse("15140B")
    ce_threshold: Duration | None = None
    """Marks everything that waited longer."""


def _command(written: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*( [A-Za-z0-9._/%:-]+)*", written):
        raise Unfit(f"{written!r} is no command of tc", "a name and parameters with one space between, e.g. hhf limit 1000")
    return written


class Tc(Discipline):
    """Any queue discipline of Linux, as tc's command line names it."""

    kind: Literal["tc"] = "tc"
    command: Annotated[str, AfterValidator(_command)]
    """Name and parameters, e.g. `hhf limit 1000`."""


Qdisc = Annotated[
    Pfifo | Bfifo | Cake | Codel | FqCodel | Pie | FqPie | Red | Sfq | Fq | Tc,
    Field(discriminator="kind"),
]
"""A queue discipline; `kind` says which."""


DISCIPLINES: Mapping[str, type[Discipline]] = {model.model_fields["kind"].default: model for model in get_args(get_args(Qdisc)[0])}
"""By kind."""


def variants(kind: str) -> list[str]:
    """The variants of a queue discipline, the default first; none where there is but one."""
    field = DISCIPLINES[kind].model_fields.get("variant") if kind in DISCIPLINES else None
    return list(get_args(field.annotation)) if field else []
