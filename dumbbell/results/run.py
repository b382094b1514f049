"""A run: what was asked, what came out, and whether to believe it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import BadInput
from dumbbell.results.conservation import Status
from dumbbell.results.series import Block, SeriesFile, digest, to_frame
from dumbbell.results.summary import Summary, summarise
from dumbbell.results.tables import FLOWS, PORTS, Table, counters

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

Coordinate = str | int | float


@dataclass(frozen=True)
class Run:
    """One run of an engine."""

    key: str
    """Content hash: scenario, engine, engine's sources, sampling, seed."""
    name: str
    """Of the scenario."""
    cell: Mapping[str, Coordinate]
    """Where in the sweep."""
    scenario: Mapping[str, Any]
    """The resolved scenario, plain data with units."""
    status: Status
    reasons: tuple[str, ...]
    """Why it is not ok; empty if it is."""
    flows: Table
    """A row a TCP connection or stream of datagrams: what it came to."""
    ports: Table
    """A row a port: what it came to."""
    digest: str
    """SHA-256 of the canonical series."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """Name and sources of the engine, and its deterministic facts: events, delivered_packets."""
    samples: tuple[Block, ...] | SeriesFile = field(default=(), repr=False, compare=False)
    """The series: in memory, or the file that holds them."""
    captures: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False, compare=False)
    """pcap files by name: in memory, or where they lie."""
    plan: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """What the engine was given, see dumbbell.plan; None of a run that was kept before plans were."""
    cpu_s: float | None = field(default=None, repr=False, compare=False)
    """CPU seconds that the engine's processes took; None: it ran in this one."""
    summarised: Callable[[Run], Summary] = field(default=summarise, repr=False, compare=False)
    """How the summary is had: computed, or of a run in a store from its index."""

    @classmethod
    def crashed(cls, reason: str, **known: Any) -> Run:
        """What there is of a run that did not come to its end: `key`, `name`, `cell`, `scenario` and `engine`."""
        nothing = (Table(FLOWS, {}), Table(PORTS, {}))
        return cls(**known, status="invalid", reasons=(reason,), flows=nothing[0], ports=nothing[1], digest=digest(()))

    @property
    def is_complete(self) -> bool:
        """Whether it came to its end: one that did not has nothing to keep."""
        return len(self.ports) > 0

    @cached_property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """The whole numbers of both tables: entity (`flow/NAME`, `udp/NAME`, `port/NAME`) to column to value.

        Of a flow also `active_ns`, from its start to its end.
        """
        return counters(self.flows, self.ports)

    @cached_property
    def summary(self) -> Summary:
        """The usual metrics of each flow and of all together."""
        return self.summarised(self)

    @property
    def sampled(self) -> Mapping[str, Sequence[str]]:
        """Kind of entity (`flow`, `port`) to the names of the series that were sampled, whether any sample came or not."""
        if isinstance(self.samples, SeriesFile):
            return self.samples.names
        found: dict[str, dict[str, None]] = {}
        for block in self.samples:
            found.setdefault(block.entity.partition("/")[0], {}).update(dict.fromkeys(block.names))
        return {kind: list(names) for kind, names in found.items()}

    @property
    def given(self) -> Mapping[str, Any]:
        """The plan. Raises `BadInput` if the run was kept before plans were."""
        if self.plan is None:
            raise BadInput(f"run {self.key[:10]} ({self.name}) has no plan, an earlier dumbbell made it; expected a run of this one")
        return self.plan

    @property
    def frame(self) -> pl.DataFrame:
        """The series as a long table: t_ns (int64), entity, series, value. Read from the store at each use, not kept."""
        return self.samples.frame() if isinstance(self.samples, SeriesFile) else to_frame(self.samples)

    def series(self, entity: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times (s) and values of one series, shape (samples,): the series of a flow ends with the flow.

        Empty if there was never a value (of `ssthresh` before it is set, say). KeyError if it was not sampled.
        """
        try:
            t_ns, values = self.samples.series(entity, name) if isinstance(self.samples, SeriesFile) else self._sampled(entity, name)
        except KeyError:
            raise KeyError(f"run {self.key[:10]} has no series {name!r} of {entity!r}") from None
        return t_ns / 1e9, values

    def all_series(self, *names: str) -> dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Those series of every entity that have samples, by entity and name, as `series` gives them; read at once."""
        if isinstance(self.samples, SeriesFile):
            found = self.samples.several(names)
        else:
            found = {
                (block.entity, name): (t_ns, values) for block in self.samples for name, t_ns, values in block.series() if name in names
            }
        return {whose: (t_ns / 1e9, values) for whose, (t_ns, values) in found.items()}

    def _sampled(self, entity: str, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (ns) and values of a series in memory; KeyError if it was not sampled."""
        assert not isinstance(self.samples, SeriesFile)
        for block in self.samples:
            if block.entity == entity and name in block.names:
                values = block.values[block.names.index(name)]
                there = ~np.isnan(values)
                return block.t_ns[there], values[there]
        raise KeyError(name)


@dataclass(frozen=True)
class Results:
    """Several runs of one scenario or study, in order."""

    runs: tuple[Run, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    @property
    def frame(self) -> pl.DataFrame:
        """The series of all runs: a column per coordinate of the sweep, then t_ns, entity, series, value."""
        return self._joined([run.frame for run in self.runs])

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs: a column per coordinate of the sweep, then those of the table; null where a run has no such column."""
        return self._joined([run.flows.frame for run in self.runs])

    @property
    def ports(self) -> pl.DataFrame:
        """The ports of all runs, as `flows`."""
        return self._joined([run.ports.frame for run in self.runs])

    @property
    def counters(self) -> pl.DataFrame:
        """The counters of all runs: a column per coordinate of the sweep, then entity, counter, value."""
        import polars as pl

        schema = {"entity": pl.String, "counter": pl.String, "value": pl.Int64}
        return self._joined(
            [
                pl.DataFrame(
                    [(entity, name, value) for entity, values in run.counters.items() for name, value in values.items()],
                    schema=schema,
                    orient="row",
                )
                for run in self.runs
            ]
        )

    def _joined(self, frames: list[pl.DataFrame]) -> pl.DataFrame:
        import polars as pl

        keys = dict.fromkeys(key for run in self.runs for key in run.cell)
        text = {key for key in keys if any(isinstance(run.cell.get(key), str) for run in self.runs)}

        def coordinate(run: Run, key: str) -> pl.Expr:
            value = run.cell.get(key)
            return pl.lit(str(value) if key in text and value is not None else value).alias(key)

        parts = [
            frame.select(*(coordinate(run, key) for key in keys), *frame.columns) for run, frame in zip(self.runs, frames, strict=True)
        ]
        return pl.concat(parts, how="diagonal_relaxed") if parts else pl.DataFrame()
