"""`dumbbell flent TEST`: runs Flent itself in a guest of the engine kernel, and gives its file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.output import note, show
from dumbbell.cli.progress import runs_bar
from dumbbell.cli.scenario_runs import OutOption, SetOption, read_scenario
from dumbbell.errors import BadInput
from dumbbell.executor import Threads
from dumbbell.results import Run, Store
from dumbbell.running.execute import execute_each
from dumbbell.running.sweep import PreparedSweep
from dumbbell.templates import examples

_AROUND_S = 15
"""Time that Flent takes besides that of the load, s: 5 before and 5 after it (--delay), and its start and end."""
_SUFFIX = ".flent.gz"


def command(
    test: Annotated[str, typer.Argument(help="A test of Flent, such as rrul. `flent --list-tests` names the tests.")],
    length: Annotated[int, typer.Option("--length", "-l", min=1, max=3600, help="Duration of the load, s.")] = 20,
    values: SetOption = None,
    out: OutOption = None,
    folder: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder for the file of Flent.")] = Path(),
) -> None:
    """Run a test of Flent itself, in virtual time, and give the file that Flent has written.

    Flent, netperf, irtt and fping are those of this machine. The scenario is examples/flent.yaml, of which --set changes any key.
    """
    if not test.replace("_", "").replace("-", "").isalnum():
        raise BadInput(f"{test!r} is no test of Flent; expected one of `flent --list-tests`, such as rrul")
    found = examples.file("flent")
    assert found is not None  # it is one of the examples
    given = [
        f"name=flent-{test}",
        f"flows.0.arguments.test={test}",
        f"flows.0.arguments.length={length}",
        f"duration={length + _AROUND_S}s",
    ]
    scenario, where = read_scenario(found, out, None, [*given, *(values or ())])
    jobs, store = PreparedSweep(scenario), Store(where)
    with runs_bar(scenario.name) as progress:
        outcome = execute_each(jobs, store, Threads(None), progress)
    for number, run in enumerate(outcome):
        for reason in run.reasons:
            note(f"{run.status}: {reason}")
        _give(run, folder / (f"{test}{_SUFFIX}" if len(jobs) == 1 else f"{test}-{number + 1}{_SUFFIX}"))
    note(f"results in {where}")


def _give(run: Run, target: Path) -> None:
    """Copy the file of Flent to where the user wants it, and show what Flent has said."""
    found = {name: content if isinstance(content, bytes) else content.read_bytes() for name, content in run.outputs.items()}
    for name, content in found.items():
        if name.endswith("-client.txt"):
            show(content.decode(errors="replace").strip())
    for name, content in found.items():
        if name.endswith(_SUFFIX):
            target.write_bytes(content)
            note(f"{target}: Flent's own file; `flent-gui {target}` or `flent -i {target} -p all_scaled` plots it")
            return
    raise BadInput(f"Flent has written no file; see the files application-*.errors of the run {run.key[:10]}")
