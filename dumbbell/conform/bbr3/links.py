"""Links of other kinds: B12, B13, B14 and B17."""

from __future__ import annotations

import math
from typing import Any

from dumbbell.conform.bbr3.paths import (
    MIN_PIPE,
    PAYLOAD,
    PAYLOAD_SHARE,
    QUANTA,
    RATE_MBIT,
    RTT,
    RTT_MS,
    SMALLEST_QUANTUM,
    Cc,
    bdp_bytes,
    estimated_bdp,
    path,
    run,
)
from dumbbell.conform.case import Case, Findings

_SLOT_MS = 20
_INITIAL_CWND = 10


def _slots(seconds: float) -> dict[str, Any]:
    """Return a path whose link hands on what it has sent every 20 ms, as a slotted medium does."""
    queue = {"kind": "bfifo", "limit": f"{round(3 * bdp_bytes())}B"}
    bottleneck = {"rate": f"{RATE_MBIT:g}mbit", "qdisc": queue}
    holds = [{"kind": "hold", "at": f"{start}ms", "for": f"{_SLOT_MS}ms"} for start in range(0, round(seconds * 1e3), _SLOT_MS)]
    return {"rtt": f"{RTT_MS:g}ms", "bottleneck": bottleneck, "reverse": "none", "impairments": holds}


def startup_over_slots(cc: Cc, found: Findings) -> None:
    """B12: a sample may count one slot too many, and STARTUP sends too fast for the send rate to cap it."""
    seen = run(cc, 4, _slots(4))
    drain = seen.first("drain")
    rate = RATE_MBIT * PAYLOAD_SHARE * 1e6
    bdp = bdp_bytes() * PAYLOAD_SHARE / PAYLOAD
    cwnd = max(seen.series("cwnd", 0, drain.start))
    found.add(f"cwnd comes to {cwnd / bdp:.2f} BDP in STARTUP", cwnd > 2 * bdp, cwnd_bdp=cwnd / bdp)
    extra = max(seen.series("extra_acked", 0, drain.start))
    found.add(f"extra_acked comes to {extra:.0f} segments", extra > 0, extra_acked=extra)
    initial = _INITIAL_CWND * PAYLOAD * 8 / RTT
    most = math.log2(rate / initial) + 4
    t, bandwidth = seen.with_times("max_bw_bps")
    reached = next((float(each) for each, bw in zip(t, bandwidth, strict=True) if bw >= 0.95 * rate), math.inf)
    rounds = seen.before("round", min(reached, seen.duration))
    found.add(f"max_bw is 95 % of the rate after {rounds:.0f} rounds of {most:.1f}", reached < math.inf and rounds <= most, rounds=rounds)
    highest, bound = max(bandwidth) / rate, 1 + _SLOT_MS / RTT_MS
    found.add(f"max_bw comes to {highest:.3f} of the rate, {bound:g} at most", highest <= bound, highest=highest)


def cruise_over_slots(cc: Cc, found: Findings) -> None:
    """B13."""
    seen = run(cc, 10, _slots(10))
    spans = [span for span in seen.all("cruise") if span.length > 12 * RTT]
    found.add(f"there are {len(spans)} CRUISE of 12 RTTs or more", bool(spans))
    if not spans:
        return
    span = spans[-1]
    used = seen.rate_mbit(span.start + 2 * RTT, span.end) / (RATE_MBIT * PAYLOAD_SHARE)
    found.add(f"goodput is {used:.3f} of the rate", used >= 0.95, utilisation=used)
    extra = min(seen.series("extra_acked", span.start + 10 * RTT, span.end))
    slot = RATE_MBIT * PAYLOAD_SHARE * 1e6 / 8 / PAYLOAD * _SLOT_MS / 1e3
    found.add(f"extra_acked is {extra:.0f} segments at least, a slot has {slot:.0f}", extra >= 0.8 * slot, extra_acked=extra)
    cwnd = min(seen.series("cwnd", span.start + 10 * RTT, span.end))
    bdp = bdp_bytes() * PAYLOAD_SHARE / PAYLOAD
    found.add(f"cwnd is {cwnd:.0f}, more than two BDP", cwnd > 2 * bdp, cwnd=cwnd)


