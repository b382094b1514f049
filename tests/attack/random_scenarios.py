"""Random scenarios, drawn from the models and from the declared options of congestion controls and stacks, at their extremes: whether a
run panics, hangs, has numbers that cannot be, or differs from a second one.

    python tests/attack/random_scenarios.py [--seed N] [--count K] [--native FILE] [--keep FOLDER] [FILE.yaml ...]

FILE is a native module to use instead of the installed one, such as one that was built with checks (`make validate`). Each scenario that
fails is written to the folder. Files are tried instead of drawing.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import multiprocessing
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from dumbbell.errors import BadInput
from dumbbell.scenario import Scenario, ScenarioError

if TYPE_CHECKING:
    from dumbbell.engines.prepared import Prepared

MOST_PACKETS = 150_000
"""Maximum number of packets of a run, so that it ends within seconds in a checked build."""
_EVENTS_PER_PACKET, _EVENTS_PER_S = 100, 200_000
"""Maximum number of events of a run that does not go round in circles: those that a packet causes on its way, timers and samples."""
_EXAMPLES = 3
_MOST_REFUSALS = 20
"""Keys that are taken out of a scenario before it is given up."""
_HANGS_S = 300
"""Time after which a scenario is given up. Only loops without end take it."""
_MEMORY = 6 << 30


class Judged(NamedTuple):
    """The outcome of a scenario."""

    what: str
    """`refused`, `costly`, `run` or `failed`."""
    lines: tuple[str, ...] = ()
    tree: Mapping[str, Any] | None = None
    """The scenario that was run."""


def drawn(seed: int, index: int) -> dict[str, Any]:
    """A scenario as data: a function of seed and index, with one version of hypothesis."""
    import hypothesis
    from attack.scenario_files import extreme

    found: list[dict[str, Any]] = []

    # The first examples of hypothesis are the simplest ones, and later ones vary those before them: each scenario is a new beginning.
    @hypothesis.seed(f"{seed}/{index}")
    @hypothesis.settings(
        max_examples=_EXAMPLES,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(extreme())
    def collect(tree: dict[str, Any]) -> None:
        found.append(tree)

    collect()
    return found[-1]


def accepted(tree: Mapping[str, Any]) -> tuple[dict[str, Any], Prepared] | None:
    """Return a scenario without its errors, and its run: key by key, as somebody would who reads the messages. None if nothing is left that
    can be run."""
    from dumbbell.running.prepare import prepare

    rest = copy.deepcopy(dict(tree))
    for _ in range(_MOST_REFUSALS):
        try:
            (prepared,) = prepare(Scenario.model_validate(rest).expand())
            return rest, prepared
        except ValidationError as error:
            location: Sequence[str | int] = error.errors()[0]["loc"]
        except ScenarioError as error:
            location = error.problems[0].key.split(".")
        except BadInput:
            return None
        _take_out(rest, location)
    return None


def _take_out(tree: Any, location: Sequence[str | int]) -> None:
    """Take the entry at a location out of a scenario, as far as there is one. If the entry is required, the key that was written last goes:
    in an entry of a list, and in a mapping with a kind."""
    way: list[tuple[Any, Any]] = []
    for part in location:
        at = int(part) if isinstance(tree, list) and str(part).isdecimal() else part
        if at in tree if isinstance(tree, dict) else isinstance(tree, list) and isinstance(at, int) and at < len(tree):
            way.append((tree, at))
            tree = tree[at]
    for holder, at in reversed(way):
        found = holder[at]
        optional = [key for key in found if key not in ("kind", "cc")] if isinstance(found, dict) else []
        if optional and (isinstance(holder, list) or "kind" in found):
            del found[optional[-1]]
            return
        if at not in ("kind", "cc") and not isinstance(holder, list):
            del holder[at]
            return
    if way:
        del way[-1][0][way[-1][1]]


def judged(tree: Mapping[str, Any], most_packets: int = MOST_PACKETS) -> Judged:
    """Runs a scenario twice."""
    from attack.absurd import absurdities

    from dumbbell.engines.base import expected_packets

    try:
        if (found := accepted(tree)) is None:
            return Judged("refused")
    except Exception as error:
        return Judged("failed", (f"preparing it raises {type(error).__name__}: {error}",))
    rest, prepared = found
    # Load beyond the capacity of the network is retransmitted again and again.
    offered = sum(workload.most_packets(prepared.plan.duration_ns) or 0 for workload in prepared.plan.workloads)
    if max(offered, expected_packets(prepared.plan)) > most_packets:
        return Judged("costly")
    try:
        first, second = prepared.produce(), prepared.produce()
    except ScenarioError:  # more packets in captures, or more connections at once, than are bounded before
        return Judged("refused")
    except Exception as error:
        return Judged("failed", (f"it raises {type(error).__name__}: {error}",), rest)
    lines = list(absurdities(prepared.plan, first))
    if first.digest != second.digest or any(
        getattr(first, name).rows() != getattr(second, name).rows() for name in ("flows", "groups", "ports", "tins")
    ):
        lines.append("a second run differs")
    packets = sum(row["arrived_packets"] for row in first.ports.rows()) if first.is_complete else 0
    events = first.engine.get("events", 0)
    if events > _EVENTS_PER_PACKET * packets + _EVENTS_PER_S * (prepared.plan.duration_ns / 1e9 + 1):
        lines.append(f"{events} events for {packets} packets at ports")
    return Judged("failed", tuple(lines), rest) if lines else Judged("run")


def judged_drawn(seed: int, index: int) -> Judged:
    """Judge a drawn scenario."""
    return judged(drawn(seed, index))


def judged_file(file: Path) -> Judged:
    """Judge a scenario in a file that this program wrote."""
    return judged(json.loads(file.read_text()))


def _use(native: str | None) -> None:
    """Prepares a process that judges."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if native is not None:
        spec = importlib.util.spec_from_file_location("dumbbell._native", native)
        assert spec is not None, f"{native} is no module"
        assert spec.loader is not None
        sys.modules["dumbbell._native"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["dumbbell._native"])


