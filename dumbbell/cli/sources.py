"""The runs of the folders that a command is given, as figures and comparisons take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dumbbell.comparing.across.coordinates import RunSet
from dumbbell.errors import BadInput
from dumbbell.results.folder import open_outlines, run_of
from dumbbell.results.windowed import Window
from dumbbell.study.folders import find_folder


def runs_of_folders(folders: Sequence[Path], window: Window) -> tuple[list[RunSet], list[Path]]:
    """The runs of each folder, and its path. A folder is called by its name, or where two have the same by its path.

    Raises `BadInput` if a folder is given twice, or has no results.
    """
    paths = [find_folder(folder) for folder in folders]
    places = [path.resolve() for path in paths]
    if len(set(places)) < len(places):
        again = next(folder for i, folder in enumerate(folders) if places[i] in places[:i])
        raise BadInput(f"{again} was given more than once; expected different folders")
    runs = [open_outlines(path, window) for path in paths]
    names = [place.name for place in places]
    labels = names if len(set(names)) == len(names) else [str(folder) for folder in folders]
    return [RunSet(label, found, run_of(path), window=window) for label, path, found in zip(labels, paths, runs, strict=True)], paths
