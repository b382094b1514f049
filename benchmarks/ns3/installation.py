"""Finding ns-3: the prefix that NS3_ROOT names, or the wheel, which is installed below target/ the first time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import BadInput, EnvironmentFault

WHEEL = "3.44.post0"
"""Version of the package ns3, which holds headers and libraries."""
MODULES = ("applications", "internet", "traffic-control", "point-to-point", "bridge", "network", "stats", "core")
_FOLDER = Path(__file__).resolve().parents[2] / "target" / "ns3" / WHEEL
_PROFILES = ("debug", "default", "optimized", "minsizerel")
_CORE = re.compile(rf"libns(?P<version>3[^/]*?)-core(?:-(?P<profile>{'|'.join(_PROFILES)}))?\.so")


@dataclass(frozen=True)
class Installation:
    """An ns-3 to compile against."""

    origin: str
    """`wheel 3.44.post0` or `own build`."""
    include: Path
    libraries: Path
    version: str
    """In the names of the libraries, e.g. `3.44`."""
    profile: str
    """Build profile in the names of the libraries; ns-3 leaves `release` out of them."""
    asserts: bool
    """NS_ASSERT is compiled in."""
    logging: bool
    """NS_LOG is compiled in."""

    def library(self, module: str) -> str:
        """File name of a module."""
        suffix = "" if self.profile == "release" else f"-{self.profile}"
        return f"libns{self.version}-{module}{suffix}.so"

    @property
    def definitions(self) -> list[str]:
        """Return the definitions that the libraries were compiled with: inline functions and classes of the headers depend on them."""
        kind = {"default": "DEBUG", "debug": "DEBUG", "optimized": "OPTIMIZED"}.get(self.profile, "RELEASE")
        switches = {"NS3_ASSERT_ENABLE": self.asserts, "NS3_LOG_ENABLE": self.logging}
        return [f"-DNS3_BUILD_PROFILE_{kind}", *(f"-D{name}" for name, on in switches.items() if on)]

    def __str__(self) -> str:
        switches = [f"{name} {'compiled in' if on else 'off'}" for name, on in (("asserts", self.asserts), ("logging", self.logging))]
        return f"ns-{self.version} ({self.origin}), {self.profile} profile, {', '.join(switches)}"


def find(environment: Mapping[str, str] = os.environ) -> Installation:
    """The installation to use. Raises `BadInput` if NS3_ROOT names none, `EnvironmentFault` if the wheel cannot be installed."""
    root = environment.get("NS3_ROOT", "")
    if root:
        return inspect(Path(root).absolute(), "own build", f"NS3_ROOT={root}")
    package = _FOLDER / "ns3"
    if not package.is_dir():
        _install_wheel()
    return inspect(package, f"wheel {WHEEL}", str(package))


def inspect(prefix: Path, origin: str, named: str) -> Installation:
    """Return the installation in a prefix; messages call it `named`. Raises `BadInput` if it is none."""
    expected = "expected the prefix of an ns-3 installation (cmake --install), with include/ns3 and lib/libns3*-core*.so"
    if not (prefix / "include" / "ns3" / "core-module.h").is_file():
        raise BadInput(f"{named}: there is no include/ns3/core-module.h; {expected}")
    found = [
        (folder, match)
        for folder in (prefix / "lib64", prefix / "lib", *sorted((prefix / "lib").glob("*-linux-*")))
        for path in (sorted(folder.iterdir()) if folder.is_dir() else ())
        if (match := _CORE.fullmatch(path.name))
    ]
    if not found:
        raise BadInput(f"{named}: there is no core library; {expected}")
    libraries, match = found[0]
    made = Installation(origin, prefix / "include", libraries, match["version"], match["profile"] or "release", False, False)
    missing = [made.library(module) for module in MODULES if not (libraries / made.library(module)).is_file()]
    if missing:
        raise BadInput(f"{named}: there is no {', no '.join(missing)} in {libraries}")
    content = (libraries / made.library("internet")).read_bytes()
    return Installation(
        origin,
        made.include,
        libraries,
        made.version,
        made.profile,
        asserts=b"NS_ASSERT failed, cond=" in content,
        logging=b"ParameterLogger" in content,
    )


def _install_wheel() -> None:
    """Into a folder of its own, whole or not there."""
    _FOLDER.parent.mkdir(parents=True, exist_ok=True)
    partial = _FOLDER.with_name(f"{_FOLDER.name}.partial-{os.getpid()}")
    print(f"installing the ns-3 wheel {WHEEL} into {_FOLDER} (about 300 MB) ...", file=sys.stderr)
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"]
    done = subprocess.run([*command, "--target", str(partial), f"ns3=={WHEEL}"], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise EnvironmentFault(f"the wheel ns3=={WHEEL} cannot be installed: {lines[-1]}")
    partial.rename(_FOLDER)
