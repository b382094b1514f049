"""Random scenarios from the capabilities that two engines share."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from dumbbell.agreement import connections, networks
from dumbbell.agreement.applications import application
from dumbbell.agreement.draw import Draw
from dumbbell.agreement.qdiscs import drawn, is_randomised
from dumbbell.agreement.shared import Shared
from dumbbell.catalogue.feature import Feature
from dumbbell.engines import default, engine
from dumbbell.scenario import Bottleneck, Ping, Scenario, Transfers, Udp, over_tcp
from dumbbell.scenario.passing import WAYS, passed, taken, written_delays
from dumbbell.scenario.units import ETHERNET_BYTES, ETHERNET_MTU, FRAME_BYTES, Size

_USUAL, _OTHERS = ("reno", "cubic", "dctcp"), 0.4
"""Congestion controls that most flows have, and the probability that a flow draws from the others that there are."""
_KBIT = (500, 100_000)
_RTT_MS = (1, 300)
_ALONE = 0.3
"""Probability that a scenario has only one flow."""
_MOST_FLOWS = 8
_MEAN_BYTES, _LOAD = (5_000, 200_000), (0.02, 0.4)
"""Ranges for connections that come and go: mean, median or minimum size, and share of the rate."""
_PACKETS = 90_000
"""Maximum number of data packets of a run: about 1 CPU second of the kernel engine."""
_SECONDS = (8, 60)
"""Minimum and maximum duration: several round trips at the longest RTT, and the time that one window takes at the lowest rate."""
_BURSTS = ("1600B", "3028B", "10kB", "64kB")
_OTHER_MTU, _MTUS = 0.12, (2000, 4000, 9000)
"""Probability that a path carries larger packets than Ethernet does by default, and how large."""


@cache
def randomised() -> frozenset[str]:
    """The congestion controls that draw random numbers."""
    return frozenset(name for name, cc in engine(default()).capabilities().cc.items() if cc.draws)


def scenario(seed: int, index: int, shared: Shared, starts: int) -> Scenario:
    """The scenario with this index, a function of seed and index only.

    With several flows or a randomised qdisc it has `starts` runs with jittered starts.
    """
    draw = Draw("agree", seed, index)
    kbit, rtt_us = round_to_3(draw.log("rate", *_KBIT)), _rtt_us(draw)
    seconds = run_seconds(kbit)
    path = _path(draw, shared, kbit, rtt_us)
    faults = networks.faults(draw.at("faults"), shared, path["delay"]["where"], rtt_us)
    path["delay"] |= faults
    qdisc = path["bottleneck"]["qdisc"]["kind"]
    flows = _flows(draw, shared, qdisc, kbit, seconds)
    if path["reverse"] == "none":
        for flow in flows:
            flow.pop("direction", None)
    settings: dict[str, Any] = {"name": f"random-{seed}-{index:03d}", "path": path, "flows": flows, "duration": f"{seconds}s"}
    if qdisc == "cake":
        _hosts(draw, flows)
    impairments = _impairments(draw, shared, kbit, seconds)
    if trace := networks.rates(draw.at("trace"), shared, kbit, seconds):
        path["bottleneck"] = {"trace": trace} | {key: value for key, value in path["bottleneck"].items() if key != "rate"}
        impairments = [each for each in impairments if each["kind"] != "rate"]
    if impairments:
        path["impairments"] = impairments
    if Udp.feature in shared.feature and draw.chance("udp", 0.15):
        rate = f"{max(8, round(kbit * draw.log('udp rate', 0.02, 0.6)))}kbit"
        settings["background"] = [{"kind": "udp", "rate": rate, **connections.codepoint(draw.at("udp"), qdisc)}]
    if entry := application(draw, shared, qdisc, kbit, rtt_us):
        if path["reverse"] == "none":
            entry["direction"] = "forward" if entry["kind"] == "onoff" else "reverse"
        settings.setdefault("background", []).append(entry)
    if Ping.feature in shared.feature and draw.chance("probes", 0.25):
        settings.setdefault("background", []).extend(_probes(draw.at("probes"), qdisc))
    several = sum(flow.get("count", 1) for flow in flows) > 1
    if Transfers.feature in shared.feature and draw.chance("transfers", 0.2):
        settings.setdefault("background", []).append(_transfers(draw.at("transfers"), shared, qdisc))
        several = True
    networks.several_paths(draw.at("several paths"), settings, shared, kbit, rtt_us)
    if "paths" not in settings:
        networks.host_queue(draw.at("host queue"), settings, shared, kbit, rtt_us)
    if several or is_randomised(qdisc) or faults or any(flow["cc"] in randomised() for flow in flows):
        settings["repeat"] = starts
        for flow in flows:
            flow.setdefault("start", {})["jitter"] = jitter(rtt_us)
    return Scenario.model_validate(settings)


def alone(seed: int, index: int, shared: Shared, cc: str, starts: int, always: bool = False) -> Scenario:
    """A single bulk flow with this congestion control on the path with this index: the same path whatever the congestion control.

    With a randomised qdisc or control, or `always`, it has `starts` runs with jittered starts.
    """
    draw = Draw("agree", "alone", seed, index)
    kbit, rtt_us = round_to_3(draw.log("rate", *_KBIT)), _rtt_us(draw)
    path = _path(draw, shared, kbit, rtt_us)
    qdisc, flow = path["bottleneck"]["qdisc"]["kind"], dict[str, Any](cc=cc, **_ecn(draw, shared, cc))
    settings: dict[str, Any] = {"name": f"{cc}-{seed}-{index:03d}", "path": path, "flows": [flow], "duration": f"{run_seconds(kbit)}s"}
    if always or is_randomised(qdisc) or cc in randomised():
        settings["repeat"] = starts
        flow["start"] = {"jitter": jitter(rtt_us)}
    return Scenario.model_validate(settings)


def pair(seed: int, index: int, shared: Shared, ccs: Sequence[str], starts: int) -> Scenario:
    """Two bulk flows with different congestion controls of these, and `starts` runs with jittered starts."""
    draw = Draw("agree", "pairs", seed, index)
    kbit, rtt_us = round_to_3(draw.log("rate", *_KBIT)), _rtt_us(draw)
    first = draw.choice("first", ccs)
    second = draw.choice("second", [cc for cc in ccs if cc != first])
    start = {"jitter": jitter(rtt_us)}
    settings: dict[str, Any] = {
        "name": f"{first}-{second}-{seed}-{index:03d}",
        "path": _path(draw, shared, kbit, rtt_us),
        "flows": [{"cc": cc, **_ecn(draw.at(cc), shared, cc), "start": start} for cc in (first, second)],
        "duration": f"{run_seconds(kbit)}s",
        "repeat": starts,
    }
    return Scenario.model_validate(settings)


def left_to_chance(scenario: Scenario) -> bool:
    """True if random numbers decide more than the start of its traffic: those of a queue, of a faulty link or of a congestion control."""
    ways = (passed(scenario, name, way) for name in taken(scenario) for way in WAYS)
    queues = [stage for stages in ways for stage in stages if isinstance(stage, Bottleneck)]
    faults = any(delay.planned_faults() is not None for delay in written_delays(scenario))
    drawing = any(each.cc.kind in randomised() for each in over_tcp(scenario))
    return faults or drawing or any(is_randomised(queue.qdisc.kind) for queue in queues)


def _ecn(draw: Draw, shared: Shared, cc: str) -> dict[str, bool]:
    """Return whether a connection asks for ECN, or nothing: the congestion control's own choice."""
    if not draw.chance("ecn given", 0.5):
        return {}
    return {"ecn": cc in shared.needs_ecn or draw.chance("ecn", 0.6)}


