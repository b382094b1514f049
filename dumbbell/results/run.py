"""A run: its scenario, its results, and its status."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dumbbell.errors import BadInput, DamagedRun
from dumbbell.results import notebook
from dumbbell.results.columns import NUMBERS, quantity
from dumbbell.results.conservation import Status
from dumbbell.results.series import Block, SeriesFile, digest, to_frame
from dumbbell.results.summary import FLOW_GOODPUT, GOODPUT, Summary, summarise
from dumbbell.results.tables import FLOWS, GROUPS, PORTS, TINS, Table, counters

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from dumbbell.metrics.responsiveness import Responsiveness
    from dumbbell.results.storage.checksums import StoredFile
    from dumbbell.results.storage.more import More

Coordinate = str | int | float


@dataclass(frozen=True, repr=False)
class Run:
    """One run of an engine. Wide because it is all that a store keeps of one."""

    key: str
    """Content hash of scenario, engine, sources of the engine, sampling and seed."""
    name: str
    """Name of the scenario."""
    cell: Mapping[str, Coordinate]
    """Coordinates in the sweep: dotted path -> value."""
    scenario: Mapping[str, Any]
    """The resolved scenario as plain data, values with units."""
    status: Status
    reasons: tuple[str, ...]
    """Reasons for a status other than ok."""
    flows: Table
    """One row per TCP connection or UDP stream; columns are those of the schema."""
    ports: Table
    """One row per port; columns are those of the schema."""
    digest: str
    """SHA-256 of the canonical series."""
    groups: Table = field(default_factory=lambda: Table(GROUPS, {}))
    """One row per workload whose connections come and go, or carry requests and responses; columns are those of the schema."""
    tins: Table = field(default_factory=lambda: Table(TINS, {}))
    """One row per tin of a cake that has several, or keywords that few use; columns are those of the schema."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    """Name and source hashes of the engine, and counters that do not depend on the machine: events, delivered_packets."""
    samples: tuple[Block, ...] | SeriesFile = field(default=(), repr=False, compare=False)
    """The series, in memory or as a file of the store."""
    captures: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False, compare=False)
    """pcap files by name: contents in memory, or paths. `Store.verify` checks the file at a path."""
    outputs: Mapping[str, bytes | Path] = field(default_factory=dict, repr=False, compare=False)
    """Output of programs that made flows, by file: contents in memory, or paths."""
    happened: bytes | StoredFile | None = field(default=None, repr=False, compare=False)
    """The record of events: events.parquet, in memory or in the store; None if none was asked for."""
    more: More | None = field(default=None, repr=False, compare=False)
    """Records that `dumbbell run --again` made of the run; None without any."""
    plan: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The plan that the engine was given, see dumbbell.plan; None for a run stored by a version that did not store plans."""
    cpu_s: float | None = field(default=None, repr=False, compare=False)
    """CPU seconds of the engine's own processes; None if it ran in this one."""
    summarised: Callable[[Run], Summary] = field(default=summarise, repr=False, compare=False)
    """Computes the summary; for a stored run, looks it up in the index of the store."""

    @classmethod
    def crashed(cls, reason: str, **known: Any) -> Run:
        """An invalid run without results. `known`: `key`, `name`, `cell`, `scenario` and `engine`."""
        nothing = (Table(FLOWS, {}), Table(PORTS, {}))
        return cls(**known, status="invalid", reasons=(reason,), flows=nothing[0], ports=nothing[1], digest=digest(()))

    def __repr__(self) -> str:
        return notebook.run_text(self)

    def _repr_html_(self) -> str:
        return notebook.run_html(self)

    @property
    def is_complete(self) -> bool:
        """True if the run ended regularly. A crashed run has no results and is not stored."""
        return len(self.ports) > 0

    @property
    def arrived_packets(self) -> int:
        """Data packets that reached the other end."""
        return sum(int(packets or 0) for packets in self.flows.column("arrived_packets"))

    @cached_property
    def counters(self) -> Mapping[str, Mapping[str, int]]:
        """The integer columns of both tables: entity (`flow/NAME`, `ping/NAME`, `udp/NAME`, `voip/NAME`, `port/NAME`) -> column -> value.

        Flows also have `active_ns`, the time from start to end.
        """
        return counters(self.flows, self.ports)

    @cached_property
    def summary(self) -> Summary:
        """The standard metrics of each flow and of all flows together."""
        return self.summarised(self)

    @property
    def responsiveness(self) -> Responsiveness | None:
        """The responsiveness with the confidence in it and the time from which it is known; None for a run without that traffic. Computed
        from the series at each use. Raises `DamagedRun`."""
        from dumbbell.results.responsiveness import measured

        return measured(self)

    @property
    def sampled(self) -> Mapping[str, Sequence[str]]:
        """Kind of entity (`flow`, `port`) -> names of the sampled series, including series without any value."""
        if isinstance(self.samples, SeriesFile):
            return self.samples.names if self.more is None else self.more.with_names(self.samples.names)
        found: dict[str, dict[str, None]] = {}
        for block in self.samples:
            found.setdefault(block.entity.partition("/")[0], {}).update(dict.fromkeys(block.names))
        return {kind: list(names) for kind, names in found.items()}

    @property
    def required_plan(self) -> Mapping[str, Any]:
        """The plan. Raises `BadInput` if the run was stored by a version that did not store plans."""
        if self.plan is None:
            raise BadInput(f"run {self.key[:10]} ({self.name}) has no plan, an earlier dumbbell made it; expected a run of this one")
        return self.plan

    @property
    def events(self) -> pl.DataFrame:
        """The events of its flows in order: t_ns, flow, kind, sequence, count, cwnd, ssthresh, inflight, rtt_ms, delivery_bps, reason.

        Empty if the scenario asks for none (`events: all`). Read from the store at each use, not cached. Raises `DamagedRun`.
        """
        from dumbbell.results.events import frame

        return frame(self.record)

    @property
    def record(self) -> bytes | StoredFile | None:
        """The fullest record of events: that of `--again`, which also holds all that the scenario asks for, or else the run's own; None if
        there is none."""
        return self.more.events if self.more is not None and self.more.events is not None else self.happened

    @property
    def frame(self) -> pl.DataFrame:
        """The series as a long table: t_ns (int64), entity, series, value. Read from the store at each use, not cached."""
        return self.samples.frame() if isinstance(self.samples, SeriesFile) else to_frame(self.samples)

    def series(self, entity: str, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Times (s) and values of one series, each of shape (samples,). The series of a flow ends with the flow.

        Empty if there was never a value, e.g. of an `ssthresh` that was never set. Raises `KeyError` if it was not sampled.
        """
        try:
            t_ns, values = self.samples.series(entity, name) if isinstance(self.samples, SeriesFile) else self._sampled(entity, name)
        except KeyError:
            if self.more is not None and self.more.series is not None:
                with suppress(KeyError):
                    t_ns, values = self.more.series.series(entity, name)
                    return t_ns / 1e9, values
            raise KeyError(f"run {self.key[:10]} has no series {name!r} of {entity!r}") from None
        return t_ns / 1e9, values

    def all_series(self, *names: str) -> dict[tuple[str, str], tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """These series of all entities that have samples: (entity, name) -> times and values as of `series`. Reads the file only once."""
        if isinstance(self.samples, SeriesFile):
            found = self.samples.several(names)
        else:
            found = {
                (block.entity, name): (t_ns, values) for block in self.samples for name, t_ns, values in block.series() if name in names
            }
        if self.more is not None and self.more.series is not None:
            found = {**self.more.series.several(names), **found}
        return {whose: (t_ns / 1e9, values) for whose, (t_ns, values) in found.items()}

    def _sampled(self, entity: str, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Times (ns) and values of a series in memory. Raises `KeyError` if it was not sampled."""
        assert not isinstance(self.samples, SeriesFile)
        for block in self.samples:
            if block.entity == entity and name in block.names:
                values = block.values[block.names.index(name)]
                there = ~np.isnan(values)
                return block.t_ns[there], values[there]
        raise KeyError(name)


@dataclass(frozen=True, repr=False)
class Results:
    """Several runs of one scenario or study, in order."""

    runs: tuple[Run, ...]
    damaged: tuple[DamagedRun, ...] = ()
    """The stored runs that are left out because they are not as they were written."""
    folder: Path | None = field(default=None, compare=False)
    """The results folder that has them; None if they are in memory alone."""

    def __repr__(self) -> str:
        return notebook.results_text(self)

    def _repr_html_(self) -> str:
        return notebook.SHOWN[0](self)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def __getitem__(self, index: int) -> Run:
        return self.runs[index]

    @property
    def frame(self) -> pl.DataFrame:
        """The series of all runs. Columns: coordinates of the sweep, t_ns, entity, series, value."""
        return self._joined([run.frame for run in self.runs])

    @property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs. Columns: coordinates of the sweep, then those of the table, and `goodput_mbit`, the payload of a flow over
        its own time; null where a run lacks a column."""
        return self._joined([_with_goodput(run) for run in self.runs])

    @property
    def groups(self) -> pl.DataFrame:
        """The groups of all runs, in the same form as `flows`."""
        return self._joined([run.groups.frame for run in self.runs])

    @property
    def ports(self) -> pl.DataFrame:
        """The ports of all runs, in the same form as `flows`."""
        return self._joined([run.ports.frame for run in self.runs])

    @property
    def tins(self) -> pl.DataFrame:
        """The tins of all runs, in the same form as `flows`."""
        return self._joined([run.tins.frame for run in self.runs])

    @property
    def counters(self) -> pl.DataFrame:
        """The counters of all runs. Columns: coordinates of the sweep, entity, counter, value."""
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
        if not parts:
            return pl.DataFrame()
        joined = pl.concat(parts, how="diagonal_relaxed")
        return joined.select(*(column for key in keys for column in (pl.col(key), *self._numbers(key))), pl.exclude(list(keys)))

    def _numbers(self, key: str) -> list[pl.Expr]:
        """Return the column of numbers that goes with the text of a coordinate whose values have units of one kind: `path.rtt_ms`."""
        import polars as pl

        there = [run.cell[key] for run in self.runs if run.cell.get(key) is not None]
        sizes = {str(value): quantity(value) for value in there if isinstance(value, str)}
        if not sizes or len(sizes) != len({str(value) for value in there}) or None in sizes.values():
            return []
        kinds = {size[0] for size in sizes.values() if size is not None}
        if len(kinds) != 1 or (kind := kinds.pop()) not in NUMBERS:
            return []
        suffix, factor = NUMBERS[kind]
        numbers = {text: size[1] * factor for text, size in sizes.items() if size is not None}
        return [pl.col(key).replace_strict(numbers, default=None, return_dtype=pl.Float64).alias(f"{key}_{suffix}")]


def _with_goodput(run: Run) -> pl.DataFrame:
    """Return the table of flows with the goodput of each."""
    import polars as pl

    frame, values = run.flows.frame, run.summary.flows
    goodput = [values.get(name, {}).get(FLOW_GOODPUT) for name in run.flows.names]
    return frame.with_columns(pl.Series(GOODPUT, goodput, dtype=pl.Float64, nan_to_null=True, strict=False))
