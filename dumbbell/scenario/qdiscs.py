"""Queue disciplines: what the catalogue does not say of them, rules between keys and what a plan has besides. `generated` has the keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from dumbbell.catalogue.feature import Feature
from dumbbell.documents.problems import Location, Unfit
from dumbbell.scenario.discipline import Discipline, Parameters, PortFacts
from dumbbell.scenario.generated import qdiscs as generated
from dumbbell.scenario.generated.qdiscs import Bfifo, Fq, FqPie, Netem, Pfifo, Tc
from dumbbell.scenario.values.typed import ENCAPSULATIONS, SCE_RAMPS, charged, words

_MS = 10**6
_RFC_ALPHA, _RFC_BETA = 38, 768
"""0.1 * 15 ms / (100 ms)^2 and 0.3 / 100 ms, in 1/256 Hz."""
_DS_FIELD = 0xFF
"""All bits of the DS field and the ECN field."""

# Exported by dumbbell and dumbbell.scenario.
__all__ = ["Bfifo", "Cake", "Codel", "DualPi2", "Dummynet", "Fq", "FqCodel", "FqPie", "Netem", "Pfifo", "Pie", "Qdisc", "Red", "Sfq", "Tc"]


class _OfSeveralKernels(Discipline):
    """CoDel as 6.12 has it or as 3.10 had it."""

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan, which names each difference between the variants."""
        made, today = super().planned(port), getattr(self, "variant") == "linux-6.12"  # noqa: B009
        made["control"] |= {"floor": "mtu" if today else "largest-seen", "forgets_when_empty": today}
        return made

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, Feature]]:
        """Variants: the code of other kernels."""
        if planned["control"]["floor"] != "mtu":
            yield "variant", Feature.OTHER_KERNELS


class Codel(_OfSeveralKernels, generated.Codel):
    __doc__ = generated.Codel.__doc__


class FqCodel(_OfSeveralKernels, generated.FqCodel):
    __doc__ = generated.FqCodel.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """A selector without a threshold, or of more than eight bits."""
        yield from super().wrong()
        if self.ce_threshold_selector is None:
            return
        if self.ce_threshold is None:
            yield ("ce_threshold_selector",), "there is no ce_threshold that it could be for", "both"
        if any(int(part, 0) > _DS_FIELD for part in self.ce_threshold_selector.split("/")):
            yield ("ce_threshold_selector",), f"{self.ce_threshold_selector} has more than eight bits", "VALUE/MASK such as 0x1/0x3"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        made, today = super().planned(port), self.variant == "linux-6.12"
        if self.ce_threshold_selector is not None:
            made["control"]["ce_threshold_selector"] = [int(part, 0) for part in self.ce_threshold_selector.split("/")]
        if not today:
            made["queues"]["memory_limit_bytes"], made["drop_batch"] = None, 1
        return {**made, "drops_raise_count": today}


