"""From the sources of Linux to a kernel in the cache: unpack or copy, patch, configure, compile, check, rename."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from dumbbell.engines.kernel import binary, headers, requirements, source
from dumbbell.engines.kernel.series import DEFAULT, Series, series, versions
from dumbbell.engines.linux import cache
from dumbbell.errors import BadInput, EnvironmentFault, one_of

LOG = "failed-build.log"
_SCRATCH = ".building-"
_TAIL = 15
"""Number of lines of the log to show after a failure."""
_OBJECT = re.compile(r"^ +(CC|AS|HOSTCC) ")
_LINE = re.compile(r"(?:CONFIG_)?([A-Z0-9_]+)=(.+)")
_MAY_LACK = ("CONFIG_NET_SCH_", "CONFIG_NET_CLS_", "CONFIG_NET_ACT_", "CONFIG_TCP_CONG_")
"""Beginnings of the lines of a configuration that a tree of the user's need not have: scenarios that need them are errors."""
_CONSTANTS = {
    "KBUILD_BUILD_TIMESTAMP": "2024-01-01 00:00:00 UTC",
    "KBUILD_BUILD_USER": "dumbbell",
    "KBUILD_BUILD_HOST": "dumbbell",
    "KBUILD_BUILD_VERSION": "1",
}
"""Fixed, because they are in the kernel's version string, which the kernel mixes into its random numbers."""

Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """A kernel that is to be built."""

    series: str | None = None
    """The series; by default that of the engine, and for a tree the nearest one."""
    tarball: Path | None = None
    """The sources; None takes those of the distribution's package."""
    tree: Path | None = None
    """A folder with sources in place of a tarball."""
    patches: tuple[Path, ...] = ()
    """Changes of the user's, applied after those of the series."""
    config: tuple[str, ...] = ()
    """Lines of the configuration of the user's, KEY=VALUE."""
    name: str = ""
    """The name of the kernel, if it is not to be found by its series."""
    fetch: bool = False
    """True if the distribution's package is to be fetched if it is not installed."""
    sets: tuple[str, ...] = ()
    """Sets of further changes that the series has, applied before the user's own."""
    headers: bool = False
    """True if what modules are compiled with is to be kept. As a word of `sets`, `named` turns it into this."""

    @property
    def is_own(self) -> bool:
        """True if the user changes something."""
        return self.tree is not None or bool(self.patches or self.config or self.sets)

    def named(self) -> Request:
        """Return the request with a name, which sets of changes alone make: `6.12-sce`."""
        if headers.NAME in self.sets:
            sets = tuple(name for name in self.sets if name != headers.NAME)
            return replace(self, sets=sets, headers=True).named()
        if self.name or not self.sets or self.tree is not None or self.patches or self.config:
            return self
        return replace(self, name="-".join((self.series or DEFAULT, *self.sets)))

    def of_series(self, wanted: Series) -> Request:
        """Return the request with its sets as patches and lines of the configuration. Raises `BadInput` for a set that the series lacks."""
        for name in self.sets:
            if name not in wanted.sets:
                known = one_of([*wanted.sets, headers.NAME]) if wanted.sets else headers.NAME
                raise BadInput(f"--with {name}: the series {wanted.version} has no such changes; expected {known}")
        patches = [patch for name in self.sets for patch in wanted.patches_of(name)]
        config = [line for name in self.sets for line in wanted.config_of(name)]
        return replace(self, patches=(*patches, *self.patches), config=(*config, *self.config))

    def check(self) -> None:
        """Raises `BadInput` if the request is no request."""
        if self.series is not None and self.series not in versions():
            raise BadInput(f"--series {self.series}: unknown; expected {one_of(versions())}")
        if self.tree is not None and self.tarball is not None:
            raise BadInput("--tree and --source were given together; expected one of them")
        if self.is_own and not self.name:
            raise BadInput("--tree, --patch and --config make a kernel of your own; expected --name NAME for it")
        if self.name:
            binary.check_name(self.name)
        for patch in self.patches:
            if not patch.is_file():
                raise BadInput(f"--patch {patch}: is no file; expected a patch for `patch -p1`")
        for line in self.config:
            if not _LINE.fullmatch(line):
                raise BadInput(f"--config {line}: expected KEY=VALUE, such as TCP_CONG_BBR=n")


def build(request: Request, jobs: int, tell: Tell, progress: Progress) -> bool:
    """Builds a kernel unless the cache has it. Returns whether it was built.

    Args:
        request: The kernel.
        jobs: Number of parallel compilers.
        tell: Called with a line of text at the beginning of each stage.
        progress: Called with (objects compiled, objects expected).

    Raises `EnvironmentFault` with what is missing or the end of the log, and `BadInput` if the sources cannot be used.
    """
    request = request.named()
    request.check()
    wanted = series(request.series or DEFAULT) if request.tree is None else source.series_for(request.tree, request.series)
    request = request.of_series(wanted)
    there = binary.built(wanted)
    if not request.is_own and request.tarball is None and there and has_what_is_wanted(there[0].folder, request):
        if request.name:
            binary.give_name(request.name, there[0].key)
        return False
    folder = cache.folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentFault(f"{folder}: cannot be made: {error.strerror}") from error
    tarball = _tarball(request, wanted, tell)
    requirements.check(folder, wanted, has_sources=tarball is not None or request.tree is not None, sets=request.sets)
    with _alone(folder, tell):
        for left in folder.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
            key, made = _Build(folder, Path(scratch), wanted, request, tarball, jobs, tell, progress).run()
        if request.name:
            binary.give_name(request.name, key)
        if made:
            (folder / LOG).unlink(missing_ok=True)
    return made


