"""Reaching machines: this one, and one behind a real sshd. A property of both is tried with both."""

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from required import missing
from waiting import HANG_S, wait_until

from dumbbell.engines.testbed.transport.base import MachineFault
from dumbbell.engines.testbed.transport.local import LocalMachine
from dumbbell.engines.testbed.transport.ssh import connect
from dumbbell.errors import EnvironmentFault

AWKWARD = ["a b", "it's", '"', "$HOME", "`id`", "\\", "*", "", "--", "ü", ";", "!x", "a\tb"]
"""Words that a shell would take for something else."""


@pytest.fixture(params=["local", "ssh"])
def on(request):
    """A function that runs a coroutine function with a machine."""
    if request.param == "local":

        def here(work):
            async def main():
                machine = LocalMachine("alice")
                try:
                    return await work(machine)
                finally:
                    await machine.close()

            return asyncio.run(main())

        return here
    server = request.getfixturevalue("server")

    def there(work):
        async def main():
            machines = await connect({"alice": server.target})
            try:
                return await work(machines["alice"])
            finally:
                await machines["alice"].close()

        return server.within(main)

    return there


def gone(pid):
    return not Path(f"/proc/{pid}").exists()


def test_words_arrive_as_they_are(on):
    async def work(machine):
        return await machine.run(["printf", "%s\\n", *AWKWARD])

    assert on(work).out.decode() == "".join(f"{word}\n" for word in AWKWARD)


def test_stdin_status_and_both_outputs_come_back(on):
    async def work(machine):
        return await machine.run(["sh", "-c", "cat; echo no such luck >&2; exit 7"], b"\x00\xff\n")

    done = on(work)
    assert (done.status, done.out, done.err) == (7, b"\x00\xff\n", b"no such luck\n")
    assert done.said == "no such luck"


def test_a_program_that_was_killed_has_the_signal(on):
    async def work(machine):
        return await machine.run(["sh", "-c", "kill -KILL $$"])

    assert on(work).status == -signal.SIGKILL
    assert on(work).said == "signal 9"


def test_a_program_that_takes_too_long_is_given_up(on):
    async def work(machine):
        await machine.run(["sleep", "3600"], timeout=0.2)

    with pytest.raises(MachineFault, match=r"^alice: sleep did not end within 0\.2 s$"):
        on(work)


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
def test_a_file_goes_there_and_back(on, tmp_path, size):
    content = os.urandom(size)
    path = str(tmp_path / "it's a file")

    async def work(machine):
        await machine.put(content, path)
        return await machine.get(path)

    assert on(work) == content
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["it's a file"]


def test_files_go_there_at_once_and_nothing_else(on, tmp_path):
    files = {"script": b"", "it's a file": os.urandom(100_000), "end.tc": b"qdisc show\n"}

    async def work(machine):
        await machine.put_all(files, str(tmp_path))

    on(work)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_a_file_that_cannot_be_written_or_read_says_why(on, tmp_path):
    async def write(machine):
        await machine.put(b"12345", str(tmp_path / "nowhere" / "file"))

    async def read(machine):
        await machine.get(str(tmp_path / "nothing"))

    with pytest.raises(MachineFault, match=r"^alice: cannot write .*/nowhere/file \(5 bytes\): .*(nonexistent|No such file)"):
        on(write)
    with pytest.raises(MachineFault, match=r"^alice: cannot read .*/nothing: .*(No such file|cannot open)"):
        on(read)


def test_a_truncated_file_is_noticed(on, tmp_path, monkeypatch):
    monkeypatch.setattr("dumbbell.engines.testbed.transport.base._GET", 'sha256sum <"$1" && head -c 3 <"$1"')
    (tmp_path / "file").write_bytes(b"12345")

    async def work(machine):
        await machine.get(str(tmp_path / "file"))

    with pytest.raises(MachineFault, match="has another checksum there than here"):
        on(work)


def test_a_process_answers_line_by_line_while_its_stdin_is_open(on):
    async def work(machine):
        process = await machine.start(["sh", "-c", 'while read -r word; do echo "<$word>"; done; echo end; echo undone >&2'])
        answers = []
        for word in (b"one\n", b"two\n"):
            await process.write(word)
            answers.append(await process.line(HANG_S))
        process.release()
        answers += [await process.line(HANG_S), await process.line(HANG_S)]
        return answers, await process.wait(HANG_S)

    answers, done = on(work)
    assert answers == ["<one>", "<two>", "end", None]
    assert (done.status, done.out, done.err) == (0, b"", b"undone\n")


