"""Guests: what they are started with, and every way in which one fails."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from waiting import HANG_S, wait_until

from dumbbell.engines.kernel import guest
from dumbbell.errors import EnvironmentFault
from dumbbell.executor.interrupt import Aborted, deferred

from .conftest import compile_agent, processes_in

FINISH = "touch done"


def fault(binary, folder, **options):
    """Return the error of boot(), one line."""
    with pytest.raises(EnvironmentFault) as error:
        guest.boot(binary, folder, **{"timeout_s": HANG_S, **options})
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_guest_is_started_alike_whatever_its_folder_and_user(script, tmp_path, monkeypatch):
    binary = script('echo "$@" > arguments; env | grep -v ^PWD= | sort > environment; ls > files; touch done')
    told = []
    for name, user in (("a", "ann"), ("b/c", "bob")):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        monkeypatch.setenv("USER", user)
        monkeypatch.setenv("LD_PRELOAD", "")
        guest.boot(binary, folder, seed=7, timeout_s=HANG_S)
        told.append([(folder / file).read_text() for file in ("arguments", "environment", "files")])
    assert told[0] == told[1]
    arguments, environment, files = told[0]
    assert "mem=256M" in arguments
    assert "time-travel=inf-cpu" in arguments
    assert "DUMBBELL_SEED=7\n" in environment
    assert "ann" not in environment
    assert {"agent", "host"} < set(files.split())


def test_only_results_stay_in_the_folder(script, folder):
    (folder / "script").write_text("")
    guest.boot(script(f"mkdir -p $HOME/.uml/x; touch $HOME/.uml/x/pid; {FINISH}"), folder, timeout_s=HANG_S)
    assert sorted(os.listdir(folder)) == ["done", "script"]
    fault(script("mkdir -p $HOME/.uml/x; exit 1"), folder)
    assert sorted(os.listdir(folder)) == ["done", "script"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("echo first; echo last words; exit 3", r"exit status 3; the console ends in: first / last words"),
        ("exit 0", r"exit status 0; the console is empty"),
        ("echo 'Kernel panic - not syncing: No working init found.'; exit 134", r"its kernel panicked \(No working init found\.\)"),
        ("kill -KILL $$", r"SIGKILL; was it killed, or is the host short of memory\?"),
        ("echo 'check_ptrace : ptrace failed, errno = 1'; exit 1", r"ptrace is forbidden here; allow it"),
        ("echo '/x must be not mounted noexec'; exit 1", r"mounted noexec; TMPDIR names another"),
        ("echo 'Bus error - the host /dev/shm or'; kill -ABRT $$", r"the file system of its memory is full; make room there or run fewer"),
        ("echo 'write: No space left on device'; exit 1", r"no space left"),
        ("printf 'cc foo is not there' > error; exit 0", r"^the guest's agent: cc foo is not there$"),
        ("printf 'tc: failed' > error; echo 'What is \"dance\"?' > log; exit 0", r"tc: failed; the log ends in: What is \"dance\"\?$"),
    ],
)
def test_a_guest_that_does_not_get_to_its_end(script, folder, text, expected):
    (folder / "script").write_text("")
    assert re.search(expected, fault(script(text), folder))


@pytest.mark.parametrize(
    "text",
    [
        "echo 'Kernel panic - not syncing: System is deadlocked on memory'; exit 134",
        f"echo 'Out of memory: Killed process 41 (iperf3) total-vm:3000kB'; {FINISH}",
        "printf 'fork: Cannot allocate memory' > error; exit 0",
    ],
    ids=["all", "a program", "refused"],
)
def test_a_guest_with_too_little_memory(script, folder, text):
    (folder / "script").write_text("")
    with pytest.raises(guest.ShortOfMemory, match=r"^the guest has too little memory for this run: fewer flows"):
        guest.boot(script(text), folder, timeout_s=HANG_S)


def test_a_guest_without_a_script_has_nothing_to_finish(script, folder):
    guest.boot(script("exit 0"), folder, timeout_s=HANG_S)
    assert guest.probe(script("exit 0")) is None
    assert "exit status 5" in guest.probe(script("exit 5"))


def hanging(binary, folder, shown):
    """The message about a guest that hangs after its first output, which takes longer on a busy machine."""
    limit_s = 0.5
    while shown not in (text := fault(binary, folder, timeout_s=limit_s)):
        limit_s *= 4
        assert limit_s < HANG_S, text
    assert text.startswith(f"the guest hangs: killed after {limit_s:g} s of host time; the console ends in: ")
    return text


def test_a_hanging_guest_is_killed_with_all_its_processes(script, folder):
    hanging(script("echo booting; sleep 1000 & sleep 1001 & exec sleep 1002"), folder, "booting")
    wait_until(lambda: processes_in(folder) == [])


def test_what_outlives_the_guest_is_killed(script, folder):
    guest.boot(script("sleep 1000 & exit 0"), folder, timeout_s=HANG_S)
    wait_until(lambda: processes_in(folder) == [])


def test_a_guest_that_never_stops_printing(script, folder):
    text = hanging(script("exec yes and so on"), folder, "and so on / and so on")
    assert len(text) < 300


def test_a_guest_that_closes_its_console_and_hangs(script, folder):
    assert "hangs" in fault(script("exec sleep 1000 >/dev/null 2>&1"), folder, timeout_s=0.5)


def test_a_missing_kernel(script, folder):
    binary = script("exit 0")
    binary.linux.unlink()
    assert "dumbbell kernel build" in fault(binary, folder)


def test_a_kernel_that_cannot_be_run(script, folder):
    binary = script("exit 0")
    binary.linux.chmod(0o644)
    assert "Permission denied" in fault(binary, folder)


def test_no_room_for_the_memory(script, folder):
    text = fault(script("exit 0"), folder, memory="900000G")
    assert re.search(r"/dev/shm .*; expected \d+ MB in a folder that is not mounted noexec \(TMPDIR names another\)", text)


def test_an_interrupt_leaves_no_process(script, folder):
    def interrupt():
        wait_until((folder / "begun").exists)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        guest.boot(script("touch begun; exec sleep 1000"), folder, timeout_s=HANG_S)
    thread.join()
    assert processes_in(folder) == []
    assert os.listdir(folder) == ["begun"]


@pytest.mark.usefixtures("interruptible")
def test_a_deferred_interrupt_kills_the_guest(script, folder):
    def interrupt():
        wait_until((folder / "begun").exists)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with deferred(), pytest.raises(Aborted):
        guest.boot(script("touch begun; exec sleep 1000"), folder, timeout_s=HANG_S)
    thread.join()
    assert processes_in(folder) == []
    assert os.listdir(folder) == ["begun"]


def test_guests_of_several_threads(script, tmp_path):
    binary = script("sleep 0.1; pwd > where; touch done")
    folders = [tmp_path / f"{i}" for i in range(8)]

    def boot(folder):
        folder.mkdir()
        (folder / "script").write_text("")
        guest.boot(binary, folder, timeout_s=HANG_S)
        return threading.get_ident()

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(boot, folders))) > 1
    assert [(folder / "where").read_text().strip() for folder in folders] == list(map(str, folders))


# --- the real kernel -----------------------------------------------------------------------------------------------

SPIN = "#include <unistd.h>\nint main(void) { fork(); for (;;); }"
RANDOM = """
#include <fcntl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <unistd.h>
int main(void)
{
	char bytes[64];
	int fd = open("/random", O_CREAT | O_WRONLY, 0644);
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes) || write(fd, bytes, sizeof(bytes)) != sizeof(bytes) || close(fd))
		return 1;
	return reboot(RB_POWER_OFF);
}
"""
MEMORY = """
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
	char line[100];
	FILE *from, *to = fopen("/memory", "w");
	if (mkdir("/proc", 0755) || mount("none", "/proc", "proc", 0, 0) || !(from = fopen("/proc/meminfo", "r")) || !to)
		return 1;
	if (!fgets(line, sizeof(line), from) || fputs(line, to) < 0 || fclose(to))
		return 1;
	return reboot(RB_POWER_OFF);
}
"""


def test_the_kernel_boots_at_once_and_leaves_nothing(real, folder):
    guest.boot(real, folder, timeout_s=HANG_S)
    assert os.listdir(folder) == []
    assert processes_in(folder) == []


@pytest.mark.clock
def test_a_boot_takes_seconds(real):
    assert guest.boot_time(real) < 5


def test_a_guest_cannot_write_to_the_host(real, folder):
    outside = Path(sys.executable).resolve()  # not below what is the guest's own: /tmp, /run, /proc, /sys
    (folder / "script").write_text(f"namespace a\nrun init - touch -c {outside}\n")
    assert "Read-only file system" in fault(real, folder)


def test_random_numbers_follow_from_the_seed(real, tmp_path):
    binary = dataclasses.replace(real, agent=compile_agent(tmp_path / "random-agent", RANDOM))
    found = []
    for i, seed in enumerate((1, 1, 2)):
        folder = tmp_path / f"somewhere {i}"
        folder.mkdir()
        guest.boot(binary, folder, seed=seed, timeout_s=HANG_S)
        found.append((folder / "random").read_bytes())
    assert found[0] == found[1] != found[2]


def test_memory_does_not_depend_on_where_the_host_puts_things(real, tmp_path):
    binary = dataclasses.replace(real, agent=compile_agent(tmp_path / "memory-agent", MEMORY))
    found = set()
    for i in range(4):
        folder = tmp_path / f"{i}"
        folder.mkdir()
        guest.boot(binary, folder, timeout_s=HANG_S)
        found.add((folder / "memory").read_text())
    (memory,) = found
    assert re.match(r"MemTotal: +2\d{5} kB", memory)


def test_a_file_system_that_fills_up(real, folder, small_disk, monkeypatch):
    # The room was there when the guest was started.
    monkeypatch.setattr(guest, "memory_folder", lambda _size: small_disk)
    assert "the file system of its memory is full" in fault(real, folder)
    assert processes_in(folder) == []


@pytest.fixture
def spinning(real, tmp_path):
    """The kernel with an agent that hangs, in two processes."""
    return dataclasses.replace(real, agent=compile_agent(tmp_path / "spin-agent", SPIN))


def test_a_kernel_that_hangs_is_killed_with_its_processes(spinning, folder):
    assert "the guest hangs: killed after 1 s" in fault(spinning, folder, timeout_s=1)
    assert processes_in(folder) == []
    assert os.listdir(folder) == []


def test_an_agent_that_returns_is_a_panic(real, folder, tmp_path):
    binary = dataclasses.replace(real, agent=compile_agent(tmp_path / "empty", "int main(void) { return 0; }"))
    assert "its kernel panicked (Attempted to kill init!" in fault(binary, folder)


BOOT = """
import sys
from pathlib import Path
from dumbbell.engines.kernel import binary, guest
linux, agent, launcher, folder = map(Path, sys.argv[1:])
guest.boot(binary.Binary(linux, "6.12.0", "configuration", "key", agent, "agent", launcher), folder, timeout_s=300)
"""


def test_a_kernel_dies_with_the_process_that_booted_it(spinning, folder):
    paths = [spinning.linux, spinning.agent, spinning.launcher, folder]
    booting = subprocess.Popen([sys.executable, "-c", BOOT, *map(str, paths)])
    try:
        wait_until(lambda: len(processes_in(folder)) >= 3)
    finally:
        booting.kill()
        booting.wait()
    wait_until(lambda: processes_in(folder) == [])


def test_a_killed_kernel_is_one_clear_line(spinning, folder):
    def kill():
        wait_until(lambda: len(processes_in(folder)) >= 3)
        first = min(processes_in(folder), key=lambda pid: Path(f"/proc/{pid}").stat().st_ctime_ns)
        os.kill(first, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    assert "SIGKILL" in fault(spinning, folder)
    thread.join()
    assert processes_in(folder) == []


@pytest.mark.parametrize(("program", "computes"), [("while True: pass", True), ("import time; time.sleep(600)", False)])
def test_a_guest_that_computes_has_its_time_of_a_processor(program, computes):
    command = [sys.executable, "-c", f"print(flush=True)\n{program}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        process.stdout.readline()
        try:
            wait_until(lambda: (guest.owed_s(process.pid, 1000.0) > 900) == computes)
            assert guest.owed_s(process.pid, 0.0) == 0
        finally:
            process.kill()
