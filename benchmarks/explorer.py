"""Cost of the explorer in a browser: a page of a run with 17 series of 60,001 samples, one with a table of 5,000 runs, and 72 runs that are
selected at once in a served page.

    python -m benchmarks.explorer

CPU time is that of the page's main thread, as DevTools counts it in thread ticks: wall time would be that of drawing without a graphics
card.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.arguments import end_with, show
from dumbbell.api import run
from dumbbell.bench.measure import Row
from dumbbell.bench.present import lines
from dumbbell.errors import EnvironmentFault
from dumbbell.explorer.arrays import Samples
from dumbbell.explorer.collection import Document, Rows
from dumbbell.explorer.export import export
from dumbbell.explorer.runs import Runs
from dumbbell.scenario import Scenario

TARGETS = {
    "bytes_of_page": 1_300_000,
    "load_cpu_s": 1.0,
    "step_cpu_ms": 100,
    "bytes_of_browser": 400_000_000,
    "filter_cpu_ms": 100,
    "select_cpu_s": 1.0,
    "select_requests": 1,
}
CHROMIUM = Path("/usr/bin/chromium")
_STEPS = 12
_RUNS = 5000
_SCENARIO: dict[str, Any] = {
    "name": "million",
    "path": {"rtt": "40ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}},
    "flows": [{"cc": "cubic", "name": "c", "count": 2}, {"cc": "reno", "name": "r", "count": 2}],
    "duration": "300s",
    "sample": "5ms",
}


_SWEEP: dict[str, Any] = {
    "name": "sweep",
    "path": {"rtt": "20ms", "bottleneck": {"rate": "20mbit", "qdisc": {"kind": "pfifo", "limit": "100p"}}},
    "flows": [{"cc": "cubic", "count": 2, "start": {"jitter": "200ms"}}],
    "duration": "10s",
    "sweep": {"flows.0.cc": ["cubic", "bbr"], "path.bottleneck.qdisc": ["fq_codel", "cake", "fq"], "path.rtt": ["20ms", "40ms", "80ms"]},
    "repeat": 4,
}


class _Listed:
    """Runs of which only the table is known."""

    def index(self) -> Document:
        """The table."""
        rows = Rows()
        for i, key in enumerate(self.keys()):
            cc = ("cubic", "reno", "bbr")[i % 3]
            facts = {"key": key, "name": "many", "status": "ok", "reasons": [], "engine": "sim", "seed": i, "ccs": [cc]}
            rows.add(facts, {"flows.0.cc": cc, "path.rtt": f"{10 * (i % 50)}ms"}, {"goodput_mbit": i / 7, "drops": float(i)})
        return rows.document("many", "runs")

    def renew(self) -> None:
        """Nothing is added."""

    def keys(self) -> Sequence[str]:
        """Their names."""
        return [sha256(str(i).encode()).hexdigest()[:32] for i in range(_RUNS)]

    def detail(self, key: str) -> Document:
        """Nothing."""
        return {"key": key, "series": [], "entities": {}}

    def series(self, key: str) -> Iterator[tuple[str, str, Samples]]:
        """None."""
        del key
        return iter(())

    def one_series(self, key: str, entity: str, name: str) -> Samples:
        """None."""
        raise KeyError(key, entity, name)

    def captures(self, key: str) -> Mapping[str, Path]:
        """None."""
        del key
        return {}


def measure() -> Row:
    """Sizes and CPU times. Raises `EnvironmentFault` without a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise EnvironmentFault("playwright is not installed; expected it (`pip install playwright`, no browser of its own)") from None
    if not CHROMIUM.exists():
        raise EnvironmentFault(f"{CHROMIUM}: no such file; expected Debian's package chromium")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
        place = Path(folder)
        run(Scenario(**_SCENARIO), place / "runs")
        run(Scenario(**_SWEEP), place / "sweep")
        served = ends.enter_context(_served(place / "sweep"))
        playwright = ends.enter_context(sync_playwright())
        large, many = place / "million.html", place / "many.html"
        large.write_bytes(export(Runs(place / "runs", "million")).content)
        many.write_bytes(export(_Listed()).content)
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        found = {
            "bytes_of_page": large.stat().st_size,
            **_large(browser, large),
            **_many(browser, many),
            **_select(browser, *served),
        }
        browser.close()
    return {"name": "explorer", "targets": TARGETS, **found}


def _opened(browser: Any, address: str) -> tuple[Any, Callable[[], float], float]:
    """A page, a function that gives the CPU seconds of its main thread so far, and those until it was drawn."""
    context = browser.new_context(viewport={"width": 1200, "height": 950}, offline=address.startswith("file:"))
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        return next(float(each["value"]) for each in tools.send("Performance.getMetrics")["metrics"] if each["name"] == "TaskDuration")

    before = spent()
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.wait_for_timeout(500)
    return page, spent, spent() - before


def _large(browser: Any, file: Path) -> dict[str, float]:
    page, spent, load = _opened(browser, file.as_uri())
    first, last = page.evaluate("dumbbell.range()")
    steps = []
    for i in range(_STEPS):
        width = (last - first) * (0.95, 0.3, 0.02)[i % 3]
        begin = first + i / _STEPS * (last - first - width)
        before = spent()
        page.evaluate(
            "range => new Promise(done => (dumbbell.show(...range), requestAnimationFrame(() => requestAnimationFrame(done))))",
            [begin, begin + width],
        )
        steps.append(spent() - before)
    return {"load_cpu_s": load, "step_cpu_ms": 1e3 * statistics.median(steps), "bytes_of_browser": _largest_renderer()}


def _many(browser: Any, file: Path) -> dict[str, float]:
    page, spent, _ = _opened(browser, file.as_uri())
    steps = []
    for i in range(_STEPS):
        before = spent()
        page.fill("#filter", f"cc=cubic rtt>={10 * i}ms")
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        steps.append(spent() - before)
    return {"filter_cpu_ms": 1e3 * statistics.median(steps)}


def _select(browser: Any, address: str, server: int) -> dict[str, float]:
    """Select all runs of a served sweep: CPU time of the page and of the server together, and requests."""
    page, spent, _ = _opened(browser, address)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    before = spent() + _cpu_s(server)
    page.click("text=Select all")
    page.wait_for_function("() => document.querySelectorAll('#view progress').length === 0 && dumbbell.drawn('cwnd') === 144")
    page.wait_for_timeout(500)
    return {"select_cpu_s": spent() + _cpu_s(server) - before, "select_requests": len(requests)}


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, int]]:
    """Address and process of a server of a folder."""
    command = [sys.executable, "-m", "dumbbell", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        yield server.stderr.readline().split()[1], server.pid
        server.terminate()


def _cpu_s(process: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def _largest_renderer() -> int:
    """Private bytes of the largest process of a page; what all processes of the browser share is not in it."""
    sizes = [0]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (process / "cmdline").read_bytes():
                rows = (process / "smaps_rollup").read_text().splitlines()
                sizes.append(1024 * sum(int(row.split()[1]) for row in rows if row.startswith("Private_")))
        except OSError:  # it has ended
            continue
    return max(sizes)


if __name__ == "__main__":
    end_with(lambda: show(lines(measure())))
