"""One end of a TCP connection, packet by packet: random peers play against the simulator's end, and then against the real kernel's."""

KINDS = ("send", "receive", "both")
"""The roles of an end."""
CONTROLS = ("reno", "cubic", "dctcp", "bbr")
"""Congestion controls that ends are compared with."""
