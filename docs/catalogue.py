"""Writes the catalogue of what may be set (dumbbell/catalogue/catalogue.json) from the simulator's sources, and the models of scenarios
(dumbbell/scenario/generated/) from the catalogue.

    python docs/catalogue.py

The simulator must have been built from these sources (`make setup`).
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel

from dumbbell import catalogue
from dumbbell.catalogue import Entry, Parameter
from dumbbell.native import native

ROOT = Path(__file__).resolve().parent.parent
FEATURES = ROOT / "dumbbell" / "catalogue" / "feature.py"
MODELS = {
    group: ROOT / "dumbbell" / "scenario" / "generated" / f"{name}.py"
    for group, name in {
        "qdisc": "qdiscs",
        "fault": "faults",
        "path": "paths",
        "impairment": "impairments",
        "network": "networks",
        "host": "hosts",
        "workload": "workloads",
        "traffic": "traffic",
    }.items()
}
KINDS = ROOT / "dumbbell" / "scenario" / "generated" / "kinds.py"
_WIDTH = 140
_TYPES = {
    ("cake", "rtt"): "CakeRtt",
    ("cake", "framing"): "CakeFraming",
    ("cake", "ack_filter"): "CakeAckFilter",
    ("cake", "sce"): "CakeSce",
    ("pie", "variant"): "PieVariant",
    ("tc", "command"): "TcCommand",
    ("host", "sysctls"): "Sysctls",
    ("transfers", "arrivals"): "Arrivals",
    ("bottleneck", "trace"): "Trace",
    ("bottleneck", "shaper"): "ShaperKind",
    ("bottleneck", "qdisc"): "Qdisc",
    ("path", "delay"): "Delay",
    ("path", "access"): "Access",
    ("path", "bottleneck"): "Bottleneck",
    ("path", "forward"): "list[Stage]",
    ("path", "reverse"): "Reverse",
    ("path", "impairments"): "list[Impairment]",
    ("named_path", "forward"): "Annotated[list[Name], Field(min_length=1)]",
    ("named_path", "reverse"): 'Annotated[Literal["return", "none"], Tag("word")] | Annotated[list[Name], Tag("stages")]',
    ("host_queue", "egress"): "Bottleneck",
    ("connection", "cc"): "Cc",
    ("connection", "stack"): "Stack",
    ("connection", "host"): "Host",
    ("connection", "ecn"): "Feedback",
    ("connection", "ect"): "Literal[0, 1]",
    ("datagrams", "ect"): "Literal[0, 1]",
    ("flow", "arguments"): "dict[str, Scalar]",
    ("arrivals", "load"): "Annotated[float, Field(gt=0, le=10, strict=False)]",
    ("arrivals", "at"): "Annotated[list[Duration], Field(min_length=1, max_length=1_000_000)]",
}
"""Keys that may be written in several ways, or hold keys of their own: their types."""
_DEFAULTS = {
    ("cake", "sce"): "False",
    ("host", "sysctls"): "Field(default_factory=dict)",
    ("path", "delay"): "Delay()",
    ("path", "reverse"): '"mirror"',
    ("path", "impairments"): "Field(default_factory=list)",
    ("named_path", "reverse"): '"return"',
    ("connection", "stack"): "Field(default_factory=usual_stack)",
    ("connection", "host"): "Field(default_factory=usual_host)",
    ("flow", "arguments"): "Field(default_factory=dict)",
}
"""Defaults that have keys of their own. Those that pydantic would copy each time, because it cannot hash them, are factories."""
_REMARKS = {("transfers", "rtt"): "  # type: ignore[assignment]"}
_NAMES = {"dualpi2": "DualPi2", "onoff": "OnOff", "impairment": "OneImpairment", "connection": "Connections", "rate": "RateStep"}
"""Names of models that do not follow from the entry's name."""
_BASES = {
    "qdisc": "Discipline",
    "fault": "Fault",
    "path": "Model",
    "delay": "Faults",
    "delay_stage": "Faults",
    "network": "Model",
    "host": "Model",
    "impairment": "Kinded",
    "outage": "OneImpairment",
    "rate": "OneImpairment",
    "drop": "OneImpairment",
    "hold": "OneImpairment",
    "workload": "Model",
    "traffic": "Traffic, Connections",
    "ping": "Datagrams",
    "udp": "Datagrams",
    "voip": "Datagrams",
}
"""Base classes by entry, or else by group."""
_OWN_BASES = {("workload", "traffic"): "Kinded", ("workload", "arrivals"): "Kinded", ("impairment", "impairment"): "Kinded"}
"""Base classes of entries whose names are those of groups, too."""
_ALIASED = ("for",)
"""Keys that are words of Python's."""
_QUANTITIES = {
    "duration": "Duration",
    "seconds": "Duration",
    "rate": "Rate",
    "size": "Size",
    "packets": "Packets",
    "limit-packets": "Limit",
    "limit-bytes": "Limit",
    "share": "Share",
    "drawn-size": "Size",
    "drawn-duration": "Duration",
}
_HEADS = {
    "qdisc": """\
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.discipline import Discipline
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size
from dumbbell.scenario.values.typed import CakeAckFilter, CakeFraming, CakeRtt, CakeSce, PieVariant, TcCommand
""",
    "fault": """\
from typing import Annotated, ClassVar

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.base import Fault
from dumbbell.scenario.units import Duration, Share
""",
    "path": """\
from typing import ClassVar, Literal

from dumbbell.documents.model import Model
from dumbbell.scenario.base import Name
from dumbbell.scenario.faults import Faults
from dumbbell.scenario.qdiscs import Qdisc
from dumbbell.scenario.units import Duration, Limit, Rate, Size
from dumbbell.scenario.values.trace import Trace

ShaperKind = Literal[{shapers}]
""",
    "impairment": """\
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from dumbbell.scenario.base import Kinded, Name
from dumbbell.scenario.units import Duration, Packets, Rate
""",
    "network": """\
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag

from dumbbell.documents.model import Model
from dumbbell.scenario.base import Name
from dumbbell.scenario.generated.paths import Access, Delay
from dumbbell.scenario.stages import Bottleneck, Impairment, Reverse, Stage
from dumbbell.scenario.units import Duration
""",
    "host": """\
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag, Model
from dumbbell.scenario.units import Duration, Packets, Rate, Size
from dumbbell.scenario.values.typed import Sysctls
""",
    "workload": """\
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag, Model
from dumbbell.scenario.base import Kinded, Name
from dumbbell.scenario.program import Scalar
from dumbbell.scenario.tcp import Cc, Feedback, Host, Stack, Start, usual_host, usual_stack
from dumbbell.scenario.units import Duration, Size
from dumbbell.scenario.values.dscp import Dscp
""",
    "traffic": """\
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.connections import Connections
from dumbbell.scenario.tcp import Start
from dumbbell.scenario.traffic.arrivals import Arrivals
from dumbbell.scenario.traffic.base import Traffic
from dumbbell.scenario.traffic.datagrams import Datagrams
from dumbbell.scenario.units import Duration, Rate, Size
from dumbbell.scenario.values.distributions import Drawn
""",
}
_ABOUT = {
    "qdisc": "Queue disciplines",
    "fault": "Faults of links",
    "path": "Stages, links and delays",
    "impairment": "Impairments",
    "network": "Paths, and queues of hosts",
    "host": "Settings of hosts",
    "workload": "Keys of flows and of all other traffic",
    "traffic": "Kinds of traffic",
}
_HEAD = '''\
"""{about}. Generated by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

'''


