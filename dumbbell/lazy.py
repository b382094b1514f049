"""Names of a package that are imported when they are asked for, because the libraries behind them take long to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(namespace: dict[str, Any], homes: Mapping[str, str], others: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package with this namespace.

    `homes`: names with blanks between, by the module of dumbbell that has them. `others`: modules whose public names that begin with a
    capital are names of the package, too.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def imported(name: str) -> Any:
        home = home_of.get(name)
        if home is None and name[0].isupper():
            home = next((each for each in others if name in import_module(f"dumbbell.{each}").__all__), None)
        if home is None:
            raise AttributeError(f"module {namespace['__name__']!r} has no attribute {name!r}")
        value = namespace[name] = getattr(import_module(f"dumbbell.{home}"), name)
        return value

    return imported
