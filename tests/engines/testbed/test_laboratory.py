"""The laboratory: guests that answer and reach each other, what is run among them, and that nothing of it stays."""

import asyncio
import contextlib
import functools
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import asyncssh
import pytest
from waiting import HANG_S, wait_until

from dumbbell.cli.maintain.testbed import _status
from dumbbell.engines.testbed.hosts import Hosts
from dumbbell.engines.testbed.laboratory import boot, booted, requirements
from dumbbell.errors import EnvironmentFault

MACHINES = ("left1", "router", "right1")
# An echo request and what answers it: the address, and the hops that the answer may still go.
PING = b"""
import socket, struct, sys
words = struct.pack("!BBHHH", 8, 0, 0, 7, 1)
check = ~sum(struct.unpack("!4H", words)) & 0xFFFF
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
    raw.settimeout(300)
    raw.sendto(struct.pack("!BBHHH", 8, 0, check, 7, 1), (sys.argv[1], 0))
    answer, (host, _) = raw.recvfrom(1000)
print(host, answer[8])
"""


COMMAND = (sys.executable, "-c", "from dumbbell.__main__ import main; main()", "testbed", "lab")


@pytest.fixture
def started():
    """A function that starts `dumbbell testbed lab ARGUMENTS...` as a process of its own."""
    with contextlib.ExitStack() as stack:

        def start(*arguments, **options):
            command = [*COMMAND, *arguments]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start


def test_each_guest_answers(laboratory, answer):
    version = laboratory.facts["kernel"]["version"]
    assert {name: answer(name, "uname -r; uname -n").split() for name in MACHINES} == {name: [version, name] for name in MACHINES}
    assert json.loads((laboratory.folder / "laboratory.json").read_text()) == laboratory.facts
    assert laboratory.facts["scheduling"] in ("SCHED_FIFO 5", "SCHED_OTHER")


def test_the_hosts_file_says_what_the_guests_have(laboratory, answer):
    found = Hosts.from_file(laboratory.hosts)
    (left,), (right,) = found.side("left").values(), found.side("right").values()
    router = found.router[1]
    for name, interfaces in {"left1": [left.data], "right1": [right.data], "router": [router.left, router.right]}.items():
        shown = answer(name, "ip -brief -4 address show")
        for each in interfaces:
            assert re.search(rf"^{each.device} +\S+ +{each.address} *$", shown, re.MULTILINE)


def test_asyncssh_knows_each_guest_and_is_known(inside):
    found = Hosts.from_file(inside.hosts)
    options = {"known_hosts": str(found.control.known_hosts), "client_keys": [str(found.control.key)], "username": found.control.user}

    async def ask(name, at):
        async with asyncssh.connect(at.host, at.port, config=None, **options) as connection:
            done = await connection.run("uname -n; cat; exit 7", input="given")
            return name, done.stdout, done.exit_status

    async def ask_all():
        return await asyncio.gather(*(ask(name, machine.at) for name, machine in found.by_name.items()))

    assert {*asyncio.run(ask_all())} == {(name, f"{name}\ngiven", 7) for name in MACHINES}


def test_what_is_sent_from_left_to_right_passes_the_router(laboratory, answer):
    (right,) = Hosts.from_file(laboratory.hosts).side("right").values()
    # An answer begins with 64 hops, and the router takes one.
    assert answer("left1", f"python3 - {right.data.address.ip}", PING) == f"{right.data.address.ip} 63"


def test_a_guest_writes_to_nothing_of_the_host(answer):
    folders = ("/tmp", "/run", "/root", "/var/tmp", "/dev/shm")
    answer("router", f"touch {' '.join(f'{folder}/of-the-guest' for folder in folders)}")
    assert not any(Path(folder, "of-the-guest").exists() for folder in folders)
    assert answer("router", "touch /etc/of-the-guest /var/of-the-guest 2>&1 || true").count("Read-only file system") == 2


def test_only_keys_open_a_guest(answer):
    shown = answer("router", "/usr/sbin/sshd -T -f /run/laboratory/sshd_config")
    for line in ("passwordauthentication no", "kbdinteractiveauthentication no", "usepam no", "permitrootlogin without-password"):
        assert line in shown.splitlines()


@pytest.mark.usefixtures("laboratory")
def test_a_command_has_our_streams_and_gives_its_status(started):
    script = 'read word; echo "$word $DUMBBELL_HOSTS"; ls "${DUMBBELL_HOSTS%/*}" >&2; "$@" >&2; exit 7'
    process = started("--left", "2", "--", "sh", "-c", script, "sh", *COMMAND[:-1], "check", stdin=subprocess.PIPE)
    out, err = process.communicate("hello\n", timeout=HANG_S)
    assert process.returncode == 7
    word, hosts = out.split()
    assert word == "hello"
    # Without a terminal nothing is said of progress.
    assert set(err.split()) > {"left1", "left2", "right1", "router", "hosts.yaml", "known_hosts", "ssh_config"}
    assert err.count(": Linux 6.") == 4
    assert not re.search(r"laboratory |guests", err)
    assert not Path(hosts).parent.exists()


def processes():
    """All processes of this machine: command line, and the namespaces that they are in."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                yield command, {os.readlink(entry / "ns" / kind) for kind in ("net", "pid", "mnt")}


def namespaces(folder):
    """Return the namespaces of a laboratory's guests, without the host's."""
    ours = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("net", "pid", "mnt")}
    return set().union(*(found for command, found in processes() if f"uml_dir={folder}" in command)) - ours


def left_of(folder, private):
    """Return the remains of a laboratory: its folder, processes that name it or are in its namespaces, mounts, files of guests' memory."""
    found = [command for command, each in processes() if folder in command or each & private]
    found += [line for line in Path("/proc/self/mounts").read_text().splitlines() if folder in line]
    return found + [path for path in (Path(folder), *Path("/dev/shm").glob("vm_file-*")) if path.exists()]


