"""What a user writes: scenarios, their units, sweeps and files."""

from dumbbell.scenario.check import bottlenecks, flow_names
from dumbbell.scenario.model import (
    Access,
    Bfifo,
    Bottleneck,
    Cake,
    Delay,
    DelayStage,
    Flow,
    Host,
    Path,
    Pfifo,
    Qdisc,
    QueueStage,
    Stack,
    Stage,
    Start,
)
from dumbbell.scenario.problems import Problem, ScenarioError, nearest, one_of
from dumbbell.scenario.scenario import ResolvedScenario, Scenario
from dumbbell.scenario.stages import Stages, stages
from dumbbell.scenario.sweep import Sample, Sweep
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size

__all__ = [
    "Access",
    "Bfifo",
    "Bottleneck",
    "Cake",
    "Delay",
    "DelayStage",
    "Duration",
    "Flow",
    "Host",
    "Limit",
    "Packets",
    "Path",
    "Pfifo",
    "Problem",
    "Qdisc",
    "QueueStage",
    "Rate",
    "ResolvedScenario",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Size",
    "Stack",
    "Stage",
    "Stages",
    "Start",
    "Sweep",
    "bottlenecks",
    "flow_names",
    "nearest",
    "one_of",
    "stages",
]
