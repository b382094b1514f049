"""Packet captures, of a run or of any other source: the behaviour of TCP connections, and their RTT from one or two capture points.

crates/trace reads the files and pairs the packets. Times are in s since the epoch of the capture; for a run that is its start.
"""

from __future__ import annotations

from dumbbell.trace.at_sender import with_analysis
from dumbbell.trace.connections import Analysis, analyze
from dumbbell.trace.facts import FACTS, Fact
from dumbbell.trace.packets import each_packet, packets, throughput
from dumbbell.trace.passive import PacketPairs, flow_rtt, packet_pairs, pairs_between, with_passive_rtt, without_unasked
from dumbbell.trace.reasons import reasons
from dumbbell.trace.tally import Tally

__all__ = [
    "FACTS",
    "Analysis",
    "Fact",
    "PacketPairs",
    "Tally",
    "analyze",
    "each_packet",
    "flow_rtt",
    "packet_pairs",
    "packets",
    "pairs_between",
    "reasons",
    "throughput",
    "with_analysis",
    "with_passive_rtt",
    "without_unasked",
]
