"""Names as a user types them: columns of tables and series without their unit, keys of a sweep by their last word; and values with units.

Pure: nothing here reads a run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dumbbell.catalogue import state_names
from dumbbell.errors import BadInput, nearest, one_of
from dumbbell.results.summary import DATAGRAM_METRICS, FLOW_METRICS, GROUP_METRICS, RUN_METRICS

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "run": RUN_METRICS,
    "flow": FLOW_METRICS,
    "group": GROUP_METRICS,
    "stream": DATAGRAM_METRICS,
}
"""Kind of row of a table -> its columns."""
SEED = "seed"
"""The coordinate that tells the runs of a cell apart."""

_FORMER = {"throughput_mbit": "goodput_mbit", "throughput": "goodput"}
"""Names that columns had."""
_SUFFIXES = {"_mbit": "Mbit/s", "_ms": "ms", "_s": "s", "_packets": "packets", "_bytes": "bytes", "_rpm": "RPM"}
_UNITS = {
    **dict.fromkeys(
        ("retransmits", "drops", "lost", "ce_marks", "sce_marks", "cwnd", "ssthresh", "inflight", "delivered", "delivered_ce"), "packets"
    ),
    **dict.fromkeys(
        ("rwnd_limited", "sndbuf_limited", "app_limited", "utilisation", "loss_rate", "mark_rate", "retransmission_rate"), "share"
    ),
    **dict.fromkeys(("goodput", "flow_goodput", "delivery_rate", "flow_delivery_rate"), "Mbit/s"),
}
"""Units of columns and series whose names do not end with the unit."""
_LESS_IS_BETTER = ("ms", "s")
_MOST_NAMES = 12
"""Maximum number of names that a line lists."""

# Quantities as the coordinates of a sweep have them, by kind: the units from the smallest to the largest, with the name and the size of
# each.
_QUANTITIES: Sequence[Mapping[str, tuple[str, float]]] = (
    {"ns": ("ns", 1e-9), "us": ("µs", 1e-6), "ms": ("ms", 1e-3), "s": ("s", 1.0), "min": ("min", 60.0), "h": ("h", 3600.0)},
    {"bit": ("bit/s", 1.0), "kbit": ("kbit/s", 1e3), "mbit": ("Mbit/s", 1e6), "gbit": ("Gbit/s", 1e9)},
    {
        "B": ("B", 1.0),
        "kB": ("kB", 1e3),
        "KiB": ("KiB", 1024.0),
        "MB": ("MB", 1e6),
        "MiB": ("MiB", 1024.0**2),
        "GB": ("GB", 1e9),
        "GiB": ("GiB", 1024.0**3),
    },
    {"p": ("packets", 1.0)},
    {"bdp": ("BDP", 1.0)},
    {"%": ("%", 1.0)},
    {"": ("", 1.0)},
)
_SPELLED = {
    **{name: unit for kind in _QUANTITIES for unit, (name, _) in kind.items() if unit},
    **{f"{prefix}{end}": f"{prefix}bit" for prefix in ("", "k", "m", "g") for end in ("bit", "bit/s")},
    "packet": "p",
}
"""Other spellings of units -> the unit: their spellings in figures, and those of rates in lower case, because their case does not
matter."""
_WRITTEN = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>[A-Za-zµ%/]*)", re.ASCII)


def find_key(word: str, keys: Iterable[str], given: str) -> str:
    """The key that a word stands for: itself, or the only one that ends with it after a dot.

    Raises `BadInput`, one line that begins with `given`, the option with the word, if there is none or more than one.
    """
    keys = list(dict.fromkeys(keys))
    meant = meant_keys(word, keys)
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise BadInput(f"{given} is ambiguous: {' and '.join(meant)} end with it; expected one of them")
    raise unknown_key(word, keys, given)


def meant_keys(word: str, keys: Iterable[str]) -> list[str]:
    """The keys that a word may stand for: itself alone, or all that end with it after a dot."""
    keys = list(keys)
    return [word] if word in keys else [key for key in keys if key.endswith(f".{word}")]


def unknown_key(word: str, keys: Iterable[str], given: str) -> BadInput:
    """The error for a key that is not there: the nearest, and those that are."""
    keys = list(dict.fromkeys(keys))
    shorts = [key.rpartition(".")[2] for key in keys]
    if not keys:
        return BadInput(f"{given} is unknown: the runs differ in no key; expected runs of a sweep, or no such option")
    return BadInput(f"{given} is unknown{nearest(word, [*keys, *shorts])}; expected {one_of(keys, _MOST_NAMES)}")


def find_column(word: str, columns: Iterable[str]) -> str | None:
    """Return the column or series that a word stands for: the word itself, with or without its unit, or by a former name; None if there is
    none.

    If only flows have a goodput, `goodput` is that of flows.
    """
    columns = list(dict.fromkeys(columns))
    word = _FORMER.get(word, word)
    for name in (word, f"flow_{word}"):
        if name in columns:
            return name
        meant = [column for column in columns if bare(column) == name]
        if len(meant) == 1:
            return meant[0]
    return None


def unknown_column(word: str, columns: Iterable[str], given: str) -> BadInput:
    """The error for a column that is not there: those that begin with it, or the nearest. `given`: the option with the word."""
    columns = list(dict.fromkeys(columns))
    if "," in word:
        return BadInput(f"{given} has a comma; expected one column, and the option again for each other")
    longer = [column for column in columns if column.startswith(f"{word}_")]
    if longer:
        return BadInput(f"{given} is no column; expected {' or '.join(longer)}")
    return BadInput(f"{given} is unknown{nearest(word, [*columns, *map(bare, columns)])}; expected {one_of(columns, _MOST_NAMES)}")


def bare(column: str) -> str:
    """A column without its unit: `srtt_mean` for `srtt_mean_ms`."""
    suffix = _suffix(column)
    return column.removesuffix(suffix) if suffix else column


def unit_of(column: str) -> str:
    """The unit of a column or series; empty if it has none."""
    suffix = _suffix(column)
    if suffix:
        return _SUFFIXES[suffix]
    state = state_names().get(column)
    return _UNITS.get(column, state.unit if state is not None else "")


def is_delay(column: str) -> bool:
    """True if it is a time, so that less is better."""
    return unit_of(column) in _LESS_IS_BETTER


def more_is_better(column: str) -> bool:
    """True unless less is better: times, losses, retransmissions, stalls and what limits a sender."""
    return not is_delay(column) and not re.search(r"drop|loss|lost|retransmi|mark|stall|limited|slowdown|late_|reorder", column)


def short(key: str, keys: Iterable[str]) -> str:
    """The last words of a key that tell it from the others: `rtt` for `path.rtt`."""
    words, others = key.split("."), [other for other in keys if other != key]
    for count in range(1, len(words)):
        name, first = ".".join(words[-count:]), words[-count]
        if first != "*" and not first.isdigit() and not any(other == name or other.endswith(f".{name}") for other in others):
            return name
    return key


def in_order(values: Iterable[object]) -> list[object]:
    """Different coordinates in the order of an axis: quantities by size, words as they came."""
    found = list(dict.fromkeys(values))
    numbers = as_numbers(found)
    return found if numbers is None else [value for _, value in sorted(zip(numbers[0], found, strict=True), key=lambda pair: pair[0])]


def as_numbers(values: Sequence[object]) -> tuple[list[float], str] | None:
    """Coordinates such as `20ms` as numbers of one unit, that which most of them have, and its name; None if they are not of one kind."""
    parts = [_split(value) for value in values]
    units = [part[1] for part in parts if part is not None]
    if not values or len(units) < len(values):
        return None
    kind = next((kind for kind in _QUANTITIES if all(unit in kind for unit in units)), None)
    if kind is None:
        return None
    name, size = kind[Counter(units).most_common(1)[0][0]]
    return [_rounded(number * kind[unit][1] / size) for number, unit in (part for part in parts if part is not None)], name


NUMBERS: Mapping[str, tuple[str, float]] = {
    "ns": ("ms", 1e3),
    "bit": ("mbit", 1e-6),
    "B": ("bytes", 1.0),
    "p": ("packets", 1.0),
    "bdp": ("bdp", 1.0),
    "%": ("percent", 1.0),
}
"""Kind of a quantity -> the end of the name of a column of numbers, and the factor from the quantity's size."""


