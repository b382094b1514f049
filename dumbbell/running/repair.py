"""Makes stored runs again that are damaged, from the scenario that each of them keeps twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from dumbbell.engines.prepared import Prepared
from dumbbell.running.places import with_places
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ResolvedScenario, ScenarioError
from dumbbell.scenario.model import Settings

if TYPE_CHECKING:
    from dumbbell.results import Store


def prepare_again(store: Store, key: str) -> Prepared | None:
    """Prepares the run that is or was stored under `key`; None if neither of its files has its scenario whole, or another version made it.

    A scenario from a damaged file is as good as any other if it has the right key, which is a hash of it. Raises `EnvironmentFault` if
    the run's engine is not there.
    """
    places = store.files_of_scenario(key)
    for name, cell, scenario in store.asked(key):
        try:
            settings = Settings.model_validate({**with_places(scenario, places), "name": name})
            (found,) = prepare([ResolvedScenario(settings, dict(cell))])
        except (ValidationError, ScenarioError):
            continue
        if found.key == key:
            return found
    return None
