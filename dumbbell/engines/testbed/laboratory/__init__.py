"""A laboratory without hardware: left hosts, a router and right hosts, each a guest in real time with an ssh server.

A guest is User-Mode Linux with the kernel that the engine `kernel` boots. Data links are socket pairs, or a bridge where a side has several
hosts, as a switch would be. Control connections go over a bridge of their own. Bridges, guests and all programs run with them are in
private namespaces and a temporary folder. Nothing stays of these, however the laboratory ends.
"""

from dumbbell.engines.testbed.laboratory.boot import Laboratory, booted, probe
from dumbbell.engines.testbed.laboratory.wiring import MOST_HOSTS

__all__ = ["MOST_HOSTS", "Laboratory", "booted", "probe"]
