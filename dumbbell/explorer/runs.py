"""The runs of a results folder, as the explorer shows them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dumbbell.explorer.arrays import Samples
from dumbbell.explorer.collection import Document, Rows, shell_command
from dumbbell.explorer.written import as_written
from dumbbell.files import parse_json
from dumbbell.results import Store
from dumbbell.results.conservation import sums
from dumbbell.results.imported import UNKNOWN_CC
from dumbbell.results.limits import limited_shares
from dumbbell.results.series import spans
from dumbbell.results.tables import entity_of

if TYPE_CHECKING:
    from dumbbell.results import Run

_HELD = 4
"""Runs whose series stay in memory."""


class Runs:
    """The runs of a store, damaged ones apart."""

    def __init__(
        self, store: Path, title: str, agreement: Callable[[], Document | None] = lambda: None, study: Document | None = None
    ) -> None:
        """`agreement` gives the comparison with a reference, if there is one: it is only made if it is asked for. `study`: title and source
        of the study that the runs are of."""
        self._study = study
        self._store = Store(store)
        self._as_of = _changed_ns(store)
        self._title = title
        self._agreement = agreement
        self._samples = lru_cache(_HELD)(self._read)

    @cached_property
    def _runs(self) -> dict[str, Run]:
        # Series are checked when they are read, each time.
        return {run.key: run for run in self._store.runs(check_series=False)}

    def renew(self) -> None:
        """Takes in runs that were stored since, as of a sweep that is running."""
        if (now := _changed_ns(self._store.path)) != self._as_of:
            self._as_of, self._store = now, Store(self._store.path)
            for name in ("_runs", "agreement"):
                self.__dict__.pop(name, None)

    def keys(self) -> Sequence[str]:
        """The keys of the runs in the order of the requests."""
        return list(self._runs)

    @cached_property
    def agreement(self) -> Document | None:
        """The comparison with a reference."""
        return self._agreement()

    def index(self) -> Document:
        """The table of the runs: coordinates, status and the metrics that `dumbbell table --runs` has."""
        rows = Rows()
        for key, run in self._runs.items():
            facts = {
                "key": key,
                "name": run.name,
                "status": run.status,
                "reasons": list(run.reasons),
                "engine": run.engine.get("name"),
                "seed": run.scenario.get("seed"),
                "ccs": sorted({str(cc) for table in (run.flows, run.groups) for cc in table.column("cc") if cc not in (None, UNKNOWN_CC)}),
            }
            rows.add_run(facts, run.cell, run.summary)
        return rows.document(self._title, "runs") | {"agreement": self.agreement, "study": self._study}

    def detail(self, key: str) -> Document:
        """Command, scenario, engine, tables, counters and conservation of a run, and which series it has."""
        run = self._runs[key]
        record = parse_json(self._store.record(key))
        return {
            "key": key,
            "name": run.name,
            "cell": dict(run.cell),
            "status": run.status,
            "reasons": list(run.reasons),
            "command": _shown_command(str(record.get("command", ""))),
            "scenario": as_written({"name": run.name, **run.scenario}),
            "engine": dict(run.engine),
            "digest": run.digest,
            "flows": run.flows.rows(),
            "groups": run.groups.rows(),
            "ports": run.ports.rows(),
            "conservation": [
                [entity, " + ".join(came), whole, " + ".join(went), found] for entity, came, whole, went, found in sums(run.counters)
            ],
            "entities": _entities(run),
            "captures": sorted(run.captures),
            "series": [_outlined(entity, name, samples) for entity, name, samples in self.series(key)],
        }

    def series(self, key: str) -> Iterator[tuple[str, str, Samples]]:
        """The series of a run in the order of its file."""
        for (entity, name), samples in self._samples(key).items():
            yield entity, name, samples

    def one_series(self, key: str, entity: str, name: str) -> Samples:
        """One of them."""
        return self._samples(key)[entity, name]

    def captures(self, key: str) -> Mapping[str, Path]:
        """The captures of a run."""
        return {name: Path(where) for name, where in self._runs[key].captures.items() if not isinstance(where, bytes)}

    def _read(self, key: str) -> dict[tuple[str, str], Samples]:
        run = self._runs[key]
        more = run.more.series if run.more is not None else None
        found: dict[tuple[str, str], Samples] = {}
        for frame in (run.frame, *((more.frame(),) if more is not None else ())):
            t_ns, values = frame["t_ns"].to_numpy(), frame["value"].to_numpy()
            found |= {whose: (t_ns[first:last], values[first:last]) for first, last, whose in spans(frame)}
        return found


def _changed_ns(folder: Path) -> int:
    """Return when a run was last added to a folder; 0 if the folder does not exist."""
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _outlined(entity: str, name: str, samples: Samples) -> Document:
    """Return the facts of a series that the page has before the samples."""
    values = samples[1]
    return {"entity": entity, "name": name, "samples": len(values), "idle": not values.any()}


def _shown_command(command: str) -> str:
    """The recorded command as a user types it, without the place where the program was installed. Empty if it is none.

    It may be from somebody else: it is shown as words of a dumbbell command and nothing else, so that pasting it runs no other.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return shell_command("dumbbell", *words[1:]) if words else ""


def _entities(run: Run) -> dict[str, Document]:
    """Label, congestion control, group and direction of everything that has series."""
    plan: Mapping[str, Any] = run.plan or {}
    workloads = [workload.get("tcp", workload) for workload in plan.get("workloads", ())]
    directions = {str(place["id"]): place.get("direction", "forward") for place in workloads if "id" in place}
    ways = {str(port["id"]): port.get("direction", "forward") for port in plan.get("ports", ())}
    found: dict[str, Document] = {}
    for row in run.flows.rows():
        group = str(row.get("group", row["flow"]))
        shares = {name: share for name, share in limited_shares(row).items() if share == share}
        facts = {
            "label": row["flow"],
            "cc": None if row.get("cc") == UNKNOWN_CC else row.get("cc"),
            "group": group,
            "direction": directions.get(group, "forward"),
            "limited": shares,
        }
        found[entity_of(row)] = {name: value for name, value in facts.items() if value not in (None, {})}
    for row in run.groups.rows():
        name = str(row["group"])
        found[f"group/{name}"] = {"label": name, "cc": row.get("cc"), "group": name, "direction": directions.get(name, "forward")}
    for row in run.ports.rows():
        found[f"port/{row['port']}"] = {"label": row["port"], "direction": ways.get(str(row["port"]), "forward")}
    return found
