"""Queue disciplines: as a user writes them, with tc's keywords and the defaults of Linux 6.12, and their values in a plan."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dumbbell.documents.model import Flag
from dumbbell.documents.problems import Location, Unfit
from dumbbell.scenario.base import Kinded
from dumbbell.scenario.cake import Cake
from dumbbell.scenario.discipline import Discipline, Parameters, PortFacts, number
from dumbbell.scenario.dummynet import Dummynet
from dumbbell.scenario.netem import Netem
from dumbbell.scenario.units import Duration, Limit, Packets, Size

_Ms5, _Ms15, _Ms100 = (Duration.parse(text) for text in ("5ms", "15ms", "100ms"))
_MS = 10**6
_SFQ_FLOWS = 128
_MiB32 = Size.parse("32MiB")
_NS_PER_S = 10**9
_DS_FIELD = 0xFF
"""All bits of the DS field and the ECN field."""
_CERTAIN = 1 << 32
"""RED's probability 1 in a plan."""

# Exported by dumbbell and dumbbell.scenario.
__all__ = ["Bfifo", "Cake", "Codel", "Dummynet", "Fq", "FqCodel", "FqPie", "Netem", "Pfifo", "Pie", "Qdisc", "Red", "Sfq", "Tc"]

OTHER_KERNELS = "qdiscs of other kernels"
ADAPTIVE_RED = "adaptive RED"
GENTLE_RED = "gentle RED"
FQ_CE_THRESHOLD = "ce_threshold of fq"


class Pfifo(Discipline):
    """FIFO limited in packets (Linux pfifo)."""

    depends_on_seed = False

    kind: Literal["pfifo"] = "pfifo"
    limit: Limit
    """Limit of the queue, packets or `bdp`."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {"kind": "pfifo", "limit_packets": port.packets(self.limit)}


class Bfifo(Discipline):
    """FIFO limited in bytes (Linux bfifo)."""

    counts_bytes = True
    depends_on_seed = False

    kind: Literal["bfifo"] = "bfifo"
    limit: Limit
    """Limit of the queue, bytes or `bdp`."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {"kind": "bfifo", "limit_bytes": port.bytes(self.limit)}


def _without(model: Kinded, variant: str, keys: tuple[str, ...]) -> None:
    """Raises `Unfit` if a key is set that the variant does not have."""
    for key in keys:
        if key in model.model_fields_set and getattr(model, key) != type(model).model_fields[key].default:
            raise Unfit(f"the variant {variant} has no {key}", "it left out")


_CodelVariant = Literal["linux-6.12", "linux-3.10"]
_FLOORS: Mapping[_CodelVariant, str] = {"linux-6.12": "mtu", "linux-3.10": "largest-seen"}
"""The backlog that a variant always tolerates."""


_Selector = Annotated[str, Field(pattern=r"^(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})/(0x[0-9a-fA-F]{1,2}|[0-9]{1,3})$")]


def _codel(qdisc: Codel | FqCodel) -> dict[str, Any]:
    selector = qdisc.ce_threshold_selector if isinstance(qdisc, FqCodel) else None
    return {
        "target_ns": int(qdisc.target),
        "interval_ns": int(qdisc.interval),
        "ecn": qdisc.ecn,
        "ce_threshold_ns": number(qdisc.ce_threshold),
        **({} if selector is None else {"ce_threshold_selector": [int(part, 0) for part in selector.split("/")]}),
        "floor": _FLOORS[qdisc.variant],
        "forgets_when_empty": qdisc.variant == "linux-6.12",
    }


def _frames(quantum: Size | None, port: PortFacts, frames: int = 1) -> int:
    """Return a quantum in bytes; by default this number of the largest frames."""
    return frames * port.frame_bytes if quantum is None else int(quantum)


def _queues(qdisc: FqCodel | FqPie, port: PortFacts, *, limits_memory: bool) -> dict[str, Any]:
    memory = int(qdisc.memory_limit) if limits_memory else None
    return {"flows": qdisc.flows, "quantum_bytes": _frames(qdisc.quantum, port), "memory_limit_bytes": memory}


class Codel(Discipline):
    """CoDel (RFC 8289, Linux codel)."""

    depends_on_seed = False

    kind: Literal["codel"] = "codel"
    variant: _CodelVariant = "linux-6.12"
    """Version of the kernel's code."""
    limit: Limit = Limit.parse("1000p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = _Ms5
    interval: Duration = _Ms100
    ecn: Flag = False
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""

    @model_validator(mode="after")
    def _of_its_time(self) -> Codel:
        if self.variant == "linux-3.10":
            _without(self, "linux-3.10", ("ce_threshold",))
        return self

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "codel",
            "limit_packets": port.packets(self.limit),
            "control": _codel(self),
        }

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """Variants: the code of other kernels."""
        if planned["control"]["floor"] != _FLOORS["linux-6.12"]:
            yield "variant", OTHER_KERNELS