@pytest.mark.usefixtures("laboratory")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_stays_when_the_command_is_killed(started, number, tmp_path):
    script = 'sleep 77 & setsid sleep 78 & echo "$DUMBBELL_HOSTS"; wait'
    process = started("--", "sh", "-c", script, env={**os.environ, "TMPDIR": str(tmp_path)})
    folder = str(Path(process.stdout.readline().strip()).parent)
    assert folder.startswith(str(tmp_path))
    private = namespaces(folder)
    assert len(private) == 3
    wait_until(lambda: {"sleep\x0077\x00", "sleep\x0078\x00"} <= {*left_of(folder, private)})
    process.send_signal(number)
    process.communicate(timeout=HANG_S)
    assert process.returncode == (-signal.SIGKILL if number == signal.SIGKILL else 143)
    wait_until(lambda: not left_of(folder, private))
    assert not list(tmp_path.iterdir())


def test_a_signal_while_the_command_starts_is_passed_on():
    def start():
        os.kill(os.getpid(), signal.SIGTERM)
        return subprocess.Popen(["sleep", "3600"])

    assert _status(start) == -signal.SIGTERM


@pytest.mark.usefixtures("laboratory")
def test_an_interrupt_from_the_terminal_is_the_command_s():
    ours, terminal = pty.openpty()
    script = "trap 'echo heard; exit 3' INT; echo started; sleep 79 & wait"
    command = ["setsid", "--ctty", *COMMAND, "sh", "-c", script]
    # A shell starts jobs in the background with the signal ignored, which no program below could then hear.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, preexec_fn=heard)
    os.close(terminal)
    shown, typed = b"", 0
    with contextlib.suppress(OSError):  # what the end of a terminal reads as
        while read := os.read(ours, 1000):
            shown += read
            # Once, whatever else stands in the same read: the next would be dumbbell's, not the command's.
            if not typed and b"started\r\n" in shown:
                typed = os.write(ours, b"\x03")
    os.close(ours)
    assert process.wait() == 3
    assert b"3 of 3 guests" in shown
    assert shown.endswith(b"heard\r\n")


@pytest.mark.usefixtures("laboratory")
def test_doctor_says_that_there_can_be_a_laboratory(dumbbell):
    assert re.search(r"^ok +laboratory +can be booted, SCHED_(FIFO 5|OTHER)$", dumbbell("doctor").out, re.MULTILINE)


# --- what is missing -------------------------------------------------------------------------------------------------


def test_a_machine_that_lacks_something(monkeypatch, tmp_path):
    monkeypatch.setattr(requirements, "SSHD", tmp_path / "sshd")
    monkeypatch.setattr(requirements, "TUN", tmp_path / "tun")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(requirements, "search_path", lambda: str(tmp_path))
    with pytest.raises(EnvironmentFault) as fault, booted(1, 1):
        pass
    said = str(fault.value)
    assert "\n" not in said
    assert "needs root" in said
    install = "apt-get install iproute2 ethtool openssh-client openssh-server"
    assert f"not found: ip, ethtool, ssh-keygen, {tmp_path}/sshd (on Debian or Ubuntu: {install})" in said
    assert f"{tmp_path}/tun is not there (modprobe tun" in said
    assert fault.value.exit_status == 3


def test_doctor_says_what_a_laboratory_lacks(monkeypatch, dumbbell, tmp_path):
    monkeypatch.setattr(requirements, "TUN", tmp_path / "tun")
    answer = dumbbell("doctor")
    assert answer.status == 0
    assert re.search(rf"^no +laboratory +a laboratory cannot be booted here: .*{tmp_path}/tun is not there", answer.out, re.MULTILINE)


def test_a_laboratory_without_a_kernel(monkeypatch, tmp_path):
    monkeypatch.setattr(boot.requirements, "check", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(EnvironmentFault, match=r"no kernel in .*; `dumbbell kernel build`"), booted(1, 1):
        pass


@pytest.mark.usefixtures("laboratory")
def test_a_machine_without_bridges(monkeypatch):
    monkeypatch.setattr(boot.wiring, "host_lines", lambda _machines: ["link add name control type bridges"])
    with (
        pytest.raises(EnvironmentFault, match=r"network cannot be made: ip: Error: Unknown device type\.; do this machine's.*\?$"),
        booted(1, 1),
    ):
        pass


@pytest.mark.usefixtures("laboratory")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/sh\necho no way\n", "its kernel panicked"),
        ("#!/bin/sh\nsleep 60\n", "the guest hangs: killed after 1 s of host time; the console is empty"),
    ],
)
def test_a_guest_that_does_not_answer(monkeypatch, tmp_path, text, expected):
    (tmp_path / "guest.sh").write_text(text)
    (tmp_path / "sshd_config").write_text("")
    monkeypatch.setattr(boot, "_HERE", tmp_path)
    monkeypatch.setattr(boot, "_LIMIT_S", 1.0)
    with pytest.raises(EnvironmentFault, match=f"^(router|left1|right1): .*{expected}") as fault, booted(1, 1):
        pass
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "no command; expected dumbbell testbed lab -- COMMAND, such as dumbbell testbed lab -- sh\n"),
        (("--", "no-such-program"), "no-such-program: no such program; expected dumbbell testbed lab -- COMMAND\n"),
        (("--left", 51, "--", "sh"), "--left: 51 hosts; expected at most 50\n"),
        (("--right", 0, "--", "sh"), "Invalid value for '--right'"),
    ],
)
def test_a_wrong_command_line(dumbbell, arguments, expected):
    answer = dumbbell("testbed", "lab", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(expected)
