"""`dumbbell advise DIR`: the best queue of a sweep, with its tc lines and the evidence."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, note, print_json, show
from dumbbell.cli.tables import print_fitted, print_wrapped
from dumbbell.comparing.across.advice import advise, named
from dumbbell.comparing.across.answer import answer_of
from dumbbell.comparing.across.measures import loaded
from dumbbell.errors import BadInput, shortened
from dumbbell.results.folder import open_outlines, run_of
from dumbbell.study.folders import find_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dumbbell.results import Outline, Run

_SHARE = 0.95
"""Share of a link's rate that a shaper in front of the link takes, so that the queue builds at the shaper. The documentation of OpenWrt's
SQM recommends 80 to 95 %."""
_DEVICE = re.compile(r"[\w.@:-]{1,15}")
"""Names of devices that a shell takes as they are; Linux's have at most 15 characters."""


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Results folder of a sweep over queues.")],
    device: Annotated[str, typer.Option("--device", metavar="NAME", help="Device of the forward direction in the tc lines.")] = "eth0",
    reverse: Annotated[str, typer.Option("--reverse-device", metavar="NAME", help="Device of the reverse direction.")] = "eth1",
    shaped: Annotated[
        bool, typer.Option("--shaped", help="The bottleneck is behind the device, as at a modem: shape to 95 % of its rate.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Print the tc lines of the best queue, with the evidence.

    Two queues differ in a measure if their 95 % intervals do not overlap and their means differ by 5 % or more. If that does not single out
    one queue, dumbbell says that it cannot decide, and prints the lines of each queue that is left.
    """
    for name in (device, reverse):
        if not _DEVICE.fullmatch(name):
            raise BadInput(f"{shortened(repr(name))} is no name of a network device; expected one such as eth0 or ppp0")
    path = find_folder(folder)
    runs = open_outlines(path)
    answer = answer_of(path.name, runs)
    advice = advise(answer)
    if advice is None:
        raise BadInput(f"{path}: the runs have no several queues; expected a sweep over one, such as `dumbbell run home`")
    devices = {"forward": device, "reverse": reverse}
    chosen = {}
    for queue in advice.best:
        its = [run for run in runs if all(run.cell.get(key) == value for key, value in queue)]
        chosen[named(queue)] = list(_lines(run_of(path)(its[0]), _loaded(its), devices, shaped))
    if json:
        print_json({"decided": len(advice.best) == 1, "best": list(chosen), "reasons": list(advice.lines), "tc": _commands(chosen)})
        return
    print_fitted(answer.table(judged=True))
    show("")
    for line in advice.lines:
        print_wrapped(line)
    for name, lines in chosen.items():
        show(f"\n# {name}")
        for line in lines:
            show(line)
    if not shaped:
        note("next: --shaped for a bottleneck behind the device, as at a modem")


def _loaded(runs: Sequence[Outline]) -> set[str]:
    """The queues that more than ACKs load in some of the runs."""
    return {port for run in runs for port in loaded(run.summary)}


def _lines(run: Run, loaded: set[str], devices: Mapping[str, str], shaped: bool) -> Iterator[str]:
    """Yield tc's lines for the queues of a run that traffic loads, each behind a comment that says where it stands."""
    from dumbbell.engines.linux.qdiscs import DISCIPLINES, queue_on_a_link, shaped_queue

    ports = [port for port in run.required_plan["ports"] if port["kind"] == "queue"]
    for port in [port for port in ports if port["id"] in loaded] or ports:
        qdisc, device = port["qdisc"], devices[port["direction"]]
        rate = port["shaper"].get("rate_bps") or qdisc.get("rate_bps")
        place = f"{port['id']}, {port['direction']}{'' if rate is None else f', {rate / 1e6:g} Mbit/s'}"
        if qdisc["kind"] not in DISCIPLINES:
            yield f"# {place}: Linux has no {qdisc['kind']}"
            continue
        with_shaper = shaped and rate is not None
        yield f"# {place}: {f'shaped to {100 * _SHARE:.0f} %' if with_shaper else f'{device} is the bottleneck'}"
        made = shaped_queue(qdisc, device, round(rate * _SHARE)) if with_shaper else queue_on_a_link(qdisc, device)
        yield from (f"tc {shlex.join(line.split())}" for line in made)


def _commands(chosen: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    return {name: [line for line in lines if not line.startswith("#")] for name, lines in chosen.items()}
