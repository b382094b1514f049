"""PROBE_RTT: B10, B11 and B20."""

from __future__ import annotations

from dumbbell.conform.bbr3.paths import MIN_PIPE, RTT, Cc, estimated_bdp, path, run, share_of_rate
from dumbbell.conform.case import Case, Findings

_INTERVAL = 5.0
"""BBR.ProbeRTTInterval, s."""
_TICK = 0.004
"""Length of a clock tick of Linux at most, s: times of PROBE_RTT count in ticks."""


def entered_and_left(cc: Cc, found: Findings) -> None:
    """B10: a flow alone, whose RTT never falls below the first one."""
    seen = run(cc, 12)
    first, second = seen.all("probe_rtt")[:2]
    wait = second.start - first.end
    found.add(f"PROBE_RTT begins {wait:.3f} s after the last one", _INTERVAL < wait <= _INTERVAL + RTT + _TICK, interval_s=wait)
    gain = seen.after("cwnd_gain", first.start)
    found.add(f"cwnd_gain is {gain:g}", gain == 0.5, cwnd_gain=gain)
    least = max(estimated_bdp(seen, first.start) / 2, MIN_PIPE)
    most = max(seen.series("cwnd", first.start + 2e-3, first.end - 1e-3))
    found.add(f"cwnd is {most:.0f} at most, the half of the BDP {least:.1f}", most <= least + 1, cwnd=most)
    found.add(f"PROBE_RTT lasts {first.length * 1e3:.0f} ms", 0.2 <= first.length <= 0.2 + 2 * RTT + _TICK, probe_rtt_ms=first.length * 1e3)
    after = seen.next(first)
    found.add("CRUISE follows at once", after is not None and after.name == "cruise")
    found.add("the short-term model has no bounds", not seen.has("bw_lo_bps", first.end) and not seen.has("inflight_lo", first.end))


def skipped_after_a_pause(cc: Cc, found: Findings) -> None:
    """B11: 12 MB at once, then silence of more than 6 s."""
    seen = run(cc, 13, burst="12MB", off="8s")
    restarts = [t for t in seen.turns("idle_restart") if t > 1]
    found.add(f"idle_restart turns true {len(restarts)} times", len(restarts) >= 1)
    if not restarts:
        return
    restart = restarts[0]
    last = max(each.t for each in seen.acks(0, restart - 1e-6))
    found.add(f"nothing is acknowledged for {restart - last:.2f} s", restart - last > _INTERVAL, silence_s=restart - last)
    back = [t for t in seen.turns("idle_restart", "no") if t > restart]
    found.add("it turns false with the first delivery", bool(back) and abs(back[0] - restart - RTT) < RTT / 2)
    begun = [span.start for span in seen.all("probe_rtt") if restart <= span.start <= restart + 2 * RTT]
    found.add("PROBE_RTT does not begin", not begun)
    pacing, bw = seen.after("pacing_bps", restart), seen.after("bw_bps", restart)
    found.add(f"pacing is {pacing / bw:.4f} of the bandwidth", abs(pacing / bw - 0.99) < 0.002, pacing_over_bw=pacing / bw)


def within_startup(cc: Cc, found: Findings) -> None:
    """B20: an application that writes at 30 % of the rate without a pause."""
    seen = run(cc, 8, path(), rate=share_of_rate(0.3), write="4kB")
    probe = seen.first("probe_rtt")
    full = seen.before("pipe_full", probe.start)
    found.add("full_bw_reached is false", full == 0)
    after = seen.next(probe)
    found.add("STARTUP follows", after is not None and after.name == "startup", probe_rtt_at_s=probe.start)
    gains = (seen.after("pacing_gain", probe.end), seen.after("cwnd_gain", probe.end))
    found.add(f"the gains are {gains[0]:.2f} and {gains[1]:g}", abs(gains[0] - 2.77) < 0.01 and gains[1] == 2)


CASES = (
    Case(
        "B10",
        "Entering and Exiting PROBE_RTT",
        "entry 5 s after the last one and within an RTT; cwnd of half a BDP; 200 ms and at most two RTTs; then CRUISE without bounds",
        entered_and_left,
    ),
    Case(
        "B11",
        "Skipping PROBE_RTT Due to Application-Limited Sending",
        "after a silence of more than 5 s: idle_restart until the first delivery, pacing at gain 1, no PROBE_RTT",
        skipped_after_a_pause,
    ),
    Case(
        "B20",
        "Entering and Exiting PROBE_RTT During STARTUP",
        "PROBE_RTT with full_bw_reached false leads back to STARTUP with gains 2.77 and 2",
        within_startup,
    ),
)