def exported(of_laboratory: list[dict[str, Any]]) -> str:
    """Return the content of catalogue.json: all that the simulator's sources declare, and the keys that only the laboratory reads."""
    return json.dumps({**json.loads(native().catalogue()), "laboratory": of_laboratory}, indent=1, ensure_ascii=False) + "\n"


def laboratory() -> list[dict[str, Any]]:
    """Return an entry for each model of a scenario with keys that no source of the simulator declares, such as those of sweeps: the model
    itself declares them."""
    # The models must be there first: they are made from the simulator's part of the catalogue.
    from docs import keys
    from dumbbell.scenario.base import parameters
    from dumbbell.scenario.scenario import Scenario

    schema = keys.models()
    entries: dict[str, dict[str, Any]] = {}
    for model in all_models(Scenario):
        name = "" if model is Scenario else re.sub(r"\W", "_", model.__name__)
        properties = keys.properties(schema[name])
        for key, node in properties.items():
            field = next((field for field, each in model.model_fields.items() if key in (field, each.alias)), key)
            owner = next((base for base in model.__mro__ if field in vars(base).get("__annotations__", ())), model)
            entry = {"name": re.sub(r"\W", "_", owner.__name__), "parameters": {}}
            listed = entries.setdefault(entry["name"], entry)["parameters"]
            if key not in parameters(model) and "const" not in node:
                listed[key] = listed.get(key) or keys.described(schema, name, key)
    return [
        {"name": name, "summary": "", "about": "", "draws": "nothing", "since": "", "tc": [], "parameters": [*entry["parameters"].values()]}
        for name, entry in sorted(entries.items())
        if entry["parameters"]
    ]


