"""Files with any damage: to their bytes, to their lines, and to what their JSON says. `--seed` and `--flips` give others, and more."""

import gzip
import json
import random
from pathlib import Path

import pytest

from dumbbell.errors import BadInput
from dumbbell.exchange.exported import file_name, writer
from dumbbell.exchange.formats import WRITTEN
from dumbbell.exchange.imported import runs_of
from dumbbell.results import Store

GOLDEN = Path(__file__).parent / "golden"
CSV = "t_s,entity,series,value,unit,key,cc,direction\n" + "".join(
    f"{t},flow/a,cwnd,{t},packets,k,cubic,forward\n{t},port/q,drops,{t},,k,,\n{t},ping/p,rtt_ms,{t},s,l,,\n" for t in range(4)
)
CONTENTS = {path.name: path.read_bytes() for path in sorted(GOLDEN.iterdir()) if path.suffix != ".md"} | {"long.csv": CSV.encode()}
TOKENS = [
    b"null",
    b"-1",
    b"1e400",
    b"NaN",
    b'"x"',
    b"{}",
    b"[]",
    b"true",
    b"9" * 20,
    b"0",
    b"\xff",
    b"/",
    b"\n",
    b"\r",
    b"\0",
    b",",
    b"\x0c",
    b"=",
]
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    1e308,
    -1e308,
    float("nan"),
    float("inf"),
    10**400,
    2**63,
    "",
    "x",
    "a/b",
    "\x1b[2J",
    "\ud800",
    [],
    {},
]
VALUES += ["\ud800", "TCP upload", "Ping (ms) ICMP", [[]], [None], [1, 2], {"socket": 5}, {"a": 1}, "1", "-5", "1e9"]
KEYS = ["start", "event", "data", "socket", "streams", "intervals", "x"]


def with_other_bytes(content, dice):
    damaged = bytearray(content)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(damaged))
        damaged[at : at + dice.choice((0, 1, 1, 3, 20))] = dice.choice((*TOKENS, bytes([dice.randrange(256)]), b""))
    return bytes(damaged)


def with_other_lines(content, dice):
    lines = content.split(b"\n")
    for _ in range(dice.randint(1, 5)):
        at, other, what = dice.randrange(len(lines)), dice.randrange(len(lines)), dice.randrange(4)
        if what == 0:
            lines[at], lines[other] = lines[other], lines[at]
        elif what == 1:
            lines.insert(at, lines[other])
        elif what == 2 and len(lines) > 1:
            del lines[at]
        else:
            between = b"," if b"," in lines[at] else b" "
            fields = lines[at].split(between)
            fields[dice.randrange(len(fields))] = dice.choice(TOKENS)
            lines[at] = between.join(fields)
    return b"\n".join(lines)


def places(value, path=()):
    """The keys and positions that lead to each value within."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(each, (*path, key))


def with_other_values(content, dice):
    document = json.loads(content)
    for _ in range(dice.randint(1, 3)):
        *above, last = dice.choice([*places(document)] or [(None,)])
        inner = document
        for step in above:
            inner = inner[step]
        what = dice.randrange(4)
        if last is None:
            break
        if what == 0:
            del inner[last]
        elif what == 1 and isinstance(inner, dict):
            inner[dice.choice(KEYS)] = inner.pop(last)
        elif what == 2 and isinstance(inner, list):
            inner.insert(last, json.loads(json.dumps(inner[last])))
        else:
            inner[last] = dice.choice(VALUES)
    return json.dumps(document).encode()


def ways(content):
    """Return the ways in which a file can be damaged."""
    try:
        json.loads(content)
    except ValueError:
        return with_other_bytes, with_other_lines
    return with_other_bytes, with_other_values


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_with_any_damage_is_read_or_refused(name, tmp_path, pytestconfig):
    """Runs that were read can be stored, read again, and exported or refused in every format."""
    content = gzip.decompress(CONTENTS[name]) if name.endswith(".gz") else CONTENTS[name]
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--flips")
    dice = random.Random(f"{seed} {name}")
    damage = ways(content)
    read, problems = 0, []
    for number in range(count):
        path = tmp_path / "damaged"
        path.write_bytes(damage[number % 2](content, dice))
        try:
            runs = runs_of([path], None)
        except BadInput as error:
            problems.append(str(error))
            continue
        read += 1
        if number % 20 < 2:
            store = Store(tmp_path / "store")
            store.request((run.name, run.cell, run.key) for run in runs)
            for run in runs:
                assert store.write(run).digest == run.digest
                stored = store.get(run.key)
                assert stored.summary.plain() == run.summary.plain()
                for form in WRITTEN:
                    try:
                        writer(form)(stored, file_name(stored))
                    except BadInput as error:
                        problems.append(str(error))
    assert 0 < read < count
    assert not any("\n" in problem for problem in problems)
