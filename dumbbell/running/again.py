"""Computes a stored run again with more to see: state variables, a record of events. The run itself stays as it is.

The repeated run must have the digest of the stored one, else nothing is kept: then this version of dumbbell computes another run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dumbbell.engines.prepared import NOTHING, Allowed, Prepared, refuse_unallowed
from dumbbell.errors import BadInput
from dumbbell.results.schema import schema
from dumbbell.results.series import Block, SeriesFile, digest, to_parquet
from dumbbell.results.storage.more import as_files
from dumbbell.running.places import with_places
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ResolvedScenario
from dumbbell.scenario.model import Settings

if TYPE_CHECKING:
    from dumbbell.results import Run, Store


def run_again(store: Store, key: str, state: Sequence[str], events: Sequence[str], allowed: Allowed = NOTHING) -> Run:
    """Compute a stored run again, keep what was asked for next to it, and return the stored run with it.

    The variables and events of an earlier call are recorded again, so that nothing gets lost.

    Raises `BadInput` if the run cannot be recomputed, or
    has another digest, `DamagedRun`, `KeyError`.
    """
    run = store.get(key)
    before = run.more
    asked = (
        tuple(dict.fromkeys((*(before.state if before is not None else ()), *state))),
        tuple(dict.fromkeys((*(before.kinds if before is not None else ()), *events))),
    )
    prepared = _prepared(run, with_places(run.scenario, store.files_of_scenario(key)), *asked)
    refuse_unallowed(prepared.libraries.values(), prepared.own_programs, prepared.in_kernel.values(), allowed)
    again = replace(prepared, allowed=allowed).produce()
    if not again.is_complete:
        raise BadInput(f"run {key[:10]} ({run.name}): {'; '.join(again.reasons)}; expected a run that dumbbell can recompute")
    assert not isinstance(again.samples, SeriesFile)
    stored, more = _split(again.samples, run)
    if (found := digest(stored)) != run.digest:
        why = "another version of dumbbell computed it" if not again.reasons else "; ".join(again.reasons)
        raise BadInput(
            f"run {key[:10]} ({run.name}): recomputed, it has the digest {found[:12]}, not {run.digest[:12]} ({why}); "
            "expected a run of this version (`dumbbell run` into another folder makes it)"
        )
    names: dict[str, dict[str, None]] = {}
    for block in more:
        names.setdefault(block.entity.partition("/")[0], {}).update(dict.fromkeys(block.names))
    recorded = again.happened if isinstance(again.happened, bytes) and asked[1] else None
    listed = {kind: list(each) for kind, each in names.items()}
    store.add_more(key, as_files(run.digest, asked, to_parquet(more) if more else None, listed, recorded))
    return store.get(key)


def _prepared(run: Run, scenario: Mapping[str, Any], state: Sequence[str], events: Sequence[str]) -> Prepared:
    """The run of the same scenario that records more."""
    try:
        settings = Settings.model_validate({**scenario, "name": run.name})
        chosen = settings.series.model_copy(update={"state": list(dict.fromkeys((*settings.series.state, *state)))})
        kinds = list(dict.fromkeys((*settings.events, *events)))
        more = Settings.model_validate({**settings.model_dump(mode="json"), "series": chosen.model_dump(), "events": kinds})
    except (ValidationError, TypeError, ValueError):
        raise BadInput(f"run {run.key[:10]}: its scenario cannot be read by this version; expected a run that dumbbell computed") from None
    (found,) = prepare([ResolvedScenario(more, dict(run.cell))])
    return found


def _split(samples: Sequence[Block], run: Run) -> tuple[list[Block], list[Block]]:
    """The samples that the stored run has, and those that are new."""
    usual = {kind: {name for name, each in known.items() if each.source != "state"} for kind, known in schema().series.items()}
    sampled = {kind: set(names) for kind, names in run.sampled.items()} if run.scenario.get("series", {}).get("state") else {}
    if run.more is not None and run.more.series is not None:
        sampled = {kind: names - set(run.more.series.names.get(kind, ())) for kind, names in sampled.items()}
    stored: list[Block] = []
    more: list[Block] = []
    for block in samples:
        kind = block.entity.partition("/")[0]
        if any(name in usual.get(kind, ()) for name in block.names):
            stored.append(block)
            continue
        old = [i for i, name in enumerate(block.names) if name in sampled.get(kind, ())]
        new = [i for i in range(len(block.names)) if i not in old]
        for into, places in ((stored, old), (more, new)):
            if places:
                into.append(Block(block.entity, tuple(block.names[i] for i in places), block.t_ns, block.values[places]))
    return stored, more
