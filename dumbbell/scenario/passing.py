"""Stages that traffic passes: those of the scenario's path, or of one of several paths."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from dumbbell.documents.problems import Location
from dumbbell.errors import nearest, one_of
from dumbbell.scenario.bounds import Wrong
from dumbbell.scenario.faults import Faults
from dumbbell.scenario.generated.paths import DelayStage
from dumbbell.scenario.model import NamedPath, Path, Settings
from dumbbell.scenario.stages import Bottleneck, QueueStage, Stage
from dumbbell.scenario.units import Duration

Way = Literal["forward", "reverse"]
WAYS: tuple[Way, Way] = ("forward", "reverse")

_OF_ALL = {"mtu", "impairments"}
"""Keys of `path` that concern all paths."""
_RESERVED = ("-reverse", "-egress")
"""Endings of the names of ports that are made from other names."""


def is_a_path(path: Path) -> bool:
    """True if it leads anywhere by itself."""
    return not path.model_fields_set <= _OF_ALL


def path_named(settings: Settings, name: str | None) -> Path | NamedPath:
    """The path of traffic that names this one, or none. The settings must have passed the check."""
    if name is not None:
        return settings.paths[name]
    return settings.path if is_a_path(settings.path) or not settings.paths else next(iter(settings.paths.values()))


def passed(settings: Settings, name: str | None, direction: Way) -> list[object]:
    """Return what packets of a direction pass, without hosts' own queues: stages, the link of a dumbbell's access and its bottleneck."""
    path = path_named(settings, name)
    if isinstance(path, NamedPath):
        return [settings.stages[stage] for stage in path.passed(direction) if stage in settings.stages]
    if path.forward is not None:
        listed = path.forward if direction == "forward" or path.reverse == "mirror" else path.reverse
        return [*listed] if isinstance(listed, list) else []
    if direction == "forward":
        return [path.access, path.bottleneck]
    return [path.bottleneck if path.reverse == "mirror" else path.reverse]


def shaped_bps(settings: Settings, name: str | None, direction: Way) -> int | None:
    """The rate of the first shaped queue that data of a direction pass, those of hosts aside, bit/s; None if there is none."""
    rates = (queue.rate_bps for queue in passed(settings, name, direction) if isinstance(queue, Bottleneck))
    return next((rate for rate in rates if rate is not None), None)


def least_rate_bps(settings: Settings, name: str | None = None) -> int:
    """The minimum rate that data pass forward, bit/s. The settings must have passed the check."""
    stages = passed(settings, name, "forward")
    rates = [each.rate_bps if isinstance(each, Bottleneck) else getattr(each, "rate", None) for each in stages]
    return min(int(rate) for rate in rates if rate is not None)


def taken(settings: Settings) -> set[str | None]:
    """The names of the paths that traffic takes; None is that of traffic that names none."""
    return {each.path for each in (*settings.flows, *settings.background)}


def stages_taken(settings: Settings, direction: Way) -> set[str]:
    """Return the names of the `stages` that something passes in a direction: data, or the answers to them."""
    paths = (path_named(settings, name) for name in taken(settings) if name in settings.paths or name is None)
    return {stage for path in paths if isinstance(path, NamedPath) for stage in path.passed(direction)}


def written_stages(settings: Settings) -> list[tuple[Location, Stage]]:
    """Every stage that is written, and where."""
    found: list[tuple[Location, Stage]] = []
    for name, listed in (("forward", settings.path.forward), ("reverse", settings.path.reverse)):
        if isinstance(listed, list):
            found += [(("path", name, i), stage) for i, stage in enumerate(listed)]
    if settings.stages:
        found += [(("stages", name), stage) for name, stage in settings.stages.items()]
    return found


def written_delays(settings: Settings) -> Iterator[Faults]:
    """Every delay that is written."""
    yield settings.path.delay
    yield from (stage for _, stage in written_stages(settings) if isinstance(stage, DelayStage))


def wrong_faults(settings: Settings) -> Wrong:
    """Yield the errors in the faults of delays."""
    for location, stage in written_stages(settings):
        if isinstance(stage, DelayStage):
            for where, what, expected in stage.wrong_faults(stage.delay):
                yield (*location, *where), what, expected
    if settings.path.rtt is not None:
        delay = settings.path.delay
        share = 0 if delay.where == "ack-path" and delay.faults_in != "reverse" else settings.path.rtt // 2
        for where, what, expected in delay.wrong_faults(Duration(share + delay.extra)):
            yield ("path", "delay", *where), what, expected


def wrong_paths(settings: Settings, own: frozenset[str]) -> Wrong:
    """Yield the errors in named stages and paths. `own` are the names of the ports of the scenario's `path`."""
    if not settings.paths:
        if not is_a_path(settings.path):
            yield ("path",), "is missing", "rtt and bottleneck, or forward; or several paths"
        if settings.stages:
            yield ("stages",), "are of no use without paths", "paths that pass them, or path.forward"
        return
    for name, stage in settings.stages.items():
        if stage.name is not None:
            yield ("stages", name, "name"), f"{stage.name!r} is a second name", "the key alone"
        if name in own or name.endswith(_RESERVED) or name.startswith("card-"):
            what = f"{name!r} may be the name of another port"
            yield ("stages", name), what, f"a name without {' and '.join(_RESERVED)} at the end that path has not"
    for name, path in settings.paths.items():
        yield from _wrong_path(settings, ("paths", name), path)


def _wrong_path(settings: Settings, at: Location, path: NamedPath) -> Wrong:
    for direction in ("forward", "reverse"):
        listed = getattr(path, direction)
        times = Counter(listed if isinstance(listed, list) else ())
        for i, stage in enumerate(times):
            if stage not in settings.stages:
                yield (*at, direction, i), f"there is no stage {stage!r}{nearest(stage, settings.stages)}", one_of(settings.stages)
            elif times[stage] > 1:
                yield (*at, direction), f"passes {stage!r} {times[stage]} times", "each stage once"
    stages = [settings.stages[stage] for stage in path.forward if stage in settings.stages]
    if stages and not any(stage.rate or isinstance(stage, QueueStage) for stage in stages):
        yield (*at, "forward"), "limits no rate anywhere", "a stage with a rate"


def wrong_choice(settings: Settings, name: str | None) -> Wrong:
    """Yield the errors in the path that traffic names."""
    if name is not None and name not in settings.paths:
        yield ("path",), f"there is no path {name!r}{nearest(name, settings.paths)}", one_of(settings.paths) if settings.paths else "none"
    elif name is None and len(settings.paths) > 1 and not is_a_path(settings.path):
        yield ("path",), f"is missing, there are {len(settings.paths)}", one_of(settings.paths)