class Pie(generated.Pie):
    __doc__ = generated.Pie.__doc__

    kinds_planned = ("pie", "pie2013")

    @model_validator(mode="after")
    def _of_whole_milliseconds(self) -> Pie:
        for key in ("target", "tupdate") if self.variant == "2013" else ():
            if getattr(self, key) % _MS or not getattr(self, key):
                raise Unfit(f"the variant 2013 counts {key} in milliseconds, not {getattr(self, key)}", "whole ones")
        return self

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan, where the variant 2013 is a kind of its own."""
        made = super().planned(port)
        lacking = {each.field.partition(".")[2] for each in self.entry().parameters if each.variants and self.variant not in each.variants}
        made["control"] = {name: value for name, value in made["control"].items() if name not in lacking}
        return made if self.variant != "2013" else {**made, "kind": "pie2013"}

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, Feature]]:
        """Variants: the code of other kernels."""
        if planned["kind"] == "pie2013":
            yield "variant", Feature.OTHER_KERNELS


class Red(generated.Red):
    __doc__ = generated.Red.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Compares sizes that are in the same unit; tc derives the weight of the average from them."""
        yield from super().wrong()
        if self.nodrop and not self.ecn:
            yield ("nodrop",), "without ecn nothing is marked, and Linux refuses it", "ecn: true besides"
        if self.min.unit == self.max.unit and self.max.value <= self.min.value:
            yield ("max",), f"{self.max} is not above min", f"more than {self.min}"
        if self.avpkt and self.min.unit == "B":
            if self.min.value < self.avpkt:
                yield ("avpkt",), f"{self.avpkt} is more than min", f"at most {self.min}"
            if self.burst and self.burst * self.avpkt < self.min.value:
                least = -(-int(self.min.value) // self.avpkt)
                yield ("burst",), f"{self.burst} of {self.avpkt} do not reach min", f"at least {least}p"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        made = super().planned(port)
        control = made["control"]
        low, high, average = (control[name] for name in ("min_bytes", "max_bytes", "avpkt_bytes"))
        if control["burst_packets"] is None:
            control["burst_packets"] = max(-(-low // average), (2 * low + high) // (3 * average), 1)  # tc's minimum, and what it recommends
        made["control"] = {}
        for name, value in control.items():
            made["control"][name] = value
            if name == "burst_packets":
                made["control"]["bandwidth_bps"] = port.rate_bps
        return made


class Sfq(generated.Sfq):
    __doc__ = generated.Sfq.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Yield the values that are an error in the kernel, or that tc cannot express."""
        yield from super().wrong()
        if self.divisor & (self.divisor - 1):
            yield ("divisor",), f"{self.divisor} is no power of two", "e.g. 128 or 1024"
        if self.perturb % 10**9:
            yield ("perturb",), f"{self.perturb} is no whole number of seconds", "e.g. 10s, or 0s for never"


class DualPi2(generated.DualPi2):
    __doc__ = generated.DualPi2.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Two steps at once, and a ramp that has no room."""
        yield from super().wrong()
        if self.step_packets is not None and "step_thresh" in self.model_fields_set:
            yield ("step_packets",), "cannot be combined with step_thresh", "either of them"
        if self.variant == "rfc9332" and self.ramp_to <= self.ramp_from:
            yield ("ramp_to",), f"{self.ramp_to} is not after ramp_from, {self.ramp_from}", f"more than {self.ramp_from}"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan. The defaults of the RFC differ from the kernel's (RFC 9332, Appendix A.1)."""
        made = super().planned(port)
        if self.variant == "rfc9332":
            defaults = {"tupdate_ns": 15 * _MS, "alpha": _RFC_ALPHA, "beta": _RFC_BETA, "limit_packets": _room(port)}
            written = {each.field for each in self.entry().parameters if each.name in self.model_fields_set}
            made |= {field: value for field, value in defaults.items() if field not in written}
        return made

    @classmethod
    def features(cls, planned: Parameters) -> Iterator[tuple[str, Feature]]:
        """The RFC's code is no kernel's, and whole chunks are no packets."""
        if planned["variant"] == "rfc9332":
            yield "variant", Feature.OTHER_KERNELS
        if not planned["split_gso"]:
            yield "split_gso", Feature.WHOLE_CHUNKS


def _room(port: PortFacts) -> int:
    """The RFC's limit: 250 ms of the link rate, in packets."""
    return max(1, port.rate_bps // (4 * 8 * port.frame_bytes))


class Cake(generated.Cake):
    __doc__ = generated.Cake.__doc__

    def wrong(self) -> Iterator[tuple[Location, str, str]]:
        """Two keys that say the same."""
        yield from super().wrong()
        written = words(self.framing)
        lines = [word for word in written if word in ENCAPSULATIONS]
        if lines and self.overhead is not None:
            yield ("overhead",), f"{lines[0]} has an overhead of its own", "one of both"
        if "raw" in written and (len(written) > 1 or self.overhead is not None):
            yield ("framing",), "raw cannot be combined with other words", "raw alone"

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan."""
        return super().planned(port) | {
            "rate_bps": port.rate_bps if port.shaped_here else None,
            **charged(self.framing, self.overhead, self.mpu),
            "sce": SCE_RAMPS[self.sce] if isinstance(self.sce, bool | str) else self.sce,
        }


class Dummynet(generated.Dummynet):
    __doc__ = generated.Dummynet.__doc__

    def planned(self, port: PortFacts) -> dict[str, Any]:
        """Its parameters in a plan, with the rate that it shapes to."""
        return {"kind": self.kind, "rate_bps": port.rate_bps, **super().planned(port)}


_Mapping = Annotated[
    Pfifo | Bfifo | Cake | Codel | FqCodel | Pie | FqPie | Red | Sfq | Fq | DualPi2 | Dummynet | Netem | Tc, Field(discriminator="kind")
]
_Kind = Literal["pfifo", "bfifo", "cake", "codel", "fq_codel", "pie", "fq_pie", "red", "sfq", "fq", "dualpi2", "dummynet", "netem", "tc"]
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


def features(planned: Parameters) -> Iterator[tuple[str, Feature]]:
    """Parameters of a queue discipline in a plan that not every engine has, with the feature that an engine must name."""
    if model := _PLANNED.get(planned["kind"]):
        yield from model.features(planned)


def variants(kind: str) -> list[str]:
    """The variants of a queue discipline, the default first; none where there is but one."""
    field = DISCIPLINES[kind].model_fields.get("variant") if kind in DISCIPLINES else None
    return list(get_args(field.annotation)) if field else []
