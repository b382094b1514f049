"""A plan for Linux: tc and ip lines, and the script of the agent that carries them out.

Pure functions of a plan. Nothing here knows a guest, a machine or a scenario. Any Linux with the agent on it, a kernel in virtual time or a
real host, takes the files of a `Script`.
"""

from dumbbell.engines.linux.captures import point_conflicts
from dumbbell.engines.linux.controls import CONTROLS, conflicts
from dumbbell.engines.linux.devices import Devices, peer
from dumbbell.engines.linux.filters import ping_conflicts
from dumbbell.engines.linux.hosts import STACK_OPTIONS, host_conflicts
from dumbbell.engines.linux.qdiscs import DISCIPLINES, overflow, tins
from dumbbell.engines.linux.script import SCRIPT, Script, compile_plan
from dumbbell.engines.linux.sources.arrivals import ARRIVAL_BYTES, arrivals, coming, group_rows
from dumbbell.engines.linux.traffic import FEATURES, came_file

__all__ = [
    "ARRIVAL_BYTES",
    "CONTROLS",
    "DISCIPLINES",
    "FEATURES",
    "SCRIPT",
    "STACK_OPTIONS",
    "Devices",
    "Script",
    "arrivals",
    "came_file",
    "coming",
    "compile_plan",
    "conflicts",
    "group_rows",
    "host_conflicts",
    "overflow",
    "peer",
    "ping_conflicts",
    "point_conflicts",
    "tins",
]