def all_judged(
    judge: Callable[..., Judged], given: Sequence[tuple[Any, ...]], native: str | None, workers: int
) -> Iterator[tuple[int, Judged]]:
    """Judges in processes of their own: one that crashes, or that never comes back, costs one scenario."""
    at = 0
    while at < len(given):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_use, initargs=(native,)) as pool:
            futures = [pool.submit(judge, *arguments) for arguments in given[at:]]
            try:
                for future in futures:
                    yield at, future.result(_HANGS_S)
                    at += 1
                return
            except TimeoutError:
                outcome = Judged("failed", (f"it did not end within {_HANGS_S} s",))
            except BrokenProcessPool:
                outcome = Judged("failed", ("the process that computed it died",))
            finally:
                for process in list((pool._processes or {}).values()):
                    process.kill()
        if workers > 1 and "died" in outcome.lines[0]:  # it, or its neighbour
            _, outcome = next(all_judged(judge, [given[at]], native, 1))
        yield at, outcome
        at += 1


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Run random scenarios and look for what cannot be.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--native", help="a native module to use instead of the installed one")
    parser.add_argument("--keep", type=Path, help="folder for the scenarios that fail")
    parser.add_argument("files", nargs="*", type=Path, help="scenario files to try instead of drawing")
    asked = parser.parse_args()
    _use(asked.native)
    if asked.files:
        outcomes = all_judged(judged_file, [(file,) for file in asked.files], asked.native, asked.workers)
    else:
        outcomes = all_judged(judged_drawn, [(asked.seed, i) for i in range(asked.count)], asked.native, asked.workers)
    folder = asked.keep or Path(tempfile.mkdtemp(prefix="random-scenarios-"))
    folder.mkdir(parents=True, exist_ok=True)
    counts: Counter[str] = Counter()
    for i, outcome in outcomes:
        counts[outcome.what] += 1
        if outcome.what == "failed":
            file = asked.files[i] if asked.files else folder / f"{asked.seed}-{i}.yaml"
            if not asked.files:
                file.write_text(json.dumps(outcome.tree or drawn(asked.seed, i), indent=1))
            for line in outcome.lines:
                print(f"{file}: {line}", flush=True)
    print(f"seed {asked.seed}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return int(bool(counts["failed"]) or not counts["run"])


if __name__ == "__main__":
    sys.exit(main())
