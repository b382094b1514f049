"""Makes words.json: the commands with their options as they are, and the values that these take."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from dumbbell import completion

_SCENARIO, _FOLDER, _STUDY = (":files yaml yml", "@test"), (":folders", "@study"), ("@study",)
_TAKES: Mapping[str, Sequence[str]] = {
    "agree SET": ("@set",),
    "agree --cc": ("@cc,", "all"),
    "agree --engines": ("@engine,",),
    "run --engines": ("@engine,",),
    "agree --qdisc": ("@qdisc,",),
    "analyze FILE.pcap...": (":files pcap pcapng gz zst",),
    "bench names": ("@benchmark",),
    "calibrate FILE|STUDY[/NAME]": (":files yaml yml", "@study"),
    "check PATH...": (":files yaml yml", "@study"),
    "claims study": _STUDY,
    "compare reference": (":files csv", "@study"),
    "kernel build --source": (":files tar gz xz zst",),
    "new --language": ("@language",),
    "new PROJECT": (),
    "new name": ("@example", "@test", "cc", "examples", "study"),
    "plan file": _SCENARIO,
    "plot --kind": ("@kind",),
    "plot --format": ("@picture,",),
    "plot DIR...|STUDY [DIR]": _FOLDER,
    "reproduce --part": ("@part",),
    "reproduce study": _STUDY,
    "run file": _SCENARIO,
    "table --kind": ("@published",),
    "DIR": _FOLDER,
    "--by": ("@label", "@key."),
    "--csv": (":files csv",),
    "--engine": ("@engine",),
    "--executor": ("@executor",),
    "--hosts": (":files yaml yml",),
    "--out": (":folders",),
    "--over": ("@key.",),
    "--panels": ("@label", "@key."),
    "--per": ("@per",),
    "--plot": (":folders",),
    "--set": ("@key=",),
    "--size": ("@size",),
    "--statistic": ("@statistic",),
    "--where": ("@where=",),
    "--x": ("time", "@metric", "@key."),
    "--y": ("@metric",),
}
"""Values of an option or an argument (by its name in the help), of one command or of all: words, and the names that `completion` explains.