def _probes(draw: Draw, qdisc: str) -> list[dict[str, Any]]:
    """A ping, and datagrams at random times that are sent back; or one of the two. They have one codepoint."""
    interval_ms = draw.whole("interval", 20, 200)
    ping: dict[str, Any] = {"kind": "ping", "interval": f"{interval_ms}ms", "size": f"{draw.whole('ping size', 64, 500)}B"}
    udp: dict[str, Any] = {
        "kind": "udp",
        "name": "echo",
        "interval": {"exponential": f"{interval_ms}ms"},
        "size": {"uniform": ["64B", "500B"]},
        "reply": True,
    }
    found = draw.choice("which", ([ping], [udp], [ping, udp]))
    return [probe | connections.codepoint(draw, qdisc) for probe in found]


def _transfers(draw: Draw, shared: Shared, qdisc: str) -> dict[str, Any]:
    """Connections that come and go, a part of the load."""
    mean = f"{round_to_3(draw.log('mean', *_MEAN_BYTES))}B"
    sizes = {
        "fixed": mean,
        "exponential": {"exponential": mean},
        "lognormal": {"lognormal": {"median": mean, "sigma": round(draw.log("sigma", 0.3, 1.5), 3)}},
        "pareto": {"pareto": {"shape": round(draw.log("shape", 1.05, 2.5), 3), "least": mean, "most": "3MB"}},
    }
    load = round(draw.log("load", *_LOAD), 3)
    written: dict[str, Any] = {"kind": "transfers", "cc": _cc(draw, shared), "arrivals": {"kind": "poisson", "load": load}}
    written["size"] = sizes[draw.choice("size", sorted(sizes))]
    if draw.chance("own rtt", 0.3):
        written["rtt"] = {"lognormal": {"median": f"{_rtt_us(draw)}us", "sigma": 0.5}}
    return written | connections.of_any(draw, shared, qdisc, written["cc"])


