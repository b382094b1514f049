"""Writes the catalogue of what may be set (dumbbell/catalogue/catalogue.json) from the simulator's sources, and the models of scenarios
(dumbbell/scenario/generated/) from the catalogue.

    python docs/catalogue.py

The simulator must have been built from these sources (`make setup`).
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

from dumbbell import catalogue
from dumbbell.catalogue import Entry, Parameter
from dumbbell.native import native

ROOT = Path(__file__).resolve().parent.parent
FEATURES = ROOT / "dumbbell" / "catalogue" / "feature.py"
MODELS = {
    group: ROOT / "dumbbell" / "scenario" / "generated" / f"{name}.py"
    for group, name in {"qdisc": "qdiscs", "fault": "faults", "path": "paths", "host": "hosts", "traffic": "traffic"}.items()
}
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
}
"""Keys that may be written in several ways: their types in `dumbbell.scenario.values.typed`."""
_DEFAULTS = {("cake", "sce"): "False", ("host", "sysctls"): "Field(default_factory=dict)"}
_REMARKS = {("transfers", "rtt"): "  # type: ignore[assignment]"}
_NAMES = {"dualpi2": "DualPi2", "onoff": "OnOff"}
"""Names of models that do not follow from the entry's name."""
_WITHOUT_MODEL = ("stage",)
"""Entries whose keys stand in models that have others, too."""
_BASES = {
    "qdisc": "Discipline",
    "fault": "Fault",
    "delay": "Faults",
    "host": "Model",
    "traffic": "Traffic, Connections",
    "ping": "Datagrams",
    "udp": "Datagrams",
    "voip": "Datagrams",
}
"""Base classes by entry, or else by group."""
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
    "qdisc": '''\
"""Queue disciplines as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.discipline import Discipline
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size
from dumbbell.scenario.values.typed import CakeAckFilter, CakeFraming, CakeRtt, CakeSce, PieVariant, TcCommand
''',
    "fault": '''\
"""Faults of links as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.base import Fault
from dumbbell.scenario.units import Duration, Share
''',
    "path": '''\
"""Keys of paths as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Literal

from dumbbell.scenario.faults import Faults
from dumbbell.scenario.units import Duration, Limit

ShaperKind = Literal[{shapers}]
''',
    "host": '''\
"""Settings of hosts as the catalogue has them. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dumbbell.documents.model import Flag, Model
from dumbbell.scenario.units import Duration, Packets, Rate, Size
from dumbbell.scenario.values.typed import Sysctls
''',
    "traffic": '''\
"""Traffic as the catalogue has it. Made by docs/catalogue.py from dumbbell/catalogue/catalogue.json, and not edited by hand."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from dumbbell.documents.model import Flag
from dumbbell.scenario.tcp import Connections, Start
from dumbbell.scenario.traffic.arrivals import Arrivals
from dumbbell.scenario.traffic.base import Traffic
from dumbbell.scenario.traffic.datagrams import Datagrams
from dumbbell.scenario.units import Duration, Rate, Size
from dumbbell.scenario.values.distributions import Drawn
''',
}


def exported() -> str:
    """Return the content of catalogue.json."""
    return json.dumps(json.loads(native().catalogue()), indent=1, ensure_ascii=False) + "\n"


def features() -> str:
    """Return the module of the features."""
    named = json.loads(native().catalogue())["feature"]
    members = "".join(f'    {name.replace("-", "_").upper()} = "{words}"\n' for name, words in named.items())
    return f'''"""Abilities of engines. Made by docs/catalogue.py from the simulator's sources, and not edited by hand."""

from enum import StrEnum


class Feature(StrEnum):
    """An ability that an engine may have or lack, by its name in messages."""

{members}'''


def models(group: str) -> str:
    """Return the module of the models of a group."""
    shapers = ", ".join(f'"{name}"' for name in catalogue.entries("shaper"))
    made = [_model(group, entry) for entry in catalogue.entries(group).values() if entry.name not in _WITHOUT_MODEL]
    return _HEADS[group].replace("{shapers}", shapers) + "".join(f"\n\n{each}" for each in made)


def _model(group: str, entry: Entry) -> str:
    name = _NAMES.get(entry.name) or "".join(part.title() for part in entry.name.split("_"))
    lines = [f"class {name}({_BASES.get(entry.name) or _BASES[group]}):", _documented(entry.about), ""]
    if group == "qdisc":
        lines.append(f"    depends_on_seed: ClassVar[bool] = {entry.draws != 'nothing'}")
        lines += [f"    is_randomised: ClassVar[bool] = {entry.draws == 'each-packet'}", ""]
        lines.append(f'    kind: Literal["{entry.name}"] = "{entry.name}"')
    elif group == "traffic":
        lines.append(f'    kind: Literal["{entry.name}"] = "{entry.name}"')
    elif group == "fault":
        lines += [f'    named: ClassVar[str] = "{entry.name}"', ""]
    for each in entry.parameters:
        lines += _field(entry, each)
    return "\n".join(lines) + "\n"


def _field(entry: Entry, parameter: Parameter) -> Iterator[str]:
    type_ = _TYPES.get((entry.name, parameter.name)) or _type(parameter)
    default = _DEFAULTS.get((entry.name, parameter.name)) or _default(parameter)
    if default == "None":
        type_ += " | None"
    remark = _REMARKS.get((entry.name, parameter.name), "")
    line = f"    {parameter.name}: {type_}{f' = {default}' if default else ''}{remark}"
    if len(line) > _WIDTH and " = " in line:
        opening, inner = ("Field(", default[6:-1]) if default.startswith("Field(default=") else ("(", default)
        line = f"    {parameter.name}: {type_} = {opening}\n        {inner}\n    )"
    yield line
    yield _documented(parameter.meaning)


def _type(parameter: Parameter) -> str:
    if parameter.kind in _QUANTITIES:
        quantity = _QUANTITIES[parameter.kind]
        return f"Drawn[{quantity}]" if parameter.kind.startswith("drawn-") else quantity
    if parameter.kind == "start":
        return "Start"
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
    """Write both."""
    catalogue.FILE.write_text(exported(), encoding="utf-8")
    FEATURES.write_text(features(), encoding="utf-8")
    for group, path in MODELS.items():
        path.write_text(models(group), encoding="utf-8")


if __name__ == "__main__":
    main()
