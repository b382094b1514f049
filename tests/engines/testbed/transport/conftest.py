"""A real sshd in namespaces of its own, with /run of its own, and a way in."""

import asyncio
import ctypes
import os
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from required import missing
from waiting import wait_until

from dumbbell.engines.testbed.transport.ssh import Target

PORT = 2222
_CLONE_NEWNET = 0x40000000
_SERVER = """
mount -t tmpfs -o mode=755 none /run && mkdir /run/sshd && ip link set dev lo up || exit
printf '%s:*:20000:0:99999:7:::\\n' root lab guest >"$0/shadow" && mount --bind "$0/shadow" /etc/shadow || exit
{ cat /etc/passwd; printf '%s:/:/bin/sh\\n' lab:x:4711:4711: guest:x:4712:4712:; } >"$0/passwd" || exit
mount --bind "$0/passwd" /etc/passwd || exit
if [ -f /etc/sudoers ]; then
    printf 'Defaults use_pty\\nroot ALL=(ALL) ALL\\nlab ALL=(root) NOPASSWD: /usr/bin/env\\n' >"$0/sudoers" || exit
    chmod 440 "$0/sudoers" || exit
    mount --bind "$0/sudoers" /etc/sudoers || exit
fi
cp "$0/authorized_keys" /run/ && chmod 644 /run/authorized_keys "$0/passwd" || exit
exec /usr/sbin/sshd -D -e -f /dev/null -p 2222 -o ListenAddress=127.0.0.1 -o "HostKey=$0/host" -o AuthorizedKeysFile=/run/authorized_keys \
    -o StrictModes=no -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o UsePAM=no -o PermitRootLogin=prohibit-password \
    -o PidFile=none
"""


@dataclass(frozen=True)
class Server:
    """A machine that is this one, in namespaces of its own."""

    pid: int
    folder: Path

    @property
    def target(self):
        """Return the address by which it is reached."""
        return Target("127.0.0.1", PORT, "root", self.folder / "key", self.folder / "known_hosts")

    def within(self, work):
        """Runs a coroutine function in the network namespace, in a thread of its own; what it returns or raises."""
        result = {}

        def thread():
            try:
                with Path(f"/proc/{self.pid}/ns/net").open() as namespace:
                    if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET):
                        raise OSError(ctypes.get_errno(), "setns")
                result["value"] = asyncio.run(work())
            except BaseException as error:
                result["error"] = error

        one = threading.Thread(target=thread)
        one.start()
        one.join()
        if "error" in result:
            raise result["error"]
        return result["value"]


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A running sshd; skips if this machine has none, or does not allow namespaces."""
    if not shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or not shutil.which("ssh-keygen"):
        missing("namespaces", "there is no sshd")
    if os.geteuid():
        missing("namespaces", "sshd in namespaces needs root")
    folder = tmp_path_factory.mktemp("sshd")
    for name in ("host", "other-host", "key", "other-key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    (folder / "authorized_keys").write_bytes((folder / "key.pub").read_bytes())
    for name in ("host", "other-host"):
        kind, key, *_ = (folder / f"{name}.pub").read_text().split()
        (folder / f"known_{name}s".replace("-", "_")).write_text(f"[127.0.0.1]:{PORT} {kind} {key}\n")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["unshare", "-nm", "sh", "-c", _SERVER, folder], stderr=log)
    wait_until(lambda: b"listening" in (folder / "log").read_bytes() or process.poll() is not None)
    if process.poll() is not None:
        missing("namespaces", f"sshd does not start here: {(folder / 'log').read_text().strip()[-200:]}")
    yield Server(process.pid, folder)
    process.terminate()
    process.wait()
