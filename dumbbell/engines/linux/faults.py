"""tc's words for the faults of a link, for netem, and the files with the distributions of jitter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from dumbbell.native import native
from dumbbell.plan import Link, Plan
from dumbbell.scenario.units import CERTAIN

Parameters = Mapping[str, Any]


def fault_words(faults: Parameters) -> dict[str, str]:
    """Words by fault, each with a blank in front. `order` is there if packets keep their order, which has no word of its own."""
    words: dict[str, str] = {}
    if (jitter := faults.get("jitter")) is not None:
        table = distribution(jitter["shape"])
        words["jitter"] = f" {jitter['deviation_ns'] / 1000:.12g}us{_correlation(jitter)}" + (
            "" if table is None else f" distribution {table}"
        )
        if jitter["keep_order"]:
            words["order"] = ""
    if (loss := faults.get("loss")) is not None:
        words["loss"] = _gilbert(loss) if loss["kind"] == "gilbert" else f" loss random {_share(loss)}"
        words["loss"] += " ecn" if faults.get("ecn") else ""
    for name in ("duplicate", "corrupt"):
        if name in faults:
            words[name] = f" {name} {_share(faults[name])}"
    if (reorder := faults.get("reorder")) is not None:
        words["reorder"] = f" reorder {_share(reorder)} gap {reorder['gap']}"
    return words


def distribution(shape: Any) -> str | None:
    """The name of the table of a distribution; None for a uniform one, which netem has without."""
    if isinstance(shape, str):
        return None if shape == "uniform" else shape
    return "table-" + hashlib.sha256(repr(shape["table"]).encode()).hexdigest()[:12]


def distribution_files(plan: Plan) -> dict[str, str]:
    """The files that tc is to find in its folder of distributions, by name."""
    return dict(_files(plan))


def _files(plan: Plan) -> Iterator[tuple[str, str]]:
    for port in plan.ports:
        jitter = port.faults.get("jitter") if isinstance(port, Link) and port.faults else None
        if jitter is not None and (name := distribution(jitter["shape"])) is not None:
            shape = jitter["shape"]
            entries = native().jitter_table(shape) if isinstance(shape, str) else shape["table"]
            yield f"{name}.dist", "".join(f"{entry}\n" for entry in entries)


def _gilbert(loss: Parameters) -> str:
    parameters = (loss["p"], loss["r"], CERTAIN - loss["h"], loss["one_minus_k"])
    return " loss gemodel " + " ".join(map(_percent, parameters))


def _share(parameters: Parameters) -> str:
    return f"{_percent(parameters['share'])}{_correlation(parameters)}"


def _correlation(parameters: Parameters) -> str:
    return f" {_percent(parameters['correlation'])}" if parameters["correlation"] else ""


def _percent(chance: int) -> str:
    """Return the percentage with as many digits as tc needs to get the same number."""
    return f"{100 * chance / CERTAIN:.12g}%"