def small_bdp(cc: Cc, found: Findings) -> None:
    """B14: a tenth of a packet, and 0.08 packets. The offload budget of three quanta of two segments is above MinPipeCwnd."""
    floor = QUANTA * SMALLEST_QUANTUM
    for rate_mbit, rtt_ms, seconds in ((0.064, 20.0, 120.0), (1.0, 1.0, 20.0)):
        over = path(rate_mbit, rtt_ms, impairments=())
        over["bottleneck"]["qdisc"]["limit"] = "60000B"
        seen = run(cc, seconds, over, sample="20ms" if rate_mbit < 1 else "2ms")
        name = f"{rate_mbit * 1e3:g} kbit/s"
        cruise = seen.first("cruise", seconds / 3)
        windows = seen.series("cwnd", seconds / 3)
        found.add(f"{name}: cwnd is {min(windows):.0f} at least", min(windows) == MIN_PIPE)
        probe = seen.all("probe_rtt")[-2]
        probing = {int(each) for each in seen.series("cwnd", probe.start + 0.02, probe.end - 0.02)}
        found.add(f"{name}: it is {sorted(probing)} in PROBE_RTT", probing == {MIN_PIPE})
        most = max(2 * estimated_bdp(seen, cruise.end) + seen.before("extra_acked", cruise.end), floor)
        held = max(seen.series("cwnd", cruise.start, cruise.end))
        found.add(f"{name}: it is {held:.0f} in CRUISE, {most:.0f} at most", held <= most, **{f"cwnd_{rate_mbit * 1e3:g}kbit": held})
        end = cruise.end - 1e-3
        paced = seen.before("pacing_bps", end) / (seen.before("bw_bps", end) * seen.before("pacing_gain", end))
        found.add(f"{name}: pacing is {paced:.3f} of bandwidth and gain", abs(paced - 0.99) < 0.01)
        used = seen.rate_mbit(seconds / 3, seconds) / (rate_mbit * PAYLOAD_SHARE)
        found.add(f"{name}: goodput is {used:.3f} of the rate", used >= 0.9, **{f"utilisation_{rate_mbit * 1e3:g}kbit": used})
        queue = max(seen.port("bottleneck", "backlog_packets", cruise.start, cruise.end))
        found.add(f"{name}: the queue has {queue:.0f} packets at most", queue <= floor, **{f"queue_{rate_mbit * 1e3:g}kbit": queue})


def policed(cc: Cc, found: Findings) -> None:
    """B17: a token bucket with room for one packet, behind a link of 50 Mbit/s."""
    tokens = 10.0
    for buckets in (0.25, 1.0, 4.0):
        shaper = {
            "rate": f"{tokens:g}mbit",
            "shaper": "tbf",
            "burst": f"{round(buckets * bdp_bytes())}B",
            "qdisc": {"kind": "bfifo", "limit": "1600B"},
        }
        over = {"rtt": f"{RTT_MS:g}ms", "access": {"rate": f"{RATE_MBIT:g}mbit"}, "bottleneck": shaper, "reverse": "none"}
        seen = run(cc, 60, over, sample="10ms")
        rate = seen.rate_mbit(30, 60) / (tokens * PAYLOAD_SHARE)
        name = f"bucket of {buckets:g} BDP"
        found.add(f"{name}: goodput is {rate:.3f} of the token rate", 0.8 <= rate <= 1.0, **{f"goodput_{buckets:g}": rate})
        late = sum(1 for t in seen.times("drop") if t > 30)
        sent = (seen.before("delivered", 60) - seen.before("delivered", 30)) + late
        found.add(f"{name}: {late / sent:.2%} are lost", late <= 0.05 * sent, **{f"loss_{buckets:g}": late / sent})
        found.add(f"{name}: {seen.row['rto_timeouts']} timeouts", seen.row["rto_timeouts"] == 0)


CASES = (
    Case(
        "B12",
        "Achieving Expected STARTUP Bandwidth on a Link With Aggregation",
        "slots of 20 ms: cwnd above 2 BDP; max_bw within 5 % of the rate in log2(rate / initial rate) + 4 rounds, a slot too many at most",
        startup_over_slots,
    ),
    Case(
        "B13",
        "Achieving Expected Cruise Bandwidth on a Link With Aggregation",
        "goodput of 95 % over CRUISE; extra_acked is 0.8 of a slot at least, and cwnd has room for it",
        cruise_over_slots,
    ),
    Case(
        "B14",
        "Correctly Managing Sub-Packet BDPs",
        "cwnd is 4 at least, 4 in PROBE_RTT, and what the formula gives in CRUISE; pacing 0.99 of bandwidth times gain; goodput 90 %",
        small_bdp,
    ),
    Case(
        "B17",
        "Handling Token Bucket Policers",
        "buckets of 0.25, 1 and 4 BDP, the last 30 s of 60: goodput 0.8 to 1 of the token rate, at most 5 % lost, no timeout",
        policed,
    ),
)
