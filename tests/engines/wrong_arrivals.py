"""Connections that come and go and that cannot be drawn or listed: place, value there, field with the error, and reason."""

NAMED = {"kind": "link", "id": "own", "name": "own", "direction": "forward"}
OWN_RTT = {**NAMED, "delay_ns": 0, "rate_bps": 9, "limit_packets": None, "own_rtt": "whole"}
"""A delay of connections' own with a line."""
UNIFORM, PARETO = {"kind": "uniform", "low": 2, "high": 1}, {"kind": "pareto", "shape": 1.0, "least": 1, "most": 2}
LISTED = {"kind": "listed", "at_ns": [0, 1], "sizes_bytes": None, "classes": None}
OF_ARRIVALS = [
    ("size_bytes", UNIFORM, "size_bytes.high", "1 is out of range"),
    ("size_bytes", {"kind": "lognormal", "median": 1, "sigma": -1.0}, "size_bytes.sigma", "-1"),
    ("size_bytes", {**PARETO, "shape": 0.0}, "size_bytes.shape", "0"),
    ("size_bytes", {**PARETO, "least": 0}, "size_bytes.least", "0 is out of range"),
    ("size_bytes", {**PARETO, "most": 0}, "size_bytes.most", "0 is out of range"),
    ("size_bytes", {"kind": "mixture", "parts": [{"share": 0.5, "of": 1}]}, "size_bytes.parts", "shares of 0.5 together"),
    ("size_bytes", {"kind": "mixture", "parts": [{"share": 1.0, "of": UNIFORM}]}, "size_bytes.parts.0.of.high", "1 is out of range"),
    ("size_bytes", {"kind": "empirical", "points": [[1, 0.5]]}, "size_bytes.points", "no number with a share of 1"),
    ("arrivals", {"kind": "regular", "interval_ns": 0}, "arrivals.interval_ns", "0 ns"),
    ("arrivals", {**LISTED, "at_ns": [1, 0]}, "arrivals.at_ns", "times that go back"),
    ("arrivals", {**LISTED, "sizes_bytes": [1]}, "arrivals.sizes_bytes", "another number"),
    ("arrivals", {**LISTED, "classes": [0, 1]}, "arrivals.classes", "a class without a path"),
    ("tcp.transfer_bytes", 1000, "tcp.transfer_bytes", "1000 bytes"),
    ("source_ports", [9, 80], "source_ports", "9 is out of range"),
    ("tcp.host.reads_bps", 1000, "tcp.host.reads_bps", "1000 bit/s"),
    ("paths", [0, 9], "paths.1.path", "path 9 of 1"),
    ("paths", [0] * 65, "paths", "65 paths"),
]
