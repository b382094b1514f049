"""Changes of Linux 7.3 whose effect is known, each made by a patch (`patches/`): `dumbbell regress` is to name the workloads that it
moves, and no others.

python -m benchmarks.changes [--source TARBALL] [NAME...]

Each needs a build of the kernel, the first one of minutes and the others of one each, and 108 runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.arguments import end_with

ROOT = Path(__file__).resolve().parent.parent
PATCHES = Path(__file__).parent / "patches"
BASELINE = "7.3"
MOVES = {
    "sack-compression": {"reno-short-rtt"},
    "rmem-max": {"bbr-wide-area"},
    "receive-space": {"reno-short-rtt"},
    "cubic-decrease": {"cubic-loss", "cubic-fq_codel"},
}
"""Patch -> the workloads of the set tcp that it moves. The first three undo what Linux changed after 6.12: the share of the RTT for which
SACKs are held back (5 % there, 33 % now), the maximum of tcp_rmem (6 MiB there, 32 MiB now), and how the receive buffer is tuned. The last
one is one line of tcp_cubic.c."""


def named(name: str, source: str | None, out: Path) -> set[str]:
    """Return the workloads that `regress` names. Raises `RuntimeError` with its message if it gives no verdict."""
    command = [
        sys.executable,
        "-m",
        "dumbbell",
        "regress",
        "tcp",
        "--baseline",
        BASELINE,
        "--series",
        BASELINE,
        "--name",
        f"changes-{name}",
    ]
    command += ["--patch", str(PATCHES / f"{name}.patch"), "--out", str(out), "--json", *(("--source", source) if source else ())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found = json.loads(done.stdout)
    return {each["workload"] for each in found["moved"]} | set(found["broken"])


def main() -> int:
    """Try the changes. Returns 1 if another workload is named than those that are known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", metavar="TARBALL", help="sources of Linux 7.3; by default the distribution's package")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"changes: {', '.join(MOVES)}")
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in MOVES]:
        parser.error(f"{unknown[0]}: no such change; expected {', '.join(MOVES)}")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="dumbbell-changes-") as folder:
        for name in chosen.names or MOVES:
            found = named(name, chosen.source, Path(folder) / name)
            wrong += found != MOVES[name]
            print(f"{name}: moves {', '.join(sorted(found)) or 'nothing'}; expected {', '.join(sorted(MOVES[name]))}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    end_with(main)
