"""The cycle of PROBE_BW: B05 to B09, B15, B16, B21 and B22."""

from __future__ import annotations

import math
from itertools import pairwise, takewhile

from dumbbell.conform.bbr3.paths import (
    HEADROOM,
    MIN_PIPE,
    PAYLOAD,
    PAYLOAD_SHARE,
    RATE_MBIT,
    RTT,
    Cc,
    at,
    bdp_bytes,
    estimated_bdp,
    path,
    run,
    share_of_rate,
    target,
)
from dumbbell.conform.case import Case, Findings, NotSeenError
from dumbbell.conform.seen import Seen, Span

_RACE = 2.0
"""Packets that the record of an ACK may count as sent or not: it is taken after the ACK."""
_ROUNDS_TO_TENFOLD = 18
"""Rounds of UP to ten times the bandwidth. A sample is the mean of what was sent one to two rounds ago, at 1.25 x 0.99 of the bandwidth of
that time, so that it grows by 1.156 a round, the solution of 1.2375 (1/x - 1/x^2) = ln x: 15.9 rounds, and two to the first sample."""
_LIMITED_EXIT = {"kind": "drop", "at": "2s", "packets": "16p", "every": 10}
"""Losses that end STARTUP of a flow that its application limits, as in B02."""


def up_ends_on_plateau(cc: Cc, found: Findings) -> None:
    """B05."""
    seen = run(cc, 6, path(buffer_bdp=4))
    up = seen.first("up")
    after = seen.next(up)
    found.add("DOWN follows UP", after is not None and after.name == "down")
    found.add("bw_full turns true in the ACK that ends UP", up.end in seen.turns("bw_full"))
    rounds = seen.after("full_rounds", up.end)
    found.add(f"full_bw_count is {rounds:.0f}", rounds == 3, full_bw_count=rounds, up_ms=up.length * 1e3)
    found.add("nothing is lost", not seen.times("loss"))


def up_ends_on_loss(cc: Cc, found: Findings) -> None:
    """B06: the application writes at half of the rate; STARTUP ends by losses, too."""
    probe = run(cc, 8, path(impairments=[_LIMITED_EXIT]), rate=share_of_rate(0.5)).first("up")
    begin = probe.start + 3 * RTT
    lost = {"kind": "drop", "at": at(begin), "packets": "8p", "every": 8}
    seen = run(cc, 8, path(impairments=[_LIMITED_EXIT, lost]), rate=share_of_rate(0.5))
    up = seen.first("up")
    after = seen.next(up)
    # DOWN ends in the same ACK if less than a BDP is in flight.
    found.add("DOWN follows UP", after is not None and after.name in ("down", "cruise"))
    found.add(f"UP ends {1e3 * (up.end - begin):.0f} ms after the first drop", begin < up.end <= begin + 3 * RTT, ms=1e3 * (up.end - begin))
    found.add("prev_probe_too_high turns true then", up.end in seen.turns("probe_too_high"))
    before, now = seen.before("inflight_hi", up.end - 2e-3), seen.after("inflight_hi", up.end)
    found.add(f"inflight_longterm is {before:.0f} before and {now:.0f} after", before == now, before=before, after=now)


def limited_probing_goes_on(cc: Cc, found: Findings) -> None:
    """B07: in STARTUP, and in UP after losses that have ended STARTUP."""
    seen = run(cc, 60, sample="10ms", rate=share_of_rate(0.3))
    names = {span.name for span in seen.spans}
    found.add(f"60 s at 30 % of the rate have the states {sorted(names)}", names <= {"startup", "probe_rtt"})
    end = run(cc, 60, path(impairments=[_LIMITED_EXIT]), sample="10ms", rate=share_of_rate(0.3))
    ups = [(span, end.next(span)) for span in end.all("up")]
    left = sorted({after.name for _, after in ups if after is not None})
    longest = max((span.length for span, _ in ups), default=0.0)
    found.add(f"UP ends by {left}, after {longest:.1f} s at most", bool(ups) and left in ([], ["probe_rtt"]), longest_up_s=longest)


