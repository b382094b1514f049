"""Checks of impairments: the stages and paths that they change must exist."""

from __future__ import annotations

from dumbbell.errors import one_of
from dumbbell.scenario.bounds import Wrong, all_beyond
from dumbbell.scenario.generated.impairments import Hold, OneImpairment, Outage, RateStep
from dumbbell.scenario.model import NamedPath, Path, Settings
from dumbbell.scenario.passing import WAYS, path_named, stages_taken, taken
from dumbbell.scenario.stages import QueueStage


def wrong_impairment(impairment: OneImpairment, settings: Settings) -> Wrong:
    """Yield the errors in an impairment."""
    if settings.duration and impairment.at >= settings.duration:
        yield ("at",), f"{impairment.at} is not within the run's {settings.duration}", "an earlier time"
    if impairment.stage in settings.stages:
        yield from _impaired_stage(impairment, settings, impairment.stage)
    elif settings.paths and None not in taken(settings):
        yield ("stage",), "is missing, all traffic names a path", one_of(settings.stages)
    elif isinstance(path := path_named(settings, None), NamedPath):
        yield ("stage",), "is missing" if impairment.stage is None else f"{impairment.stage!r} is none", one_of(path.forward)
    else:
        yield from _impaired_path(impairment, path)
    if isinstance(impairment, Outage | Hold) and impairment.for_ == 0:
        yield ("for",), "0s is no time at all", "a time above 0"
    if isinstance(impairment, RateStep):
        if any(getattr(queue, "trace", None) is not None for queue in _impaired(impairment, settings)):
            yield ("kind",), "is of a queue whose rate follows a trace", "an outage"
        yield from all_beyond((), impairment)


def _impaired(impairment: OneImpairment, settings: Settings) -> list[object]:
    """The queues concerned, as far as there are any."""
    if impairment.stage in settings.stages:
        return [settings.stages[impairment.stage]]
    path = settings.path
    if path.forward is None:
        other = path.reverse if impairment.direction != "forward" else None
        return [path.bottleneck, other] if impairment.direction != "reverse" or path.reverse == "mirror" else [other]
    return [stage for stage in path.forward if impairment.stage in (None, stage.name)]


def _impaired_stage(impairment: OneImpairment, settings: Settings, name: str) -> Wrong:
    """Yield the errors in an impairment of one of `stages`."""
    if not isinstance(settings.stages[name], QueueStage):
        queues = [name for name, stage in settings.stages.items() if isinstance(stage, QueueStage)]
        yield ("stage",), f"{name!r} is no queue stage", one_of(queues)
        return
    for direction in WAYS if impairment.direction == "both" else (impairment.direction,):
        if name not in stages_taken(settings, direction):
            yield ("stage",), f"nothing passes {name!r} in the direction {direction}", "a stage of a path that traffic takes"


def _impaired_path(impairment: OneImpairment, path: Path) -> Wrong:
    """Yield the errors in an impairment of the scenario's `path`."""
    if path.forward is None:
        if impairment.stage is not None:
            yield ("stage",), "names a stage of a dumbbell", "none, or path.forward"
        if impairment.direction != "forward" and path.reverse == "none":
            yield ("direction",), f"{impairment.direction} needs a queue on the reverse path", "forward"
        return
    queues = [stage.name for stage in path.forward if isinstance(stage, QueueStage)]
    if impairment.stage is None and len(queues) != 1:
        yield ("stage",), f"is missing, path.forward has {len(queues)} queue stages", "the name of one"
    elif impairment.stage is not None and impairment.stage not in queues:
        yield (
            ("stage",),
            f"{impairment.stage!r} is no queue stage of path.forward",
            one_of([name for name in queues if name]) if any(queues) else "none, or a queue stage with a name",
        )
    if impairment.direction != "forward" and path.reverse != "mirror":
        yield ("direction",), f"{impairment.direction} needs the mirrored stages", "forward, or reverse: mirror"
