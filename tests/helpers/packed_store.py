"""A store whose runs go into packs, and its packs afterwards."""

import json
from dataclasses import replace

from support import make_run

from dumbbell.results import Store
from dumbbell.results.storage.checksums import file_entry, seal

KEYS = [f"{i:032x}" for i in range(7)]

TAMPERED = [
    ("runs.parquet", {"key": [KEYS[0]], "record": [3], "summary": [None], "samples": ["many"]}),
    ("runs.parquet", {"key": [KEYS[0]], "record": ["{}"], "summary": ["{}"], "samples": [-1]}),
    ("runs.parquet", {"colour": ["red"]}),
    ("series.parquet", {"colour": ["red"]}),
    ("series.parquet", {"key": KEYS[:1], "t_ns": [0], "entity": ["flow/reno"], "series": ["cwnd"], "value": [1.0]}),
    ("hosts.parquet", {"colour": ["red"]}),
    ("hosts.parquet", {"key": [KEYS[0]], "host": ["{}"]}),
    ("tables.parquet", {"colour": ["red"]}),
    ("tables.parquet", {"key": [KEYS[0]], "file": ["flows.parquet"], "content": [b""]}),
]


def written(path, keys=KEYS, **more):
    """A store with these runs."""
    found = Store(path)
    found.request([("s", {"n": KEYS.index(key)}, key) for key in keys])
    for key in keys:
        i = KEYS.index(key)
        found.write(replace(make_run(key, cell={"n": i}, samples=11 + i), **more), "dumbbell run s.yaml", {"processors": 2})
    return found


def flip(path, position=None):
    """Change a bit of a file, in the middle unless told otherwise."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if position is None else position] ^= 1
    path.write_bytes(content)


def resealed(path, **changed):
    """Change a JSON file as another version would write it: with the right checksum."""
    record = json.loads(path.read_text())
    del record["sha256"]
    path.write_bytes(seal((json.dumps({**record, **changed}, indent=1) + "\n").encode()))


def changed(folder, file, change):
    """Has a file of a pack what `change` makes of its path, a frame, and a checksum that is right."""
    change(folder / file).write_parquet(folder / file)
    files = json.loads((folder / "pack.json").read_text())["files"]
    files[file] = file_entry((folder / file).read_bytes())
    resealed(folder / "pack.json", files=files)