def run_seconds(kbit: int, longest: int = _SECONDS[1]) -> int:
    """The duration of a run, s: as long as the maximum number of packets allows at this rate."""
    return min(longest, max(_SECONDS[0], int(_PACKETS * 8 * FRAME_BYTES / (1000 * kbit))))


def usual(shared: Shared) -> tuple[str, ...]:
    """The congestion controls that most flows have, of those that the engines share; all if there is none of them."""
    return tuple(name for name in shared.cc if name in _USUAL) or shared.cc


def _cc(draw: Draw, shared: Shared) -> str:
    others = tuple(name for name in shared.cc if name not in _USUAL)
    if others and draw.chance("other cc", _OTHERS):
        return draw.choice("cc", others)
    return draw.choice("cc", usual(shared))


def jitter(rtt_us: int) -> str:
    """Maximum delay of a start: half a second or four RTTs, whichever is greater."""
    return f"{max(500_000, 4 * rtt_us)}us"


def round_to_3(value: float) -> int:
    """The value rounded to an integer with three significant digits."""
    return int(float(f"{value:.3g}"))


def _rtt_us(draw: Draw) -> int:
    """An RTT whose half is a whole number of microseconds: netem delays each direction by a half, with that resolution."""
    return 100 * round(10 * draw.log("rtt", *_RTT_MS))


