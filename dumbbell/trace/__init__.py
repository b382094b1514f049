"""Packet captures of ours or of anybody: what TCP connections did, and their RTT from one capture point or from two.

Reading and pairing are done by crates/trace. Times are those of the capture, in s since its epoch (of our runs: the start of the run).
"""

from __future__ import annotations

from dumbbell.trace.connections import Analysis, analyze
from dumbbell.trace.passive import flow_rtt, packet_pairs, with_passive_rtt

__all__ = ["Analysis", "analyze", "flow_rtt", "packet_pairs", "with_passive_rtt"]
