"""Field by field what tcptrace says of many captures, beside what we say: `python tests/compare_tcptrace.py [--seed N] [--count N] [--engine kernel]`.

Scenarios are drawn as for `dumbbell agree random`; each gives the captures of both hosts and of the bottleneck, the first of them mutated as
in tests/record_tcptrace.py as well. Every difference must be one of the faults of tcptrace that docs/analyze.md lists; exit status 1 if one is not.
"""

import argparse
import struct
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import tcptrace
from record_tcptrace import mutated, packets, pcap

from dumbbell.agreement.sets import find_set
from dumbbell.agreement.shared import Shared
from dumbbell.engines import engine
from dumbbell.scenario import Scenario
from dumbbell.trace import analyze

_PROTOCOL, _TCP = 23, 6
_CUT_AT = 2**30
"""tcptrace divides sequence numbers there, into four."""


def captures(settings, engine_name):
    """Name -> records of each capture of a scenario and of its mutations; of those that have TCP."""
    settings = {**settings, "sample": "0s", "capture": ["hosts", "bottleneck"], "engine": engine_name}
    resolved = Scenario.model_validate(settings).expand()[0]
    found = {name: list(packets(content)) for name, content in engine(engine_name).run(resolved).captures.items()}
    found |= dict(mutated(found["left.pcap"]))
    return {name: records for name, records in found.items() if any(content[_PROTOCOL] == _TCP for *_, content in records)}


def crosses(records):
    """Whether the sequence numbers of one direction lie on both sides of where tcptrace divides them."""
    ranges = {}
    for *_, content in records:
        if content[_PROTOCOL] == _TCP:
            number = struct.unpack_from(">I", content, 38)[0]
            least, most = ranges.get(content[26:38], (number, number))
            ranges[content[26:38]] = (min(least, number), max(most, number))
    return any(least // _CUT_AT != most // _CUT_AT for least, most in ranges.values())


def fault(name, records, field, theirs, ours):
    """The fault of tcptrace that explains a difference; None if none does."""
    if field.startswith("RTT_full_sz"):
        return "full-size segments"
    if field == "truncated_data" and name == "cut":
        return "options taken for payload"
    if field == "dsack_pkts_sent" and name == "wrapping":
        return "SACK blocks across the wrap"
    if field in ("RTT_min", "RTT_min_(last)", "min_retr_time") and ours is not None and ours < 0.05 < float(theirs):
        return "a minimum of 0 taken for none"
    if field in ("segs_cum_acked", "ambiguous_acks", "RTT_samples", "post-loss_acks") or "(last)" in field or "_retr_" in field or "RTT_" in field:
        return "segments across a multiple of 2^30" if crosses(records) else None
    return None


def compared(settings, engine_name):
    """Of each capture of a scenario the faults that were seen, and the differences that are none of them."""
    rows = []
    for name, records in captures(settings, engine_name).items():
        with tempfile.NamedTemporaryFile(suffix=".pcap") as file:
            file.write(pcap(records))
            file.flush()
            ours = list(analyze(file.name).rows())
            found = tcptrace.differences(tcptrace.run(file.name), ours)
        faults = [(fault(name, records, field, theirs, mine), (source, field, theirs, mine)) for source, _, field, theirs, mine in found]
        rows.append((f"{settings['name']} {name}", len(records), len(ours), faults))
    return rows


def main():
    """Prints what was compared."""
    parser = argparse.ArgumentParser(description="dumbbell analyze beside tcptrace")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24, help="scenarios; each has nine captures")
    parser.add_argument("--engine", default="sim")
    asked = parser.parse_args()
    drawn = find_set("random", Shared.of(*(engine(name).capabilities() for name in ("sim", "kernel"))), asked.seed, asked.count).scenarios
    settings = [scenario.model_dump(mode="json", by_alias=True, exclude_unset=True) for scenario in drawn]
    with ThreadPoolExecutor(2) as pool:
        rows = [row for each in pool.map(lambda each: compared(each, asked.engine), settings) for row in each]
    known, others = Counter(), []
    for name, _, _, differences in rows:
        known.update({cause for cause, _ in differences if cause})
        others += [(name, *what) for cause, what in differences if not cause]
    print(f"{len(rows)} captures, {sum(row[1] for row in rows)} packets, {sum(row[2] for row in rows)} directions, {len(tcptrace.FIELDS)} fields of each")
    for cause, count in known.most_common():
        print(f"  {count:4} captures with tcptrace's fault: {cause}")
    for other in others:
        print("  differs:", *other)
    print(f"{len(others)} differences that no fault of tcptrace explains")
    return bool(others)


if __name__ == "__main__":
    sys.exit(main())
