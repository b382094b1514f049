"""STARTUP and DRAIN: B01 to B04."""

from __future__ import annotations

from dumbbell.conform.bbr3.paths import PAYLOAD_SHARE, RATE_MBIT, RTT, Cc, at, estimated_bdp, path, quantum, run, share_of_rate, target
from dumbbell.conform.case import Case, Findings

_RACE = 2.0
"""Packets that the record of an ACK may count as sent or not: it is taken after the ACK."""


def plateau(cc: Cc, found: Findings) -> None:
    """B01."""
    seen = run(cc, 3)
    drain = seen.first("drain")
    ratio = seen.after("max_bw_bps", drain.start) / (RATE_MBIT * PAYLOAD_SHARE * 1e6)
    found.add(f"max_bw is {ratio:.4f} of the rate", 0.98 <= ratio <= 1.02, max_bw_over_rate=ratio)
    rounds = seen.after("full_rounds", drain.start)
    found.add(f"full_bw_count is {rounds:.0f}", rounds == 3, full_bw_count=rounds)
    grown = seen.series("full_rounds", 0.0, drain.start)
    steps = sorted({int(each) for each in grown[-round(3.2 * 2 * RTT * 1e3) :]} | {int(rounds)})
    found.add(f"it counts {steps} on the way", steps in ([0, 1, 2, 3], [1, 2, 3]))
    for name in ("pipe_full", "bw_full"):
        found.add(f"{name} turns true in the ACK that begins DRAIN", drain.start in seen.turns(name))
    found.add("the next state is DRAIN", seen.order(0, drain.end)[:2] == ["startup", "drain"], drain_at_s=drain.start)


def limited_and_lossy(cc: Cc, found: Findings) -> None:
    """B02: losses of 8 packets, one in ten, a round, for two rounds; and of 5.

    DRAIN may begin and end in one ACK, as less than a BDP is in flight.
    """
    begin = 2.0
    for packets, every, ends in ((16, 10, True), (5, 16, False)):
        lost = [{"kind": "drop", "at": at(begin), "packets": f"{packets}p", "every": every}]
        seen = run(cc, 4, path(impairments=lost), rate=share_of_rate(0.5))
        if not ends:
            stays = [span.name for span in seen.spans if span.start < begin + 1.5]
            found.add("5 losses in a round leave STARTUP", stays == ["startup"])
            continue
        first = seen.times("loss")[0]
        startup = seen.first("startup")
        left, after = startup.end, seen.next(startup)
        rounds = seen.after("round", left) - seen.before("round", first)
        found.add(f"STARTUP ends {rounds:.0f} rounds after the first loss", 1 <= rounds <= 3, rounds_to_exit=rounds)
        for name in ("pipe_full", "bw_full"):
            found.add(f"{name} turns true then", left in seen.turns(name))
        found.add("it leads through DRAIN", after is not None and after.name in ("drain", "down", "cruise"))
        bound, bdp = seen.after("inflight_hi", left), estimated_bdp(seen, left + 2e-3)
        sent = max(seen.series("inflight", first - 2 * RTT, left))
        found.add(
            f"inflight_longterm is {bound:.0f}, between the BDP of {bdp} and {max(bdp, sent):.0f}",
            bdp - 1 <= bound <= max(bdp, sent) + 1,
            inflight_longterm=bound,
            bdp=bdp,
        )


def drained(cc: Cc, found: Findings) -> None:
    """B03: the delay lies behind the queue, so that the queue holds what is in flight beyond the BDP."""
    seen = run(cc, 3, {**path(), "delay": {"where": "after"}})
    drain = seen.first("drain")
    gains = {float(each) for each in seen.series("pacing_gain", drain.start, drain.end - 1e-3)}
    found.add(f"pacing_gain is {sorted(gains)}", gains == {0.5})
    most = target(seen, drain.end - 1e-3)
    acks = list(seen.acks(drain.start, drain.end))
    found.add(f"earlier ACKs leave more than {most} segments in flight", all(each.inflight > most - _RACE for each in acks[:-1]))
    last = acks[-1].inflight
    found.add(f"the last one leaves {last:.0f}", last <= most + _RACE, inflight_at_end=last, target=most)
    queue = float(seen.port("bottleneck", "backlog_packets", drain.end, drain.end + 0.002)[0])
    found.add(f"the queue has {queue:.0f} packets", queue <= quantum(seen, drain.end), queue_at_end=queue)
    rounds = seen.before("round", drain.end) - seen.after("round", drain.start)
    found.add(f"DRAIN lasts {drain.length * 1e3:.0f} ms, {rounds:.0f} rounds", rounds <= 2, drain_ms=drain.length * 1e3)


def drain_times_out(cc: Cc, found: Findings) -> None:
    """B04: with 10 % less, a queue of one BDP is gone in 2.5 rounds at half the rate, so the rate falls by 60 %."""
    start = run(cc, 3, path(buffer_bdp=4)).first("drain").start
    slower = [{"kind": "rate", "at": at(start), "rate": f"{0.4 * RATE_MBIT:g}mbit"}]
    seen = run(cc, 4, path(buffer_bdp=4, impairments=slower))
    drain = seen.first("drain")
    rounds = seen.after("round", drain.end) - seen.after("round", drain.start)
    found.add(f"DRAIN ends when {rounds:.0f} rounds have begun", rounds == 4, rounds=rounds)
    least = min(each.inflight for each in seen.acks(drain.start, drain.end - 1e-9))
    most = target(seen, drain.end - 1e-3)
    found.add(f"in flight are {least:.0f} at least, more than {most}", least > most, least_inflight=least, target=most)
    found.add("the next state is PROBE_BW", seen.order(drain.end, drain.end + 1e-6)[:1] in (["down"], ["cruise"], ["refill"]))


CASES = (
    Case(
        "B01",
        "Exiting STARTUP on Bandwidth Plateau",
        "max_bw within 2 % of the payload rate; three rounds without growth by 25 %; both flags and DRAIN in one ACK",
        plateau,
    ),
    Case(
        "B02",
        "Exiting STARTUP on Loss When Application-Limited",
        "8 separate losses a round for two rounds end STARTUP within 3 rounds, 5 do not; inflight_longterm is max(bdp, inflight_latest)",
        limited_and_lossy,
    ),
    Case(
        "B03",
        "Exiting DRAIN Based on Inflight",
        "pacing gain 0.5; DRAIN ends with the first ACK that leaves Inflight(1.0) in flight, with a queue below a quantum, in 2 rounds",
        drained,
    ),
    Case(
        "B04",
        "Exiting DRAIN Based on Time",
        "after a fall of the rate by 60 %, DRAIN ends in the fourth round with more than Inflight(1.0) in flight",
        drain_times_out,
    ),
)