def _path(draw: Draw, shared: Shared, kbit: int, rtt_us: int) -> dict[str, Any]:
    other_mtu = not shared.wants_sce and draw.chance("other mtu", _OTHER_MTU)
    mtu = draw.choice("mtu", _MTUS) if other_mtu else ETHERNET_MTU
    frame_bytes = mtu + ETHERNET_BYTES
    bdp_packets = kbit * rtt_us / (8e3 * frame_bytes)
    kind = draw.choice("qdisc", shared.qdisc)
    shapers = shared.shapers(kind)
    shaper = shapers[0] if kind == "cake" and draw.chance("own shaper", 0.7) else draw.choice("shaper", shapers)
    bottleneck: dict[str, Any] = {"rate": f"{kbit}kbit", "shaper": shaper, "qdisc": drawn(draw.at("qdisc"), kind, bdp_packets, frame_bytes)}
    if shaper in ("tbf", "htb") and draw.chance("other burst", 0.5):
        bottleneck["burst"] = draw.choice("burst", [burst for burst in _BURSTS if Size.parse(burst) >= frame_bytes])
    delay: dict[str, Any] = {"where": draw.choice("where", ("before", "after", "ack-path"))}
    if draw.chance("delay limit", 0.2):
        delay["limit"] = f"{round(draw.log('delay limit of', max(10.0, bdp_packets / 4), max(100.0, 4 * bdp_packets)))}p"
    if draw.chance("extra delay", 0.1):
        delay["extra"] = f"{100 * draw.whole('extra', 1, 200)}us"
    path: dict[str, Any] = {"rtt": f"{rtt_us}us", "delay": delay, "bottleneck": bottleneck}
    if mtu != ETHERNET_MTU:
        path["mtu"] = mtu
    if draw.chance("access", 0.2):
        path["access"] = {"rate": f"{kbit * draw.choice('access rate', (2, 4, 10))}kbit"}
    path["reverse"] = "none" if draw.chance("no reverse queue", 0.3) else "mirror"
    return path


def _flows(draw: Draw, shared: Shared, qdisc: str, kbit: int, seconds: int) -> list[dict[str, Any]]:
    left = 1 if draw.chance("alone", _ALONE) else 2 + int((_MOST_FLOWS - 1) * draw.unit("flows") ** 1.5)
    several = left > 1
    groups: list[dict[str, Any]] = []
    while left:
        own = draw.at("flows", len(groups))
        count = own.whole("count", 1, left)
        group = _group(own, shared, qdisc, kbit, seconds)
        if count > 1:
            group["count"] = count
            if own.chance("every", 0.3):
                group["start"] = {"every": f"{own.whole('every of', 100, max(100, 300 * seconds // count))}ms"}
        if groups:
            if own.chance("later", 0.4):
                group.setdefault("start", {})["first"] = f"{own.whole('first', 100, 400 * seconds)}ms"
            if own.chance("own rtt", 0.3):
                group["rtt"] = f"{_rtt_us(own)}us"
        if several and Feature.REVERSE_FLOWS in shared.feature and own.chance("reverse", 0.15):
            group["direction"] = "reverse"
        groups.append(group)
        left -= count
    return groups


def _group(draw: Draw, shared: Shared, qdisc: str, kbit: int, seconds: int) -> dict[str, Any]:
    cc = _cc(draw, shared)
    group: dict[str, Any] = {"cc": cc, **_ecn(draw, shared, cc)}
    if draw.chance("sized", 0.2):
        capacity = kbit * 1000 * seconds / 8
        group["bytes"] = f"{round(draw.log('bytes', 1e4, max(2e4, capacity / 2)))}B"
    elif draw.chance("stopped", 0.15):
        group["duration"] = f"{draw.whole('duration', 300 * seconds, 700 * seconds)}ms"
    return group | connections.of_flow(draw, shared, qdisc, cc, kbit)


def _hosts(draw: Draw, flows: list[dict[str, Any]]) -> None:
    """Assigns separate hosts to some flows, which cake's host isolation distinguishes."""
    for i, flow in enumerate(flows):
        for key, names in (("src", ("a", "b", "c")), ("dst", ("x", "y"))):
            if draw.chance(f"{key} {i} named", 0.4):
                flow[key] = draw.choice(f"{key} {i}", names)


def _impairments(draw: Draw, shared: Shared, kbit: int, seconds: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if Feature.OUTAGES in shared.feature and draw.chance("outage", 0.1):
        at = f"{draw.whole('outage at', 1000, 700 * seconds)}ms"
        found.append({"kind": "outage", "at": at, "for": f"{draw.whole('outage for', 10, 1000)}ms"})
    if Feature.RATE_STEPS in shared.feature and draw.chance("rate step", 0.1):
        at = f"{draw.whole('rate step at', 1000, 700 * seconds)}ms"
        found.append({"kind": "rate", "at": at, "rate": f"{round_to_3(kbit * draw.log('rate step to', 0.3, 1.0))}kbit"})
    return found
