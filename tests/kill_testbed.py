"""Kills in the middle of runs over machines: `dumbbell testbed lab -- python tests/kill_testbed.py [--seed N] [--count N]`.

Each run is interrupted once, at a moment drawn within its set-up, the run itself or its end, which is collecting and undoing:
- controller: the process that conducts the run is killed;
- agent, journal: so are the agents, or the program that undoes the changes, of one machine;
- connection: so is the ssh server's end of the connection to one machine;
- guest: one machine is lost as a whole, as if its power failed, and is booted again.
After `dumbbell testbed recover` the machines are as before (facts, files of sessions, processes), and the store has whole runs alone. At
the end a run that nobody disturbs is made, and stored.
"""

import argparse
import asyncio
import contextlib
import ctypes
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from dumbbell.engines.testbed import fleet
from dumbbell.engines.testbed.facts import differences
from dumbbell.engines.testbed.hosts import VARIABLE, Hosts
from dumbbell.engines.testbed.transport.ssh import connect, targets
from dumbbell.errors import EnvironmentFault
from dumbbell.results import Store

PHASES = ("set-up", "run", "end")
KINDS = ("controller", "agent", "journal", "connection", "guest")
SETTLED_S = 60.0
"""A machine that has lost its controller has undone everything by itself, and one that was lost has been noticed."""
# Says in which phase it is.
CONTROLLER = """
import sys
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.engines.testbed import remote
from dumbbell.errors import EnvironmentFault
from dumbbell.results import Store
from dumbbell.scenario import Scenario

conduct = remote.conduct

async def told(*arguments):
    print("run", flush=True)
    await conduct(*arguments)
    print("end", flush=True)

remote.conduct = told
path = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "shaper": "tbf", "burst": "12500B", "qdisc": {"kind": "pfifo", "limit": "100p"}}}
settings = {"name": "s", "engine": "testbed", "path": path, "flows": [{"cc": "cubic"}], "duration": "1s", "seed": int(sys.argv[2])}
runs = prepare(Scenario.model_validate(settings).runs())
print("set-up", flush=True)
try:
    execute(runs, Store(sys.argv[1]))
    print("stored", flush=True)
except EnvironmentFault as fault:
    sys.exit(f"told: {fault}")
"""
# A shell of the machine gets each script. The process of an ssh server for a connection is neither the listening one nor that of this
# shell.
ON_MACHINE = {
    "agent": 'for each in /proc/[0-9]*; do case $(readlink "$each/exe") in /run/dumbbell/*) kill -KILL "${each#/proc/}" ;; esac; done',
    "journal": """for each in /proc/[0-9]*; do
        if [ "$(readlink "$each/fd/9")" = /run/dumbbell/lock ]; then kill -KILL "${each#/proc/}"; fi
    done""",
    "connection": """read -r _ _ _ mine _ </proc/$$/stat
        read -r _ _ _ listening _ <"/proc/$mine/stat"
        for each in /proc/[0-9]*; do
            { read -r id name _ parent _ <"$each/stat"; } 2>/dev/null || continue
            case $name in *sshd*) if [ "$parent" = "$listening" ] && [ "$id" != "$mine" ]; then kill -KILL "$id"; fi ;; esac
        done""",
}
# Names of processes, but for the kernel's own, and what there is of sessions.
SHOWN = """for each in /proc/[0-9]*; do if [ -e "$each/exe" ] && read -r name <"$each/comm"; then echo "process $name"; fi; done 2>/dev/null
    for each in /run/dumbbell/* /run/dumbbell/.[!.]* /run/netns/*; do if [ -e "$each" ]; then echo "file $each"; fi; done"""
BY_BOOTING = ("sysctl net.ipv4.tcp_mem:", "sysctl net.ipv4.tcp_rmem:", "sysctl net.ipv4.tcp_wmem:", "device dummy0:", "device ifb")
"""Settings that a kernel draws, or computes from its free memory, when it boots."""
PIDFD_GETFD = 438  # asm-generic/unistd.h


def on_machines(hosts, work):
    """Runs a coroutine function with all machines."""

    async def main():
        machines = await connect(targets(hosts))
        try:
            return await work(machines)
        finally:
            await asyncio.gather(*(machine.close() for machine in machines.values()))

    return asyncio.run(main())


