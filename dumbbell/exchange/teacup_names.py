"""TEACUP's names of experiments: a time and a word, then a short word and a value for each coordinate, joined by underscores, then `run_N`
(`20140529-072924_experiment_tcp_newreno_del_10_aqm_pie_bs_180_run_0`).

`del` is the delay of one direction in ms, `bs` the limit of the queue in packets. An underscore within a value is a hyphen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_TIME = re.compile(r"\d{8}-\d{6}")
_MOST_COORDINATES = 12
_MOST_LETTERS = 200
EPOCH = "20200101-000000"
"""The time at which the times of runs begin in captures."""
_SHORT = {"cc": "tcp", "qdisc": "aqm", "limit_packets": "bs"}
"""Last word of a coordinate -> TEACUP's word."""


def coordinates(name: str, log: str) -> dict[str, str | int | float]:
    """Return the coordinates in the name of a log: pairs of words before the host's, behind a prefix that may have a time in it."""
    named = re.fullmatch(rf"([^/]{{1,{_MOST_LETTERS}}})_[A-Za-z0-9.-]+_{log}\.log(?:\.gz)?", name)
    words = named[1].split("_") if named else []
    pairs = list(zip(words[-2::-2], words[::-2], strict=False))[::-1]
    known = [(short, value) for short, value in pairs if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", short) and not _TIME.fullmatch(value)]
    cell: dict[str, str | int | float] = {}
    for short, value in known[:_MOST_COORDINATES]:
        number: str | int = int(value) if re.fullmatch(r"\d{1,15}", value) else value
        if short == "run":
            cell["repeat"] = number
        elif value and value.isprintable() and short != "file":
            cell[short] = number
    return cell


def experiment(name: str, cell: Mapping[str, str | int | float], key: str) -> str:
    """Return the name of a run's experiment, with TEACUP's words for what it knows of the coordinates, and the run's key."""
    words, run = [EPOCH, name], 0
    for coordinate, value in cell.items():
        last = coordinate.rsplit(".", 1)[-1]
        if last == "seed":
            run = int(value) - 1
            continue
        if last == "rtt_ms":
            last, value = "del", f"{float(value) / 2:g}"
        elif last == "kind" and "qdisc" in coordinate:
            last = "aqm"
        elif isinstance(value, float):
            value = f"{value:g}"
        words += [_SHORT.get(last, last), str(value)]
    text = "_".join(re.sub(r"[^A-Za-z0-9.+-]+", "-", word) for word in words)[: _MOST_LETTERS - 50]
    return f"{text}_key_{key}_run_{run}"
