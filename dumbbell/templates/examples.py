"""The examples, with the files that they read, and the files of the tutorial: to print one, or to write all as a folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dumbbell import templates
from dumbbell.errors import BadInput
from dumbbell.files import write_text

FOLDER = "examples"
"""Name of the folder of all, also where it is written."""
_EXAMPLES = Path(__file__).parent.parent / FOLDER
_TUTORIAL = Path(__file__).parent / "tutorial"


@cache
def names() -> tuple[str, ...]:
    """The names, those of the tutorial first. An example that has the name of a test is `examples/NAME`, as which all are known."""
    tutorial = sorted(file.stem for file in _TUTORIAL.glob("*.yaml"))
    taken = {*templates.names(), *tutorial}
    examples = sorted(file.stem for file in _EXAMPLES.glob("*.yaml"))
    return (*tutorial, *(f"{FOLDER}/{name}" if name in taken else name for name in examples))


def file(name: str) -> Path | None:
    """The scenario file of an example; None if there is none of that name."""
    name = name.removesuffix(".yaml")
    if name in names():
        tutorial = _TUTORIAL / f"{name}.yaml"
        return tutorial if tutorial.is_file() else _EXAMPLES / f"{name.removeprefix(f'{FOLDER}/')}.yaml"
    short = name.removeprefix(f"{FOLDER}/")
    return _EXAMPLES / f"{short}.yaml" if short != name and short in {each.stem for each in _EXAMPLES.glob("*.yaml")} else None


def summary(name: str) -> str:
    """Return what it shows: the first sentence of the file's first comment."""
    found = file(name)
    assert found is not None  # of `names`
    lines = found.read_text(encoding="utf-8").splitlines()
    comment = " ".join(line.removeprefix("#").strip() for line in lines[: next(i for i, line in enumerate(lines) if line[:1] != "#")])
    return comment.partition(". ")[0].rstrip(".")


def needed(name: str) -> list[str]:
    """The files that an example reads, relative to the folder of examples."""
    found = file(name)
    assert found is not None  # of `names`
    keys = [line for line in found.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    others = (path.relative_to(_EXAMPLES).as_posix() for path in _files() if path.parent != _EXAMPLES)
    return [other for other in others if any(other in line for line in keys)]


def write() -> list[Path]:
    """Write all examples with the files that they read into the new folder `examples`, and return the files. Raises `BadInput` if the
    folder exists."""
    target = Path(FOLDER)
    if target.exists() or target.is_symlink():
        raise BadInput(f"{FOLDER}: there is one already; expected a folder without it")
    written = []
    for path in (*_files(), *sorted(_TUTORIAL.glob("*.yaml"))):
        written.append(target / (path.relative_to(_EXAMPLES) if path.is_relative_to(_EXAMPLES) else path.name))
        write_text(written[-1], path.read_text(encoding="utf-8"))
    return written


def _files() -> list[Path]:
    """All files of examples; compiled ones, which somebody may have left there, are not."""
    suffixes = (".yaml", ".c", ".rs", ".csv", ".py", ".down", ".up")
    return [path for folder in (_EXAMPLES, *sorted(_EXAMPLES.glob("*/"))) for path in sorted(folder.iterdir()) if path.suffix in suffixes]
