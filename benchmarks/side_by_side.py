"""The simulator and ns-3 on the same scenarios, one after the other, and the ratio of delivered data packets per CPU second.

    python -m benchmarks.side_by_side [--record] [NAME...]

NS3_ROOT=PREFIX takes an ns-3 installation of your own instead of the wheel. If there is no ns-3, it says why and measures the simulator
alone. `--record` writes the figure and side_by_side.csv next to it, and keeps the records of other builds of ns-3; `docs/generate.py`
takes the tables from there.

Both send segments of 1448 bytes with timestamps, SACK, delayed ACKs (every second segment, 40 ms) and an initial window of 10 over two
store-and-forward links each way, with a quarter of the RTT on each and the queue discipline before the second. ns-3's frames are 12 bytes
shorter (PPP, not Ethernet), so its links are slower by as much: both carry the same number of full segments a second.

Some differences remain. In ns-3 every sender has an access link of its own; in dumbbell all flows share one. Buffers are fixed in ns-3, and
grow to the same size in dumbbell. ns-3's set-up is not in its CPU time; dumbbell's is. Every link of the path, also of the ACKs, is one
that packets take time on, so that dumbbell's cost is higher than in `dumbbell bench`, where ACKs pass a plain delay.
"""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.arguments import end_with, parse
from benchmarks.example import rustc_version
from benchmarks.ns3 import installation, program
from dumbbell import __version__
from dumbbell.bench.measure import packets_per_cpu_s
from dumbbell.comparing.tables import Table
from dumbbell.errors import EnvironmentFault
from dumbbell.files import write_text

FILE = Path(__file__).with_name("side_by_side.csv")
ACCESS_BPS = 10**9
OUR_FRAME, NS3_FRAME = 1514, 1502
"""Bytes of a full segment on a link."""
GOODPUT_TOLERANCE = 0.05
"""Further apart, the two do not do the same work."""
_REPEATS = 2


@dataclass(frozen=True)
class Setting:
    """A scenario for both."""

    name: str
    title: str
    flows: int
    qdisc: str
    """`fq_codel` or `pfifo`."""
    ecn: bool = False
    rate_bps: int = 10**8
    rtt_ms: int = 40
    duration_s: int = 20
    every_ms: int = 10
    """From one flow's start to the next."""
    limit_packets: int = 10240

    def scenario(self) -> dict[str, Any]:
        """For the simulator."""
        queue = {"kind": self.qdisc, "limit": f"{self.limit_packets}p"} | ({"ecn": self.ecn} if self.qdisc == "fq_codel" else {})
        delay = {"delay": f"{self.rtt_ms * 1000 // 4}us"}
        access, line = {"rate": f"{ACCESS_BPS}bit"}, {"rate": f"{self.rate_bps}bit"}
        return {
            "name": self.name,
            "path": {
                "forward": [access | delay, line | delay | {"shaper": "link", "qdisc": queue}],
                "reverse": [line | delay, access | delay],
            },
            "flows": [{"cc": "cubic", "count": self.flows, "ecn": self.ecn, "start": {"every": f"{self.every_ms}ms"}}],
            "duration": f"{self.duration_s}s",
            "sample": "0s",
        }

    def arguments(self) -> list[str]:
        """For ns-3."""
        return [
            "--cc=TcpCubic",
            f"--qdisc={'FqCoDel' if self.qdisc == 'fq_codel' else 'Fifo'}",
            f"--limit={self.limit_packets}",
            f"--bottleneck={self.rate_bps * NS3_FRAME // OUR_FRAME}",
            f"--access={ACCESS_BPS * NS3_FRAME // OUR_FRAME}",
            f"--rtt={self.rtt_ms}",
            f"--duration={self.duration_s}",
            f"--every={self.every_ms}",
            f"--flows={self.flows}",
            f"--ecn={str(self.ecn).lower()}",
        ]


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("cubic-fq_codel-1", "1 flow, fq_codel", 1, "fq_codel"),
        Setting("cubic-pfifo-1", "1 flow, pfifo of a BDP", 1, "pfifo", limit_packets=331),
        Setting("cubic-fq_codel-ecn-32", "32 flows, fq_codel, ECN", 32, "fq_codel", ecn=True),
        Setting("cubic-fq_codel-32", "32 flows, fq_codel, losses", 32, "fq_codel"),
        Setting("cubic-fq_codel-256", "256 flows, fq_codel, losses", 256, "fq_codel"),
    )
}


@dataclass(frozen=True)
class Comparison:
    """A scenario measured on both; a line of side_by_side.csv."""

    scenario: str
    our_packets_per_cpu_s: float
    ns3_packets_per_cpu_s: float
    our_goodput_mbit: float
    ns3_goodput_mbit: float
    ns3: str
    compiler: str
    dumbbell: str
    rustc: str
    date: str

    @property
    def ratio(self) -> float:
        """Return how many times as fast dumbbell is."""
        return self.our_packets_per_cpu_s / self.ns3_packets_per_cpu_s

    @property
    def same_work(self) -> bool:
        """True if the goodputs are near each other."""
        return abs(self.our_goodput_mbit / self.ns3_goodput_mbit - 1) <= GOODPUT_TOLERANCE


def ours(setting: Setting) -> tuple[float, float]:
    """Packets per CPU second and goodput (Mbit/s) of the simulator."""
    rate, output = packets_per_cpu_s(setting.scenario())
    flows = output["flows"]
    values = np.frombuffer(flows["values"], dtype="<f8").reshape(len(flows["names"]), len(flows["columns"]))
    received = float(np.nansum(values[:, flows["columns"].index("rx_bytes")]))
    return rate, received * 8e-6 / setting.duration_s


