"""Cases in files: JSON, an action a line, so that one can be read and cut by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dumbbell.agreement.ends import CONTROLS, STACK
from dumbbell.agreement.ends.kernel import Answer, Case
from dumbbell.errors import BadInput
from dumbbell.native import native


@dataclass(frozen=True)
class Impossible:
    """The first action of a case that no peer of the simulator's end can have sent."""

    action: int
    what: str


def written(case: Case) -> str:
    """A case as the text of its file."""
    head = {name: value for name, value in case.items() if name != "actions"}
    actions = ",\n".join(f"  {json.dumps(action)}" for action in case["actions"])
    return f'{json.dumps(head)[:-1]}, "actions": [\n{actions}\n]}}\n'


def read(path: Path) -> Case:
    """A case from its file. Raises `BadInput` with a line that names the file."""
    try:
        case = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise _no_case(path, f" ({error})") from error
    if not isinstance(case, dict):
        raise _no_case(path)
    _check(path, case)
    return case


def _no_case(path: Path, why: str = "") -> BadInput:
    return BadInput(f"{path}: not a case{why}; `dumbbell agree ends --out DIR` writes cases")


def _check(path: Path, case: dict[str, Any]) -> None:
    try:
        [found] = replayed([case])
    except ValueError as error:
        raise _no_case(path, f" ({error})") from error
    if isinstance(found, Impossible):
        raise BadInput(f"{path}: action {found.action}: {found.what}")
    if case["cc"] not in CONTROLS:
        raise BadInput(f"{path}: cc {case['cc']}: expected one of {', '.join(CONTROLS)}")
    if case["tso"] and case["kind"] == "both":
        raise BadInput(f"{path}: tso: an end that sends and receives has none in the simulator; expected false")


def replayed(cases: list[Case]) -> list[list[Answer] | Impossible]:
    """The simulator's answers to cases, or what in them is impossible. Raises ValueError if it is no case."""
    found = json.loads(native().ends_replay(json.dumps(cases)))
    return [Impossible(**each["Err"]) if "Err" in each else each["Ok"] for each in found]


def drawing(case: Case, numbers: list[int], choices: int) -> Case:
    """The case whose congestion control draws these numbers first, each below the number of choices."""
    return case | {"control_seed": native().ends_seed(numbers, choices) or 0}


def drawn(
    seed: int,
    first: int,
    count: int,
    kind: str,
    cc: str,
    ecn: bool,
    tso: bool,
    sack: bool = True,
    timestamps: bool = True,
    aborts: bool = False,
    crossed: bool = False,
    stack: str = STACK,
) -> list[tuple[Case, list[Answer]]]:
    """Cases of a seed, with the simulator's answers."""
    options = {
        "seed": seed,
        "first": first,
        "count": count,
        "kind": kind,
        "cc": cc,
        "ecn": ecn,
        "tso": tso,
        "sack": sack,
        "timestamps": timestamps,
        "aborts": aborts,
        "crossed": crossed,
        "stack": stack,
    }
    return _played(options)


def drawn_again(case: Case, aborts: bool, crossed: bool) -> tuple[Case, list[Answer]]:
    """The case of the same draw whose congestion control draws what that of this case does, and the simulator's answers."""
    options = {name: case[name] for name in ("seed", "kind", "cc", "control_seed", "ecn", "tso")}
    agreed = {name: case.get(name, True) for name in ("sack", "timestamps")}
    [again] = _played(
        options | agreed | {"first": case["number"], "count": 1, "aborts": aborts, "crossed": crossed, "stack": case.get("stack", STACK)}
    )
    return again


def _played(options: dict[str, Any]) -> list[tuple[Case, list[Answer]]]:
    return [(case, answers) for case, answers in json.loads(native().ends_play(json.dumps(options)))]
