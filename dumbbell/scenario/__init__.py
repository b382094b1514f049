"""What a user writes: scenarios, their units, sweeps and files."""

from dumbbell.scenario.check import bottlenecks, flow_names
from dumbbell.scenario.model import (
    Access,
    Bottleneck,
    Delay,
    DelayStage,
    Flow,
    Host,
    Impairment,
    Outage,
    Path,
    QueueStage,
    RateStep,
    Stack,
    Stage,
    Start,
    Udp,
)
from dumbbell.scenario.problems import Problem, ScenarioError, nearest, one_of
from dumbbell.scenario.qdiscs import Bfifo, Cake, Codel, Fq, FqCodel, FqPie, Pfifo, Pie, Qdisc, Red, Sfq, Tc
from dumbbell.scenario.scenario import ResolvedScenario, Scenario
from dumbbell.scenario.stages import Stages, stages
from dumbbell.scenario.sweep import Sample, Sweep
from dumbbell.scenario.units import Duration, Limit, Packets, Rate, Size

__all__ = [
    "Access",
    "Bfifo",
    "Bottleneck",
    "Cake",
    "Codel",
    "Delay",
    "DelayStage",
    "Duration",
    "Flow",
    "Fq",
    "FqCodel",
    "FqPie",
    "Host",
    "Impairment",
    "Limit",
    "Outage",
    "Packets",
    "Path",
    "Pfifo",
    "Pie",
    "Problem",
    "Qdisc",
    "QueueStage",
    "Rate",
    "RateStep",
    "Red",
    "ResolvedScenario",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Sfq",
    "Size",
    "Stack",
    "Stage",
    "Stages",
    "Start",
    "Sweep",
    "Tc",
    "Udp",
    "bottlenecks",
    "flow_names",
    "nearest",
    "one_of",
    "stages",
]
