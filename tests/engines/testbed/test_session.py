"""Messages of the controller to agents, and their times: with shell scripts in place of agents, and with the agent itself."""

import asyncio
import subprocess
import time

import pytest
from engines.testbed.agents import in_time, started, tell
from required import missing
from waiting import HANG_S

from dumbbell.engines.linux import programs
from dumbbell.engines.testbed.session import Agent, Times, conduct
from dumbbell.engines.testbed.transport.local import LocalMachine
from dumbbell.errors import EnvironmentFault

TIMES = Times(duration_s=0.1, drain_s=0.5, lead_s=0.05)
READY = "echo prompt; echo armed; read what epoch; echo $epoch >&2; "
GOOD = READY + "sleep 0.15; echo ended; echo empty; while read word; do test $word = finish && { echo done; exit 0; }; done; exit 9"


def conducted(*scripts, times=TIMES):
    """Return the agents' word on the epoch, and the agents."""

    async def run():
        machines = [LocalMachine(f"machine-{i}") for i in range(len(scripts))]
        processes = [await machine.start(["sh", "-c", script]) for machine, script in zip(machines, scripts, strict=True)]
        agents = [
            Agent(machine.name, process, True, i * 10**9) for i, (machine, process) in enumerate(zip(machines, processes, strict=True))
        ]
        try:
            await conduct(agents, times)
        finally:
            said = [(await process.wait(HANG_S)).err for process in processes]
        return list(map(int, said)), agents

    return asyncio.run(run())


def test_all_start_at_the_same_time_by_their_own_clocks():
    before_ns = time.time_ns()
    (first, second), agents = conducted(GOOD, GOOD)
    assert second - first == 10**9
    assert before_ns < first - 0.05e9 < time.time_ns()
    assert [agent.prompt for agent in agents] == [True, True]


def test_who_never_empties_its_queues_does_not_stop_the_end():
    conducted(GOOD.replace("echo empty; ", ""), times=Times(0.1, 0.2, 0.05))


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("exit 1", "machine-1: the agent ended before it was armed"),
        (READY + "exit 1", "machine-1: the agent ended before it was ended"),
        (GOOD.replace("echo done; ", ""), "machine-1: the agent ended before it was done"),
    ],
)
def test_who_fails_is_named(script, told):
    with pytest.raises(EnvironmentFault, match=f"^{told}: "):
        conducted(GOOD, script)


@pytest.fixture(scope="module")
def agent():
    try:
        return str(programs.agent().path)
    except EnvironmentFault as fault:
        missing("compiler", fault)


def test_the_agent_tells_the_time(agent):
    before_ns = time.time_ns()
    done = subprocess.run([agent, "clock"], input="\n\n", capture_output=True, text=True, check=True)
    first, second = map(int, done.stdout.split())
    assert before_ns <= first <= second <= time.time_ns()


def test_the_agent_measures_timers(agent):
    done = subprocess.run([agent, "lateness", "200"], capture_output=True, text=True, check=True)
    median_us, p99_us, worst_us = map(int, done.stdout.split())
    assert 0 <= median_us <= p99_us <= worst_us


@pytest.mark.parametrize("arguments", [[], ["run"], ["lateness", "0"], ["jump"]])
def test_the_agent_says_what_it_can(agent, arguments):
    done = subprocess.run([agent, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "expected: agent run FOLDER | local FOLDER | clock | lateness MS\n")


def test_an_agent_whose_controller_is_gone_ends(agent, tmp_path):
    (tmp_path / "script").write_text("sample 0\nduration 3600000000000\ntraffic\n")

    def abandoned(lead_s):
        with started(agent, "run", tmp_path, lead_s) as process:
            process.stdin.close()
            return process.wait(HANG_S)

    assert in_time(abandoned, tmp_path) == 1
    assert (tmp_path / "error").read_text() == "the controller is gone"


def test_the_agent_looks_again_and_again_whether_its_queues_are_empty(agent, tmp_path):
    """A port without a queue is empty, but five times in a row before it is said, and once more when it is asked for."""
    (tmp_path / "script").write_text("port init lo 0\nsample 0\nduration 10000000\ntraffic\n")

    def asked(lead_s):
        with started(agent, "run", tmp_path, lead_s) as process:
            heard = [process.stdout.readline() for _ in range(2)]
            for word in ("look", "finish") if all(heard) else ():
                tell(process, word)
                heard.append(process.stdout.readline())
        return heard

    assert in_time(asked, tmp_path) == ["ended\n", "empty\n", "empty\n", "done\n"]


def test_a_time_0_that_is_over_is_an_error(agent, tmp_path):
    (tmp_path / "script").write_text("sample 0\nduration 1000000000\ntraffic\n")
    done = subprocess.run([agent, "run", str(tmp_path)], input="epoch 1700000000000000000\n", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (tmp_path / "error").read_text().startswith("time 0 was over by ")
