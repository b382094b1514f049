"""The commands as `dumbbell --help` shows them: groups, a line about each, and an example. Imports no command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class About(NamedTuple):
    """A line about a command and an example."""

    summary: str
    example: str
    module: str = ""
    """Name of the module, if it is not the command's."""


GROUPS: Mapping[str, Mapping[str, About]] = {
    "Run": {
        "run": About("Run a scenario and print what differs.", "dumbbell run home --down 50mbit --up 10mbit"),
        "new": About("Print a ready-made test or an example to edit.", "dumbbell new rrul > mine.yaml"),
        "flent": About("Run Flent itself in virtual time.", "dumbbell flent rrul --set path.rtt=80ms"),
        "plan": About("Sketch a scenario and estimate what it costs.", "dumbbell plan mine.yaml --set path.rtt=80ms"),
        "reproduce": About("Run a published study and compare its numbers.", "dumbbell reproduce teacup --quick"),
        "cluster": About("Show the workers of a cluster.", "dumbbell cluster local:4"),
        "calibrate": About("Fit background traffic to a load and variability.", "dumbbell calibrate mine.yaml --load 70mbit --cov 0.05"),
    },
    "Look": {
        "table": About("Show results as tables, for people or programs.", "dumbbell table results/home --statistic mean --datagrams"),
        "advise": About("Print the tc lines of the best queue.", "dumbbell advise results/home --device ppp0"),
        "plot": About("Draw figures of results.", "dumbbell plot results/home --y goodput --by qdisc"),
        "explain": About("Explain what happened in a run.", "dumbbell explain results/home --at 12.3s"),
        "view": About("Explore results or captures in the browser.", "dumbbell view results/home"),
        "list": About("List congestion controls, queues, stacks and more.", "dumbbell list qdisc"),
    },
    "Compare": {
        "compare": About("Compare runs with published numbers or each other.", "dumbbell compare results/a results/b"),
        "agree": About("Compare two engines over a set of scenarios.", "dumbbell agree smoke"),
        "regress": About("Tell whether a kernel differs from another.", "dumbbell regress tcp --baseline 7.3 --tree ~/linux"),
        "conform": About("Run the test cases of a specification.", "dumbbell conform bbr3"),
        "packetdrill": About("Run scripts of packetdrill against a kernel.", "dumbbell packetdrill tests/*.pkt --engine kernel:7.3"),
        "claims": About("Check the claims of a study on runs.", "dumbbell claims sce results/sce"),
    },
    "Captures": {
        "analyze": About("Show what held back the connections of a capture.", "dumbbell analyze capture.pcap"),
        "export": About("Write runs as files of other tools.", "dumbbell export results/home --format flent --out home"),
        "import": About("Read measurements of other tools as runs.", "dumbbell import rrul.flent.gz --out results/mine", "import_runs"),
    },
    "Maintain": {
        "check": About("Check stored runs against their checksums.", "dumbbell check results/home"),
        "pack": About("Put thousands of runs into a few files.", "dumbbell pack results/home"),
        "schema": About("Print the JSON Schema of scenario files.", "dumbbell schema > scenario.schema.json"),
        "doctor": About("Check this machine and its engines.", "dumbbell doctor"),
        "bench": About("Measure the simulator's speed on this machine.", "dumbbell bench"),
        "completion": About("Print the completion script of a shell.", "source <(dumbbell completion bash)"),
        "kernel": About("Build the kernels that the engine kernel boots.", "dumbbell kernel build"),
        "testbed": About("Check hosts, or start a laboratory without them.", "dumbbell testbed check --hosts hosts.yaml"),
    },
}
"""Group -> command -> a line about it. The modules of a group lie in the folder of its name."""
COMMANDS: Mapping[str, About] = {name: about for commands in GROUPS.values() for name, about in commands.items()}
"""All commands, in the order of the help."""