def has_what_is_wanted(kernel: Path, request: Request) -> bool:
    """True if the folder of a kernel has the headers that a request may ask for."""
    return not request.headers or (kernel / headers.NAME).is_dir()


def _tarball(request: Request, wanted: Series, tell: Tell) -> Path | None:
    """The tarball with the sources; None if there is none, or a tree instead."""
    if request.tree is not None:
        return None
    if request.tarball is not None:
        return source.named(request.tarball, wanted)
    found = source.installed(wanted)
    return source.fetch(wanted, tell) if found is None and request.fetch else found


@contextlib.contextmanager
def _alone(folder: Path, tell: Tell) -> Iterator[None]:
    """Allows one build at a time. The kernel releases the lock when the process ends."""
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("another build is under way; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _publish(made: Path, target: Path, description: dict[str, Any]) -> None:
    (made / binary.DESCRIPTION).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")
    for file in filter(Path.is_file, made.iterdir()):
        with file.open("rb") as stream:
            os.fsync(stream.fileno())
    shutil.rmtree(target, ignore_errors=True)
    made.rename(target)


def _checksum(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _first_line(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()[0]


class _Build:
    """One build, in a temporary folder.

    A kernel with changes of the user's is built from the sources and objects that the last such build of its series left, if there are
    any, so that make compiles what differs; what is compiled is the same as from nothing.
    """

    def __init__(
        self, folder: Path, scratch: Path, wanted: Series, request: Request, tarball: Path | None, jobs: int, tell: Tell, progress: Progress
    ) -> None:
        self._folder, self._wanted, self._request, self._tarball = folder, wanted, request, tarball
        self._jobs, self._tell, self._progress = jobs, tell, progress
        self._sources, self._result, self._log = scratch / "linux", scratch / "result", scratch / "log"
        self._fragment = scratch / "fragment"

    def run(self) -> tuple[str, bool]:
        """Leaves the kernel in the cache, unless it is there. Returns its key, and whether it was built."""
        compiler = _first_line("gcc", "--version")
        own = [patch.read_bytes() for patch in self._request.patches] + [line.encode() for line in self._config()]
        if self._tarball is not None:
            found = {"name": self._tarball.name, "sha256": _checksum(self._tarball)}
            key = self._key(found["sha256"], compiler, own)
            if (there := self._there(key)) is not None:
                self._note_sets(self._folder / key, there)
                return key, False
        self._sources.mkdir()
        self._result.mkdir()
        if self._tarball is not None:
            self._tell(f"unpacking {self._tarball}")
            version = source.unpack(self._tarball, self._sources, self._wanted)
        else:
            assert self._request.tree is not None  # there is no tarball
            self._tell(f"copying {self._request.tree}")
            version = source.version_of_tree(self._request.tree)
            found = {"name": str(self._request.tree.resolve()), "sha256": source.copied(self._request.tree, self._sources, self._wanted)}
            key = self._key(found["sha256"], compiler, own)
            if self._there(key) is not None:
                return key, False
        source.apply([*self._wanted.patches, *self._request.patches], self._sources, version)
        facts = self._compiled(version)
        if self._request.is_own:
            facts["own"] = {"patches": [patch.name for patch in self._request.patches], "config": self._config()}
            facts["own"] |= self._sets()
            if self._request.tree is not None:
                facts["own"]["tree"] = found["name"]
        more = {"key": key, "recipe": self._wanted.recipe, "series": self._wanted.version, "source": found, "compiler": compiler}
        _publish(self._result, self._folder / key, facts | more)
        return key, True

    def _there(self, key: str) -> dict[str, Any] | None:
        """The description of the kernel with this key; None if it is not there, or lacks headers that are to be kept."""
        place = self._folder / key
        return binary.describe(place) if has_what_is_wanted(place, self._request) else None

    def _sets(self) -> dict[str, Any]:
        """The entry of a description for sets of changes, each with the hash of what it was."""
        return {"with": {name: self._wanted.recipe_of(name) for name in self._request.sets}} if self._request.sets else {}

    def _note_sets(self, place: Path, there: dict[str, Any]) -> None:
        """Write into the description of a kernel, which the same patches made one by one, that they are sets."""
        if self._request.sets and (own := there["own"] | self._sets()) != there["own"]:
            partial = place / f".{binary.DESCRIPTION}"
            partial.write_text(json.dumps(there | {"own": own}, indent=1) + "\n", encoding="utf-8")
            os.replace(partial, place / binary.DESCRIPTION)

    def _key(self, checksum: str, compiler: str, own: list[bytes]) -> str:
        return cache.digest([*(part.encode() for part in (checksum, self._wanted.recipe, compiler)), *own])

    def _config(self) -> list[str]:
        """The user's lines of the configuration, as kconfig writes them."""
        found = []
        for line in self._request.config:
            parsed = _LINE.fullmatch(line)
            assert parsed  # checked
            found.append(f"# CONFIG_{parsed[1]} is not set" if parsed[2] == "n" else f"CONFIG_{parsed[1]}={parsed[2]}")
        return found

    def _compiled(self, version: str) -> dict[str, Any]:
        """Leaves the kernel in `result`. Returns what there is to say of it."""
        own = self._config()
        keys = {_key_of(line) for line in own}
        lines = [line for line in self._wanted.fragment.read_text(encoding="utf-8").splitlines() if _key_of(line) not in keys]
        fragment = "".join(f"{line}\n" for line in [*lines, *own])
        self._fragment.write_text(fragment, encoding="utf-8")
        kept = self._folder / binary.KEPT / self._wanted.version
        if not self._request.is_own:
            return self._made(version, fragment, self._sources, self._sources)
        tree, objects = kept / "linux", kept / "objects"
        if tree.is_dir() and objects.is_dir():
            source.renew(tree, self._sources)
        else:
            shutil.rmtree(kept, ignore_errors=True)
            objects.mkdir(parents=True)
            self._sources.rename(tree)
        return self._made(version, fragment, tree, objects)

    def _made(self, version: str, fragment: str, tree: Path, objects: Path) -> dict[str, Any]:
        jobs = "1 job" if self._jobs == 1 else f"{self._jobs} jobs"
        self._tell(f"compiling Linux {version}, {jobs}; 4 minutes on two processors")
        where = () if tree == objects else (f"O={objects}",)
        self._make(tree, *where, f"KCONFIG_ALLCONFIG={self._fragment}", "allnoconfig")
        config = (objects / ".config").read_text(encoding="utf-8")
        lacks = check_configuration(config, fragment, version, may_lack=_MAY_LACK if self._request.tree is not None else ())
        self._make(tree, *where, f"-j{self._jobs}", "linux")
        linux = self._result / binary.LINUX
        subprocess.run(["strip", "-o", linux, objects / "linux"], check=True)
        if self._request.headers:
            self._make(tree, *where, "modules_prepare")
            headers.keep(tree, objects, self._result / headers.NAME)
        tools = {name: _first_line(name, "--version") for name in ("ld", "make", "bison", "flex")}
        facts: dict[str, Any] = {"version": version, "config_hash": cache.digest([config.encode()]), "tools": tools}
        return facts | ({"lacks": lacks} if lacks else {})

    def _make(self, tree: Path, *arguments: str) -> None:
        """Runs make. Its output is a pipe, so that if this process dies, make ends at its next line of output."""
        # The caller's MAKEFLAGS, CFLAGS and the like must not affect the kernel's build.
        environment = {"PATH": requirements.search_path(), "LC_ALL": "C", **_CONSTANTS}
        command = ["make", "ARCH=um", *arguments]
        done, tail = 0, deque[str](maxlen=_TAIL)
        with (
            self._log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                command,
                cwd=tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process,
        ):
            try:
                for line in _lines(process):
                    log.write(line)
                    tail.append(line)
                    if _OBJECT.match(line):
                        done += 1
                        self._progress(done, max(done, self._wanted.objects))
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        if process.returncode:
            raise EnvironmentFault(self._failure("".join(tail)))

    def _failure(self, tail: str) -> str:
        kept = self._folder / LOG
        shutil.copyfile(self._log, kept)
        return f"the kernel cannot be compiled; the whole log is {kept}, it ends in\n{tail.rstrip()}"


def _key_of(line: str) -> str:
    """The key that a line of a configuration sets; empty if it sets none."""
    found = re.match(r"(?:# )?(CONFIG_\w+)(?:=| is not set)", line)
    return found[1] if found else ""


def _lines(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None  # a pipe
    return process.stdout


def check_configuration(config: str, fragment: str, version: str, may_lack: tuple[str, ...] = ()) -> list[str]:
    """Raises `EnvironmentFault` with the lines of the fragment that are not in the final configuration, but for those with a beginning that
    it `may_lack`, which are returned."""
    taken = set(config.splitlines())
    missing = [line for line in fragment.splitlines() if line.startswith("CONFIG_") and line not in taken]
    lacking = [line for line in missing if line.startswith(may_lack)] if may_lack else []
    missing = [line for line in missing if line not in lacking]
    for line in fragment.splitlines():
        if unset := re.fullmatch(r"# (CONFIG_\w+) is not set", line):
            missing += [f"{unset[1]} off" for entry in taken if entry.startswith(f"{unset[1]}=")]
    if missing:
        raise EnvironmentFault(f"Linux {version} cannot be configured as expected: {', '.join(missing)} did not take effect")
    return lacking
