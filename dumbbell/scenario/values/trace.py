"""Capacity that varies as a trace says: opportunities in mahimahi's format, or rates in a CSV file.

mahimahi (ravinet/mahimahi, src/frontend/link_queue.cc of commit ae477d4): a whole number of ms a line, not decreasing, each an opportunity
to send 1504 bytes; the last line is also the period after which the trace starts again.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, ValidationInfo, model_validator
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Unfit
from dumbbell.errors import shortened
from dumbbell.files import read_regular
from dumbbell.scenario.units import FRAME_BYTES, Duration, Rate
from dumbbell.scenario.values.csv_files import located, read_columns

OPPORTUNITY_BYTES = FRAME_BYTES
"""Size of an opportunity in the calculation of rates: a full frame. mahimahi's 1504 bytes are the same packet, a full IP packet with the 4
bytes of a tunnel instead of the 14 of Ethernet."""
LEAST_BPS = 8000
"""Minimum rate. With less, a packet would hold the link for more than 1.5 s after the rate has risen again. Bins with less get this rate.
"""
_MOST_BYTES = 64 << 20
_MOST_LINES = 1_000_000
_MOST_MS = (1 << 32) - 1
MOST_STEPS = 100_000
"""Changes of rate in a run."""
_NS_PER_MS, _NS_PER_S = 10**6, 10**9


class Trace(Model):
    """A file with a capacity that varies; `trace: FILE` alone is enough.

    dumbbell reads the file once. If it writes the scenario, the trace is in it.
    """

    file: str
    """Path of the file, relative to the scenario's file."""
    format: Literal["mahimahi", "csv"] = "mahimahi"
    """`mahimahi`: opportunities of 1504 bytes by ms, which start again after the last. `csv`: a first line with the units of a time and a
    rate, then the times from 0s on, each with the rate that holds from there. By default `csv` for a file named `.csv`."""
    loop: Flag = False
    """Repeat a trace of rates from the time of its last line. Without it the last rate stays. A mahimahi trace always loops."""
    bin: Duration | None = None
    """Use the mean rate of the opportunities over each such time instead. It is an approximation that every engine has."""
    packed: SkipJsonSchema[str | None] = Field(default=None, repr=False)
    """Content of the file, once it is read: base64 of deflated numbers with spaces between, each less the one before. For opportunities the
    numbers are ms, for rates first all times (ns), then all rates (bit/s)."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, written: Any, info: ValidationInfo) -> Any:
        if isinstance(written, str):
            written = {"file": written}
        if not isinstance(written, dict) or "packed" in written or not isinstance(written.get("file"), str):
            return written
        path = located(written["file"], info)
        kind = written.get("format", "csv" if path.suffix.lower() == ".csv" else "mahimahi")
        numbers = _rates(path) if kind == "csv" else _opportunities(path)
        return {**written, "format": kind, "packed": pack(numbers)}

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.format == "mahimahi" and self.loop:
            raise Unfit("loop belongs to traces of rates, because a trace of mahimahi always loops", "no loop")
        if self.format == "csv" and self.bin is not None:
            raise Unfit("bin is of opportunities, and these are rates", "no bin")
        if self.bin == 0:
            raise Unfit("0s is no bin", "e.g. bin: 100ms")
        # A file is checked when it is read, but this may come from the results of another person.
        if self.format == "mahimahi":
            _check_opportunities(self.file, self._numbers)
        else:
            _check_rates(self.file, self._rates, self.loop)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        return {"title": cls.__name__, "description": mapping.pop("description"), "anyOf": [{"type": "string"}, mapping]}

    @cached_property
    def _numbers(self) -> list[int]:
        return _unpack(self.packed or "", 1 if self.format == "mahimahi" else 2)

    @property
    def _rates(self) -> list[tuple[int, int]]:
        """Times (ns) and the rates from there on (bit/s)."""
        half = len(self._numbers) // 2
        return list(zip(self._numbers[:half], self._numbers[half:], strict=True))

    @property
    def opportunities_ms(self) -> list[int] | None:
        """Return the opportunities of one period; None for rates."""
        return self._numbers if self.format == "mahimahi" and self.bin is None else None

    @property
    def mean_bps(self) -> int:
        """Return the mean rate over the period; for rates that do not repeat, over the time to the last line, or the only rate."""
        if self.format == "mahimahi":
            return _bps(len(self._numbers), self._numbers[-1] * _NS_PER_MS)
        rates = self._rates
        bits = sum(rate * (later - at) for (at, rate), (later, _) in pairwise(rates))
        return bits // rates[-1][0] if rates[-1][0] else rates[0][1]

    def steps(self, end_ns: int) -> Iterator[tuple[int, int]]:
        """Times (ns) before `end_ns` and the rates that begin there (bit/s), from the start of the run on; none of opportunities."""
        if self.opportunities_ms is not None:
            return
        period, rates = self._binned() if self.format == "mahimahi" else (self._rates[-1][0], self._rates)
        begins_anew = self.format == "mahimahi" or self.loop
        if self.loop:
            rates = rates[:-1]
        start, before = 0, 0
        while True:
            for at, rate in rates:
                if start + at >= end_ns:
                    return
                if rate != before:
                    yield start + at, rate
                before = rate
            if not begins_anew:
                return
            start += period

    @property
    def steps_each_s(self) -> float:
        """About how many there are in a second."""
        if self.opportunities_ms is not None:
            return 0.0
        if self.bin is not None:
            return _NS_PER_S / int(self.bin)
        return len(self._rates) * _NS_PER_S / max(self._rates[-1][0], 1)

    def _binned(self) -> tuple[int, list[tuple[int, int]]]:
        """The period, and the mean rate of each bin of it, the last of which may be shorter. One at the end of a bin belongs to it."""
        assert self.bin is not None
        width, period = int(self.bin), self._numbers[-1] * _NS_PER_MS
        counts = [0] * -(-period // width)
        for at in self._numbers:
            counts[max(-(-at * _NS_PER_MS // width) - 1, 0)] += 1
        return period, [(i * width, max(LEAST_BPS, _bps(n, min(width, period - i * width)))) for i, n in enumerate(counts)]


def _bps(opportunities: int, span_ns: int) -> int:
    return opportunities * OPPORTUNITY_BYTES * 8 * _NS_PER_S // span_ns


def _opportunities(path: Path) -> list[int]:
    try:
        lines = read_regular(path, _MOST_BYTES).decode("ascii").splitlines()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or ("it is not ASCII text" if isinstance(error, UnicodeDecodeError) else str(error))
        raise Unfit(f"cannot read {path}: {reason}", "a trace in mahimahi's format, relative to the scenario's file") from None
    if len(lines) > _MOST_LINES:
        raise Unfit(f"{path} has {len(lines)} lines", f"at most {_MOST_LINES}")
    for number, line in enumerate(lines, 1):
        if not (line.isdigit() and len(line) <= len(str(_MOST_MS))):
            what = f"{path}:{number}: {shortened(line, 40)!r} is no whole number of ms"
            raise Unfit(what, "one a line, as mahimahi has them; or format: csv")
    return [int(line) for line in lines]


def _rates(path: Path) -> list[int]:
    rows = read_columns(path, [Duration, Rate])
    return [int(row[column]) for column in (0, 1) for row in rows]


def _check_opportunities(name: str, ms: Sequence[int]) -> None:
    if not ms or not 0 < ms[-1] <= _MOST_MS:
        raise Unfit(f"{name} lasts no time", "opportunities, the last after 0 ms")
    for line, (at, later) in enumerate(pairwise((0, *ms)), 1):
        if later < at:
            raise Unfit(f"{name}:{line}: {later} ms comes after {at} ms", "times that do not decrease")


def _check_rates(name: str, rates: Sequence[tuple[int, int]], loop: bool) -> None:
    if len(rates) < 1 + loop:
        raise Unfit(f"{name} has {len(rates)} rates", f"at least {1 + loop}")
    if rates[0][0] != 0:
        raise Unfit(f"{name} begins at {Duration(rates[0][0])}", "a first rate at 0")
    for (at, _), (later, _) in pairwise(rates):
        if later <= at:
            raise Unfit(f"{name}: {Duration(later)} comes after {Duration(at)}", "times that rise")
    for at, rate in rates:
        if rate < LEAST_BPS:
            raise Unfit(f"{name}: {Rate(rate)} at {Duration(at)}", f"at least {Rate(LEAST_BPS)}, or an outage among path.impairments")


def pack(numbers: Sequence[int]) -> str:
    """The text of numbers, see `Trace.packed`."""
    differences = (later - at for at, later in pairwise((0, *numbers)))
    return base64.b64encode(zlib.compress(" ".join(map(str, differences)).encode(), 9)).decode()


def _unpack(packed: str, columns: int) -> list[int]:
    """The numbers; raises `Unfit` if they are none."""
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(base64.b64decode(packed, validate=True), _MOST_BYTES)
        numbers = list(accumulate(int(word) for word in text.decode("ascii").split()))
    except (zlib.error, binascii.Error, UnicodeDecodeError, ValueError):
        raise Unfit("what is packed is no trace", "a file") from None
    if not unpacker.eof or len(numbers) % columns or min(numbers, default=0) < 0:
        raise Unfit("what is packed is no trace", "a file")
    return numbers
