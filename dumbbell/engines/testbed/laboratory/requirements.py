"""Requirements of a laboratory on this machine, apart from the kernel."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from dumbbell.engines.kernel.requirements import search_path
from dumbbell.errors import EnvironmentFault

TUN = Path("/dev/net/tun")
SSHD = Path("/usr/sbin/sshd")
"""Path of sshd in Debian and its descendants, Fedora and Arch. sshd must be called by an absolute path."""
_TOOLS = {"ip": "iproute2", "ethtool": "ethtool", "ssh-keygen": "openssh-client"}
"""Required program -> the package of Debian and Ubuntu that contains it."""


def check() -> None:
    """Raises `EnvironmentFault` with everything that is missing, in one line."""
    if problems := list(_missing()):
        raise EnvironmentFault(f"a laboratory cannot be booted here: {'; '.join(problems)}")


def _missing() -> Iterator[str]:
    if os.geteuid() != 0:
        yield "it needs root, for namespaces and tap devices (sudo -E)"
    lacking = {tool: package for tool, package in _TOOLS.items() if shutil.which(tool, path=search_path()) is None}
    if not os.access(SSHD, os.X_OK):
        lacking[str(SSHD)] = "openssh-server"
    if lacking:
        yield f"not found: {', '.join(lacking)} (on Debian or Ubuntu: apt-get install {' '.join(lacking.values())})"
    if not TUN.is_char_device():
        yield f"{TUN} is not there (modprobe tun; for a container --device {TUN} --cap-add NET_ADMIN)"