class FqCodel(Discipline):
    """FlowQueue-CoDel (RFC 8290, Linux fq_codel)."""

    kind: Literal["fq_codel"] = "fq_codel"
    variant: _CodelVariant = "linux-6.12"
    """Version of the kernel's code. The code of 3.10 drops a single packet of the fattest flow when the limit is met."""
    limit: Limit = Limit.parse("10240p")
    """Limit of the queue, packets or `bdp`."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    target: Duration = _Ms5
    interval: Duration = _Ms100
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    memory_limit: Size = _MiB32
    drop_batch: Annotated[int, Field(ge=1)] = 64
    """Maximum number of packets dropped at once when the limit is met."""
    ecn: Flag = True
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""
    ce_threshold_selector: _Selector | None = None
    """VALUE/MASK: `ce_threshold` is only for packets whose DS field, with the ECN field, is VALUE where MASK has ones. `1/3`: ECT(1)."""

    @model_validator(mode="after")
    def _of_its_time(self) -> FqCodel:
        if self.variant == "linux-3.10":
            _without(self, "linux-3.10", ("memory_limit", "drop_batch", "ce_threshold", "ce_threshold_selector"))
        return self

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """A selector without a threshold, or of more than eight bits."""
        if self.ce_threshold_selector is None:
            return
        if self.ce_threshold is None:
            yield ("ce_threshold_selector",), "there is no ce_threshold that it could be for", "both"
        if any(int(part, 0) > _DS_FIELD for part in self.ce_threshold_selector.split("/")):
            yield ("ce_threshold_selector",), f"{self.ce_threshold_selector} has more than eight bits", "VALUE/MASK such as 0x1/0x3"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        today = self.variant == "linux-6.12"
        return {
            "kind": "fq_codel",
            "limit_packets": port.packets(self.limit),
            "control": _codel(self),
            "queues": _queues(self, port, limits_memory=today),
            "drop_batch": self.drop_batch if today else 1,
            "drops_raise_count": today,
        }

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """Variants: the code of other kernels."""
        yield from Codel.features(planned)


def _weights(qdisc: Pie | FqPie) -> dict[str, Any]:
    return {"target_ns": int(qdisc.target), "tupdate_ns": int(qdisc.tupdate), "alpha": qdisc.alpha, "beta": qdisc.beta}


def _pie(qdisc: Pie | FqPie) -> dict[str, Any]:
    flags = {"ecn": qdisc.ecn, "bytemode": qdisc.bytemode, "dq_rate_estimator": qdisc.dq_rate_estimator}
    return {**_weights(qdisc), **flags}


class Pie(Discipline):
    """PIE (RFC 8033, Linux pie)."""

    is_randomised = True
    kinds_planned = ("pie", "pie2013")

    kind: Literal["pie"] = "pie"
    variant: Annotated[
        Literal["linux-6.12", "2013"],
        BeforeValidator(lambda given: str(given) if given == 2013 else given, json_schema_input_type=Literal["linux-6.12", "2013", 2013]),
    ] = "linux-6.12"
    """`2013`: the module that its authors distributed before Linux had it; times in whole milliseconds."""
    hz: Annotated[int, Field(ge=100, le=10_000)] = 1000
    """Ticks a second, in which the variant 2013 counts time."""
    limit: Limit = Limit.parse("1000p")
    """Limit of the queue, packets or `bdp`."""
    target: Duration = _Ms15
    tupdate: Duration = _Ms15
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """Weight of the deviation from the target, in sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """Weight of the trend of the delay, in sixteenths, Hz."""
    ecn: Flag = False
    bytemode: Flag = False
    dq_rate_estimator: Flag = False
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

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan, where the variant 2013 is a kind of its own."""
        limit = port.packets(self.limit)
        if self.variant == "2013":
            return {"kind": "pie2013", "limit_packets": limit, "control": {**_weights(self), "hz": self.hz}}
        return {"kind": "pie", "limit_packets": limit, "control": _pie(self)}

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """Variants: the code of other kernels."""
        if planned["kind"] == "pie2013":
            yield "variant", OTHER_KERNELS


class FqPie(Discipline):
    """FlowQueue-PIE (Linux fq_pie)."""

    is_randomised = True

    kind: Literal["fq_pie"] = "fq_pie"
    limit: Limit = Limit.parse("10240p")
    """Limit of the queue, packets or `bdp`."""
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    target: Duration = _Ms15
    tupdate: Duration = _Ms15
    alpha: Annotated[int, Field(ge=0, le=32)] = 2
    """Weight of the deviation from the target, in sixteenths, Hz."""
    beta: Annotated[int, Field(ge=0, le=32)] = 20
    """Weight of the trend of the delay, in sixteenths, Hz."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    memory_limit: Size = _MiB32
    ecn_prob: Annotated[int, Field(ge=0, le=100)] = 10
    """Drop probability (%) above which ECN-capable packets are dropped, too."""
    ecn: Flag = False
    bytemode: Flag = False
    dq_rate_estimator: Flag = False
    """Estimates the delay by Little's law (the departure rate) instead of from time stamps."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "fq_pie",
            "limit_packets": port.packets(self.limit),
            "control": _pie(self),
            "queues": _queues(self, port, limits_memory=True),
            "ecn_prob": self.ecn_prob,
        }


class Red(Discipline):
    """RED (Floyd and Jacobson 1993, Linux red)."""

    counts_bytes = True
    is_randomised = True

    kind: Literal["red"] = "red"
    limit: Limit
    """Limit of the real queue, not of its average, bytes or `bdp`."""
    min: Limit
    """Average queue at which marking begins, bytes or `bdp`."""
    max: Limit
    """Average queue at which marking is most likely, bytes or `bdp`."""
    probability: Annotated[float, Field(gt=0, le=1)] = 0.02
    """Probability of a mark at `max`."""
    avpkt: Size = Size.parse("1000B")
    """Average packet, for the time constant and for idle times."""
    burst: Packets | None = None
    """Packets let through as a burst; by default (2 min + max) / (3 avpkt), tc's recommendation, but enough to reach `min`."""
    ecn: Flag = False
    harddrop: Flag = False
    """Drops instead of marking above `max`."""
    nodrop: Flag = False
    """With `ecn`: lets packets pass that cannot be marked, where others are marked."""
    adaptive: Flag = False
    """Adapts the probability (Adaptive RED, Floyd et al. 2001); today's tc cannot start it on today's kernel."""
    gentle: Flag = False
    """Lets the probability rise above `max`, to 1 at twice `max` (Floyd 2000). Linux's RED cannot do this."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Compares sizes that are in the same unit; tc derives the weight of the average from them."""
        if self.nodrop and not self.ecn:
            yield ("nodrop",), "without ecn nothing is marked, and Linux refuses it", "ecn: true besides"
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

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        limit, low, high = (port.bytes(value) for value in (self.limit, self.min, self.max))
        reaching = -(-low // int(self.avpkt))  # tc's minimum
        burst = max(reaching, (2 * low + high) // (3 * int(self.avpkt))) if self.burst is None else int(self.burst)
        control = {
            "min_bytes": low,
            "max_bytes": high,
            "max_p": int(round(self.probability, 6) * _CERTAIN),  # tc gets six digits
            "avpkt_bytes": int(self.avpkt),
            "burst_packets": max(1, burst),
            "bandwidth_bps": port.rate_bps,
            "ecn": self.ecn,
            "harddrop": self.harddrop,
            **({"nodrop": True} if self.nodrop else {}),
            "adaptive": self.adaptive,
            "gentle": self.gentle,
        }
        return {"kind": "red", "limit_bytes": limit, "control": control}

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """Yield the features that Linux's RED lacks."""
        for key, feature in (("adaptive", ADAPTIVE_RED), ("gentle", GENTLE_RED)):
            if planned["control"][key]:
                yield f"control.{key}", feature


class Sfq(Discipline):
    """Stochastic fairness queueing (McKenney 1990, Linux sfq)."""

    kind: Literal["sfq"] = "sfq"
    limit: Limit = Limit.parse("127p")
    """Limit of the queue, packets or `bdp`."""
    divisor: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Buckets that flows are hashed to; a power of two."""
    perturb: Duration = Duration(0)
    """Time between changes of the hash, in whole seconds; `0s`: never."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default the largest frame: 1514B, or the path's `mtu` and 14 bytes."""
    depth: Packets = Packets.parse("127p")
    """Maximum number of packets of a flow."""
    headdrop: Flag = False
    """Drops the oldest packet instead of the newest."""
    flows: Annotated[int, Field(ge=1, le=65408)] = _SFQ_FLOWS
    """Maximum number of queues, at most `divisor`. Packets of further flows are dropped while all are taken."""

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Yield the values that are an error in the kernel, or that tc cannot express."""
        if self.divisor & (self.divisor - 1):
            yield ("divisor",), f"{self.divisor} is no power of two", "e.g. 128 or 1024"
        if self.perturb % 10**9:
            yield ("perturb",), f"{self.perturb} is no whole number of seconds", "e.g. 10s, or 0s for never"
        if self.limit.unit == "p" and self.limit.value < 2:
            yield ("limit",), f"{self.limit} is too little for sfq", "at least 2p"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "sfq",
            "limit_packets": port.packets(self.limit),
            "divisor": self.divisor,
            "quantum_bytes": _frames(self.quantum, port),
            "depth_packets": int(self.depth),
            "perturb_s": int(self.perturb) // _NS_PER_S,
            "headdrop": self.headdrop,
            **({"flows": self.flows} if self.flows != _SFQ_FLOWS else {}),
        }


class Fq(Discipline):
    """Fair queue (Linux fq). On a router it only schedules flows, because it paces only local senders."""

    kind: Literal["fq"] = "fq"
    limit: Limit = Limit.parse("10000p")
    """Limit of the queue, packets or `bdp`."""
    flow_limit: Packets = Packets.parse("100p")
    """Maximum number of packets of a flow."""
    quantum: Size | None = None
    """Bytes that a flow may send in its turn; by default two of the largest frames."""
    initial_quantum: Size | None = None
    """Bytes that a new flow may send in its first turn; by default ten of the largest frames."""
    refill_delay: Duration | None = None
    """Pause after which a flow has a whole turn again; by default 40 ms."""
    ce_threshold: Duration | None = None
    """Sojourn time above which packets are CE-marked."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {
            "kind": "fq",
            "limit_packets": port.packets(self.limit),
            "flow_limit_packets": int(self.flow_limit),
            "quantum_bytes": _frames(self.quantum, port, 2),
            "initial_quantum_bytes": _frames(self.initial_quantum, port, 10),
            **({} if self.refill_delay is None else {"refill_delay_ns": int(self.refill_delay)}),
            "ce_threshold_ns": number(self.ce_threshold),
        }

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, str]]:
        """Marking by sojourn time."""
        if planned["ce_threshold_ns"] is not None:
            yield "ce_threshold_ns", FQ_CE_THRESHOLD


