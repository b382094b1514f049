"""Every bad scenario is told in one line with file, line, key and what was expected, and ends with status 2."""

import pytest

GOOD = """\
name: good
path:
  rtt: 20ms
  delay: {where: before}
  bottleneck:
    rate: 10mbit
    shaper: tbf
    qdisc: {kind: pfifo, limit: 180p}
flows:
  - {cc: cubic, start: {first: 0s}}
duration: 2s
sample: 100ms
"""

CAKE = "    qdisc: {kind: cake}\n"
PFIFO = "    qdisc: {kind: pfifo, limit: 180p}\n"
QUEUE = "  bottleneck:\n    rate: 10mbit\n    shaper: tbf\n" + PFIFO

# What is written instead of what: line, key, what is wrong, what was expected.
CASES = {
    # units
    "rtt without a unit": ("rtt: 20ms", "rtt: 20", 3, "path.rtt", "20 has no unit", "a time such as 20ms"),
    "rate without a unit": ("10mbit", "10", 6, "path.bottleneck.rate", "10 has no unit", "a rate such as 10mbit"),
    "limit without a unit": ("180p", "180", 8, "path.bottleneck.qdisc.limit", "180 has no unit", "180p, 64KiB or 0.5bdp"),
    "a time for a rate": ("10mbit", "10ms", 6, "path.bottleneck.rate", "unknown unit 'ms'", "a rate such as 10mbit"),
    "a rate for a time": ("rtt: 20ms", "rtt: 20mbit", 3, "path.rtt", "unknown unit 'mbit'", "a time such as 20ms"),
    "megabytes per second": ("10mbit", "10mbps", 6, "path.bottleneck.rate", "unknown unit 'mbps'", "a rate"),
    "a word for a time": ("duration: 2s", "duration: long", 11, "duration", "'long' is not a number with a unit", "a time"),
    "half a nanosecond": ("rtt: 20ms", "rtt: 0.5ns", 3, "path.rtt", "not a whole number of ns", "a time"),
    "a time beyond all times": ("duration: 2s", "duration: 1e30s", 11, "duration", "out of range", "a time"),
    "true for a time": ("rtt: 20ms", "rtt: true", 3, "path.rtt", "is not a duration", "a time"),
    "nothing for a time": ("rtt: 20ms", "rtt:", 3, "path.rtt", "is missing", "a time such as 20ms"),
    # impossible values
    "a rate of 0": ("10mbit", "0mbit", 6, "path.bottleneck.rate", "a rate of 0 never sends", "above 0"),
    "a negative rate": ("10mbit", "-10mbit", 6, "path.bottleneck.rate", "is negative", "a rate"),
    "a negative delay": ("rtt: 20ms", "rtt: -20ms", 3, "path.rtt", "'-20ms' is negative", "a time"),
    "a negative extra delay": ("where: before", "extra: -1ms", 4, "path.delay.extra", "is negative", "a time"),
    "a queue of nothing": ("180p", "0p", 8, "path.bottleneck.qdisc.limit", "leaves no room for a packet", "above 0"),
    "half a packet": ("180p", "0.5p", 8, "path.bottleneck.qdisc.limit", "not a whole number", "a limit"),
    "no duration": ("duration: 2s", "duration: 0s", 11, "duration", "no time at all", "above 0"),
    "an RTT of days": ("rtt: 20ms", "rtt: 100h", 3, "path.rtt", "is too long", "at most 1000s"),
    "far too many samples": ("sample: 100ms", "sample: 1ns", 12, "sample", "values in 2s", "a longer interval"),
    "a sample beyond the end": ("sample: 100ms", "sample: 3s", 12, "sample", "3s is longer than the run's 2s", "0s for no samples"),
    "the default sample beyond the end": (
        "duration: 2s\nsample: 100ms",
        "duration: 50ms",
        1,
        "sample",
        "100ms is longer than the run's 50ms",
        "a shorter interval",
    ),
    "a duration of hours": ("duration: 2s", "duration: 5h", 11, "duration", "18000s is too long", "at most 14400s"),
    "a duration of years without a sample": (
        "duration: 2s\nsample: 100ms",
        "duration: 1e9s",
        11,
        "duration",
        "1000000000s is too long",
        "at most 14400s",
    ),
    "a rate beyond all rates": ("10mbit", "1e6gbit", 6, "path.bottleneck.rate", "is too fast", "at most 1000gbit"),
    "an endless limit": ("180p", "1e18bdp", 8, "path.bottleneck.qdisc.limit", "out of range", "a limit"),
    "a flow that starts too late": ("first: 0s", "first: 5s", 10, "flows.0.start.first", "may start at 5s, after", "an earlier start"),
    "no flow of a group": ("cc: cubic", "cc: cubic, count: 0", 10, "flows.0.count", "0 is out of range", "at least 1"),
    "no flows": ("  - {cc: cubic, start: {first: 0s}}\n", "  []\n", 9, "flows", "has 0 entries", "at least 1"),
    "nothing to send": ("cc: cubic", "cc: cubic, bytes: 0B", 10, "flows.0.bytes", "nothing to send", "above 0"),
    "a bucket smaller than a packet": ("tbf", "tbf\n    burst: 100B", 8, "path.bottleneck.burst", "never lets a full packet go", "1514B"),
    "a bucket of a link": ("tbf", "link\n    burst: 3kB", 8, "path.bottleneck.burst", "has no bucket", "the shaper tbf"),
    "a receive buffer of nothing": ("cc: cubic", "cc: cubic, host: {rcvbuf: 1B}", 10, "flows.0.host.rcvbuf", "no room", "2304B"),
    "a receive buffer that cannot grow": (
        "cc: cubic",
        "cc: cubic, host: {rmem: [1KiB, 4KiB, 1MiB]}",
        10,
        "flows.0.host.rmem",
        "4KiB of 1KiB, 4KiB, 1MiB has no room",
        "at least 4608B",
    ),
    "a send buffer of nothing": (
        "cc: cubic",
        "cc: cubic, host: {wmem: [1KiB, 1KiB, 4KiB]}",
        10,
        "flows.0.host.wmem",
        "4KiB of 1KiB, 1KiB, 4KiB has no room",
        "at least 4608B",
    ),
    "a cached ssthresh beyond all": (
        "cc: cubic",
        "cc: cubic, host: {cached_ssthresh: 5000000000p}",
        10,
        "flows.0.host.cached_ssthresh",
        "5000000000p is out of range",
        "2p to 2147483647p",
    ),
    "a host that talks to itself": ("cc: cubic", "cc: cubic, src: a, dst: a", 10, "flows.0.dst", "is the source as well", "two hosts"),
    "a stage for a host": ("cc: cubic", "cc: cubic, src: bottleneck", 10, "flows.0.src", "is a stage of the path", "the name of a host"),
    "a mirrored stage for a host": ("cc: cubic", "cc: cubic, dst: delay-reverse", 10, "flows.0.dst", "is a stage", "the name of a host"),
    "SCE without ECN": ("cc: cubic", "cc: cubic, sce_echo: true, ecn: false", 10, "flows.0.sce_echo", "needs ECN", "ecn: true"),
    "marks for one who cannot see them": ("cc: cubic", "cc: dctcp, ecn: false", 10, "flows.0.ecn", "without the marks", "true"),
    "an option of a stack that cannot be": (
        "cc: cubic",
        "cc: cubic, stack: {base: linux-6.12, hz: 0}",
        10,
        "flows.0.stack.hz",
        "0 ticks a second",
        "100 to 1000",
    ),
    "an option of a stack that is no number": (
        "cc: cubic",
        "cc: cubic, stack: {base: linux-6.12, hz: fast}",
        10,
        "flows.0.stack.hz",
        "fast",
        "u32",
    ),
    "a control that the stack does not have": (
        "cc: cubic",
        "cc: cubic, stack: freebsd-9",
        10,
        "flows.0.cc",
        "cubic does not run on the stack freebsd-9",
        "reno",
    ),
    "ECN on a stack without": (
        "cc: cubic",
        "cc: reno, stack: freebsd-9, ecn: true",
        10,
        "flows.0.ecn",
        "does not negotiate ECN",
        "false",
    ),
    "chunks from a stack without": (
        "cc: cubic",
        "cc: reno, stack: freebsd-9, host: {offload: tso}",
        10,
        "flows.0.host.offload",
        "sends packet by packet",
        "none",
    ),
    "a socket buffer beyond the stack's": (
        "cc: cubic",
        "cc: reno, stack: freebsd-9, host: {rcvbuf: 2MiB}",
        10,
        "flows.0.host.rcvbuf",
        "2097152 bytes",
        "at most 1864135",
    ),
    "sysctls of another kernel": (
        "cc: cubic",
        "cc: reno, stack: freebsd-9, host: {rmem: [4KiB, 16KiB, 16KiB]}",
        10,
        "flows.0.host.rmem",
        "has no sysctl tcp_rmem",
        "the option recvspace of the stack",
    ),
    "a socket buffer for nothing that nothing doubles": (
        "cc: cubic",
        "cc: reno, stack: freebsd-9, host: {sndbuf: 2304B}",
        10,
        "flows.0.host.sndbuf",
        "2304B has no room",
        "at least 4608B",
    ),
    "a target beyond CoDel's clock": (
        PFIFO,
        "    qdisc: {kind: codel, target: 300s}\n",
        8,
        "path.bottleneck.qdisc.target",
        "300s is too long",
        "at most 200s",
    ),
    "another family's option": (
        "cc: cubic",
        "cc: reno, stack: {base: freebsd-9, tail_loss_probe: true}",
        10,
        "flows.0.stack.tail_loss_probe",
        "unknown option of the stack 'tail_loss_probe'",
        "abc_l_var",
    ),
    "a transfer beyond all sequence numbers": (
        "cc: cubic",
        "cc: cubic, bytes: 9e12B",
        10,
        "flows.0.bytes",
        "9000000000000 bytes",
        "1 to 6219112640264",
    ),
    "a first write that fills a segment": (
        "cc: cubic",
        "cc: cubic, first_write: 2kB",
        10,
        "flows.0.first_write",
        "2000 bytes",
        "1 to 1447",
    ),
    "buffers that fall": (
        "cc: cubic",
        "cc: cubic, host: {rmem: [1MiB, 1KiB, 1KiB]}",
        10,
        "flows.0.host.rmem",
        "do not rise",
        "least, initial and most",
    ),
    "two buffers of three": ("cc: cubic", "cc: cubic, host: {wmem: [1KiB, 1MiB]}", 10, "flows.0.host.wmem", "has 2 entries", "3"),
    "a repeat of 0": ("sample: 100ms", "repeat: 0", 12, "repeat", "0 is out of range", "at least 1"),
    "repeats that cannot differ": ("sample: 100ms", "repeat: 5", 12, "repeat", "would be identical", "start.jitter"),
    "a negative seed": ("sample: 100ms", "seed: -1", 12, "seed", "-1 is out of range", "at least 0"),
    # what befalls a path, and what else is on it
    "an outage after the run": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 9s, kind: outage, for: 1s}]",
        4,
        "path.impairments.0.at",
        "not within the run's 2s",
        "an earlier time",
    ),
    "an outage of nothing": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outage, for: 0s}]",
        4,
        "path.impairments.0.for",
        "no time at all",
        "above 0",
    ),
    "an outage without an end": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outage}]",
        4,
        "path.impairments.0.for",
        "is missing",
        "the key for",
    ),
    "an impairment of another kind": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: outtage}]",
        4,
        "path.impairments.0",
        "(did you mean 'outage'?)",
        "outage, rate",
    ),
    "a step to no rate": (
        "rtt: 20ms",
        "rtt: 20ms\n  impairments: [{at: 1s, kind: rate, rate: 0mbit}]",
        4,
        "path.impairments.0.rate",
        "0mbit",
        "a rate",
    ),
    "datagrams too long for a frame": (
        "duration: 2s",
        "duration: 2s\nbackground: [{rate: 1mbit, size: 9kB}]",
        12,
        "background.0.size",
        "no Ethernet frame",
        "64B to 1514B",
    ),
    "more datagrams than there is time": (
        "duration: 2s",
        "duration: 2s\nbackground: [{rate: 900gbit}]",
        12,
        "background.0.rate",
        "several datagrams",
        "at most",
    ),
    "a setting that is none of the network's": (
        "cc: cubic",
        "cc: cubic, host: {sysctls: {kernel.panic: 1}}",
        10,
        "flows.0.host.sysctls",
        "not a setting of the network",
        "net.ipv4",
    ),
    "what only the other engine has": ("cc: cubic", "cc: bbr", 10, "flows.0.cc", "the engine sim has no cc 'bbr'", "engine: kernel"),
    "an offload that only the other engine has": (
        "cc: cubic",
        'cc: cubic, host: {offload: "on"}',
        10,
        "flows.0.host.offload",
        "has no offload on",
        "engine: kernel",
    ),
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
    "a loss detection without what goes with it": (
        "cc: cubic",
        "cc: cubic, stack: {base: linux-6.12, loss_detection: fack, tail_loss_probe: false}",
        10,
        "flows.0.stack",
        "frto is what only goes with loss_detection rack",
        "rfc4138 or off",
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
    "an unknown key": ("duration: 2s", "duration: 2s\ndurration: 3s", 12, "durration", "unknown key (did you mean 'duration'?)", "one of"),
    "an unknown key inside": ("rtt: 20ms", "rtt: 20ms\n  loss: 1", 4, "path.loss", "unknown key", "one of access, bottleneck"),
    "an unknown key of a qdisc": ("limit: 180p", "limt: 180p", 8, "path.bottleneck.qdisc.limt", "(did you mean 'limit'?)", "kind, limit"),
    "an unknown key of a flow": ("cc: cubic", "cc: cubic, delay: 1ms", 10, "flows.0.delay", "unknown key", "one of bytes, cc"),
    "an unknown qdisc": ("kind: pfifo", "kind: pfifofast", 8, "path.bottleneck.qdisc", "(did you mean 'pfifo'?)", "pfifo, bfifo, cake"),
    "no kind of qdisc": ("kind: pfifo, ", "", 8, "path.bottleneck.qdisc", "has no kind", "keys and values"),
    "an unknown shaper": ("tbf", "tbff", 7, "path.bottleneck.shaper", "(did you mean 'tbf'?)", "link, tbf, htb, cake"),
    "an unknown place of the delay": (
        "where: before",
        "where: behind",
        4,
        "path.delay.where",
        "'behind' is unknown",
        "before, after, ack-path",
    ),
    "an unknown reverse path": ("rtt: 20ms", "rtt: 20ms\n  reverse: miror", 4, "path.reverse", "(did you mean 'mirror'?)", "mirror, none"),
    "an unknown engine": ("sample: 100ms", "engine: ns3", 12, "engine", "'ns3' is unknown", "one of sim"),
    "an engine misspelt": ("sample: 100ms", "engine: kernal", 12, "engine", "(did you mean 'kernel'?)", "one of sim"),
    "an unknown cc": ("cc: cubic", "cc: cubik", 10, "flows.0.cc", "unknown cc 'cubik' (did you mean 'cubic'?)", "one of "),
    "an unknown stack": ("cc: cubic", "cc: cubic, stack: linux-6.1", 10, "flows.0.stack", "(did you mean 'linux-6.12'?)", "one of "),
    "an unknown option of a stack": (
        "cc: cubic",
        "cc: cubic, stack: {base: linux-6.12, warp: 9}",
        10,
        "flows.0.stack.warp",
        "unknown option of the stack 'warp'",
        "one of ",
    ),
    # wrong shapes
    "a list for a path": (
        "path:\n  rtt: 20ms\n",
        "path: [1]\nx:\n",
        2,
        "path",
        "is not keys and values",
        "keys and values, one of access,",
    ),
    "a name for a qdisc": ("qdisc: {kind: pfifo, limit: 180p}", "qdisc: pfifo", 8, "path.bottleneck.qdisc", "'pfifo'", "{kind: pfifo}"),
    "a number for a start": ("start: {first: 0s}", "start: 5", 10, "flows.0.start", "5 is not keys", "one of every, first, jitter"),
    "a number for a cc": ("cc: cubic", "cc: 5", 10, "flows.0.cc", "5 is not a name", "a name"),
    "a word for a count": ("cc: cubic", "cc: cubic, count: many", 10, "flows.0.count", "'many' is not a whole number", "a whole number"),
    "a word for yes": ("cc: cubic", "cc: cubic, ecn: maybe", 10, "flows.0.ecn", "'maybe' is not true or false", "true or false"),
    "a name with a slash": ("name: good", "name: ../good", 1, "name", "is not a name", "letters, digits"),
    "one flow without a dash": ("  - {cc: cubic, start: {first: 0s}}", "  {cc: cubic}", 9, "flows", "is not a list", "a list"),
    # missing
    "no cc": ("cc: cubic", "name: x", 10, "flows.0.cc", "is missing", "the key cc"),
    "no name": ("name: good", "seed: 2", 1, "name", "is missing", "the key name"),
    "no RTT": ("  rtt: 20ms\n", "", 2, "path.rtt", "is missing", "a time such as 20ms"),
    "no bottleneck": (QUEUE, "", 2, "path.bottleneck", "is missing", "a rate and a qdisc"),
    "no rate": ("    rate: 10mbit\n", "", 5, "path.bottleneck.rate", "is missing", "a rate such as 10mbit"),
    "no limit": (", limit: 180p", "", 8, "path.bottleneck.qdisc.limit", "is missing", "a limit such as"),
    # contradictions
    "pfifo in bytes": ("180p", "64KiB", 8, "path.bottleneck.qdisc.limit", "is in bytes, pfifo counts packets", "180p or 1bdp"),
    "bfifo in packets": ("kind: pfifo", "kind: bfifo", 8, "path.bottleneck.qdisc.limit", "in packets, bfifo counts bytes", "64KiB or 1bdp"),
    "bfifo without room": ("kind: pfifo, limit: 180p", "kind: bfifo, limit: 1kB", 8, "path.bottleneck.qdisc.limit", "no room", "1514B"),
    "a delay limit in bytes": ("where: before", "limit: 1MB", 4, "path.delay.limit", "is in bytes", "a number of packets"),
    "pfifo that shapes": ("shaper: tbf", "shaper: cake", 7, "path.bottleneck.shaper", "pfifo cannot shape", "link, tbf or htb"),
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
    "stages beside an RTT": (
        "rtt: 20ms",
        "rtt: 20ms\n  forward: []",
        3,
        "path.rtt",
        "cannot stand beside path.forward",
        "the one or the other",
    ),
    "two flows of one name": ("cc: cubic", "cc: cubic, name: a}\n  - {cc: reno, name: a", 10, "flows.0.name", "given twice", "differ"),
    # sweeps
    "a sweep of a wrong value": (
        "sample: 100ms",
        "sweep:\n  path.rtt: [10ms, 20]",
        13,
        "sweep.path.rtt",
        "20 has no unit",
        "(in the cell path.rtt: 20)",
    ),
    "a sweep of an unknown key": ("sample: 100ms", "sweep:\n  path.rrt: [10ms]", 13, "sweep.path.rrt", "(did you mean 'rtt'?)", "one of"),
    "a sweep of a flow that is not there": (
        "sample: 100ms",
        "sweep:\n  flows.3.cc: [reno]",
        13,
        "sweep.flows.3.cc",
        "'3' is not an entry",
        "dotted key",
    ),
    "a sweep below a value": (
        "sample: 100ms",
        "sweep:\n  path.rtt.ms: [1]",
        13,
        "sweep.path.rtt.ms",
        "lies below a single value",
        "dotted key",
    ),
    "a sweep without values": ("sample: 100ms", "sweep:\n  path.rtt: []", 13, "sweep.path.rtt", "has 0 entries", "at least 1"),
    "a sweep of one value": ("sample: 100ms", "sweep:\n  path.rtt: 10ms", 13, "sweep.path.rtt", "is not a list", "a list"),
    "a zip of unequal lists": (
        "sample: 100ms",
        "sweep:\n  zip: {seed: [1, 2], path.rtt: [1ms]}",
        12,
        "sweep",
        "differ in length",
        "equal lengths",
    ),
    "a sample of too many": (
        "sample: 100ms",
        "sweep:\n  sample: {count: 9, over: {seed: [1, 2]}}",
        12,
        "sweep",
        "9 of 2 cells",
        "at most 2",
    ),
    "a cell given twice": ("sample: 100ms", "sweep:\n  path.rtt: [1s, 1000ms]", 12, "sweep", "the same run", "different cells"),
    "a swept cc that is unknown": (
        "sample: 100ms",
        "sweep:\n  flows.0.cc: [reno, renoo]",
        13,
        "sweep.flows.0.cc",
        "(did you mean 'reno'?)",
        "one of",
    ),
    # not YAML, or not the YAML that was meant
    "a key given twice": ("sample: 100ms", "sample: 100ms\nduration: 3s", 13, "duration", "is given twice", "each key once"),
    "a bracket left open": ("{kind: pfifo, limit: 180p}", "{kind: pfifo, limit: 180p", None, "", "", "YAML"),
    "a tab": ("  rtt: 20ms", "\trtt: 20ms", 3, "", "cannot start any token", "YAML"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bad_scenario(case, dumbbell, tmp_path):
    old, new, line, key, what, expected = CASES[case]
    assert GOOD.count(old) == 1, "the case must change the scenario in one place"
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace(old, new))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert answer.status == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    place = f"{file}:" if line is None else f"{file}:{line}: "
    found = [text for text in lines if text.startswith(place) and what in text]
    assert found, answer.err
    assert not key or found[0].startswith(f"{place}{key}: "), answer.err
    assert expected in found[0].split("; expected", 1)[1], answer.err
    assert all("; expected" in text and text.startswith(f"{file}:") for text in lines), answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty; expected keys"),
        (b"# only a remark\n", "is empty; expected keys"),
        (b"- name: x\n", "holds a list; expected keys"),
        (b"just text\n", "holds a single value; expected keys"),
        (b"name: \xff\xfe\n", "is not text in UTF-8; expected a scenario file"),
    ],
)
def test_a_file_that_holds_no_scenario(content, what, dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert what in answer.err
    assert answer.err.startswith(f"{file}:")


def test_a_file_that_is_not_there(dumbbell, tmp_path):
    answer = dumbbell("plan", tmp_path / "none.yaml")
    assert answer.status == 2
    assert answer.err == f"{tmp_path}/none.yaml: no such file; expected a scenario file\n"


def test_a_folder_for_a_file(dumbbell, tmp_path):
    answer = dumbbell("run", tmp_path)
    assert answer.status == 2
    assert answer.err == f"{tmp_path}: is a folder; expected a scenario file\n"


def test_all_problems_are_told_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("20ms", "20").replace("10mbit", "10").replace("180p", "180"))
    answer = dumbbell("run", file)
    assert [text.split(":")[1] for text in answer.err.splitlines()] == ["3", "6", "8"]


def test_all_that_the_simulator_refuses_is_told_at_once(dumbbell, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(
        GOOD.replace("kind: pfifo, limit: 180p", "kind: sfq, depth: 0p").replace(
            "cc: cubic", "cc: cubic, bytes: 9e12B, first_write: 2kB, count: 3"
        )
    )
    answer = dumbbell("run", file)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.splitlines() == [
        f"{file}:8: path.bottleneck.qdisc.depth: 0 packets; expected at least 1",
        f"{file}:10: flows.0.first_write: 2000 bytes; expected 1 to 1447",
        f"{file}:10: flows.0.bytes: 9000000000000 bytes; expected 1 to 6219112640264",
    ]


def test_the_good_one_is_good(dumbbell, tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert dumbbell("plan", file, "--out", tmp_path / "out", "--json").status == 0
