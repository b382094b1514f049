"""What tests of several rooms share."""

import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MB, where mounting one is allowed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("a small file system needs root")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)
