"""Results folders as somebody makes them who means harm and knows how they are sealed."""

import io
import json
import random
import shutil
from contextlib import suppress

import polars as pl

from dumbbell import Scenario, run
from dumbbell.results import Store
from dumbbell.results.storage.checksums import file_entry, seal
from dumbbell.results.storage.index import _checked, line
from dumbbell.results.storage.packing import pack

_DEEP = json.loads("[" * 60 + "]" * 60)
ODD = (
    *(None, True, False, -1, 0, 1, 3, 0.5, -0.5, 1e308, float("inf"), float("-inf"), float("nan"), 2**53, 2**63, 2**64, 10**400),
    *("", "a", "a/b", "../../x", "/etc/passwd", "\x1b]0;t\x07\x1b[31m", "\n", "\0", "\ud800", "\u202e", "x" * 5000, "$(touch x)", "=1+1"),
    *("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "forward", "tcp", "udp", "udp/x", "flow", "20ms", "1e999", "a|b\n| c", "inf"),
    *([], [[]], [None], [1, 2], ["a"], {}, {"a": 1}, {"": {}}, {"kind": "queue"}, _DEEP),
)
"""Hostile replacements for a value."""
_NUMBERS = (float("inf"), float("nan"), -1.0, 0.0, 1e308, 2.0**63)
_SCENARIOS = (
    """\
name: s
path: {rtt: 20ms, bottleneck: {rate: 1mbit, qdisc: {kind: pfifo, limit: 20p}}}
flows: [{cc: reno}, {cc: cubic, name: two, count: 2, start: {every: 100ms}}]
duration: 1s
sweep: {path.rtt: [20ms, 30ms]}
""",
    """\
name: applications
path: {rtt: 20ms, bottleneck: {rate: 2mbit, shaper: htb, qdisc: {kind: fq_codel}}}
flows: [{name: upload, cc: cubic, bytes: 20kB}]
background:
  - {kind: voip, name: call, direction: both, buffer: 60ms}
  - {kind: ping, interval: 100ms}
  - {kind: exchange, cc: reno, request: 200B, response: 2kB, connections: 2}
  - {kind: transfers, cc: reno, arrivals: {kind: regular, every: 200ms}, size: 5kB}
capture: [hosts, bottleneck]
duration: 1s
""",
)


def make(folder):
    """Folders with the runs of some scenarios: as folders, and packed."""
    for i, text in enumerate(_SCENARIOS):
        run(Scenario.from_text(text), out=folder / f"folders-{i}")
        shutil.copytree(folder / f"folders-{i}", folder / f"packed-{i}")
        pack(Store(folder / f"packed-{i}"))
    return sorted(folder.iterdir())


def spoil(folder, seed):
    """Changes a folder in one to three ways."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 2, 3))):
        with suppress(FileNotFoundError):
            rng.choice((_json, _json, _json, _json, _series, _index, _packed))(folder, rng)


def _json(folder, rng):
    """Something else in a JSON file, which has its seal again, or most times."""
    path = rng.choice(sorted(folder.rglob("*.json")))
    content = json.loads(path.read_bytes())
    content.pop("sha256", None)
    _change(content, rng)
    path.write_bytes(_sealed(content) if rng.random() < 0.95 else json.dumps(content).encode())


def _change(content, rng):
    """Replaces, removes or renames something in plain data."""
    where = content
    while True:
        keys = list(where) if isinstance(where, dict) else range(len(where))
        if not keys:
            return
        key = rng.choice(list(keys))
        if not isinstance(where[key], dict | list) or not where[key] or rng.random() < 0.15:
            break
        where = where[key]
    how = rng.random()
    if how < 0.75:
        where[key] = rng.choice(ODD)
    elif how < 0.9:
        del where[key]
    elif isinstance(where, dict):
        where[str(rng.choice(ODD))[:6000]] = where.pop(key)
    else:
        where.append(where[key])


def _sealed(content):
    return seal((json.dumps(content, indent=1) + "\n").encode()) if content else b"{}"


def _series(folder, rng):
    """Other samples, or damage, in a Parquet file of a run, whose record has the right checksum."""
    path = rng.choice(sorted(folder.glob("*/series.parquet")) or [folder / "none"])
    path.write_bytes(_parquet(path.read_bytes(), rng))
    record = json.loads((path.parent / "run.json").read_bytes())
    record.pop("sha256", None)
    with suppress(KeyError, TypeError):  # it was changed before
        record["files"]["series.parquet"] = file_entry(path.read_bytes())
    (path.parent / "run.json").write_bytes(_sealed(record))


def _packed(folder, rng):
    """Change a file of a pack in the same way."""
    path = rng.choice(sorted(folder.glob("packs/*/*.parquet")) or [folder / "none"])
    content = path.read_bytes()
    if path.name == "runs.parquet" and rng.random() < 0.6:
        frame = pl.read_parquet(content)
        column = rng.choice(("record", "summary"))
        texts = [json.loads(text) for text in frame[column]]
        for each in texts:
            each.pop("sha256", None)
            _change(each, rng)
        written = [_sealed(each).decode() if column == "record" else json.dumps(each) for each in texts]
        content = _written(frame.with_columns(pl.Series(column, written)))
    else:
        content = _parquet(content, rng)
    path.write_bytes(content)
    manifest = path.parent / "pack.json"
    record = json.loads(manifest.read_bytes())
    record.pop("sha256", None)
    with suppress(KeyError, TypeError):
        record["files"][path.name] = file_entry(content)
    manifest.write_bytes(_sealed(record))


def _parquet(content, rng):
    if rng.random() < 0.3:
        flipped = bytearray(content)
        for _ in range(rng.choice((1, 1, 20))):
            flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped) if rng.random() < 0.8 else bytes(flipped[: rng.randrange(len(flipped))])
    try:
        frame = pl.read_parquet(content)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return content  # it was changed before
    name = rng.choice(frame.columns)
    number, text = rng.choice(_NUMBERS), rng.choice([each for each in ODD if isinstance(each, str) and each.isascii()])
    made = {
        "dropped": lambda: frame.drop(name),
        "renamed": lambda: frame.rename({name: "colour"}),
        "of another type": lambda: frame.with_columns(pl.lit(rng.choice((None, 3, "a", [1], {"a": 1}))).alias(name)),
        "a number": lambda: frame.with_columns(pl.lit(number).alias(name)),
        "a text": lambda: frame.with_columns(pl.lit(text).alias(name)),
        "one value": lambda: frame.with_columns(
            pl.when(pl.int_range(pl.len()) == pl.len() // 2).then(pl.lit(None)).otherwise(pl.col(name)).alias(name)
        ),
        "backwards": lambda: frame.reverse(),
        "empty": lambda: frame.clear(),
        "twice": lambda: pl.concat([frame, frame]),
        "one row": lambda: frame.head(1),
    }
    return _written(made[rng.choice(list(made))]())


def _written(frame):
    buffer = io.BytesIO()
    with suppress(pl.exceptions.PolarsError):
        frame.write_parquet(buffer)
    return buffer.getvalue()


def _index(folder, rng):
    """Other summaries in the index, in lines whose checksums are right."""
    path = folder / "index.jsonl"
    lines = []
    for each in path.read_bytes().splitlines():
        key, fingerprint, content = _checked(each)
        summary = json.loads(content)
        _change(summary, rng)
        lines.append(line(key, fingerprint, json.dumps(summary)))
    path.write_bytes(b"".join(lines))