def test_much_on_stderr_does_not_hold_a_process_up(on):
    async def work(machine):
        process = await machine.start(["sh", "-c", "head -c 5000000 /dev/zero >&2; echo done; cat"])
        return await process.line(HANG_S), len((await process.wait(HANG_S)).err)

    assert on(work) == ("done", 5_000_000)


def test_a_silent_process_and_one_that_does_not_end_are_faults(on):
    async def silent(machine):
        process = await machine.start(["cat"])
        await process.line(0.1)

    async def endless(machine):
        process = await machine.start(["sh", "-c", "echo $$; exec sleep 60"])
        pid = int(await process.line(HANG_S))
        try:
            await process.wait(0.1)
        finally:
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(MachineFault, match=r"^alice: cat said nothing for 0\.1 s$"):
        on(silent)
    with pytest.raises(MachineFault, match=r"^alice: sh did not end within 0\.1 s$"):
        on(endless)


def test_writing_to_a_process_that_has_ended_is_a_fault(on):
    async def work(machine):
        process = await machine.start(["true"])
        assert await process.line(HANG_S) is None
        for _ in range(100):
            await process.write(b"x" * 100_000)

    with pytest.raises(MachineFault, match=r"^alice: true has ended early$"):
        on(work)


def test_closing_ends_the_lease(on, tmp_path):
    async def work(machine):
        process = await machine.start(["sh", "-c", 'echo $$; cat; : >"$1"', "lease", str(tmp_path / "cleaned")])
        return int(await process.line(HANG_S))

    pid = on(work)
    wait_until(lambda: gone(pid))
    assert (tmp_path / "cleaned").exists()


def test_a_program_that_is_not_there_is_a_fault_here():
    async def work():
        await LocalMachine("here").run(["/nowhere/program"])

    with pytest.raises(MachineFault, match=r"^here: cannot run /nowhere/program: No such file or directory$"):
        asyncio.run(work())


def test_a_local_machine_may_be_behind_a_prefix():
    async def work():
        return await LocalMachine("here", ("env", "-i", "A=b")).run(["env"])

    assert asyncio.run(work()).out == b"A=b\n"


def refused(server, **targets):
    with pytest.raises(EnvironmentFault) as caught:
        server.within(lambda: connect(targets))
    return str(caught.value).splitlines()


def fingerprint(path):
    return subprocess.run(["ssh-keygen", "-l", "-f", path], capture_output=True, text=True, check=True).stdout.split()[1]


def test_all_faults_of_all_machines_are_reported_together(server, tmp_path):
    good, folder = server.target, server.folder
    (tmp_path / "none").write_text("")
    (tmp_path / "broken").write_text("no key\n")
    (tmp_path / "rsa").write_text("[127.0.0.1]:2222 " + rsa_key(tmp_path) + "\n")
    got, expected, rsa = (fingerprint(path) for path in (folder / "host.pub", folder / "other-host.pub", tmp_path / "rsa-key.pub"))
    at = "127.0.0.1 port 2222"
    assert refused(
        server,
        alice=replace(good, known_hosts=folder / "known_other_hosts"),
        bob=replace(good, key=folder / "other-key"),
        carol=replace(good, port=2223),
        dave=replace(good, known_hosts=tmp_path / "none"),
        erin=good,
        frank=replace(good, key=tmp_path / "broken"),
        grace=replace(good, key=tmp_path / "missing"),
        heidi=replace(good, known_hosts=tmp_path / "missing"),
        ivan=replace(good, known_hosts=tmp_path / "rsa"),
    ) == [
        f"alice: wrong host key ssh-ed25519 {got} of {at}; expected ssh-ed25519 {expected}, as {folder}/known_other_hosts has it",
        f"bob: root is not let in by the key {folder}/other-key; expected its public half in that user's authorized_keys",
        "carol: nobody listens at 127.0.0.1 port 2223; expected sshd there",
        f"dave: unknown host key ssh-ed25519 {got} of {at}; expected a line of that host in {tmp_path}/none",
        f"frank: {tmp_path}/broken cannot be used (Invalid private key); expected a private key without a passphrase",
        f"grace: {tmp_path}/missing: No such file or directory",
        f"heidi: {tmp_path}/missing: No such file or directory",
        f"ivan: wrong host key ssh-ed25519 {got} of {at}; expected ssh-rsa {rsa}, as {tmp_path}/rsa has it",
    ]


