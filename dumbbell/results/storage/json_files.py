"""The JSON files of a store: one entry a line, read with their checksums."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dumbbell.errors import BadInput
from dumbbell.files import Irregular, SafeFolder, parse_json
from dumbbell.results.storage.checksums import damaged, is_sealed, unreadable


def to_json(record: Mapping[str, Any]) -> bytes:
    """JSON with one line per key on the first two levels: compact, yet legible."""
    lines = []
    for key, value in record.items():
        if isinstance(value, Mapping) and value:
            inner = ",\n  ".join(f"{json.dumps(each)}: {json.dumps(of)}" for each, of in value.items())
            lines.append(f"{json.dumps(key)}: {{\n  {inner}\n }}")
        else:
            lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return ("{\n " + ",\n ".join(lines) + "\n}\n").encode()


def read_of_run(folder: SafeFolder, name: str) -> bytes:
    """The contents of a JSON file of a run in a store. Raises as `checksums.unreadable` says."""
    try:
        return folder.read(name)
    except (OSError, Irregular) as error:
        raise unreadable(folder.path / name, error) from None
    except ValueError as error:
        raise damaged(folder.path / name, str(error)) from None


def read_of_store(folder: SafeFolder, name: str) -> bytes:
    """The contents of a JSON file of a results folder. Raises `BadInput`."""
    path, expected = folder.path / name, "expected a results folder written by dumbbell"
    try:
        return folder.read(name)
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; {expected}") from None
    except NotADirectoryError:
        raise BadInput(f"{path.parent}: is a file; {expected}") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); {expected}") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}; {expected}") from None


def sealed_record(content: bytes, path: Path, formats: Sequence[int], what: str) -> dict[str, Any]:
    """The contents of a file of one of these formats, of which the last has a checksum.

    Raises `ValueError` with the reason if it is damaged, `BadInput` if it is whole and of a later version or of something else.
    """
    sealed = is_sealed(content)
    try:
        record = parse_json(content)
    except ValueError:
        raise ValueError("truncated or not JSON") from None
    if isinstance(record, dict) and "study" in record:
        raise BadInput(f"{path}: is of dumbbell reproduce; expected another folder, or {path.parent / 'runs'}, which holds its runs")
    if isinstance(record, dict) and record.get("format") in formats:
        if record["format"] == formats[-1] and not sealed:
            raise ValueError("lacks its SHA-256")
        return record
    known = f"is not of format {' or '.join(map(str, formats))}"
    if sealed:
        raise BadInput(f"{path}: {known}; expected {what} written by dumbbell, and by no later version than this")
    raise ValueError(known)
