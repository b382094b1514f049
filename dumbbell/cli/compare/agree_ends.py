"""`dumbbell agree ends`: random peers against one end of a connection, in the simulator and in the real kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dumbbell.agreement.ends import CONTROLS, KINDS, bar
from dumbbell.cli.output import JsonOption, note, print_json
from dumbbell.cli.output import show as put
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput
from dumbbell.files import creatable, write_within

if TYPE_CHECKING:
    from dumbbell.agreement.ends.rounds import Compared, Tally

NAME = "ends"


class AgreeCommand(TyperCommand):
    """`agree`, whose word `ends` is a command of its own: it drives ends and no runs, and has options of its own."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command that the first word asks for."""
        if args[:1] == [NAME]:
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=NAME)(_ends)
            return typer.main.get_command(app).make_context(f"{info_name} {NAME}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


def _ends(
    files: Annotated[list[Path] | None, typer.Argument(metavar="[CASEFILE]...", help="Cases to run instead of drawn ones.")] = None,
    engines: Annotated[
        str, typer.Option("--engines", metavar="KERNEL,sim", help="The kernel and the simulator, such as kernel:7.3,sim.")
    ] = "kernel,sim",
    seed: Annotated[int, typer.Option("--seed", min=0, max=(1 << 63) - 1, help="Seed of the cases.")] = 1,
    count: Annotated[int, typer.Option("--count", min=1, max=1_000_000, help="Cases of each kind.")] = 300,
    kind: Annotated[str | None, typer.Option("--kind", metavar="|".join(KINDS), help="Role of the end. Default: all three.")] = None,
    cc: Annotated[str, typer.Option("--cc", metavar="|".join(CONTROLS), help="The end's congestion control.")] = "reno",
    tso: Annotated[bool, typer.Option("--tso", help="With --kind send: the end builds TSO segments.")] = False,
    ecn: Annotated[bool, typer.Option("--ecn", help="The connection uses ECN, and the path marks. dctcp always does.")] = False,
    sack: Annotated[bool, typer.Option("--sack/--no-sack", help="The connection uses SACK.")] = True,
    timestamps: Annotated[bool, typer.Option("--timestamps/--no-timestamps", help="The connection uses timestamps.")] = True,
    aborts: Annotated[
        bool, typer.Option("--aborts", help="With --kind both: the application leaves, or somebody resets the connection.")
    ] = False,
    crossed: Annotated[bool, typer.Option("--crossed", help="With --kind both: both ends open at once.")] = False,
    show: Annotated[int, typer.Option("--show", min=0, max=1000, help="Differences to show, one per class.")] = 3,
    out: Annotated[
        Path | None, typer.Option("--out", callback=creatable, help="Folder for the smallest case of each class, as a file to run again.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit status 1 if the share of equal cases misses its target.")] = False,
    json: JsonOption = False,
) -> None:
    """Compare one end of a connection with that of the real kernel, packet by packet.

    A random peer plays against the simulator's end. Then the same packets reach the kernel's end at the same times, and all that both ends
    send is compared: times (5 us), flags, numbers, ACK, SACK blocks in their order, windows, ECN, timestamps; and TCP_INFO after each
    packet.

    Each case draws its peer: RTT 1 to 200 ms with jitter up to a fifth, rate 2 Mbit/s to 1 Gbit/s; 0 to 20 % of the packets are lost, 0
    to 10 % delayed by up to an RTT more, 0 to 5 % duplicated, 0 to 5 % of the data marked (--ecn); nothing passes for up to 2 % of the
    time; the peer's buffer has 2 to 3000 segments, which its application reads at once or slowly, so that the window closes; writes of
    1 byte to 1 MB; ACKs of 1 to 8 segments or after 1 to 200 ms; D-SACKs; timestamps up to 3 s off; FIN. docs/ends.md has the details.
    """
    from dumbbell.agreement.ends.comparing import shown
    from dumbbell.agreement.ends.rounds import Tally

    kinds = _kinds(kind, cc, tso, aborts, crossed)
    stack, against = _kernel(engines)
    tallies: dict[str, Tally] = {}
    first: dict[str, Compared] = {}
    for each in (
        _given(files, None if engines == "kernel,sim" else against)
        if files
        else _drawn(kinds, seed, count, cc, ecn or cc == "dctcp", tso, sack, timestamps, aborts, crossed, stack, against)
    ):
        tallies.setdefault(each.case["kind"], Tally()).add(each)
        if each.difference is not None:
            first.setdefault(each.difference.name, each)
    if out is not None:
        first = dict(_written(out, first, against))
    if json:
        print_json(_document(tallies))
    else:
        for each in list(first.values())[: len(first) if files else show]:
            assert each.difference is not None  # it is in a class
            put("\n".join(shown(each.case, each.difference, each.kernel, each.sim)) + "\n")
        _print(tallies)
    if check and (lacking := below_bar(tallies, cc)):
        for line in lacking:
            note(f"below the target: {line}")
        raise typer.Exit(1)


def below_bar(tallies: dict[str, Tally], cc: str) -> list[str]:
    """A line for each kind of which too few cases are equal."""
    lacking = ((kind, tally, bar(kind, cc)) for kind, tally in tallies.items() if tally.equal < bar(kind, cc) * tally.cases)
    return [f"{kind}, {cc}: {tally.equal} of {tally.cases} cases are equal, expected {least:.0%}" for kind, tally, least in lacking]


def _kinds(kind: str | None, cc: str, tso: bool, aborts: bool, crossed: bool) -> tuple[str, ...]:
    if kind is not None and kind not in KINDS:
        raise BadInput(f"--kind {kind}: expected {', '.join(KINDS)}")
    if cc not in CONTROLS:
        raise BadInput(f"--cc {cc}: expected one of {', '.join(CONTROLS)}")
    if tso and kind != "send":
        raise BadInput("--tso: only an end that sends builds TSO segments; expected --kind send")
    if aborts and kind != "both":
        raise BadInput("--aborts: only an end that sends and receives has them; expected --kind both")
    if crossed and kind != "both":
        raise BadInput("--crossed: only an end that sends and receives has it; expected --kind both")
    if crossed and aborts:
        raise BadInput("--crossed: expected without --aborts")
    return KINDS if kind is None else (kind,)


def _kernel(engines: str) -> tuple[str, str]:
    """The stack of the ends, and the name of the kernel that they are compared with."""
    from dumbbell.engines.kernel.binary import named, unknown
    from dumbbell.engines.kernel.series import DEFAULT, versions

    found = re.fullmatch(r"kernel(?::(.+))?,sim", engines)
    if found is None:
        raise BadInput(f"--engines {engines}: expected kernel,sim or kernel:NAME,sim")
    name = found[1] or DEFAULT
    if name in versions():
        return f"linux-{name}", name
    if (built := named(name)) is None:
        raise unknown(name)
    return f"linux-{built.series}", name


def _drawn(
    kinds: tuple[str, ...],
    seed: int,
    count: int,
    cc: str,
    ecn: bool,
    tso: bool,
    sack: bool,
    timestamps: bool,
    aborts: bool,
    crossed: bool,
    stack: str,
    against: str,
) -> Iterator[Compared]:
    from dumbbell.agreement.ends.rounds import played

    for kind in kinds:
        with progress_bar(f"agree ends {kind}", "cases") as update:
            update(0, count)
            for done, each in enumerate(
                played(seed, count, kind, cc, ecn, tso, sack, timestamps, aborts, crossed, stack, against), start=1
            ):
                yield each
                update(done, count)


def _given(files: list[Path], against: str | None) -> Iterator[Compared]:
    from dumbbell.agreement.ends.cases import read
    from dumbbell.agreement.ends.rounds import replayed

    yield from (each for each in replayed([read(path) for path in files], against) if each is not None)


def _written(folder: Path, first: dict[str, Compared], against: str) -> Iterator[tuple[str, Compared]]:
    """The smallest case of each class, in files."""
    from dumbbell.agreement.ends.cases import written
    from dumbbell.agreement.ends.shrinking import shrunken

    for name, each in first.items():
        small = shrunken(each, against)
        words = re.sub("[^a-z0-9]+", "-", f"{each.case['kind']} {name}".lower())
        path = write_within(folder, f"{words.strip('-')}.json", written(small.case))
        note(f"{path}: {len(small.case['actions'])} actions")
        yield name, small


def _document(tallies: dict[str, Tally]) -> dict[str, Any]:
    from collections import Counter

    kinds = {kind: tally.document() for kind, tally in tallies.items()}
    classes = sum((tally.classes for tally in tallies.values()), Counter[str]())
    total = {name: sum(each[name] for each in kinds.values()) for name in ("cases", "equal")}
    return {**total, "classes": dict(classes.most_common()), "kinds": kinds}


def _print(tallies: dict[str, Tally]) -> None:
    for kind, tally in tallies.items():
        put(f"{kind}: {tally.equal} of {tally.cases} cases are equal")
        for name, times in tally.classes.most_common():
            put(f"{times:>6}  {name}")
