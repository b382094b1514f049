"""Cases in files: JSON, an action a line, so that one can be read and cut by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dumbbell.agreement.ends import CONTROLS
from dumbbell.agreement.ends.kernel import Answer, Case
from dumbbell.errors import BadInput
from dumbbell.native import native


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
    if isinstance(found, str):
        raise BadInput(f"{path}: {found}")
    if case["cc"] not in CONTROLS:
        raise BadInput(f"{path}: cc {case['cc']}: expected one of {', '.join(CONTROLS)}")
    if case["tso"] and case["kind"] == "both":
        raise BadInput(f"{path}: tso: an end that sends and receives has none in the simulator; expected false")


def replayed(cases: list[Case]) -> list[list[Answer] | str]:
    """The simulator's answers to cases; for one that no peer of its end can have sent, a line that says so. Raises ValueError if it is no
    case.
    """
    found = json.loads(native().ends_replay(json.dumps(cases)))
    return [each["Err"] if "Err" in each else each["Ok"] for each in found]


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
    }
    return [(case, answers) for case, answers in json.loads(native().ends_play(json.dumps(options)))]
