"""Further parts of random scenarios: faults of links, rates that follow a trace, several paths, queues of hosts."""

from __future__ import annotations

from typing import Any

from dumbbell.agreement.connections import LOOKS_AT_BANDS
from dumbbell.agreement.draw import Draw
from dumbbell.agreement.qdiscs import drawn
from dumbbell.agreement.shared import Shared
from dumbbell.catalogue.feature import Feature
from dumbbell.scenario.units import FRAME_BYTES
from dumbbell.scenario.values.trace import pack

_FAULTS, _TRACE = 0.2, 0.1
"""Probabilities, of any scenario."""
_SEVERAL, _EGRESS = 0.375, 0.25
"""Probabilities, of the scenarios that allow it: a plain dumbbell; a single group of flows and nothing else over TCP."""
_NS_PER_S = 10**9


def faults(draw: Draw, shared: Shared, where: str, rtt_us: int) -> dict[str, Any]:
    """Keys of `path.delay`, of one or two faults; mostly none. `where` is where the delay is."""
    if Feature.FAULTS not in shared.feature or not draw.chance("any", _FAULTS):
        return {}
    scale = f"{max(1, round(rtt_us * draw.log('jitter', 0.002, 0.1)))}us"
    jitter: dict[str, Any] = {draw.choice("shape", ("uniform", "normal", "pareto", "paretonormal")): scale}
    if draw.chance("in order", 0.6):
        jitter["keep_order"] = True
    kinds: dict[str, dict[str, Any]] = {
        "loss": {"loss": _share(draw, "loss", 1e-4, 0.02)},
        "gilbert": {"gilbert": {"p": _share(draw, "p", 1e-4, 0.01), "r": _share(draw, "r", 0.2, 0.9)}},
        "jitter": {"jitter": jitter},
        "reorder": {"reorder": {"share": _share(draw, "reorder", 0.001, 0.05)}},
        "duplicate": {"duplicate": _share(draw, "duplicate", 0.001, 0.02)},
        "corrupt": {"corrupt": _share(draw, "corrupt", 1e-4, 0.01)},
    }
    first, second = draw.choice("first", sorted(kinds)), draw.choice("second", sorted(kinds))
    found = dict(kinds[first])
    if draw.chance("two", 0.3) and {first, second} != {"loss", "gilbert"}:
        found |= kinds[second]
    # A delay that is all in the path of the ACKs leaves nothing in the other direction that faults could vary.
    found["faults_in"] = "reverse" if where == "ack-path" else draw.choice("direction", ("forward", "reverse", "both"))
    return found


def _share(draw: Draw, name: str, least: float, most: float) -> str:
    return f"{100 * draw.log(f'share of {name}', least, most):.3g}%"


def rates(draw: Draw, shared: Shared, kbit: int, seconds: int) -> dict[str, Any] | None:
    """A trace in the place of a rate, which is the most that it has; mostly none."""
    if Feature.RATE_STEPS not in shared.feature or not draw.chance("any", _TRACE):
        return None
    times = [0]
    while times[-1] < seconds:
        times.append(times[-1] + draw.whole(f"span {len(times)}", 1, 6))
    bps = [round(1000 * kbit * draw.log(f"rate {i}", 0.3, 1.0)) for i in range(len(times))]
    return {"file": "drawn", "format": "csv", "packed": pack([*(at * _NS_PER_S for at in times), *bps])}


def several_paths(draw: Draw, settings: dict[str, Any], shared: Shared, kbit: int, rtt_us: int) -> None:
    """Mostly does nothing, or makes a dumbbell two queues in a row, with flows that pass only the second. It has no line of access and no
    limit of its delay, and its flows have no RTT of their own."""
    path, background = settings["path"], settings.get("background", [])
    delay, rated = path["delay"], any("rtt" in each for each in (*settings["flows"], *background))
    plain = "access" not in path and "limit" not in delay and delay["where"] != "ack-path" and not rated
    if not plain or shared.wants_sce or not draw.chance("any", _SEVERAL):
        return
    link = {key: value for key, value in delay.items() if key not in ("where", "extra", "faults_in")}
    rate = round(kbit * draw.log("rate", 0.6, 2.0))
    kind = draw.choice("qdisc", tuple(each for each in shared.qdisc if each != "cake"))
    second = {"rate": f"{rate}kbit", "qdisc": drawn(draw.at("second"), kind, rate * rtt_us / (8e3 * FRAME_BYTES), FRAME_BYTES)}
    if "mtu" in path:
        second["qdisc"] = {"kind": "pfifo", "limit": "100p"}
    elif kind in LOOKS_AT_BANDS:
        for each in (*settings["flows"], *background):
            each.pop("dscp", None)
    settings["stages"] = {"delay": {"delay": f"{rtt_us // 2}us", **link}, "bottleneck": path["bottleneck"], "second": second}
    back: dict[str, Any] = {}
    if path["reverse"] == "none":
        settings["stages"]["back"] = {"delay": f"{rtt_us // 2}us"}
        back = {"reverse": ["back"]}
    settings["paths"] = {"whole": {"forward": ["delay", "bottleneck", "second"], **back}, "part": {"forward": ["delay", "second"], **back}}
    for i, flow in enumerate(settings["flows"]):
        flow["path"] = "whole" if i == 0 else draw.choice(f"path {i}", ("whole", "part"))
    for each in background:
        each["path"] = "whole"
    settings["path"] = {key: value for key, value in path.items() if key == "mtu"}
    if "impairments" in path:
        settings["path"]["impairments"] = [{**each, "stage": "bottleneck"} for each in path["impairments"]]


def host_queue(draw: Draw, settings: dict[str, Any], shared: Shared, kbit: int, rtt_us: int) -> None:
    """Mostly does nothing, or gives the left host a queue of its own: all its connections have the same settings, as the kernel has it."""
    alone = len(settings["flows"]) == 1 and "src" not in settings["flows"][0] and "dst" not in settings["flows"][0]
    others = [each for each in settings.get("background", ()) if each["kind"] not in ("udp", "ping")]
    if Feature.HOST_QUEUES not in shared.feature or not alone or others or "mtu" in settings["path"] or not draw.chance("any", _EGRESS):
        return
    rate = round(kbit * draw.log("rate", 0.7, 3.0))
    qdisc = drawn(draw.at("queue"), draw.choice("qdisc", ("pfifo", "fq_codel")), rate * rtt_us / (8e3 * FRAME_BYTES), FRAME_BYTES)
    settings["hosts"] = {"left": {"egress": {"rate": f"{rate}kbit", "qdisc": qdisc}}}
