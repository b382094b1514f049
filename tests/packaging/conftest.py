"""A wheel of these sources, and an environment that it is installed in."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from installed import BIN, Installed
from required import missing

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="package")
def wheel(tmp_path_factory):
    """A wheel as `pip wheel .` makes it, of what `make setup` has compiled."""
    maturin = BIN / "maturin"
    if not maturin.is_file():
        missing("packages", "there is no maturin in this environment")
    out = tmp_path_factory.mktemp("dist")
    command = [maturin, "build", "--release", "--locked", "--quiet", "--out", out]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "VIRTUAL_ENV": str(BIN.parent)}, check=True, capture_output=True)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="package")
def installed(wheel, tmp_path_factory):
    """It in a clean environment."""
    made = Installed(wheel, tmp_path_factory.mktemp("installed"))
    made.install()
    yield made
    made.remove()
    shutil.rmtree(made.folder)
