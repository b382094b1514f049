"""tcptrace's results for a capture compared with dumbbell's: the fields that both have, and where they may differ."""

import csv
import io
import ipaddress
import math
import subprocess
from collections import Counter

from dumbbell.trace.connections import format_endpoint

_COMMAND = ("tcptrace", "-l", "-r", "-n", "-W", "--csv")
_COUNTS = {
    "total_packets": "packets",
    "resets_sent": "resets",
    "ack_pkts_sent": "ack_packets",
    "pure_acks_sent": "pure_acks",
    "sack_pkts_sent": "sack_packets",
    "dsack_pkts_sent": "dsack_packets",
    "max_sack_blks/ack": "sack_blocks_max",
    "unique_bytes_sent": "unique_bytes",
    "actual_data_pkts": "data_packets",
    "actual_data_bytes": "bytes",
    "rexmt_data_pkts": "retransmitted_packets",
    "rexmt_data_bytes": "retransmitted_bytes",
    "zwnd_probe_pkts": "zero_window_probes",
    "zwnd_probe_bytes": "zero_window_probe_bytes",
    "outoforder_pkts": "out_of_order_packets",
    "pushed_data_pkts": "pushed_packets",
    "urgent_data_pkts": "urgent_packets",
    "max_segm_size": "segment_max_bytes",
    "min_segm_size": "segment_min_bytes",
    "max_win_adv": "window_max_bytes",
    "min_win_adv": "window_min_bytes",
    "zero_win_adv": "zero_windows",
    "avg_win_adv": "window_avg_bytes",
    "initial_window_bytes": "initial_window_bytes",
    "initial_window_pkts": "initial_window_packets",
    "ttl_stream_length": "stream_bytes",
    "missed_data": "missed_bytes",
    "truncated_data": "cut_bytes",
    "truncated_packets": "cut_packets",
    "RTT_samples": "rtt_samples",
    "post-loss_acks": "post_loss_acks",
    "ambiguous_acks": "ambiguous_acks",
    "segs_cum_acked": "cumulative_acks",
    "duplicate_acks": "duplicate_acks",
    "triple_dupacks": "triple_duplicate_acks",
    "max_#_retrans": "resent_times_max",
}
_TIMES_MS = {
    "idletime_max": "idle_max_ms",
    "RTT_min": "rtt_min_ms",
    "RTT_max": "rtt_max_ms",
    "RTT_avg": "rtt_avg_ms",
    "RTT_stdev": "rtt_stdev_ms",
    "RTT_from_3WHS": "rtt_syn_ms",
    "RTT_min_(last)": "rtt_last_min_ms",
    "RTT_max_(last)": "rtt_last_max_ms",
    "RTT_avg_(last)": "rtt_last_avg_ms",
    "RTT_sdv_(last)": "rtt_last_stdev_ms",
    "min_retr_time": "resent_gap_min_ms",
    "max_retr_time": "resent_gap_max_ms",
    "avg_retr_time": "resent_gap_avg_ms",
    "sdv_retr_time": "resent_gap_stdev_ms",
}
_FULL_MS = {
    "RTT_full_sz_min": "rtt_full_min_ms",
    "RTT_full_sz_max": "rtt_full_max_ms",
    "RTT_full_sz_avg": "rtt_full_avg_ms",
    "RTT_full_sz_stdev": "rtt_full_stdev_ms",
}
FIELDS = {*_COUNTS, *_TIMES_MS, *_FULL_MS, "RTT_full_sz_smpls"} | {
    "SYN/FIN_pkts_sent",
    "req_1323_ws/ts",
    "adv_wind_scale",
    "req_sack",
    "mss_requested",
    "avg_segm_size",
    "data_xmit_time",
    "throughput",
}
"""Every field that is compared."""


def run(capture):
    """Return tcptrace's output for a capture file."""
    return subprocess.run([*_COMMAND, capture], capture_output=True, text=True, check=True).stdout