Options that are not here take what their type says: a choice, a file, or nothing that can be completed.
"""
_OF: Mapping[str, Sequence[str]] = {
    "cc": ("@cc",),
    "engine": ("@engine",),
    "flows.*.cc": ("@cc",),
    "flows.*.cc.kind": ("@cc",),
    "flows.*.stack": ("@stack",),
    "path.bottleneck.qdisc": ("@qdisc",),
    "path.bottleneck.qdisc.kind": ("@qdisc",),
    "path.reverse.qdisc": ("@qdisc",),
    "path.reverse.qdisc.kind": ("@qdisc",),
    "qdisc": ("@qdisc",),
}
"""Values of keys. Other keys take what their type lets them choose among, or nothing that can be completed."""
_NAMED = ("cc", "qdisc", "stack")
_MOST_DOTS = 4
"""Maximum number of dots in a key that is completed."""


def text() -> str:
    """The contents of words.json."""
    from typer.main import get_command

    from dumbbell.cli import app

    known = {**_node("", get_command(app)), "values": _values()}
    return json.dumps(known, indent=1, ensure_ascii=False) + "\n"


def write() -> None:
    """Write words.json."""
    Path(completion.WORDS).write_text(text(), encoding="utf-8")


def _node(name: str, command: Any) -> dict[str, Any]:
    """Return a command: its summary, its options and arguments, its own commands."""
    found: dict[str, Any] = {"help": _brief(command.help or ""), "options": {}, "arguments": [], "endless": False}
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for each in command.params:
        if each.hidden:
            continue
        if not each.opts[0].startswith("-"):
            found["arguments"].append(_takes(name, each.metavar or each.name, hints.get(each.name)))
            found["endless"] = each.nargs != 1
            continue
        for option in (*each.opts, *each.secondary_opts):
            entry: dict[str, Any] = {"help": _brief(each.help or "")}
            found["options"][option] = entry
            if not each.is_flag:
                entry["takes"] = _takes(name, option, hints.get(each.name))
            if each.multiple:
                entry["again"] = True
    found["options"]["--help"] = {"help": "Show what it does."}
    if commands := getattr(command, "commands", None):
        found["commands"] = {called: _node(f"{name} {called}".strip(), each) for called, each in commands.items()}
    return found


def _takes(command: str, called: str, hint: Any) -> list[str]:
    for key in (f"{command} {called}", called):
        if key in _TAKES:
            return list(_TAKES[key])
    kind = _plain(hint)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return [str(each.value) for each in kind]
    return [":files"] if kind is Path else []


def _plain(hint: Any) -> Any:
    """The type of one value: without annotations, lists and None."""
    while get_origin(hint) in (Annotated, list, UnionType):
        hint = next(each for each in get_args(hint) if each is not type(None))
    return hint


def _brief(help_text: str) -> str:
    """Return the first sentence, or the text before the first colon or semicolon."""
    return re.split(r"(?<=[\w)`])(?:[:;]\s|\.(?=\s+[A-Z`]|$))", " ".join(help_text.split()), maxsplit=1)[0]


def _values() -> dict[str, dict[str, Any]]:
    """Return the values that the words of `_TAKES` with @ stand for, each with its meaning."""
    from dumbbell import templates
    from dumbbell.agreement.sets import STARTS
    from dumbbell.bench.cases import NAMES
    from dumbbell.cli.executor import EXECUTORS
    from dumbbell.cli.figure_options import SIZES
    from dumbbell.comparing.across.coordinates import ENGINE, FLOW_LABELS, FOLDER, LABELS
    from dumbbell.comparing.across.estimates import STATISTICS
    from dumbbell.comparing.across.questions import KINDS
    from dumbbell.drawing.style import FORMATS
    from dumbbell.engines import ENGINES, engine
    from dumbbell.study.registry import OURS, find_study, formats, study_names
    from dumbbell.templates import examples
    from dumbbell.templates.control import LANGUAGES

    # The first engine's summaries are those that count.
    tables = [engine(name).capabilities() for name in reversed(ENGINES)]
    cc, qdisc, stack = ({name: each.summary for table in tables for name, each in getattr(table, kind).items()} for kind in _NAMED)
    studies = [find_study(name) for name in study_names(OURS)]
    parts = {study.name: {name: part.title for name, part in study.parts.items()} for study in studies}
    every_part = {f"{study}/{name}": title for study, found in parts.items() for name, title in found.items()}
    keys = dict(_keys())
    return {
        "benchmark": dict.fromkeys(NAMES, ""),
        "cc": cc,
        "engine": dict(ENGINES),
        "example": {name: examples.summary(name) for name in examples.names()},
        "executor": dict.fromkeys(EXECUTORS, ""),
        "key": {key: text for key, (text, _) in keys.items()},
        "kind": dict.fromkeys(KINDS, ""),
        "label": dict.fromkeys((*FLOW_LABELS, FOLDER, ENGINE), ""),
        "language": dict.fromkeys(LANGUAGES, ""),
        "metric": _metrics(),
        "of": {key: choices for key, (_, choices) in keys.items() if choices} | {key: list(_OF[key]) for key in _OF},
        "part": parts,
        "per": dict.fromkeys(LABELS, ""),
        "picture": dict.fromkeys(FORMATS, ""),
        "published": {name: study.title for name, (study, _, _) in formats(OURS).items()},
        "qdisc": qdisc,
        "set": dict.fromkeys(STARTS, ""),
        "size": dict.fromkeys(SIZES, ""),
        "stack": stack,
        "statistic": dict(STATISTICS),
        "study": {study.name: study.title for study in studies} | every_part,
        "test": {name: templates.summary(name) for name in templates.names()},
        "where": dict.fromkeys((*FLOW_LABELS, ENGINE, "qdisc"), ""),
    }


def _metrics() -> dict[str, str]:
    """Columns of the tables and series, without the units, which may be left out unless several differ in nothing else."""
    from dumbbell.comparing.across.derived import ALL_COLUMNS
    from dumbbell.comparing.across.observations import series_names
    from dumbbell.results import schema
    from dumbbell.results.columns import bare

    known = schema()
    meanings = {name: each.meaning for table in (*known.series.values(), known.groups, known.flows) for name, each in table.items()}
    names = (*(name for columns in ALL_COLUMNS.values() for name in columns), *series_names())
    count = Counter(map(bare, dict.fromkeys(names)))
    return {bare(name) if count[bare(name)] == 1 else name: _brief(meanings.get(name, "")) for name in names}


def _keys() -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """The dotted keys of scenarios without a name of the user's own in them, with `*` for any entry of a list: meaning and choices."""
    from dumbbell.scenario.schema import schema

    found = schema({})
    yield from _keys_of(found, found["$defs"], "", 0)


def _keys_of(node: Mapping[str, Any], models: Mapping[str, Any], before: str, depth: int) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    if "$ref" in node:
        node = models[node["$ref"].rpartition("/")[2]]
    for way in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from _keys_of(way, models, before, depth)
    if isinstance(items := node.get("items"), dict):
        yield from _keys_of(items, models, f"{before}*.", depth + 1)
    for key, each in node.get("properties", {}).items() if depth <= _MOST_DOTS else ():
        yield f"{before}{key}", (_brief(each.get("description", "")), _choices(each))
        yield from _keys_of(each, models, f"{before}{key}.", depth + 1)


def _choices(node: Mapping[str, Any]) -> list[str]:
    """The words that a value may be, where it is one of few."""
    found = [choice for way in node.get("anyOf", ()) for choice in _choices(way)]
    if node.get("type") == "boolean":
        found += ["true", "false"]
    return found + [each if isinstance(each, str) else json.dumps(each) for each in node.get("enum", ()) if each is not None]
