"""Links that cannot be. For their faults: place in the plan and value, then the entry, its field, what is wrong, what was expected."""

CARD = {"kind": "link", "id": "card", "name": "card", "direction": "reverse", "delay_ns": 10**7, "rate_bps": None, "limit_packets": 9}
CARD["coalesce_ns"] = 1000
_JITTER = {"deviation_ns": 1, "correlation": 0, "keep_order": False, "shape": "uniform"}
OF_FAULTS = [
    (
        "ports.0.faults",
        {"reorder": {"share": 1, "correlation": 0, "gap": 0}},
        "port 0",
        "faults.reorder.gap",
        "0 is out of range",
        "at least 1",
    ),
    ("ports.0.faults", {"loss": {"kind": "bit-errors", "rate": 2.0}}, "port 0", "faults.loss.rate", "2 is out of range", "at most 1"),
    (
        "ports.0.faults",
        {"jitter": {**_JITTER, "deviation_ns": 0}},
        "port 0",
        "faults.jitter.deviation_ns",
        "0s is out of range",
        "at least 1ns",
    ),
    ("ports.0.faults", {"jitter": {**_JITTER, "shape": {"table": []}}}, "port 0", "faults.jitter.shape", "0 entries", "1 to 16384"),
]
