"""Records cases in which the simulator's end and the real kernel's agree, for tests/agreement/ends: `python tests/record_ends.py`.

A record has the case and the kernel's answers. `python tests/record_ends.py mended DIR` adds the cases in a folder, which
`dumbbell agree ends --out` wrote when the
ends differed, to those that were mended.
"""

import gzip
import json
import sys
from pathlib import Path

from dumbbell.agreement.ends import cases
from dumbbell.agreement.ends.comparing import difference
from dumbbell.agreement.ends.rounds import played, replayed

FOLDER = Path(__file__).parent / "agreement" / "ends"
MENDED = FOLDER / "recorded-mended.json.gz"
"""Cases in which the ends differed once: each mechanism that was mended has one."""
SEED = 2026
PLANS = [
    # cases to record, kind, congestion control, ECN, TSO, SACK, timestamps, and whether connections are reset, or opened by both ends
    *((10, "send", cc, False, False, True, True) for cc in ("reno", "cubic", "bbr")),
    *((5, "send", cc, True, False, True, True) for cc in ("reno", "cubic", "dctcp", "bbr")),
    *((10, "send", cc, cc == "dctcp", True, True, True) for cc in ("reno", "cubic", "dctcp", "bbr")),
    (10, "send", "cubic", False, False, False, True),
    (10, "send", "cubic", False, False, True, False),
    (15, "receive", "reno", False, False, True, True),
    (10, "receive", "reno", True, False, True, True),
    (10, "receive", "dctcp", True, False, True, True),
    (5, "receive", "reno", False, False, False, True),
    (5, "receive", "reno", False, False, True, False),
    (15, "both", "reno", False, False, True, True),
    (10, "both", "cubic", True, False, True, True),
    (5, "both", "bbr", False, False, True, True),
    (5, "both", "dctcp", True, False, True, True),
    (5, "both", "reno", False, False, False, True),
    (5, "both", "reno", False, False, True, False),
    (10, "both", "cubic", False, False, True, True, True),
    (5, "both", "cubic", True, False, True, True, False, True),
    (5, "both", "reno", False, False, False, True, False, True),
]
"""220 in all, with the stack linux-6.12."""
NEWER = [
    (3, "send", "cubic", False, False, True, True),
    (5, "receive", "reno", False, False, True, True),
    (10, "both", "reno", False, False, True, True),
    (5, "both", "cubic", True, False, True, True),
]
"""23 in all, with the stack linux-7.3: those of ends that receive are cases in which an end with linux-6.12 answers otherwise."""
RECORDS = {"linux-6.12": PLANS, "linux-7.3": NEWER}
"""Stack -> the plans for its kernel."""
_MOST_DRAWN = 3000
_MOST_ACTIONS = {"linux-6.12": 150, "linux-7.3": 400}
_ABORTS = 6
"""Where a plan says that connections are reset."""
_SYN, _RST, _ACK = 2, 4, 16


def file_of(stack):
    """The file with the record of a stack."""
    return FOLDER / ("recorded.json.gz" if stack == "linux-6.12" else f"recorded-{stack}.json.gz")


def recorded(stack="linux-6.12"):
    """The record: a list of `{case, kernel}`."""
    return _read(file_of(stack))


def mended():
    """The cases that were mended: a list of `{name, case, kernel}`."""
    return _read(MENDED) if MENDED.exists() else []


def _read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def _write(path, listed):
    # The header has no time, so that a new recording is the same file.
    path.write_bytes(gzip.compress(json.dumps(listed, separators=(",", ":")).encode(), mtime=0))
    print(f"{path.name}: {len(listed)} cases, {path.stat().st_size} bytes")


def is_reset(case):
    """True if an application aborts or leaves, or an RST reaches the end."""
    return any(action["do"] in ("abort", "quit") or action.get("flags", 0) & _RST for action in case["actions"])


def is_crossed(case):
    """True if a SYN reaches an end that has opened."""
    opened = False
    for action in case["actions"]:
        opened |= action["do"] == "open"
        if opened and action.get("flags", 0) & (_SYN | _ACK) == _SYN:
            return True
    return False


def is_new(case, answers):
    """True if an end with the stack linux-6.12 does not answer so."""
    [old] = cases.replayed([case | {"stack": "linux-6.12"}])
    return isinstance(old, cases.Impossible) or difference(case, answers, old) is not None


def agreeing(stack, count, *plan):
    """Cases in which both ends agree, with the kernel's answers; of a plan with resets or crossed SYNs, those in which there are some."""
    aborts, crossed = (*plan[_ABORTS:], False, False)[:2]
    found = []
    for each in played(SEED, _MOST_DRAWN, *plan, stack=stack):
        is_short = len(each.case["actions"]) <= _MOST_ACTIONS[stack]
        is_wanted = is_reset(each.case) == aborts and is_crossed(each.case) == crossed and is_short
        if each.difference is None and is_wanted and (stack == "linux-6.12" or plan[0] == "send" or is_new(each.case, each.kernel)):
            found.append({"case": each.case, "kernel": each.kernel})
        if len(found) == count:
            return found
    sys.exit(f"{plan}: only {len(found)} of {count} cases")


def record_mended(folder):
    """Adds the cases of a folder to those that were mended. Each case has to be equal now."""
    paths = sorted(folder.glob("*.json"))
    found = replayed([cases.read(path) for path in paths])
    for path, each in zip(paths, found, strict=True):
        if each is None or each.difference is not None:
            sys.exit(f"{path}: {'no peer can have sent this' if each is None else each.difference.name}")
    added = [{"name": path.stem, "case": each.case, "kernel": each.kernel} for path, each in zip(paths, found, strict=True)]
    kept = [each for each in mended() if each["name"] not in {path.stem for path in paths}]
    _write(MENDED, [*kept, *added])


def main():
    """Writes the files of the stacks that are named, or all; or adds mended cases."""
    if sys.argv[1:2] == ["mended"]:
        record_mended(Path(sys.argv[2]))
        return
    for stack in sys.argv[1:] or RECORDS:
        all_found = [each for plan in RECORDS[stack] for each in agreeing(stack, *plan)]
        FOLDER.mkdir(exist_ok=True)
        _write(file_of(stack), all_found)


if __name__ == "__main__":
    main()
