"""`dumbbell schema`: the schema of scenario files, for editors."""

from __future__ import annotations

from dumbbell.cli.output import print_json
from dumbbell.engines import ENGINES, engine
from dumbbell.scenario.schema import schema


def command() -> None:
    """Print the JSON Schema of scenario files: every key with its meaning, unit and default.

    An editor that checks YAML completes keys with it: `dumbbell schema > scenario.json`, and a first line
    `# yaml-language-server: $schema=scenario.json` in a scenario.
    """
    print_json(schema(names()))


def names() -> dict[str, list[str]]:
    """The congestion controls and stacks of all engines, by the model of the setting that they are for."""
    tables = [engine(name).capabilities() for name in ENGINES]
    return {
        "Cc": list(dict.fromkeys(cc for table in tables for cc in table.cc)),
        "Stack": list(dict.fromkeys(stack for table in tables for stack in table.stack)),
    }
