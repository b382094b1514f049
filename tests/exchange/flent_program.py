"""Calling the real Flent, and reading numbers off the pictures that it draws."""

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
from required import missing

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"


class Axes(NamedTuple):
    """Content of one pair of axes, in the units of its ticks."""

    lines: list
    """x (in the units of the picture, if there are no ticks) and y of each line."""
    bars: list
    """Heights."""


def call(*arguments):
    """Standard output of `flent ARGUMENTS...`. Its exit status says little: it is 0 after some errors, too."""
    beside = Path(sys.executable).with_name("flent")
    program = beside if beside.exists() else shutil.which("flent")
    if program is None:
        missing("flent", "flent is not installed (pip install flent)")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=os.environ | _environment(), check=False)
    assert done.returncode == 0, done.stderr
    assert not re.search(r"error|traceback", done.stderr, re.IGNORECASE), done.stderr
    return done.stdout


def statistics(file):
    """Series -> statistic -> value, as Flent's CSV of statistics has them."""
    text = call("-i", file, "-f", "stats_csv")
    rows = csv.DictReader(io.StringIO(text[text.index("filename,") :]))
    return {row["series"]: {name: float(row[name]) for name in ("mean", "median", "pct99") if row[name]} for row in rows}


def draw(file, plot, folder):
    """The axes of a plot, each with what is drawn on it."""
    settings = folder / "matplotlibrc"
    settings.write_text("path.simplify: False\nsvg.fonttype: none\n")
    picture = folder / f"{plot}.svg"
    os.environ["MATPLOTLIBRC"] = str(settings)
    try:
        call("-i", file, "-p", plot, "--no-matplotlibrc", "-o", picture)
    finally:
        del os.environ["MATPLOTLIBRC"]
    found = ElementTree.parse(picture)
    return [_axes(group) for group in found.iter(f"{_SVG}g") if re.fullmatch(r"axes_\d+", group.get("id", ""))]


def _environment():
    return {"LC_ALL": "C", "QT_QPA_PLATFORM": "offscreen"}


def _axes(group):
    x, y = _scale(group, "xtick", "x"), _scale(group, "ytick", "y")
    lines, bars = [], []
    for each in group.findall(f"{_SVG}g"):
        path = each.find(f"{_SVG}path")
        if path is None or path.get("clip-path") is None:
            continue
        points = np.array(re.findall(r"[ML] (\S+) (\S+)", path.get("d")), dtype=float)
        xs, ys = x(points[:, 0]), y(points[:, 1])
        if each.get("id", "").startswith("line2d"):
            lines.append((xs, ys))
        elif each.get("id", "").startswith("patch"):
            bars.append(float(ys.max() - ys.min()))
    return Axes(lines, bars)


def _scale(group, ticks, attribute):
    """A function from places in the picture to the numbers of an axis; the places themselves if the axis has no ticks with numbers."""
    places, numbers = [], []
    for each in group.iter(f"{_SVG}g"):
        if not each.get("id", "").startswith(ticks):
            continue
        use, text = each.find(f".//{_SVG}use"), each.find(f".//{_SVG}text")
        if use is None or text is None or not re.fullmatch(r"-?[\d.]+", _text(text)):
            continue
        assert use.get(_HREF)
        places.append(float(use.get(attribute)))
        numbers.append(float(_text(text)))
    if len(places) < 2:
        return lambda values: values
    slope, offset = np.polyfit(places, numbers, 1)
    return lambda values: slope * values + offset


def _text(element):
    return (element.text or "").replace("\N{MINUS SIGN}", "-")
