"""The kernel's sources: finding, fetching, unpacking and patching them, and copying a tree of the user's."""

from __future__ import annotations

import filecmp
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path

from dumbbell.engines.kernel.requirements import search_path
from dumbbell.engines.kernel.series import Series, nearest, series, versions
from dumbbell.engines.linux import cache
from dumbbell.errors import BadInput, EnvironmentFault, one_of

PLACE = Path("/usr/src")
FETCHED = "sources"
"""The folder of the cache with the tarballs of packages that were fetched."""
_ARCHIVE, _KEYRING = "http://deb.debian.org/debian", Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_NAMES = ("VERSION", "PATCHLEVEL", "SUBLEVEL")
_MADE = (
    "*.o",
    "*.a",
    "*.ko",
    "*.cmd",
    "*.d",
    ".config*",
    "include/config/*",
    "include/generated/*",
    "arch/*/include/generated/*",
    "vmlinux*",
)
"""Products of a build in the tree itself, as patterns: they are not sources."""


def installed(wanted: Series) -> Path | None:
    """The newest tarball of the distribution's package that is installed or was fetched; None if there is none."""
    pattern = f"{wanted.package}*.tar.*"
    places = (PLACE.glob(pattern), PLACE.glob(f"{wanted.package}*/{pattern}"), (cache.folder() / FETCHED).glob(pattern))
    found = sorted((path for place in places for path in place), key=_numbers)
    return found[-1] if found else None