def directions(output):
    """Yield for each connection in tcptrace's output, from a to b and from b to a: ends, and its fields by name."""
    lines = [line for line in output.splitlines() if line and not line.startswith("#")]
    for row in csv.DictReader(io.StringIO("\n".join(line.rstrip().rstrip(",") for line in lines))):
        row = {name.replace(" ", "_"): value.strip() for name, value in row.items()}
        ends = [format_endpoint((str(ipaddress.ip_address(row[f"host_{end}"])), int(row[f"port_{end}"]))) for end in "ab"]
        for way, (source, target) in (("a2b", ends), ("b2a", ends[::-1])):
            fields = {name.removesuffix(f"_{way}"): value for name, value in row.items() if name.endswith(f"_{way}")}
            yield source, target, fields


def ours(row, other):
    """Our facts of a direction under tcptrace's names, as numbers and words."""
    found = {theirs: row[name] for theirs, name in (_COUNTS | _TIMES_MS | _FULL_MS).items()}
    found["SYN/FIN_pkts_sent"] = f"{row['syns']}/{row['fins']}"
    found["req_1323_ws/ts"] = "/".join("Y" if each else "N" for each in (row["window_scale"] is not None, row["timestamps"]))
    # tcptrace takes an offer back if the other end makes none: at the first packet without SYN.
    only_syns = row["packets"] + other["packets"] == row["syns"] + other["syns"]
    scale = 0 if other["window_scale"] is None and not only_syns else row["window_scale"] or 0
    found |= {"adv_wind_scale": scale, "req_sack": "Y" if row["sack_permitted"] else "N", "mss_requested": row["mss"] or 0}
    found["avg_segm_size"] = math.floor(row["bytes"] / (row["data_packets"] + 0.001))
    found["RTT_full_sz_smpls"] = row["rtt_full_samples"]
    found["data_xmit_time"] = row["data_time_s"]
    found["throughput"] = None if row["average_mbit"] is None else Rate(row["average_mbit"] * 1e6 / 8, row["elapsed_s"])
    return found


class Rate(float):
    """Bytes per second over a time."""

    def __new__(cls, value, over_s):
        rate = super().__new__(cls, value)
        rate.over_s = over_s
        return rate


def _differs(name, theirs, mine):
    if theirs == "NA" or mine is None:
        # tcptrace prints 0 for numbers without samples.
        return not (theirs in ("NA", "0.0") and mine in (None, 0.0))
    if isinstance(mine, str):
        return theirs != mine
    if name == "data_xmit_time":
        return abs(float(theirs) - mine) > 0.00101
    if name == "throughput":
        # Printed to a byte, over the difference of two times that are cut to microseconds.
        return abs(float(theirs) - mine) > 0.501 + 1.01e-6 * mine / max(mine.over_s - 1e-6, 1e-9)
    if name in _TIMES_MS or name in _FULL_MS:
        # Printed to 0.1 ms, from times that are cut to microseconds; means are divided by the count plus 0.0001.
        return abs(float(theirs) - mine) > 0.0521 + 1.1e-4 * mine
    return int(theirs) != mine


def by_ends(rows):
    """Return source and target -> dumbbell's facts of each direction between them, under tcptrace's names."""
    known = {}
    for forward, reverse in zip(*[iter(rows)] * 2, strict=True):
        client, server = forward["client"], forward["server"]
        known.setdefault((client, server), []).append(ours(forward, reverse))
        known.setdefault((server, client), []).append(ours(reverse, forward))
    return known


def differences(output, known):
    """Yield `(source, target, field, tcptrace's, dumbbell's)` for each field that differs from `by_ends`. If tcptrace has another number of
    connections between two ends, only `connections` is compared."""
    found, theirs = [], list(directions(output))
    counts = Counter((source, target) for source, target, _ in theirs)
    for ends, mine in known.items():
        if counts[ends] != len(mine):
            found.append((*ends, "connections", counts[ends], len(mine)))
    split, left = {each[:2] for each in found}, {ends: iter(mine) for ends, mine in known.items()}
    for source, target, fields in theirs:
        if (source, target) in split:
            continue
        mine = next(left[source, target])
        found += [(source, target, name, fields[name], mine[name]) for name in sorted(FIELDS) if _differs(name, fields[name], mine[name])]
    return found
