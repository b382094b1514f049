"""Check of the results of `make wheels`: `python tests/check_release.py dist`.

It checks each wheel's tag, machine and the C library that it asks for; the wheel that cargo alone makes of the sources; and the kernel,
built from nothing by a package that cannot be written to. All must have the keys of this checkout. The wheel of the other machine is not
run.
"""

import argparse
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from installed import ON_KERNEL, Installed

from dumbbell.native import native

MOST_GLIBC = (2, 17)
MACHINES = {"x86_64": 62, "aarch64": 183}
"""By the end of the tag, what the header of an ELF file says (e_machine)."""
HASH = "import dumbbell._native as n; print(n.SOURCE_HASH)"


def check_file(wheel):
    """The native module of a wheel is for the machine and the C library of the tag."""
    machine = next(name for name in MACHINES if wheel.stem.endswith(name))
    assert f"manylinux_2_17_{machine}" in wheel.name, f"{wheel.name}: the tag is not that of glibc 2.17"
    with zipfile.ZipFile(wheel) as archive:
        code = archive.read("dumbbell/_native.abi3.so")
    (found,) = struct.unpack_from("<H", code, 18)
    assert found == MACHINES[machine], f"{wheel.name}: the module is of machine {found}"
    asked = max((int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", code))
    assert asked <= MOST_GLIBC, f"{wheel.name}: it asks for glibc {asked}"
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB, asks for glibc {asked[0]}.{asked[1]}")


def made_of_sources(sources, folder):
    """The wheel that pip and cargo make in an environment of their own, where nothing has been fetched before."""
    subprocess.run([sys.executable, "-m", "venv", folder / "builder"], check=True)
    cargo = Path(shutil.which("cargo") or "cargo").parent
    environment = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
    environment |= {"HOME": str(folder), "CARGO_HOME": str(folder / "cargo"), "PATH": f"{cargo}:/usr/local/bin:/usr/bin:/bin"}
    environment["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    command = [
        folder / "builder" / "bin" / "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-cache-dir",
        "--wheel-dir",
        folder / "built",
        sources,
    ]
    subprocess.run(command, env=environment, check=True)
    (made,) = (folder / "built").glob("*.whl")
    return made


def check_kernel(package, folder):
    """The package builds a kernel into an empty cache and runs on it, with the key of this checkout on the same kernel."""
    (folder / "kernel.yaml").write_text(ON_KERNEL, encoding="utf-8")
    cache = {"XDG_CACHE_HOME": str(folder / "cache")}
    built = json.loads(package.run("dumbbell", "kernel", "build", "--json", cwd=folder, **cache).stdout)
    assert built["built"]
    found = json.loads(package.run("dumbbell", "run", "kernel.yaml", "--json", cwd=folder, **cache).stdout)
    ours = [sys.executable, "-m", "dumbbell", "run", folder / "kernel.yaml", "--out", folder / "ours", "--json"]
    done = subprocess.run(ours, env={**os.environ, **cache}, check=True, capture_output=True, text=True)
    assert found["runs"] == json.loads(done.stdout)["runs"]
    print(f"the kernel: Linux {built['version']}, the same run from the package and from the checkout")


def main():
    """Tries all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dist", type=Path, help="the folder of wheels and sources")
    dist = parser.parse_args().dist
    wheels = sorted(dist.glob("*.whl"))
    assert len(wheels) == len(MACHINES), f"{dist}: {len(wheels)} wheels"
    for wheel in wheels:
        check_file(wheel)
    (mine,) = (wheel for wheel in wheels if wheel.stem.endswith(platform.machine()))
    (sources,) = dist.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name, wheel in (("wheel", mine), ("sources", made_of_sources(sources, folder))):
            package = Installed(wheel, folder / name)
            package.install()
            assert package.run("python", "-c", HASH, cwd=folder).stdout.strip() == native().SOURCE_HASH, f"{name}: other keys"
            print(f"{name}: installed, its runs have the keys of this checkout")
            if name == "wheel":
                check_kernel(package, folder)
            package.remove()


if __name__ == "__main__":
    main()
