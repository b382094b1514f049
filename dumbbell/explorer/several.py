"""Several results folders as one: their runs lie over each other, and the folder is a coordinate like those of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from dumbbell.comparing.across.measures import Measure
from dumbbell.explorer.arrays import Samples
from dumbbell.explorer.collection import Collection, Document, Rows

FOLDER = "folder"
"""The coordinate that says where a run is from."""


class Several:
    """The runs of several collections. If a run is in more than one, the first counts."""

    def __init__(self, collections: Mapping[str, Collection], agreement: Callable[[], Document | None] = lambda: None) -> None:
        """`collections` by the names of their folders. `agreement` gives a comparison of two of them, if there is one."""
        self._collections = collections
        self._agreement = agreement
        self._of: dict[str, Collection] = {}
        self._take_in()

    def _take_in(self) -> None:
        self._of.clear()
        for collection in self._collections.values():
            its = collection.keys()
            self._of.update((key, collection) for key in its if key not in self._of)

    def renew(self) -> None:
        """Each of them."""
        for collection in self._collections.values():
            collection.renew()
        self._take_in()

    def index(self) -> Document:
        """The table of all runs; the comparison with a reference is that of both, or of the first folder that has one."""
        rows = Rows()
        agreement = self._agreement()
        for name, collection in self._collections.items():
            found = collection.index()
            agreement = agreement or found.get("agreement")
            columns = found["runs"]
            rows.measures |= {column: Measure(column, *words) for column, *words in found["measures"]}
            rows.titles |= found["titles"]
            for i, key in enumerate(columns["facts"]["key"]):
                if self._of[key] is not collection:
                    continue
                facts, coordinates, metrics = (
                    {column: values[i] for column, values in columns[kind].items() if values[i] is not None}
                    for kind in ("facts", "coordinates", "metrics")
                )
                rows.add(facts, {FOLDER: name, **coordinates}, metrics)
        return rows.document(", ".join(self._collections), "runs") | {"agreement": agreement}

    def keys(self) -> Sequence[str]:
        """The keys of all runs: the first of every folder, then the second of each and so on, since an export keeps as many as fit."""
        own: list[list[str]] = [[] for _ in self._collections]
        for listed, collection in zip(own, self._collections.values(), strict=True):
            its = collection.keys()
            listed.extend(key for key in its if self._of[key] is collection)
        return [key for place in zip_longest(*own) for key in place if key is not None]

    def detail(self, key: str) -> Document:
        """Return the facts from the run's own collection."""
        return self._of[key].detail(key)

    def series(self, key: str) -> Iterator[tuple[str, str, Samples]]:
        """Yield the series from the run's own collection."""
        return self._of[key].series(key)

    def one_series(self, key: str, entity: str, name: str) -> Samples:
        """Return the series from the run's own collection."""
        return self._of[key].one_series(key, entity, name)

    def captures(self, key: str) -> Mapping[str, Path]:
        """Return the captures from the run's own collection."""
        return self._of[key].captures(key)