def theirs(setting: Setting, executable: Path) -> tuple[float, float]:
    """The same of ns-3."""
    outcomes = [program.run(executable, setting.arguments()) for _ in range(_REPEATS)]
    return max(each.packets / each.cpu_s for each in outcomes), outcomes[0].goodput_bps / 1e6


def read(path: Path = FILE) -> list[Comparison]:
    """Return the record."""
    rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))
    return [
        Comparison(
            row["scenario"],
            float(row["our_packets_per_cpu_s"]),
            float(row["ns3_packets_per_cpu_s"]),
            float(row["our_goodput_mbit"]),
            float(row["ns3_goodput_mbit"]),
            *[row[name] for name in ("ns3", "compiler", "dumbbell", "rustc", "date")],
        )
        for row in rows
    ]


def write(comparisons: Sequence[Comparison], path: Path = FILE) -> None:
    """Replaces the file."""
    out = io.StringIO()
    rows = csv.DictWriter(out, [field.name for field in fields(Comparison)], lineterminator="\n")
    rows.writeheader()
    rows.writerows(asdict(each) for each in comparisons)
    write_text(path, out.getvalue())


def table(comparisons: Sequence[Comparison]) -> Table:
    """For the documents."""
    columns = ["scenario", "dumbbell, packets per CPU second", "ns-3", "ratio", "goodput, Mbit/s", "ns-3's"]
    rows = [
        [
            SETTINGS[each.scenario].title,
            f"{each.our_packets_per_cpu_s / 1e6:.2f} M",
            f"{each.ns3_packets_per_cpu_s / 1e3:.1f} k",
            f"{each.ratio:.0f}",
            f"{each.our_goodput_mbit:.1f}",
            f"{each.ns3_goodput_mbit:.1f}{'' if each.same_work else ' (not the same work)'}",
        ]
        for each in comparisons
    ]
    return Table("", columns, rows)


def by_build(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """The comparisons with each build of ns-3."""
    return {build: [each for each in comparisons if each.ns3 == build] for build in dict.fromkeys(each.ns3 for each in comparisons)}


def section(comparisons: Sequence[Comparison]) -> str:
    """For the documents: what was compared with what, and the table, for each build of ns-3."""
    parts = []
    for build, found in by_build(comparisons).items():
        made = found[0]
        versions = f"dumbbell {made.dumbbell} (rustc {made.rustc}, release profile)"
        parts.append(f"{made.date}, {versions} against {build} (program by {made.compiler}, -O3):\n\n{table(found).markdown()}")
    return "\n".join(parts)


def draw(comparisons: Sequence[Comparison], folder: Path = FILE.parent) -> list[Path]:
    """A bar chart: one column for each scenario and build of ns-3: how many times as many packets per CPU second."""
    import numpy as np
    from matplotlib import pyplot

    from dumbbell.drawing.style import of_flow, save, styled

    builds = by_build(comparisons)
    names = list(dict.fromkeys(each.scenario for each in comparisons))
    thickness = 0.75 / len(builds)
    with styled("screen") as geometry:
        height = 1.0 + 0.25 * len(comparisons) + 0.2 * len(builds)
        figure, axes = pyplot.subplots(figsize=(0.62 * geometry.width, height), layout="constrained")
        for i, (build, found) in enumerate(builds.items()):
            places = np.array([names.index(each.scenario) for each in found]) + (i - (len(builds) - 1) / 2) * thickness
            label = f"{found[0].date}, against {build}"
            bars = axes.barh(places, [each.ratio for each in found], color=of_flow(i)[0], height=thickness, label=label)
            axes.bar_label(bars, [f"{each.ratio:.0f}" for each in found], padding=3)
        axes.set_yticks(range(len(names)), [SETTINGS[name].title for name in names])
        axes.invert_yaxis()
        axes.set_xlabel("data packets per CPU second, dumbbell / ns-3")
        axes.margins(x=0.1)
        figure.legend(loc="outside upper left", fontsize=0.85 * geometry.font)
        return save(figure, folder, FILE.stem)


def main(arguments: list[str] | None = None) -> int:
    """The exit status."""
    described = "The simulator and ns-3 on the same scenarios."
    asked = parse(arguments, described, "scenario", SETTINGS, "write benchmarks/side_by_side.csv and the figure")
    try:
        ns3 = installation.find()
        executable, cxx = program.build(ns3), program.compiler()
    except EnvironmentFault as error:
        ns3 = None
        print(f"ns-3: not measured, {error}", flush=True)
    else:
        print(f"against {ns3}; NS3_ROOT=PREFIX takes another installation", flush=True)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    done = []
    for setting in (SETTINGS[name] for name in asked.names or SETTINGS):
        rate, goodput = ours(setting)
        line = f"{setting.name:22} {rate / 1e6:6.2f} M packets per CPU second"
        if ns3 is not None:
            rate_there, goodput_there = theirs(setting, executable)
            versions = (str(ns3), cxx, __version__, rustc_version(), today)
            done.append(Comparison(setting.name, round(rate), round(rate_there), round(goodput, 2), round(goodput_there, 2), *versions))
            line += f", ns-3 {rate_there / 1e3:.1f} k, ratio {done[-1].ratio:.0f}"
            if not done[-1].same_work:
                line += f" (goodput {goodput:.1f} Mbit/s, ns-3's {goodput_there:.1f}: not the same work)"
        print(line, flush=True)
    if asked.record:
        if not done:
            raise EnvironmentFault("there is nothing to record without ns-3")
        kept = [each for each in read() if each.ns3 != done[0].ns3] if FILE.exists() else []
        write([*kept, *done])
        draw([*kept, *done])
    return 0


if __name__ == "__main__":
    end_with(main)
