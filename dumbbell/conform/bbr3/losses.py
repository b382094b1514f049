"""Losses that are none: B18 and B19."""

from __future__ import annotations

from dumbbell.conform.bbr3.paths import RTT, Cc, at, estimated_bdp, path, run
from dumbbell.conform.case import Case, Findings
from dumbbell.conform.seen import Seen


def _restored(seen: Seen, start: float, found: Findings) -> None:
    """Check what an undo has to restore, for packets that are late from `start` on, in UP."""
    undos = [t for t in seen.times("undo") if t > start]
    found.add(f"there are {len(undos)} undos", len(undos) >= 1)
    if not undos:
        return
    undo = undos[-1]
    for name in ("inflight_hi", "bw_lo_bps", "inflight_lo"):
        had, has = seen.has(name, start - 2e-3), seen.has(name, undo)
        kept = not has or (had and seen.after(name, undo) >= seen.before(name, start) - 1)
        found.add(f"{name} is {'set' if has else 'not set'} after the undo", kept)
    before = seen.before("cwnd", start)
    now = seen.after("cwnd", undo)
    least = min(before, 2 * estimated_bdp(seen, start))
    found.add(f"cwnd is {now:.0f} after it, and was {before:.0f} (gain 2.25)", now >= least, cwnd_before=before, cwnd_after=now)
    names = seen.order(start, undo + 2 * RTT)
    if "down" in names:
        found.add(f"UP ended, and REFILL follows the undo: {names}", "refill" in names[names.index("down") :])
    else:
        found.add("UP goes on", seen.spans[-1].name == "up" or any(s.name == "up" and s.start < start < s.end for s in seen.spans))
    was, paced = seen.before("bw_bps", start), seen.after("bw_bps", undo + 2 * RTT)
    found.add(f"bandwidth is {paced / was:.3f} of what it was, two rounds later", paced >= 0.98 * was, bandwidth_ratio=paced / was)


def late_packets(cc: Cc, found: Findings) -> None:
    """B18: packets that are one and a half RTT late in UP: one, which leaves the probing, and eight, which end it."""
    start = run(cc, 6, path(buffer_bdp=4)).first("up").start + RTT / 4
    for packets in (1, 8):
        held = [{"kind": "hold", "at": at(start), "for": f"{1500 * RTT:g}ms", "packets": f"{packets}p"}]
        seen = run(cc, 6, path(buffer_bdp=4, impairments=held))
        found.add(f"{packets} late: fast recovery, no timeout", bool(seen.times("loss")) and not seen.times("timeout"))
        _restored(seen, start, found)


def late_link(cc: Cc, found: Findings) -> None:
    """B19: a link that stalls for 600 ms in UP."""
    start = run(cc, 6, path(buffer_bdp=4)).first("up").start + RTT / 4
    held = [{"kind": "hold", "at": at(start), "for": "600ms"}]
    seen = run(cc, 6, path(buffer_bdp=4, impairments=held))
    found.add(f"there are {len(seen.times('timeout'))} timeouts", bool(seen.times("timeout")))
    _restored(seen, start, found)


CASES = (
    Case(
        "B18",
        "Handling Spurious Fast Recovery",
        "packets late by 1.5 RTT in UP: an undo restores the bounds and the window; UP goes on, or REFILL follows if it ended",
        late_packets,
    ),
    Case(
        "B19",
        "Handling Spurious RTO Recovery",
        "a stall of 600 ms in UP: a timeout, and an undo that restores the bounds and the window; REFILL follows",
        late_link,
    ),
)