def test_programs_files_and_leases_go_through_sudo(server):
    if not shutil.which("sudo"):
        missing("namespaces", "there is no sudo")

    async def work():
        target = replace(server.target, user="lab", sudo=True)
        machine = (await connect({"alice": target}))["alice"]
        try:
            who = await machine.run(["sh", "-c", 'echo "$(id -u) ${SSH_CONNECTION:+by ssh}"'])
            words = await machine.run(["printf", "%s\\n", *AWKWARD])
            await machine.put(b"content", "/run/by-sudo")
            lease = await machine.start(["sh", "-c", "echo $$; cat >/dev/null; echo over"])
            pid = int(await lease.line(HANG_S))
            return who.out, words.out.decode().splitlines(), await machine.get("/run/by-sudo"), pid, (await lease.wait(HANG_S)).out
        finally:
            await machine.close()

    who, words, content, pid, last = server.within(work)
    assert (who, words, content, last) == (b"0 by ssh\n", AWKWARD, b"content", b"over\n")
    wait_until(lambda: gone(pid))


def test_a_user_without_sudo_is_told_so(server):
    if not shutil.which("sudo"):
        missing("namespaces", "there is no sudo")
    (said,) = refused(server, alice=replace(server.target, user="guest", sudo=True))
    assert said.startswith("alice: guest may not use sudo without a password (")
    assert said.endswith("); expected NOPASSWD in sudoers")


def rsa_key(folder):
    subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", folder / "rsa-key"], check=True)
    return " ".join((folder / "rsa-key.pub").read_text().split()[:2])


def test_a_key_with_a_passphrase_is_refused(server, tmp_path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", tmp_path / "locked"], check=True)
    (line,) = refused(server, alice=replace(server.target, key=tmp_path / "locked"))
    assert line.startswith(f"alice: {tmp_path}/locked cannot be used (")


def test_a_server_that_says_nothing_is_given_up(server, monkeypatch):
    monkeypatch.setattr("dumbbell.engines.testbed.transport.ssh.CONNECTING", 0.3)

    async def work():
        with socket.create_server(("127.0.0.1", 2224)):
            await connect({"alice": replace(server.target, port=2224)})

    with pytest.raises(EnvironmentFault, match=r"^alice: no answer from 127\.0\.0\.1 port 2224 within 0\.3 s$"):
        server.within(work)


def test_a_machine_whose_connection_ends_is_lost(server):
    async def work():
        machines = await connect({"alice": server.target})
        shell = await machines["alice"].start(["sh", "-c", "echo $PPID; cat"])
        os.kill(int(await shell.line(HANG_S)), signal.SIGKILL)
        try:
            with pytest.raises(MachineFault, match=r"^alice: the connection (is|was) lost"):
                await shell.wait(HANG_S)
            with pytest.raises(MachineFault, match=r"^alice: (the connection is lost|no program can be started)"):
                await machines["alice"].run(["true"])
        finally:
            await machines["alice"].close()

    server.within(work)


CLIENT = """
import asyncio, sys
from pathlib import Path
from dumbbell.engines.testbed.transport.ssh import Target, connect

async def main():
    folder = Path(sys.argv[1])
    machines = await connect({"alice": Target("127.0.0.1", 2222, "root", folder / "key", folder / "known_hosts")})
    process = await machines["alice"].start(["sh", "-c", 'echo $$; cat; : >"$1"', "lease", sys.argv[2]])
    print(await process.line(300), flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_what_has_a_lease_ends_when_the_controller_is_killed(server, tmp_path):
    words = ["nsenter", "-t", str(server.pid), "-n", sys.executable, "-c", CLIENT, server.folder, tmp_path / "cleaned"]
    client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    pid = int(client.stdout.readline())
    assert not gone(pid)
    client.kill()
    client.wait()
    client.stdout.close()
    wait_until(lambda: gone(pid))
    assert (tmp_path / "cleaned").exists()
