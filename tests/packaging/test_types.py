"""A type checker accepts scenarios that are written in Python as the documentation writes them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
USE = """
import dumbbell
from dumbbell import metrics


@dumbbell.control
def aimd(r: dumbbell.Round) -> float:
    return r.cwnd / 2 if r.lost else r.cwnd + 1


@dumbbell.control(paced=True)
def paced(r: dumbbell.Round) -> tuple[float, float]:
    return r.cwnd, 1e6


scenario = dumbbell.Scenario(
    name="s",
    path=dumbbell.Path(rtt="20ms", bottleneck=dumbbell.Bottleneck(rate="10mbit", qdisc=dumbbell.FqCodel(limit="100p"))),
    flows=[
        dumbbell.Flow(cc="cubic", start="1s"),
        dumbbell.Flow(cc=dumbbell.Cc(kind="bbr3", variant="draft")),
        {"cc": aimd},
    ],
    background=[dumbbell.Ping(interval="100ms"), {"kind": "udp", "rate": "4mbit"}],
    sweep={"path.rtt": ["1ms", "2ms"]},
    duration="10s",
    repeat=3,
)
results = dumbbell.run(scenario, "results/s")
run = results[0]
print(metrics.throughput_mbit(run.series("flow/cubic", "rx_bytes"), 10, 60))
print(results.frame.columns, run.counters["port/bottleneck"]["dropped_overflow"])
figure = dumbbell.plot(results, x="path.rtt", y="goodput", by="group")
print(dumbbell.table(results))
rtt = scenario.path.rtt
assert rtt is not None
print(rtt + 1)  # a quantity, not a text
"""


def test_documented_use_has_the_right_types(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(tmp_path / "cache"), "use.py"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