def down_ends_on_inflight(cc: Cc, found: Findings) -> None:
    """B08: half of a BDP of buffer, so that UP loses packets and sets the bound."""
    seen = run(cc, 12, path(buffer_bdp=0.5))
    down = next((span for span in seen.all("down") if seen.has("inflight_hi", span.end) and span.length > RTT / 4), None)
    if down is None:
        raise NotSeenError("no DOWN with inflight_longterm")
    gains = {round(float(each), 2) for each in seen.series("pacing_gain", down.start + 2e-3, down.end - 1e-3)}
    found.add(f"pacing_gain is {sorted(gains)}", gains == {0.9})
    bound = seen.before("inflight_hi", down.end)
    most = min(max(bound - max(1, HEADROOM * bound), MIN_PIPE), target(seen, down.end - 1e-3))
    acks = list(seen.acks(down.start, down.end))
    found.add(f"earlier ACKs leave more than {most:.0f} segments in flight", all(each.inflight > most - _RACE for each in acks[1:-1]))
    found.add(f"the last one leaves {acks[-1].inflight:.0f}", acks[-1].inflight <= most + _RACE, inflight_longterm=bound, target=most)
    after = seen.next(down)
    found.add("CRUISE follows", after is not None and after.name == "cruise")


def down_times_out(cc: Cc, found: Findings) -> None:
    """B09: with 10 % less, inflight still falls, as 0.891 of the old rate is paced; so the rate falls by 12 %."""
    seconds = 60.0
    scout = run(cc, seconds, path(buffer_bdp=4))
    down = _undisturbed(scout)
    slower = [{"kind": "rate", "at": at(down.start), "rate": f"{0.88 * RATE_MBIT:g}mbit"}]
    seen = run(cc, down.start + 4, path(buffer_bdp=4, impairments=slower))
    span = seen.first("down", down.start - 1e-6)
    after = seen.next(span)
    wait = seen.after("probe_wait_ms", span.start) / 1e3
    rounds = seen.after("probe_rounds", span.end - 2e-3)
    found.add("REFILL follows DOWN", after is not None and after.name == "refill")
    by_rounds = rounds >= 62
    found.add(
        f"DOWN lasts {span.length:.3f} s, its wait is {wait:.3f} s",
        (wait < span.length <= wait + 0.1 or by_rounds) and 2 <= wait < 3,
        down_s=span.length,
        wait_s=wait,
        rounds=rounds,
    )


def _undisturbed(seen: Seen) -> Span:
    """Return a DOWN whose wait ends before the next PROBE_RTT."""
    for down in seen.all("down"):
        following = [span.start for span in seen.all("probe_rtt") if span.start > down.start]
        wait = seen.after("probe_wait_ms", down.start) / 1e3
        if following and down.start + wait + 0.2 < following[0]:
            return down
    raise NotSeenError("no DOWN whose wait ends before PROBE_RTT")


def ten_times_the_rate(cc: Cc, found: Findings) -> None:
    """B15: 10 to 100 Mbit/s; and once more with a bound of data in flight that losses in an earlier UP have set."""
    low, high = 10.0, 100.0
    plain = run(cc, 8, path(low, buffer_bdp=20))
    step = plain.first("cruise", 1.0).start + 0.5
    faster = {"kind": "rate", "at": at(step), "rate": f"{high:g}mbit"}
    seen = run(cc, step + 8, path(low, buffer_bdp=20, impairments=[faster]))
    first = seen.first("up", step)
    found.add(f"UP begins {first.start - step:.2f} s after the change", first.start - step <= 3 + 2 * RTT, to_up_s=first.start - step)
    goal = 0.9 * high * PAYLOAD_SHARE * 1e6
    t, bandwidth = seen.with_times("max_bw_bps", step)
    reached = next((float(each) for each, bw in zip(t, bandwidth, strict=True) if bw >= goal), math.inf)
    ups = [span for span in seen.all("up") if step < span.start < reached]
    rounds = sum(seen.before("round", min(span.end, reached)) - seen.before("round", span.start) for span in ups)
    found.add(
        f"max_bw is 90 % of the rate after {rounds:.0f} rounds of UP",
        reached < math.inf and rounds <= _ROUNDS_TO_TENFOLD,
        rounds_of_up=rounds,
    )
    end = first.start + 4
    rate = seen.rate_mbit(end - 1, end) / (high * PAYLOAD_SHARE)
    found.add(f"goodput is {rate:.3f} of the new rate 4 s after UP began", rate >= 0.9, goodput_share=rate)

    up = plain.first("up", 1.0)
    lost = {"kind": "drop", "at": at(up.start + RTT), "packets": "4p", "every": 4}
    step = run(cc, 8, path(low, buffer_bdp=20, impairments=[lost])).first("cruise", up.start).start + 0.1
    faster = {"kind": "rate", "at": at(step), "rate": f"{high:g}mbit"}
    bounded = run(cc, step + 8, path(low, buffer_bdp=20, impairments=[lost, faster]))
    growth = [_growth_by_round(bounded, span) for span in bounded.all("up") if span.start > step]
    steps = max(growth, key=len, default=[])
    doubled = list(takewhile(lambda ratio: 1.4 <= ratio <= 3, (b / a for a, b in pairwise(steps))))
    found.add(
        f"inflight_longterm grows by {[round(each) for each in steps[:6]]} segments a round",
        len(doubled) >= 3,
    )