def on_machine(hosts, name, text):
    """Return the output of a shell of a machine."""

    async def main():
        (machine,) = (await connect({name: targets(hosts)[name]})).values()
        try:
            return (await machine.run(["sh", "-s"], text.encode(), 20)).out.decode()
        finally:
            await machine.close()

    return asyncio.run(main())


def facts(hosts):
    return on_machines(hosts, lambda machines: fleet.facts_of(hosts, machines))


def shown(hosts):
    """Return the visible processes and sessions on each machine."""

    async def work(machines):
        return await fleet.each(machines, lambda machine: machine.run(["sh", "-s"], SHOWN.encode(), 20))

    return {
        name: Counter(done.out.decode().splitlines()) - Counter(["file /run/dumbbell/lock"])
        for name, done in on_machines(hosts, work).items()
    }


def more_than(hosts, before):
    """Return what machines have in excess of `before`, once all that is ending has ended."""
    deadline = time.monotonic() + 10
    while True:
        more = {name: found - before[name] for name, found in shown(hosts).items()}
        if not any(more.values()) or time.monotonic() > deadline:
            return [f"{name}: {count} times {what} is left" for name, found in more.items() for what, count in found.items()]
        time.sleep(0.2)


def guest_of(name):
    """The process of a guest's kernel, the first of them."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"umid={name}" in (entry / "cmdline").read_bytes().decode(errors="replace").split("\0"):
                found.append(int(entry.name))
    return min(found)


def boot_again(hosts, name):
    """Kills a guest with all its processes, and starts it by the same words with the same wires."""
    process = guest_of(name)
    entry = Path(f"/proc/{process}")
    words = (entry / "cmdline").read_bytes().decode().split("\0")[:-1]
    environment = dict(line.split("=", 1) for line in (entry / "environ").read_bytes().decode().split("\0") if "=" in line)
    folder, priority = os.readlink(entry / "cwd"), os.sched_getparam(process)
    wires = [int(each[3:]) for word in words for each in word.split(",") if each.startswith("fd=")]
    handle, kept = os.pidfd_open(process), []
    for wire in wires:
        ours = ctypes.CDLL(None, use_errno=True).syscall(PIDFD_GETFD, handle, wire, 0)
        if ours < 0:
            raise OSError(ctypes.get_errno(), f"a wire of {name} cannot be kept")
        kept.append(os.dup(ours) if ours in wires else ours)
    group = os.getpgid(process)
    os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, ValueError):
        while True:
            os.kill(guest_of(name), signal.SIGKILL)
            time.sleep(0.01)

    def prepare():
        for ours, wire in zip(kept, wires, strict=True):
            os.dup2(ours, wire)
        if priority.sched_priority:
            os.sched_setscheduler(0, os.SCHED_FIFO, priority)

    with open(f"{folder}/{name}.console", "ab") as console:
        subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            close_fds=False,
            preexec_fn=prepare,
            start_new_session=True,
        )
    for each in (*kept, handle):
        os.close(each)
    retried(lambda: on_machine(hosts, name, "true"))


def retried(act):
    """Return the result of an action once the machines let it."""
    deadline = time.monotonic() + SETTLED_S
    while True:
        try:
            return act()
        except EnvironmentFault:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


class Controller:
    """A process that conducts a run."""

    def __init__(self, folder, seed):
        command = [sys.executable, "-c", CONTROLLER, str(folder), str(seed)]
        environment = {**os.environ, "TMPDIR": str(folder.parent)}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )
        self._reached = {phase: threading.Event() for phase in (*PHASES, "stored")}
        self.took_s = {}
        self.said = ""
        self._threads = [threading.Thread(target=self._listen), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    def _listen(self):
        began, phase = time.monotonic(), None
        for line in self.process.stdout:
            if phase:
                self.took_s[phase] = time.monotonic() - began
            began, phase = time.monotonic(), line.strip()
            self._reached[phase].set()
        for event in self._reached.values():
            event.set()

    def _read(self):
        self.said = self.process.stderr.read()

    @property
    def has_stored(self):
        """True if all is over, with a run in the store."""
        return "end" in self.took_s

    def reach(self, phase):
        self._reached[phase].wait()

    def wait(self):
        """The exit status, when all that it has said is read."""
        status = self.process.wait(2 * SETTLED_S)
        for thread in self._threads:
            thread.join()
        return status


def disturbed(hosts, kind, name, controller):
    """Do the kill of this kind."""
    if kind == "controller":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(controller.process.pid, signal.SIGKILL)
    elif kind == "guest":
        boot_again(hosts, name)
    else:
        on_machine(hosts, name, ON_MACHINE[kind])


def wrong_of(hosts, before, seen, controller, kind, name, store):
    """Return the errors, a line each, and the number of changes that were left to `recover`."""
    found = []
    status = controller.wait()
    if kind != "controller" and status and not controller.said.startswith("told: "):
        found.append(f"the controller ended with {status}: {controller.said.strip()[-300:]}")
    if "in use" in controller.said:
        found.append(f"an earlier run is in the way of this one: {controller.said.strip()[-300:]}")
    recovered = retried(lambda: fleet.recovered(hosts))
    after = facts(hosts)
    for each, then in before.items():
        now = after[each]
        if kind == "guest" and each == name:
            if now.kernel.boot_id == then.kernel.boot_id:
                found.append(f"{each} was not booted")
            then = replace(then, kernel=replace(then.kernel, boot_id=now.kernel.boot_id))
        different = differences(then, now)
        if kind == "guest" and each == name:
            different = [line for line in different if not line.startswith(BY_BOOTING)]
        found += [f"{each}: {line}" for line in different]
    found += more_than(hosts, seen)
    found += [f"half a run: {key}" for key in store.stored_keys() if not store.verify(key)]
    return found, sum(recovered.values())


def main():
    """A line for each kill, and how many left something; the exit status is 1 if any did."""
    parser = argparse.ArgumentParser(description="kills in the middle of runs over machines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    asked = parser.parse_args()
    if VARIABLE not in os.environ:
        parser.error(f"no machines; expected `dumbbell testbed lab -- python {parser.prog}`")
    hosts, draw, failed, tally = Hosts.from_file(Path(os.environ[VARIABLE])), random.Random(asked.seed), 0, Counter()
    print(f"--seed {asked.seed} --count {asked.count}")
    with tempfile.TemporaryDirectory(prefix="dumbbell-kills-") as place:
        folder = Path(place, "out")
        quiet = Controller(folder, 0)
        if quiet.wait():
            sys.exit(f"an undisturbed run fails: {quiet.said.strip()}")
        store, took_s, before, seen = Store(folder), quiet.took_s, facts(hosts), shown(hosts)
        for i in range(asked.count):
            kind, phase, name, part = draw.choice(asked.kinds), draw.choice(PHASES), draw.choice(sorted(before)), draw.random()
            controller = Controller(folder, i + 1)
            controller.reach(phase)
            time.sleep(part * took_s[phase])
            ended = controller.has_stored
            disturbed(hosts, kind, name, controller)
            wrong, left = wrong_of(hosts, before, seen, controller, kind, name, store)
            if kind == "guest":
                before = facts(hosts)
            what = kind if kind == "controller" else f"{kind} of {name}"
            said = (controller.said.strip().splitlines() or ["no word"])[0][:100]
            came = "too late" if ended else "the run is stored" if controller.has_stored else said
            print(f"{i:3} {what:22} {part:4.0%} of the {phase:6} {left:3} changes left: {came}", flush=True)
            for line in wrong:
                print(f"    WRONG {line}", flush=True)
            failed += bool(wrong)
            tally[kind, phase] += 1
        last = Controller(folder, asked.count + 1)
        if last.wait():
            sys.exit(f"an undisturbed run fails afterwards: {last.said.strip()}")
        if half := [name for name in os.listdir(folder) if name.startswith((".partial-", ".claim-"))]:
            sys.exit(f"left in the store: {', '.join(half)}")
        whole = len(store.stored_keys())
    print("; ".join(f"{kind}: {', '.join(f'{tally[kind, phase]} in {phase}' for phase in PHASES)}" for kind in asked.kinds))
    print(f"{asked.count} kills, {failed} of which left something; {whole} whole runs stored")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