def _command(written: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]*( [A-Za-z0-9._/%:-]+)*", written):
        raise Unfit(f"{written!r} is no command of tc", "a name and parameters with one space between, e.g. hhf limit 1000")
    return written


class Tc(Discipline):
    """Any queue discipline of Linux, as tc's command line names it."""

    kind: Literal["tc"] = "tc"
    command: Annotated[str, AfterValidator(_command)]
    """Name and parameters, e.g. `hhf limit 1000`."""

    def planned(self, _port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return {"kind": "tc", "command": self.command}


_Mapping = Annotated[
    Pfifo | Bfifo | Cake | Codel | FqCodel | Pie | FqPie | Red | Sfq | Fq | Dummynet | Netem | Tc, Field(discriminator="kind")
]
_Kind = Literal["pfifo", "bfifo", "cake", "codel", "fq_codel", "pie", "fq_pie", "red", "sfq", "fq", "dummynet", "netem", "tc"]
Qdisc = Annotated[
    _Mapping,
    BeforeValidator(lambda written: {"kind": written} if isinstance(written, str) else written, json_schema_input_type=_Kind | _Mapping),
]
"""A queue discipline; `kind` says which. The kind alone stands for it with its defaults."""


DISCIPLINES: Mapping[str, type[Discipline]] = {model.model_fields["kind"].default: model for model in get_args(get_args(Qdisc)[0])}
"""By kind."""


_PLANNED: Mapping[str, type[Discipline]] = {
    planned: model for kind, model in DISCIPLINES.items() for planned in (model.kinds_planned or (kind,))
}
_WRITTEN = {planned: str(model.model_fields["kind"].default) for planned, model in _PLANNED.items()}


def kind_written(planned: Parameters) -> str:
    """The kind, as scenarios and tables call it, of a queue discipline in a plan."""
    return _WRITTEN.get(planned["kind"]) or str(planned["kind"])


def features(planned: Parameters) -> Iterator[tuple[str, str]]:
    """Parameters of a queue discipline in a plan that not every engine has, with the feature that an engine must name."""
    if model := _PLANNED.get(planned["kind"]):
        yield from model.features(planned)


def variants(kind: str) -> list[str]:
    """The variants of a queue discipline, the default first; none where there is but one."""
    field = DISCIPLINES[kind].model_fields.get("variant") if kind in DISCIPLINES else None
    return list(get_args(field.annotation)) if field else []
