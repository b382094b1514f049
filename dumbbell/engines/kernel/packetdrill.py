"""Google's packetdrill in guests: compiling it from its sources, and running each script in a guest of its own."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.engines.kernel.requirements import search_path
from dumbbell.engines.linux import cache, programs
from dumbbell.errors import BadInput, EnvironmentFault

if TYPE_CHECKING:
    from dumbbell.engines.kernel.binary import Binary

REPOSITORY = "https://github.com/google/packetdrill"
COMMIT = "2c4001c4d6fc04a3bbd01d4b92be62717a37648a"
CONTENT = "834cc34ec9f873b48dcddc07afe5372d6991550e39f56260d541563e6477efa2"
"""Hash of the names and contents of the sources of that commit, because the same files may be packed in several ways."""
HOW_TO_BUILD = "`dumbbell packetdrill build --source TARBALL` builds it"
_PLACE = ("gtests", "net", "packetdrill")
"""The folder of the sources in the repository."""
_SOURCES = (".c", ".h", ".l", ".y", ".Linux", ".common")
_TOOLS = {"make": "make", "gcc": "gcc", "bison": "bison", "flex": "flex"}
"""A program that building needs -> the package of Debian and Ubuntu that contains it."""
_ASSERTION = "assert(len >= sizeof(struct _tcp_info));"
"""The statement of code.c that demands the TCP_INFO of the newest kernel. The buffer is cleared, so that without the statement the fields
that an older kernel lacks read as 0."""
_HERE = Path(__file__).parent

TOLERANCE_US = 4000
"""The default of packetdrill (config.c): times may differ by so much."""
LIMIT_S = 600
"""Virtual time after which a script counts as hanging."""
_TIME_LIMIT_S = 300.0
"""Host time after which a guest counts as hanging."""
_IPV4 = ("--local_ip=192.168.0.1", "--gateway_ip=192.168.0.1", "--netmask_ip=255.255.0.0", "--remote_ip=192.0.2.1")
_IPV6 = ("--mtu=1520", "--local_ip=fd3d:0a0b:17d6::1", "--gateway_ip=fd3d:0a0b:17d6:8888::1", "--remote_ip=fd3d:fa7b:d17d::1")
_SYMBOLS_IPV4 = {"TFO_COOKIE": "3021b9d889017eeb", "TFO_COOKIE_ZERO": "b7c12350a90dc8f5"}
_OF_IP, _OF_IPV6 = (
    {"CMSG_LEVEL_IP": "SOL_IP", "CMSG_TYPE_RECVERR": "IP_RECVERR"},
    {"CMSG_LEVEL_IP": "SOL_IPV6", "CMSG_TYPE_RECVERR": "IPV6_RECVERR"},
)
_VERSIONS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "ipv4": (_IPV4, _SYMBOLS_IPV4 | _OF_IP),
    "ipv6": (_IPV6, {"TFO_COOKIE": "c1d1e9742a47a9bc", "TFO_COOKIE_ZERO": "82af1a8f9a205c34"} | _OF_IPV6),
    "ipv4-mapped-ipv6": (_IPV4, _SYMBOLS_IPV4 | _OF_IPV6),
}
"""The arguments of each IP version and its symbols, which the kernel's own tests have (selftests/net/packetdrill/ksft_runner.sh)."""
IP_VERSIONS = tuple(_VERSIONS)
_OWN_VERSION = re.compile(rf"^--ip_version=({'|'.join(IP_VERSIONS)})\b", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How a script ended on a kernel."""

    script: Path
    status: int
    """Exit status of packetdrill, or 128 and the number of the signal that ended it."""
    is_late: bool
    """True if the script was ended after `LIMIT_S` of virtual time."""
    virtual_s: float
    """Virtual time that it took."""
    output: str
    """All that packetdrill and the programs of the script printed."""

    @property
    def passed(self) -> bool:
        """True if all was as the script says."""
        return self.status == 0

    @property
    def reason(self) -> str:
        """The line that says why the script failed; empty if it passed."""
        if self.passed:
            return ""
        if self.is_late:
            return f"did not end within {LIMIT_S} s of virtual time"
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return next((line for line in lines if "error" in line), lines[0] if lines else f"exit status {self.status}")


# --- building --------------------------------------------------------------------------------------------------------


def program() -> Path:
    """Return the compiled packetdrill. Raises `EnvironmentFault` if it is not built."""
    if not (path := _target()).is_file():
        raise EnvironmentFault(f"packetdrill is not built; {HOW_TO_BUILD}, of {REPOSITORY} at {COMMIT[:12]}")
    return path


def build(tarball: Path, tell: Callable[[str], None]) -> bool:
    """Compile packetdrill into the cache, unless it is there. Returns True if it was compiled.

    Raises `BadInput` if the tarball has other sources, and `EnvironmentFault` if they cannot be compiled.
    """
    target = _target()
    if not tarball.is_file():
        raise BadInput(f"{tarball}: is no file; expected the sources of packetdrill at {COMMIT[:12]} as a tarball")
    with tempfile.TemporaryDirectory(prefix="dumbbell-packetdrill-") as place:
        folder = _unpacked(tarball, Path(place))
        if (found := content_of(folder)) != CONTENT:
            expected = f"expected those of {REPOSITORY} at {COMMIT} (hash {CONTENT[:12]})"
            raise BadInput(f"{tarball}: holds other sources of packetdrill (hash {found[:12]}); {expected}")
        if target.is_file():
            return False
        missing = {tool: package for tool, package in _TOOLS.items() if shutil.which(tool, path=search_path()) is None}
        if missing:
            packages = " ".join(missing.values())
            raise EnvironmentFault(f"not found: {', '.join(missing)} (on Debian or Ubuntu: apt-get install {packages})")
        tell("compiling packetdrill")
        _compile(folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}-{os.getpid()}")
        shutil.copy(folder / "packetdrill", partial)
        os.replace(partial, target)
    return True


def content_of(folder: Path) -> str:
    """Return the hash of the sources in a folder: their names and contents."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.suffix in _SOURCES):
        total.update(hashlib.sha256(path.name.encode()).digest() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _target() -> Path:
    return cache.folder() / f"packetdrill-{cache.digest([CONTENT.encode(), _ASSERTION.encode()])}"


def _unpacked(tarball: Path, place: Path) -> Path:
    """Unpack the sources. Returns their folder."""
    try:
        with tarfile.open(tarball) as tar:
            wanted = [member for member in tar if member.isfile() and Path(member.name).parts[-4:-1] == _PLACE]
            folder = place / "packetdrill"
            folder.mkdir()
            for member in wanted:
                source = tar.extractfile(member)
                assert source is not None  # a file
                (folder / Path(member.name).name).write_bytes(source.read())
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BadInput(f"{tarball}: cannot be unpacked ({error}); expected the sources of packetdrill as a tarball") from None
    if not wanted:
        raise BadInput(f"{tarball}: has no {'/'.join(_PLACE)}; expected the sources of packetdrill, {REPOSITORY} at {COMMIT[:12]}")
    return folder


def _compile(folder: Path) -> None:
    code = folder / "code.c"
    code.write_text(code.read_text(encoding="utf-8").replace(_ASSERTION, "(void)len;"), encoding="utf-8")
    # Warnings of other compilers are errors in its Makefile, whose CFLAGS these replace.
    command = ["make", "-f", "Makefile.Linux", "CFLAGS=-O2 -w", "packetdrill"]
    environment = {"PATH": search_path(), "LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise EnvironmentFault(f"packetdrill cannot be compiled: {next((line for line in lines if 'error' in line), lines[-1])}")


# --- running ---------------------------------------------------------------------------------------------------------


def run(
    scripts: Sequence[Path],
    binary: Binary,
    *,
    tolerance_us: int = TOLERANCE_US,
    ip_version: str = "ipv4",
    defines: Iterable[str] = (),
    workers: int = 1,
) -> Iterator[Outcome]:
    """Yield how each script ends, in their order. Each has a guest of its own, so that none depends on another.

    Args:
        scripts: Files of packetdrill. The programs that one calls are found relative to its folder, on the host.
        binary: The kernel.
        tolerance_us: Times may differ by so many microseconds.
        ip_version: One of `IP_VERSIONS`, for scripts that do not say a version.
        defines: `SYMBOL=VALUE`, for scripts that have symbols.
        workers: Guests at a time.

    Raises `EnvironmentFault`, and `BadInput` if a script is no file.
    """
    for script in scripts:
        if not script.is_file():
            raise BadInput(f"{script}: is no file; expected a script of packetdrill")
        if "\n" in str(script.resolve()):
            raise BadInput(f"{script}: expected a path without line breaks")
    words = [f"--tolerance_usecs={tolerance_us}", *(word for define in defines for word in ("-D", define))]
    drill, packetdrill = programs.compiled("drill", [_HERE / "drill" / "drill.c"]), program()
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda script: _played(script, binary, drill.path, packetdrill, [*_words(script, ip_version), *words]), scripts)


def _words(script: Path, ip_version: str) -> list[str]:
    """Return the arguments of an IP version: that of the script if it has one."""
    own = _OWN_VERSION.search(script.read_text(encoding="utf-8", errors="replace"))
    version = own[1] if own else ip_version
    arguments, symbols = _VERSIONS[version]
    return [f"--ip_version={version}", *arguments, *(word for name, value in symbols.items() for word in ("-D", f"{name}={value}"))]


def _played(script: Path, binary: Binary, drill: Path, packetdrill: Path, words: list[str]) -> Outcome:
    from dumbbell.engines.kernel.guest import boot

    place = script.resolve()
    with tempfile.TemporaryDirectory(prefix="dumbbell-drill-") as scratch:
        folder = Path(scratch)
        shutil.copy(drill, folder / "drill")
        shutil.copy(packetdrill, folder / "packetdrill")
        os.symlink(os.path.realpath(sys.executable), folder / "python3")
        lines = [str(place.parent), str(LIMIT_S), "packetdrill", *words, place.name]
        (folder / "words").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", errors="surrogateescape")
        (folder / "script").write_text("namespace tested\nrun tested - ./drill\n", encoding="ascii")
        try:
            boot(binary, folder, timeout_s=_TIME_LIMIT_S)
        except EnvironmentFault as fault:
            if "no TUN" in str(fault):
                raise EnvironmentFault(
                    f"this kernel has no TUN, which packetdrill needs; `dumbbell kernel build` builds one ({fault})"
                ) from None
            raise
        status, took_ns, how = (folder / "result").read_text(encoding="ascii").split()
        output = folder / "output"
        text = output.read_text(encoding="utf-8", errors="replace") if output.is_file() else ""
    return Outcome(script, int(status), how == "late", int(took_ns) / 1e9, text)