def quantity(value: object) -> tuple[str, float] | None:
    """Return the value of a coordinate with a unit, or of a number: its kind and its size, the same for `20ms` and `0.02s`. None for other
    coordinates.

    Digits alone are text, because `6.1` and `6.10` may be versions.
    """
    part = _split(value)
    kind = None if part is None else next((kind for kind in _QUANTITIES if part[1] in kind), None)
    if part is None or kind is None or (isinstance(value, str) and not part[1]):
        return None
    return next(iter(kind)), _rounded(part[0] * kind[part[1]][1])


def is_meant(value: object, typed: str) -> bool:
    """True if a coordinate is what somebody typed: the same text, or an equal quantity."""
    if str(value) == typed:
        return True
    number = _split(typed) if isinstance(value, int | float) else None
    size = ("", number[0]) if number is not None and not number[1] else quantity(typed)
    return size is not None and size == quantity(value)


def _rounded(number: float) -> float:
    """Return a number without the digits that the arithmetic of fractions adds."""
    return float(f"{number:.12g}")


def _split(value: object) -> tuple[float, str] | None:
    """Number and unit of a coordinate, the unit as in `_QUANTITIES` however it is spelled."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value), ""
    match = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    unit = match["unit"]
    return float(match["number"]), _SPELLED.get(unit) or _SPELLED.get(unit.lower(), unit)


def _suffix(column: str) -> str | None:
    return next((suffix for suffix in _SUFFIXES if column.endswith(suffix)), None) if column not in _UNITS else None
