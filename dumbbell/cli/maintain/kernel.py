"""`dumbbell kernel`: the kernels that the engine of that name boots."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dumbbell.cli.output import JsonOption, human_size, human_time, note, print_columns, print_json
from dumbbell.cli.progress import progress_bar
from dumbbell.errors import BadInput
from dumbbell.executor import default_workers

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary

command = typer.Typer(name="kernel", help="Build the kernels that the engine `kernel` boots.", no_args_is_help=True)

SeriesOption = Annotated[
    str | None,
    typer.Option(
        "--series", metavar="VERSION", help="Series of Linux: 6.12 (the default) or 7.3. With --tree, the default is the nearest one."
    ),
]
SourceOption = Annotated[
    Path | None, typer.Option("--source", metavar="TARBALL", help="Sources of the series. Default: the package of your distribution.")
]
FetchOption = Annotated[
    bool,
    typer.Option("--fetch", help="If the distribution's package is not installed, fetch Debian's into the cache. Nothing is installed."),
]
TreeOption = Annotated[
    Path | None,
    typer.Option(
        "--tree", metavar="DIR", help="Your own sources, such as a checkout. dumbbell copies them, so that nothing is written there."
    ),
]
PatchOption = Annotated[
    list[Path] | None, typer.Option("--patch", metavar="FILE", help="A patch of the sources, for `patch -p1`. Repeatable, in order.")
]
ConfigOption = Annotated[
    list[str] | None, typer.Option("--config", metavar="KEY=VALUE", help="A line of the configuration, such as TCP_CONG_BBR=n.")
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="WHAT",
        help="Add patches of dumbbell: sce (SCE in cake, its echo and senders), state (cubic tells its state, as "
        "others do), bpf (congestion controls as BPF programs, and BPF programs on streams of sockets and on routes). The kernel is called "
        "SERIES-WHAT. headers keeps what modules are compiled with, and changes nothing else.",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the kernel: `--engine kernel:NAME` runs it. A kernel of your own needs one."),
]
NameArgument = Annotated[str, typer.Argument(metavar="[NAME]", help="A series, or a name that you gave. Default: 6.12.")]
NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="NAME...", help="Names that you gave, series, or keys as `dumbbell kernel list` shows them.")
]
ObjectsOption = Annotated[
    bool, typer.Option("--objects", help="Remove the sources and objects that the next build of a kernel of your own begins with.")
]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Compilers at a time. Default: all processors.")]


@command.command(name="build")
def _build(
    series: SeriesOption = None,
    source: SourceOption = None,
    fetch: FetchOption = False,
    tree: TreeOption = None,
    sets: WithOption = None,
    patch: PatchOption = None,
    config: ConfigOption = None,
    name: NameOption = None,
    jobs: JobsOption = None,
    json: JsonOption = False,
) -> None:
    """Build a kernel into the cache, if it is missing, and boot it once."""
    from dumbbell.engines.kernel import binary, build
    from dumbbell.engines.kernel.series import DEFAULT

    request = build.Request(series, source, tree, tuple(patch or ()), tuple(config or ()), name or "", fetch, tuple(sets or ())).named()

    # Half a gigabyte is removed however a build is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    # Without a terminal the names of the stages are enough.
    with progress_bar("kernel build", "files") as progress:
        made = build.build(request, jobs or default_workers(), note, progress)
    if made:
        note(f"built in {human_time(time.monotonic() - began)}")
    _show(_facts(binary.find(request.name or series or DEFAULT)) | {"built": made}, json)


@command.command(name="status")
def _status(name: NameArgument = "", json: JsonOption = False) -> None:
    """Show which kernel the engine boots. Exit status 3 if there is none or it does not boot."""
    from dumbbell.engines.kernel import binary
    from dumbbell.engines.kernel.series import DEFAULT

    _show(_facts(binary.find(name or DEFAULT)), json)


@command.command(name="list")
def _list(json: JsonOption = False) -> None:
    """List the built kernels, newest version first, with the engines that boot them."""
    from dumbbell.engines.kernel import binary

    listed = list(_listed())
    kept = binary.kept_bytes()
    if json:
        print_json({"kernels": listed, "objects_bytes": kept})
        return
    rows = [("engine", "version", "key", "made of")]
    rows += [(", ".join(each["engines"]) or "none", each["version"], each["key"], each["made_of"]) for each in listed]
    print_columns(rows)
    if kept:
        note(f"{human_size(kept)} of sources and objects are kept for the next build of a kernel of your own (`remove --objects`)")


@command.command(name="remove")
def _remove(names: NamesArgument = None, objects: ObjectsOption = False) -> None:
    """Remove built kernels."""
    from dumbbell.engines.kernel import binary

    if not names and not objects:
        raise BadInput("nothing to remove; expected names, or --objects")
    for name, key in binary.remove(names or []):
        note(f"removed {f'the name {name} of ' if name else ''}{key}")
    if objects:
        note("removed the objects" if binary.remove_objects() else "there are no objects")


def _listed() -> Iterator[dict[str, Any]]:
    from dumbbell.engines.kernel import binary
    from dumbbell.engines.kernel.series import DEFAULT, versions

    first = {found.key: version for version in versions() if (found := binary.named(version)) is not None}
    names = binary.names()
    for each in binary.everything():
        called = [first[each.key]] if each.key in first else []
        called += [name for name, key in names.items() if key == each.key]
        engines = ["kernel" if name == DEFAULT else f"kernel:{name}" for name in called] if each.is_current else []
        own = each.description.get("own", {})
        parts = [each.description["source"]["name"], *own.get("patches", ()), *own.get("config", ())]
        what = ", ".join(parts) if each.is_current else f"{', '.join(parts)}; by another version of dumbbell"
        yield {
            "engines": engines,
            "version": each.version,
            "series": each.series,
            "key": each.key,
            "made_of": what,
            "path": str(each.folder),
        }


def _facts(found: Binary) -> dict[str, Any]:
    """Raises `EnvironmentFault` if it does not boot."""
    from dumbbell.engines.kernel import headers
    from dumbbell.engines.kernel.guest import boot_time

    facts = {"path": str(found.linux), "version": found.version, "key": found.key, "configuration": found.config_hash}
    if (kept := found.linux.parent / headers.NAME).is_dir():
        facts["headers"] = str(kept)
    return facts | {"agent": found.agent_hash, "boot_s": round(boot_time(found), 3)}


def _show(facts: dict[str, Any], json: bool) -> None:
    if json:
        print_json(facts)
    else:
        print_columns([(name, value) for name, value in facts.items() if name != "built"])
