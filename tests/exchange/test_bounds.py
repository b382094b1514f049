"""Files that are made to take memory: what they would take is known before it is taken."""

import json
import lzma
import subprocess
import sys
import zlib

import pytest
from foreign_files import FLENT, IPERF3, SIFTR, SS, STREAM

from dumbbell.errors import BadInput
from dumbbell.exchange import reading
from dumbbell.exchange.imported import runs_of

MOST_MB = 500
"""Memory of a process that refuses a file of up to 80 MB; dumbbell itself takes some 100 MB of it."""
READ = """
import re, resource, sys
from pathlib import Path
from dumbbell.errors import BadInput
from dumbbell.exchange.imported import runs_of
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
try:
    runs_of([Path(sys.argv[1])], sys.argv[2])
except BadInput as error:
    print(error)
print(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""
MANY = 12_000_000
BOMBS = {
    "flent": ('{"x_values": [', "{},", "many values"),
    "irtt": ('{"irtt": 1, "round_trips": [', "[],", "many values"),
    "iperf3": ('{"start": {}, "intervals": [', "{},", "many values"),
    "ss": (f"1.5\n{SS}", "2.5\n", "many lines"),
    "siftr": (SIFTR, "o,1\n", "many lines"),
    "mahimahi-log": ("# base timestamp: 0\n", "1 + 2\n", "many lines"),
    "web10g": ("Timestamp,CurCwnd\n", "1,\n", "many lines"),
    "csv": ("t_s,entity,series,value\n", "1,,,\n", "many lines"),
}


def packed(begin, repeated, count):
    """Much text in a small file."""
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(begin.encode())]
    parts += [packer.compress(repeated.encode() * 100_000) for _ in range(count // 100_000)]
    return b"".join((*parts, packer.flush()))


@pytest.mark.parametrize("form", BOMBS)
def test_a_small_file_of_many_values_takes_little_memory(tmp_path, form):
    begin, repeated, what = BOMBS[form]
    bomb = tmp_path / "bomb"
    bomb.write_bytes(packed(begin, repeated, MANY))
    assert bomb.stat().st_size < 400_000
    done = subprocess.run([sys.executable, "-c", READ, bomb, form], capture_output=True, text=True, check=True)
    said, peak_kb = done.stdout.splitlines()
    assert said == f"{bomb}: has more than 10,000,000 {what.partition(' ')[2]}; expected at most 10,000,000 in a file"
    assert int(peak_kb) < MOST_MB * 1000


def test_a_packed_file_that_wants_much_memory_to_be_unpacked_is_refused(tmp_path):
    content = bytearray(lzma.compress(b"x" * 1000))
    header = slice(12, 12 + 4 * (content[12] + 1))
    content[header.start + 4] = 40  # of LZMA2: a dictionary of 4 GiB
    content[header.stop - 4 : header.stop] = zlib.crc32(content[header.start : header.stop - 4]).to_bytes(4, "little")
    (tmp_path / "bad.xz").write_bytes(content)
    with pytest.raises(BadInput, match=r"cannot be read \(Memory usage limit exceeded\)"):
        runs_of([tmp_path / "bad.xz"], None)


def test_several_streams_of_xz_are_one_file_and_a_cut_one_is_told(tmp_path):
    text = f"1.5\n{SS}"
    whole = lzma.compress(text[:30].encode()) + bytes(8) + lzma.compress(text[30:].encode())
    (tmp_path / "polls.xz").write_bytes(whole)
    assert [run.flows.names for run in runs_of([tmp_path / "polls.xz"], None)] == [["1.1.1.1:1-2.2.2.2:2"]]
    (tmp_path / "polls.xz").write_bytes(whole[:-9])
    with pytest.raises(BadInput, match="Compressed file ended"):
        runs_of([tmp_path / "polls.xz"], None)


CONNECTED = [{"socket": socket, "local_port": 1, "remote_port": 2} for socket in range(5, 9)]
FIELDS = ",".join(["1"] * 20)
CROWDS = {
    "flent": json.dumps(FLENT | {"raw_values": {f"TCP upload::{i}": [] for i in range(4)}}),
    "iperf3": json.dumps(IPERF3 | {"start": IPERF3["start"] | {"connected": CONNECTED}}),
    "ss": "1.5\n" + "".join(SS.replace(":2\n", f":{port}\n") for port in range(4)),
    "siftr": SIFTR + "".join(f"o,0x1,1.5,1.1.1.1,{port},2.2.2.2,1,{FIELDS}\n" for port in range(4)),
    "csv": "t_s,entity,series,value\n" + "".join(f"1,flow/{i},cwnd,1\n" for i in range(4)),
    "csv of many runs": "t_s,key,entity,series,value\n" + "".join(f"1,{i},flow/a,cwnd,1\n" for i in range(4)),
    "csv of many groups": "t_s,entity,series,value\n" + "".join(f"1,group/{i},cwnd,1\n" for i in range(4)),
}


@pytest.mark.parametrize("case", CROWDS)
def test_flows_and_runs_are_counted(monkeypatch, tmp_path, case):
    (tmp_path / "crowd").write_text(CROWDS[case])
    monkeypatch.setattr(reading, "MOST_FLOWS", 3)
    with pytest.raises(BadInput, match="has more than 3 flows, queues or runs; expected at most 3 in a file"):
        runs_of([tmp_path / "crowd"], None)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"event":"start","data":{}}\n{"event":"intervals","data":5}\n{"event":"interval","data":{}}', "start: has no 'test_start'"),
        (json.dumps(IPERF3 | {"start": IPERF3["start"] | {"connected": [{"socket": []}]}}), "connected[0].socket: is a list"),
        (json.dumps(IPERF3 | {"intervals": [{"streams": [STREAM, STREAM | {"socket": []}]}]}), None),
    ],
    ids=["an event named intervals", "a socket that is a list", "a row of such a socket"],
)
def test_odd_iperf3_is_told_or_left_out(tmp_path, content, what):
    (tmp_path / "odd.json").write_text(content)
    if what is None:
        assert len(runs_of([tmp_path / "odd.json"], "iperf3")) == 1
        return
    with pytest.raises(BadInput) as error:
        runs_of([tmp_path / "odd.json"], "iperf3")
    assert what in str(error.value)