def all_models(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that values of a type may consist of, each once."""
    seen: dict[type[BaseModel], None] = {}
    waiting = [annotation]
    while waiting:
        each = waiting.pop(0)
        waiting += get_args(each)
        if isinstance(each, type) and issubclass(each, BaseModel) and each not in seen:
            seen[each] = None
            waiting += [field.annotation for field in each.model_fields.values()]
    return iter(seen)


def features() -> str:
    """Return the module of the features."""
    named = json.loads(native().catalogue())["feature"]
    members = "".join(f'    {name.replace("-", "_").upper()} = "{words}"\n' for name, words in named.items())
    return f'''"""Abilities of engines. Generated by docs/catalogue.py from the simulator's sources, and not edited by hand."""

from enum import StrEnum


class Feature(StrEnum):
    """An ability that an engine may have or lack, by its name in messages."""

{members}'''


def models(group: str) -> str:
    """Return the module of the models of a group."""
    shapers = ", ".join(f'"{name}"' for name in catalogue.entries("shaper"))
    head = _HEAD.format(about=_ABOUT[group]) + _HEADS[group].replace("{shapers}", shapers)
    return head + "".join(f"\n\n{_model(group, entry)}" for entry in catalogue.entries(group).values())


def kinds() -> str:
    """Return the module that lists the kinds of traffic."""
    named = {name: _class_name(name) for name in catalogue.entries("traffic")}
    imports = "".join(f"from dumbbell.scenario.traffic.{name} import {each}\n" for name, each in named.items())
    tagged = "\n    | ".join(f'Annotated[{each}, Tag("{name}")]' for name, each in named.items())
    mapped = "".join(f'    "{name}": {each},\n' for name, each in named.items())
    return f'''{_HEAD.format(about="Lists of the kinds of traffic")}from collections.abc import Mapping
from typing import Annotated

from pydantic import Discriminator, Tag

from dumbbell.scenario.traffic.arrivals import Arrivals
from dumbbell.scenario.traffic.base import Traffic, kind
{imports}
__all__ = [{", ".join(f'"{each}"' for each in sorted([*named.values(), "Arrivals"]))}]

Background = Annotated[
    {tagged},
    Discriminator(kind),
]
"""Traffic of any kind."""
KINDS: Mapping[str, type[Traffic]] = {{
{mapped}}}
"""By `kind`."""
'''


def _class_name(entry: str) -> str:
    return _NAMES.get(entry) or "".join(part.title() for part in entry.split("_"))


def _model(group: str, entry: Entry) -> str:
    name = _class_name(entry.name)
    base = _OWN_BASES.get((group, entry.name)) or _BASES.get(entry.name) or _BASES[group]
    lines = [
        f"class {name}({base}):",
        _documented(entry.about),
        "",
        f'    catalogued: ClassVar[tuple[str, str]] = ("{group}", "{entry.name}")',
    ]
    if group == "qdisc":
        lines.append(f"    depends_on_seed: ClassVar[bool] = {entry.draws != 'nothing'}")
        lines.append(f"    is_randomised: ClassVar[bool] = {entry.draws == 'each-packet'}")
    lines.append("")
    if group in ("qdisc", "traffic") or base == "OneImpairment":
        lines.append(f'    kind: Literal["{entry.name}"] = "{entry.name}"')
    elif (group, entry.name) == ("workload", "traffic"):
        lines.append("    kind: str")
    if any(each.name in _ALIASED for each in entry.parameters):
        lines.append("    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)")
        lines.append("")
    for each in entry.parameters:
        lines += _field(entry, each)
    return "\n".join(lines) + "\n"


def _field(entry: Entry, parameter: Parameter) -> Iterator[str]:
    type_ = _TYPES.get((entry.name, parameter.name)) or _type(parameter)
    default = _DEFAULTS.get((entry.name, parameter.name)) or _default(parameter)
    if default == "None":
        type_ += " | None"
    remark, name = _REMARKS.get((entry.name, parameter.name), ""), parameter.name
    if name in _ALIASED:
        name, type_ = f"{name}_", f'Annotated[{type_}, Field(alias="{name}")]'
    line = f"    {name}: {type_}{f' = {default}' if default else ''}{remark}"
    if len(line) > _WIDTH and " = " in line:
        opening, inner = ("Field(", default[6:-1]) if default.startswith("Field(default=") else ("(", default)
        line = f"    {name}: {type_} = {opening}\n        {inner}\n    )"
    yield line
    yield _documented(parameter.meaning)


def _type(parameter: Parameter) -> str:
    if parameter.kind in _QUANTITIES:
        quantity = _QUANTITIES[parameter.kind]
        return f"Drawn[{quantity}]" if parameter.kind.startswith("drawn-") else quantity
    if parameter.kind in ("start", "name", "codepoint"):
        return {"start": "Start", "name": "Name", "codepoint": "Dscp"}[parameter.kind]
    if parameter.kind == "sizes":
        return 'Literal["kernel"] | Annotated[list[Size], Field(min_length=3, max_length=3)]'
    if parameter.kind == "flag":
        return "Flag"
    if parameter.kind == "choice":
        return f"Literal[{', '.join(json.dumps(word) for word in parameter.words)}]"
    if parameter.kind == "ratio":
        return "Annotated[float, Field(ge=0, le=1, strict=False)]"
    if parameter.kind == "text" and not parameter.pattern:
        return "str"
    if parameter.kind == "text":
        return f'Annotated[str, Field(pattern=r"{parameter.pattern}")]'
    scale, type_ = (10**6, "float") if parameter.kind == "probability" else (1, "int")
    bounds = (("ge", parameter.least), ("le", parameter.most))
    facts = ", ".join(f"{key}={bound if scale == 1 else f'{bound / scale:g}'}" for key, bound in bounds if bound is not None)
    return f"Annotated[{type_}, Field({facts})]" if facts else type_


def _default(parameter: Parameter) -> str:
    """Return the default as Python has it; empty if the key must be given."""
    if parameter.required:
        return ""
    if parameter.kind == "start":
        return "Start()"
    if parameter.kind == "sizes" and parameter.written:
        return f"Field(default=[{', '.join(f'Size.parse({json.dumps(each)})' for each in parameter.written.split(', '))}])"
    if parameter.default is None and not parameter.written:
        return "None"
    if parameter.kind in _QUANTITIES:
        return f'{_QUANTITIES[parameter.kind]}.parse("{parameter.written}")'
    return parameter.written or (json.dumps(parameter.default) if isinstance(parameter.default, str) else str(parameter.default))


def _documented(text: str) -> str:
    paragraphs = [textwrap.wrap(each, _WIDTH - 7, break_on_hyphens=False) for each in f'"""{text}'.split("\n\n")]
    lines = [line for paragraph in paragraphs for line in (*paragraph, "")][:-1]
    closed = [*lines, '"""'] if len(paragraphs) > 1 else [*lines[:-1], f'{lines[-1]}"""']
    return "\n".join(f"    {line}".rstrip() for line in closed)


def main() -> None:
    """Write the simulator's part, the modules that are made from it, and the part that is made from these."""
    catalogue.FILE.write_text(exported([]), encoding="utf-8")
    FEATURES.write_text(features(), encoding="utf-8")
    KINDS.write_text(kinds(), encoding="utf-8")
    for group, path in MODELS.items():
        path.write_text(models(group), encoding="utf-8")
    catalogue.FILE.write_text(exported(laboratory()), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