def _growth_by_round(seen: Seen, up: Span) -> list[float]:
    """Return by how much the bound grows in each round of UP in which it grows at all, segments."""
    t, rounds = seen.with_times("round", up.start - 1e-3, up.end)
    _, bound = seen.with_times("inflight_hi", up.start - 1e-3, up.end)
    if len(bound) != len(t):
        return []
    changes = [i for i in range(1, len(t)) if rounds[i] != rounds[i - 1]]
    grown = [float(bound[b] - bound[a]) for a, b in pairwise(changes)]
    return [each for each in grown if each > 0]


def a_tenth_of_the_rate(cc: Cc, found: Findings) -> None:
    """B16: 100 to 10 Mbit/s, with a buffer of a quarter of a BDP of the old rate.

    With a whole BDP a round lasts 440 ms, and REFILL forgets the short-term model before seven of them are over.
    """
    high, low, buffer = 100.0, 10.0, 0.25
    step = run(cc, 4, path(high, buffer_bdp=buffer)).first("cruise").start + 0.5
    slower = [{"kind": "rate", "at": at(step), "rate": f"{low:g}mbit"}]
    seen = run(cc, step + 14, path(high, buffer_bdp=buffer, impairments=slower))
    new = low * PAYLOAD_SHARE * 1e6
    t, bound = seen.with_times("bw_lo_bps", step)
    reached = next((float(each) for each, bw in zip(t, bound, strict=True) if bw <= 2 * new), math.inf)
    losses = [each for each in seen.times("loss") if each > step]
    start = losses[0] if losses else step
    rounds = seen.before("round", min(reached, seen.duration)) - seen.before("round", start)
    found.add(
        f"bw_shortterm is at most twice the rate {rounds:.0f} rounds after the first loss",
        reached < math.inf and rounds <= 8.5,
        rounds=rounds,
    )
    queue_rtt = RTT + buffer * bdp_bytes(high) * 8 / (low * 1e6)
    most = step + 2 * 3 + 10 * queue_rtt
    settled = next((float(each) for each, bw in zip(*seen.with_times("max_bw_bps", step), strict=True) if bw <= 1.1 * new), math.inf)
    found.add(
        f"max_bw is within 10 % of the rate {settled - step:.2f} s after the change", settled <= most, seconds=min(settled - step, 1e9)
    )


def loss_in_up_with_a_bound(cc: Cc, found: Findings) -> None:
    """B21: a quarter of a BDP of buffer."""
    seen = run(cc, 30, path(buffer_bdp=0.25))
    too_high = seen.turns("probe_too_high")
    probes = [span for span in seen.all("up") if span.end in too_high and seen.has("inflight_hi", span.start)]
    if not probes:
        raise NotSeenError("no UP with inflight_longterm that losses end")
    up = probes[0]
    after = seen.next(up)
    found.add("DOWN follows UP at once", after is not None and after.name == "down")
    bound = seen.after("inflight_hi", up.end)
    floor = 0.7 * min(estimated_bdp(seen, up.end), seen.before("cwnd", up.end))
    most = max(seen.series("inflight", up.start - 2 * RTT, up.end))
    found.add(
        f"inflight_longterm is {bound:.0f}, at least {floor:.0f} and at most the {most:.0f} that were in flight",
        math.floor(floor) <= bound <= most + 1,
        inflight_longterm=bound,
        floor=floor,
    )
    before = seen.before("inflight_hi", up.end - 2e-3)
    found.add(f"it was {before:.0f} before", bound < before, before=before)
    cautious = seen.first("up", up.end)
    bounds = set(seen.series("inflight_hi", up.end + 2e-3, cautious.start))
    found.add("the bound stays until the next UP: there is one reaction", len(bounds) == 1)
    held = max(seen.series("inflight", cautious.start, cautious.end))
    limit = seen.before("inflight_hi", cautious.end)
    found.add(
        f"the next UP ends with {held:.0f} in flight, at the bound of {limit:.0f}",
        abs(held - limit) <= 3 and cautious.end not in seen.turns("bw_full"),
        next_up_ms=cautious.length * 1e3,
    )


