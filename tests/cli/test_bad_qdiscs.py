"""What is wrong with a queue discipline is told with file, line, key and what was expected."""

import pytest
from bad_scenarios import assert_told

PFIFO = "    qdisc: {kind: pfifo, limit: 180p}\n"
CAKE = "    qdisc: {kind: cake}\n"

CASES = {
    # units
    "limit without a unit": ("180p", "180", 8, "path.bottleneck.qdisc.limit", "180 has no unit", "180p, 64KiB or 0.5bdp"),
    # impossible values
    "a queue of nothing": ("180p", "0p", 8, "path.bottleneck.qdisc.limit", "leaves no room for a packet", "above 0"),
    "half a packet": ("180p", "0.5p", 8, "path.bottleneck.qdisc.limit", "not a whole number", "a limit"),
    "an endless limit": ("180p", "1e18bdp", 8, "path.bottleneck.qdisc.limit", "out of range", "a limit"),
    "a target beyond CoDel's clock": (
        PFIFO,
        "    qdisc: {kind: codel, target: 300s}\n",
        8,
        "path.bottleneck.qdisc.target",
        "300s is too long",
        "at most 200s",
    ),
    # impairments, and what engines lack
    "a qdisc that only the other engine has": (
        "kind: pfifo, limit: 180p",
        "kind: tc, command: hhf",
        8,
        "path.bottleneck.qdisc.kind",
        "the engine sim has no qdisc 'tc'",
        "engine: kernel",
    ),
    "RED upside down": (
        "kind: pfifo, limit: 180p",
        "kind: red, limit: 120kB, min: 30kB, max: 20kB",
        8,
        "path.bottleneck.qdisc.max",
        "not above min",
        "more than 30kB",
    ),
    "a burst that RED never sees": (
        "kind: pfifo, limit: 180p",
        "kind: red, limit: 120kB, min: 30kB, max: 90kB, burst: 20p",
        8,
        "path.bottleneck.qdisc.burst",
        "do not reach min",
        "at least 30p",
    ),
    "packets larger than RED's threshold": (
        "kind: pfifo, limit: 180p",
        "kind: red, limit: 120kB, min: 3kB, max: 90kB, avpkt: 4kB",
        8,
        "path.bottleneck.qdisc.avpkt",
        "more than min",
        "at most 3kB",
    ),
    "a burst that no average can wait for": (
        "kind: pfifo, limit: 180p",
        "kind: red, limit: 120kB, min: 30kB, max: 90kB, burst: 5000000000p",
        8,
        "path.bottleneck.qdisc.burst",
        "5000000000 packets",
        "a shorter burst",
    ),
    "thresholds that RED's arithmetic cannot hold": (
        "kind: pfifo, limit: 180p",
        "kind: red, limit: 120MB, min: 30kB, max: 900MB, burst: 56p",
        8,
        "path.bottleneck.qdisc.max",
        "900000000 bytes with a burst of 56 packets",
        "at most 33554431",
    ),
    "an sfq without depth": (
        "kind: pfifo, limit: 180p",
        "kind: sfq, depth: 0p",
        8,
        "path.bottleneck.qdisc.depth",
        "0 packets",
        "at least 1",
    ),
    "a first turn beyond all turns": (
        "kind: pfifo, limit: 180p",
        "kind: fq, initial_quantum: 3MB",
        8,
        "path.bottleneck.qdisc.initial_quantum",
        "3000000 bytes",
        "at most 1048576",
    ),
    "buckets that no mask finds": (
        "kind: pfifo, limit: 180p",
        "kind: sfq, divisor: 100",
        8,
        "path.bottleneck.qdisc.divisor",
        "no power of two",
        "128 or 1024",
    ),
    "a hash that changes in the middle of a second": (
        "kind: pfifo, limit: 180p",
        "kind: sfq, perturb: 1500ms",
        8,
        "path.bottleneck.qdisc.perturb",
        "no whole number of seconds",
        "10s",
    ),
    "an sfq of one packet": (
        "kind: pfifo, limit: 180p",
        "kind: sfq, limit: 1p",
        8,
        "path.bottleneck.qdisc.limit",
        "too little for sfq",
        "2p",
    ),
    "a variant with what it does not have": (
        "kind: pfifo, limit: 180p",
        'kind: pie, variant: "2013", ecn: true',
        8,
        "path.bottleneck.qdisc",
        "the variant 2013 has no ecn",
        "left out",
    ),
    "a part of a millisecond where whole ones count": (
        "kind: pfifo, limit: 180p",
        'kind: pie, variant: "2013", target: 500us',
        8,
        "path.bottleneck.qdisc",
        "the variant 2013 counts target in milliseconds, not 500us",
        "whole ones",
    ),
    "an old kernel's limit of memory": (
        "kind: pfifo, limit: 180p",
        "kind: fq_codel, variant: linux-3.10, memory_limit: 1MiB",
        8,
        "path.bottleneck.qdisc",
        "the variant linux-3.10 has no memory_limit",
        "left out",
    ),
    "an unknown variant": (
        "kind: pfifo, limit: 180p",
        "kind: codel, variant: linux-3.1",
        8,
        "path.bottleneck.qdisc.variant",
        "(did you mean 'linux-3.10'?)",
        "linux-6.12",
    ),
    # unknown names
    "an unknown key of a qdisc": ("limit: 180p", "limt: 180p", 8, "path.bottleneck.qdisc.limt", "(did you mean 'limit'?)", "kind, limit"),
    "an unknown qdisc": ("kind: pfifo", "kind: pfifofast", 8, "path.bottleneck.qdisc", "(did you mean 'pfifo'?)", "pfifo, bfifo, cake"),
    "no kind of qdisc": ("kind: pfifo, ", "", 8, "path.bottleneck.qdisc", "has no kind", "keys and values"),
    # wrong shapes
    "a name for a qdisc": ("qdisc: {kind: pfifo, limit: 180p}", "qdisc: pfifo", 8, "path.bottleneck.qdisc", "'pfifo'", "{kind: pfifo}"),
    # missing
    "no limit": (", limit: 180p", "", 8, "path.bottleneck.qdisc.limit", "is missing", "a limit such as"),
    # contradictions
    "pfifo in bytes": ("180p", "64KiB", 8, "path.bottleneck.qdisc.limit", "is in bytes, pfifo counts packets", "180p or 1bdp"),
    "bfifo in packets": ("kind: pfifo", "kind: bfifo", 8, "path.bottleneck.qdisc.limit", "in packets, bfifo counts bytes", "64KiB or 1bdp"),
    "bfifo without room": ("kind: pfifo, limit: 180p", "kind: bfifo, limit: 1kB", 8, "path.bottleneck.qdisc.limit", "no room", "1514B"),
    "cake that shapes behind another shaper": (
        PFIFO,
        CAKE.replace("}", ", rate: 5mbit}"),
        8,
        "path.bottleneck.qdisc.rate",
        "5mbit makes cake shape behind the shaper tbf",
        "no rate of cake's own, or the shaper cake",
    ),
    "cake of less than a byte per second": (
        "rate: 10mbit\n    shaper: tbf\n" + PFIFO,
        "rate: 7bit\n" + CAKE,
        7,
        "path.bottleneck.qdisc",
        "7bit is too slow for cake",
        "at least 8bit",
    ),
    "cake's RTT of weeks": (PFIFO, CAKE.replace("}", ", rtt: 1000h}"), 8, "path.bottleneck.qdisc.rtt", "is too long", "at most 1000s"),
    "cake's memory for nothing": (
        PFIFO,
        CAKE.replace("}", ", memlimit: 1514B}"),
        8,
        "path.bottleneck.qdisc.memlimit",
        "1514B holds no packet",
        "2304B",
    ),
    "two rates": (
        "    shaper: tbf\n" + PFIFO,
        "    qdisc: {kind: cake, rate: 5mbit}\n",
        7,
        "path.bottleneck.qdisc.rate",
        "differs from the bottleneck's 10mbit",
        "one rate",
    ),
    "an SCE ramp of 0": (
        PFIFO,
        CAKE.replace("}", ", sce: 0}"),
        8,
        "path.bottleneck.qdisc.sce",
        "0 is not an SCE ramp",
        "true, false, single",
    ),
    "an unknown isolation": (
        PFIFO,
        CAKE.replace("}", ", isolation: flow}"),
        8,
        "path.bottleneck.qdisc.isolation",
        "(did you mean 'flows'?)",
        "one of",
    ),
}
"""By name: what is replaced in the good scenario, by what; line, key, what is wrong and what is expected, as told."""


@pytest.mark.parametrize("case", CASES)
def test_is_told_in_one_line(case, dumbbell, tmp_path):
    assert_told(CASES[case], dumbbell, tmp_path)
