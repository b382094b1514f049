"""`dumbbell packetdrill`: scripts of packetdrill against the kernels that the engine `kernel` boots."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from dumbbell.cli.output import JsonOption, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput

if TYPE_CHECKING:
    from dumbbell.engines.kernel.packetdrill import Outcome

NAME = "build"


class PacketdrillCommand(TyperCommand):
    """`packetdrill`, whose word `build` is a command of its own, because it takes no scripts."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command that the first word asks for."""
        if args[:1] == [NAME]:
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(name=NAME)(_build)
            return typer.main.get_command(app).make_context(f"{info_name} {NAME}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


command_class = PacketdrillCommand


def _build(
    source: Annotated[
        Path,
        typer.Option("--source", metavar="TARBALL", help="Sources of github.com/google/packetdrill at the commit that dumbbell knows."),
    ],
) -> None:
    """Compile packetdrill into the cache, unless it is there. You need make, gcc, bison and flex."""
    from dumbbell.engines.kernel import packetdrill

    made = packetdrill.build(source, note)
    note(f"packetdrill of {packetdrill.COMMIT[:12]} {'is built' if made else 'was built before'}: {packetdrill.program()}")


def command(
    scripts: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Scripts (.pkt), or folders of scripts. `packetdrill build` compiles packetdrill."),
    ],
    engine: Annotated[str, typer.Option("--engine", metavar="NAME", help="kernel, or kernel:NAME.")] = "kernel",
    engines: Annotated[
        str | None, typer.Option("--engines", metavar="A,B", help="Two kernels: print the scripts that end differently on the second.")
    ] = None,
    tolerance: Annotated[str, typer.Option("--tolerance", metavar="TIME", help="Maximum difference of times, such as 0.2ms.")] = "4ms",
    ip_version: Annotated[
        str,
        typer.Option("--ip-version", metavar="VERSION", help="Default IP version of scripts: ipv4, ipv6, ipv4-mapped-ipv6."),
    ] = "ipv4",
    define: Annotated[
        list[str] | None, typer.Option("--define", metavar="SYMBOL=VALUE", help="Value of a symbol of your scripts. Repeatable.")
    ] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, max=1000, help="Guests at a time. Default: all processors.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Print all that packetdrill says of scripts that fail.")] = False,
    json: JsonOption = False,
) -> None:
    """Run scripts of packetdrill against the real kernel, in virtual time.

    Each script has a guest of its own. packetdrill runs there over a TUN device, with the addresses of the kernel's selftests. Exit status:
    0 if all scripts pass, 1 if one fails. With --engines, 1 if one ends differently on the second kernel.
    """
    from dumbbell.engines.kernel import packetdrill

    files = _files(scripts)
    tolerance_us = _microseconds(tolerance)
    if ip_version not in packetdrill.IP_VERSIONS:
        raise BadInput(f"--ip-version {ip_version}: expected one of {', '.join(packetdrill.IP_VERSIONS)}")
    for each in define or ():
        if "=" not in each or "\n" in each:
            raise BadInput(f"--define {each}: expected SYMBOL=VALUE")
    names = [engine] if engines is None else _two(engines)
    found = {name: _outcomes(files, name, tolerance_us, ip_version, define or [], workers) for name in names}
    if json:
        print_json(
            {"tolerance_us": tolerance_us, "engines": {name: [_entry(each) for each in outcomes] for name, outcomes in found.items()}}
        )
        differs = engines is not None and bool(_changed(*found.values()))
    elif engines is None:
        _print(found[engine], verbose)
        differs = False
    else:
        differs = _print_changed(names, *found.values())
    if differs or (engines is None and not all(each.passed for each in found[engine])):
        raise typer.Exit(1)


def _files(given: list[Path]) -> list[Path]:
    """The scripts, and those in folders. Raises `BadInput`."""
    files: list[Path] = []
    for path in given:
        inside = sorted(path.glob("*.pkt")) if path.is_dir() else [path]
        if not inside:
            raise BadInput(f"{path}: has no scripts; expected files *.pkt in it")
        files += inside
    return files


def _microseconds(text: str) -> int:
    from dumbbell.scenario.units import Duration

    try:
        microseconds = round(int(Duration.parse(text)) / 1000)
    except ValueError as error:
        raise BadInput(f"--tolerance {error}") from None
    if microseconds < 1:
        raise BadInput(f"--tolerance {text}: expected at least 1us")
    return microseconds


def _two(engines: str) -> list[str]:
    names = engines.split(",")
    if len(names) != 2 or names[0] == names[1]:
        raise BadInput(f"--engines {engines}: expected two kernels, such as kernel:6.12,kernel:7.3")
    return names


def _outcomes(files: list[Path], engine: str, tolerance_us: int, ip_version: str, defines: list[str], workers: int | None) -> list[Outcome]:
    from dumbbell.engines.kernel import binary, packetdrill
    from dumbbell.engines.kernel.series import DEFAULT
    from dumbbell.executor import default_workers

    kind, _, name = engine.partition(":")
    if kind != "kernel":
        raise BadInput(f"engine {engine}: has no kernel; expected kernel or kernel:NAME")
    found, outcomes = binary.find(name or DEFAULT), []
    played = packetdrill.run(
        files, found, tolerance_us=tolerance_us, ip_version=ip_version, defines=defines, workers=workers or default_workers()
    )
    with progress_bar(f"packetdrill {engine}", "scripts") as update:
        update(0, len(files))
        for outcome in played:
            outcomes.append(outcome)
            update(len(outcomes), len(files))
    return outcomes


def _entry(outcome: Outcome) -> dict[str, Any]:
    return {
        "script": str(outcome.script),
        "passed": outcome.passed,
        "status": outcome.status,
        "virtual_s": outcome.virtual_s,
        "reason": outcome.reason,
    }


def _print(outcomes: list[Outcome], verbose: bool) -> None:
    rows = [("script", "result", "virtual s", "reason")]
    rows += [(each.script.name, _word(each), f"{each.virtual_s:.3f}", each.reason) for each in outcomes]
    print_columns(rows)
    if verbose:
        for each in outcomes:
            if not each.passed:
                note(f"{each.script}:\n{each.output.rstrip()}")
    note(f"{sum(each.passed for each in outcomes)} of {len(outcomes)} scripts pass")


def _changed(before: list[Outcome], after: list[Outcome]) -> list[tuple[Outcome, Outcome]]:
    """The scripts that end otherwise on the second kernel."""
    return [(one, other) for one, other in zip(before, after, strict=True) if one.passed != other.passed]


def _print_changed(names: list[str], before: list[Outcome], after: list[Outcome]) -> bool:
    """Print the scripts that end otherwise on the second kernel. Returns True if there are some."""
    changed = _changed(before, after)
    if changed:
        rows = [("script", *names, "reason")]
        rows += [(one.script.name, _word(one), _word(other), one.reason or other.reason) for one, other in changed]
        print_columns(rows)
    passes = [
        f"{sum(each.passed for each in found)} of {len(found)} pass on {name}" for name, found in zip(names, (before, after), strict=True)
    ]
    note(f"{len(changed)} of {len(before)} scripts end differently; {', '.join(passes)}")
    return bool(changed)


def _word(outcome: Outcome) -> str:
    return "passes" if outcome.passed else "fails"