def limited_refill(cc: Cc, found: Findings) -> None:
    """B22: an application that has no more data when REFILL begins, for one and a half round trips."""
    bulk = run(cc, 6, rate="1gbit", write="100kB")
    refill = bulk.first("refill")
    # The source writes all at once; the second burst is due when the pause is over.
    written = round(bulk.before("delivered", refill.start) + bulk.before("inflight", refill.start)) * PAYLOAD
    seen = run(cc, 6, burst=f"{written}B", off=at(refill.start + 1.5 * RTT))
    span = seen.first("refill", refill.start - 1e-3)
    after = seen.next(span)
    before, now = seen.before("max_bw_bps", span.start), seen.after("max_bw_bps", span.end)
    found.add(
        f"max_bw is {before / 1e6:.3f} and then {now / 1e6:.3f} Mbit/s", before == now, before_mbit=before / 1e6, after_mbit=now / 1e6
    )
    least = min(seen.series("inflight", span.start, span.end + 1e-3))
    found.add(f"in flight fall to {least:.0f} segments", least <= 0.2 * seen.before("cwnd", span.start), least_inflight=least)
    rounds = seen.after("round", span.end) - seen.before("round", span.start)
    found.add(f"UP follows after {rounds:.0f} rounds", after is not None and after.name == "up" and rounds <= 2, rounds=rounds)
    found.add("probing goes on", len(seen.all("down")) > 0 or len(seen.all("up")) > 0)


CASES = (
    Case(
        "B05",
        "Exiting PROBE_UP on Bandwidth Plateau",
        "without loss, UP ends in the ACK that counts the third round without growth by 25 %; DOWN follows",
        up_ends_on_plateau,
    ),
    Case(
        "B06",
        "Exiting PROBE_UP on Loss When Application-Limited",
        "more than 2 % lost end UP within 3 RTTs; inflight_longterm stays, as the samples are application-limited",
        up_ends_on_loss,
    ),
    Case(
        "B07",
        "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss",
        "60 s at 30 % of the rate leave STARTUP, and UP, for PROBE_RTT alone",
        limited_probing_goes_on,
    ),
    Case(
        "B08",
        "Exiting PROBE_DOWN on Inflight",
        "pacing gain 0.9; CRUISE begins with the first ACK that leaves the headroom free and Inflight(1.0) in flight",
        down_ends_on_inflight,
    ),
    Case(
        "B09",
        "Exiting PROBE_DOWN After Max Time",
        "after a fall of the rate by 12 %, REFILL follows DOWN when 2 to 3 s, as drawn, or 63 rounds are over",
        down_times_out,
    ),
    Case(
        "B15",
        "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached",
        "UP begins within 3 s; max_bw is 90 % of the rate in 18 rounds of UP; the bound grows by 1, 2, 4 ... a round; goodput 0.9",
        ten_times_the_rate,
    ),
    Case(
        "B16",
        "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down",
        "bw_shortterm is at most twice the rate within 8.5 rounds of losses; max_bw within 10 % of it in two probing cycles",
        a_tenth_of_the_rate,
    ),
    Case(
        "B21",
        "Handling Loss During PROBE_UP After inflight_longterm is Set",
        "the bound falls to what was in flight at the loss, not below 0.7 of the target; one reaction; the next UP stops at the bound",
        loss_in_up_with_a_bound,
    ),
    Case(
        "B22",
        "Handling Application-Limited Sending During PROBE_REFILL",
        "a pause of the application in REFILL leaves max_bw; UP follows at the next round",
        limited_refill,
    ),
)
