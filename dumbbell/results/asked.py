"""Request of a stored run, as the models of its scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.errors import BadInput
from dumbbell.results.imported import is_imported

if TYPE_CHECKING:
    from dumbbell.results.run import Run
    from dumbbell.scenario import Flow


def asked_flows(run: Run) -> dict[str, Flow]:
    """Return for each flow of a run, by its name, its entry of `flows:`. Raises `BadInput` if the run's scenario is not one.

    The entries of a run that was read from another tool's file say what that file does.
    """
    from dumbbell.scenario import Flow, flow_names

    try:
        if is_imported(run):
            return {str(each["flow"]): Flow(cc=each["cc"], direction=each["direction"]) for each in run.scenario["flows"]}
        groups = [Flow(**{**entry, "cc": _by_name(entry["cc"])}) for entry in run.scenario["flows"]]
    except (BadInput, KeyError, TypeError, ValueError):
        raise BadInput(f"run {run.key[:10]}: its scenario has no valid flows; expected a run written by dumbbell") from None
    return {name: group for group, names in zip(groups, flow_names(groups), strict=True) for name in names}


def _by_name(control: object) -> object:
    """A congestion control without the file of its library, which need not be there any more, or may be another by now."""
    return control["library"] if isinstance(control, dict) and "library" in control else control
