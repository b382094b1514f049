"""The guest's kernel works for the agent: the same as the agent does by itself, to the byte and the nanosecond."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest
from waiting import HANG_S

from dumbbell.engines.kernel import guest
from dumbbell.engines.linux import programs
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario

AGENT = Path(programs.__file__).parent / "agent"
PATH = {"rtt": "20ms", "bottleneck": {"rate": "10mbit", "qdisc": {"kind": "fq_codel"}}}
TRAFFIC = {
    "bulk": {"flows": [{"cc": "cubic"}, {"cc": "reno", "bytes": "300kB"}, {"cc": "bbr", "direction": "reverse", "duration": "1s"}]},
    "slow-reader": {"flows": [{"cc": "cubic", "bytes": "400kB", "host": {"reads": "2mbit"}}]},
    "transfers": {
        "flows": [],
        "background": [{"kind": "transfers", "cc": "cubic", "size": "30kB", "arrivals": {"kind": "poisson", "load": 0.5}}],
    },
    "datagrams": {"flows": [{"cc": "cubic"}], "background": [{"kind": "udp", "rate": "1mbit"}]},
    "exchange": {"flows": [], "background": [{"kind": "exchange", "cc": "cubic", "request": "2kB", "response": "200kB", "think": "1ms"}]},
    "onoff": {"flows": [], "background": [{"kind": "onoff", "cc": "cubic", "rate": "4mbit", "on": "100ms", "off": "50ms"}]},
    "page": {"flows": [{"cc": "cubic"}], "background": [{"kind": "page", "cc": "cubic", "objects": 12, "size": "40kB"}]},
    "streaming": {
        "flows": [{"cc": "cubic"}],
        "background": [{"kind": "streaming", "cc": "cubic", "bitrate": "2mbit", "chunk": "1s", "buffer": "4s", "start_at": "1s"}],
    },
}


@pytest.fixture(scope="module")
def alone(real, tmp_path_factory):
    """The real kernel with an agent that asks it for nothing."""
    folder = tmp_path_factory.mktemp("agent")
    sources = shutil.copytree(AGENT, folder / "sources")
    loop = sources / "loop.c"
    loop.write_text(loop.read_text().replace("static int kernel_refuses;", "static int kernel_refuses = 1;"))
    assert "kernel_refuses = 1" in loop.read_text()
    subprocess.run(["gcc", "-O2", "-static", "-o", folder / "agent", *sources.rglob("*.c")], check=True)
    return dataclasses.replace(real, agent=folder / "agent")


def left(binary, prepared, folder):
    """Return the files of a run, by name."""
    folder.mkdir()
    prepared.compiled.write(folder)
    guest.boot(binary, folder, seed=prepared.plan.seed, timeout_s=HANG_S)
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "log"}


@pytest.mark.parametrize("name", TRAFFIC)
def test_the_kernel_does_what_the_agent_would_do(name, real, alone, tmp_path):
    settings = {"name": name, "path": PATH, "duration": "3s", "engine": "kernel"} | TRAFFIC[name]
    (prepared,) = prepare(Scenario.model_validate(settings).expand(), keyed=False)
    by_kernel, by_agent = left(real, prepared, tmp_path / "kernel"), left(alone, prepared, tmp_path / "agent")
    assert any(file.startswith(("flow-", "came-", "counters")) for file in by_kernel)
    assert by_kernel == by_agent
