"""A laboratory that tests share, if this machine can boot one."""

import ctypes
import subprocess

import pytest
from engines.testbed.recorded import HOSTS
from required import missing
from waiting import HANG_S

from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.laboratory import booted
from dumbbell.errors import EnvironmentFault


@pytest.fixture(scope="session")
def laboratory():
    """A left host, a router and a right host. `start` runs a program that reaches them; see also `answer`."""
    lab = booted(1, 1)
    try:
        made = lab.__enter__()
    except EnvironmentFault as fault:
        missing("lab", fault)
    try:
        yield made
    finally:
        lab.__exit__(None, None, None)


@pytest.fixture(scope="session")
def answer(laboratory):
    """A function that runs a command on a machine by the OpenSSH client, and returns what it prints; fails if the command does."""

    def ask(machine, command, given=b""):
        client = ["ssh", "-F", str(laboratory.folder / "ssh_config"), machine, command]
        process = laboratory.start(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = process.communicate(given, timeout=HANG_S)
        assert process.returncode == 0, err.decode()
        return out.decode().strip()

    return ask


_CLONE_NEWNET = 0x40000000  # linux/sched.h


def _enter_network(descriptor):
    """Puts this thread into a network namespace, as os.setns of later versions of Python does."""
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


@pytest.fixture
def inside(laboratory):
    """The laboratory, with this thread in its network: what it connects to, and threads that it starts, are the guests."""
    with open("/proc/thread-self/ns/net", "rb") as ours, open(f"/proc/{laboratory.process}/ns/net", "rb") as theirs:
        _enter_network(theirs.fileno())
        try:
            yield laboratory
        finally:
            _enter_network(ours.fileno())


@pytest.fixture
def hosts(tmp_path):
    for name in ("known_hosts", "key"):
        (tmp_path / name).touch()
    (tmp_path / "hosts.yaml").write_text(HOSTS)
    return Hosts.from_file(tmp_path / "hosts.yaml")