def _numbers(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def fetch(wanted: Series, tell: Callable[[str], None]) -> Path:
    """Fetch the package of Debian that has the sources into the cache. Returns the tarball in it.

    apt-get has an own list of packages and an own cache for this, so that nothing on the machine is changed. Raises `EnvironmentFault`.
    """
    folder = cache.folder() / FETCHED
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool, path=search_path()) is None]
    if missing or not _KEYRING.exists():
        lacking = ", ".join(missing) or f"{_KEYRING} (package debian-archive-keyring)"
        raise EnvironmentFault(
            f"{wanted.package} cannot be fetched: {lacking} not found; expected --source FILE, a tarball of {wanted.version}.x"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as place:
        scratch = Path(place)
        for name in ("lists/partial", "cache/archives/partial"):
            (scratch / name).mkdir(parents=True)
        (scratch / "own.list").write_text(f"deb [signed-by={_KEYRING}] {_ARCHIVE} {wanted.suite} main\n", encoding="ascii")
        options = {
            "Dir::Etc::sourcelist": scratch / "own.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": scratch / "lists",
            "Dir::Cache": scratch / "cache",
            "APT::Sandbox::User": "root",  # no other user may write there
        }
        apt = ["apt-get", "-q", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
        tell(f"fetching {wanted.package} of Debian {wanted.suite}")
        _run([*apt, "update"], scratch, wanted)
        _run([*apt, "download", wanted.package], scratch, wanted)
        (package,) = scratch.glob("*.deb")
        _run(["dpkg-deb", "-x", str(package), str(scratch / "files")], scratch, wanted)
        (tarball,) = (scratch / "files").glob(f"usr/src/{wanted.package}.tar.*")
        version = package.name.split("_")[1].partition("-")[0]
        target = folder / tarball.name.replace(wanted.package, f"{wanted.package}_{version}")
        os.replace(tarball, target)
    return target


def _run(command: list[str], folder: Path, wanted: Series) -> None:
    environment = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise EnvironmentFault(f"{wanted.package} cannot be fetched: {said[-1]}")


def named(path: Path, wanted: Series) -> Path:
    """The absolute path of a tarball given by the user. Raises `BadInput` if it is not a file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        version = wanted.version
        instead = " (--tree takes a folder)" if path.is_dir() else ""
        raise BadInput(f"{path}: {what}; expected the sources of Linux {version} as a tarball (linux-{version}.x.tar.xz){instead}")
    return path.resolve()


def unpack(tarball: Path, folder: Path, wanted: Series) -> str:
    """Unpacks the part of a kernel's sources that the build reads into an empty folder. Returns the kernel's version.

    Raises `BadInput` if the tarball is damaged or contains another kernel.
    """
    excluded = [f"--exclude=*/{pattern}" for pattern in wanted.foreign]
    command = ["tar", "-x", "-f", str(tarball), "-C", str(folder), "--strip-components=1", "--no-same-owner", *excluded]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        if "No space left" in done.stderr:
            raise EnvironmentFault(f"{folder}: no space left")
        reason = (done.stderr.strip().splitlines() or ["no message"])[0]
        raise BadInput(f"{tarball}: cannot be unpacked ({reason}); expected the sources of Linux {wanted.version} as a tarball")
    found = _version(folder)
    if found is None:
        raise BadInput(f"{tarball}: holds no kernel; expected the sources of Linux {wanted.version}")
    if not found.startswith(f"{wanted.version}."):
        others = [version for version in versions() if found.startswith(f"{version}.")]
        instead = f", or --series {others[0]}" if others else ""
        raise BadInput(f"{tarball}: holds Linux {found}; expected {wanted.version}.x{instead}")
    return found


def _version(folder: Path) -> str | None:
    """The version of the kernel whose sources are in a folder; None if there are none."""
    try:
        text = (folder / "Makefile").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    parts = [re.search(rf"^{name} = (\d+)$", text, re.MULTILINE) for name in _NAMES]
    if not all(parts):
        return None
    extra = re.search(r"^EXTRAVERSION = (\S+)$", text, re.MULTILINE)
    return ".".join(part.group(1) for part in parts if part) + (extra.group(1) if extra else "")


def version_of_tree(tree: Path) -> str:
    """The version of a tree of the user's. Raises `BadInput` if it is none."""
    if (found := _version(tree)) is None:
        raise BadInput(f"{tree}: holds no sources of Linux; expected a folder with its Makefile, such as a checkout")
    return found


def series_for(tree: Path, wanted: str | None) -> Series:
    """The series whose patches a tree gets: the wanted one, or the one nearest to its version. Raises `BadInput`."""
    if wanted is not None and wanted not in versions():
        raise BadInput(f"--series {wanted}: unknown; expected {one_of(versions())}")
    return nearest(version_of_tree(tree)) if wanted is None else series(wanted)


def files_of_tree(tree: Path, wanted: Series) -> Iterator[Path]:
    """The sources in a tree that a build reads, as paths within it, sorted: of a git checkout those that git knows or would add."""
    left_out = re.compile("|".join(translate(pattern) for pattern in (*wanted.foreign, *_MADE)))
    listed = _known_to_git(tree)
    for path in sorted(_walked(tree) if listed is None else listed):
        if not left_out.match(path) and (os.path.islink(tree / path) or os.path.isfile(tree / path)):
            yield Path(path)


def _known_to_git(tree: Path) -> list[str] | None:
    if not (tree / ".git").exists() or shutil.which("git") is None:
        return None
    # A checkout of another user is read, too; nothing in its configuration is run by this.
    command = [
        "git",
        "-c",
        f"safe.directory={tree.resolve()}",
        "-C",
        str(tree),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return None if done.returncode else [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]


def _walked(tree: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        inside = os.path.relpath(folder, tree)
        yield from (os.path.normpath(os.path.join(inside, name)) for name in files)


def copied(tree: Path, folder: Path, wanted: Series) -> str:
    """Copy the sources of a tree into an empty folder. Returns a hash of them."""
    total = hashlib.sha256()
    made: set[str] = set()
    for path in files_of_tree(tree, wanted):
        if (parent := os.path.dirname(folder / path)) not in made:
            os.makedirs(parent, exist_ok=True)
            made.add(parent)
        if os.path.islink(tree / path):
            content = os.fsencode(os.readlink(tree / path))
            os.symlink(os.readlink(tree / path), folder / path)
        else:
            content = (tree / path).read_bytes()
            (folder / path).write_bytes(content)
            if os.access(tree / path, os.X_OK):
                (folder / path).chmod(0o755)
        total.update(hashlib.sha256(os.fsencode(path)).digest() + hashlib.sha256(content).digest())
    return total.hexdigest()


def renew(kept: Path, wanted: Path) -> None:
    """Make the sources in `kept` those in `wanted`, and leave files that are the same as they are, so that make does not compile them."""
    there = set(_walked(wanted))
    for path in [path for path in _walked(kept) if path not in there]:
        (kept / path).unlink()
    for path in there:
        if not _same(kept / path, wanted / path):
            (kept / path).parent.mkdir(parents=True, exist_ok=True)
            (kept / path).unlink(missing_ok=True)
            shutil.copy(wanted / path, kept / path, follow_symlinks=False)


def _same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    return one.is_file() and one.stat().st_mode == other.stat().st_mode and filecmp.cmp(one, other, shallow=False)


def apply(patches: Sequence[Path], folder: Path, version: str) -> None:
    """Applies patches in order. Raises `EnvironmentFault` for the first that does not apply, with file and line of the hunk."""
    for patch in patches:
        command = [
            "patch",
            "-p1",
            "--forward",
            "--batch",
            "--no-backup-if-mismatch",
            "-r",
            "-",
            "-d",
            str(folder),
            "-i",
            str(patch.resolve()),
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise EnvironmentFault(f"{patch.name} does not apply to Linux {version}: {_refused(done.stdout + done.stderr)}")


def _refused(said: str) -> str:
    """The first hunk that does not fit, by patch's output: its file and line."""
    file = ""
    for line in said.splitlines():
        if found := re.match(r"patching file '?([^']+?)'?$", line):
            file = found[1]
        elif found := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            return f"{file}:{found[2]}: hunk {found[1]} does not fit"
        elif "previously applied" in line:
            return f"{file}: has the change already"
    lines = said.strip().splitlines() or ["no message"]
    return next((line for line in lines if "can't find" in line), lines[-1]).strip()
