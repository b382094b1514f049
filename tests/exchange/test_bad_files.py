"""Files that are damaged, hostile or of something else: one line with the file and the place in it, and nothing is written."""

import bz2
import gzip
import json
from pathlib import Path

import pytest
from foreign_files import FLENT, IPERF3, IRTT, RAW, SIFTR, SS

from dumbbell.errors import BadInput
from dumbbell.exchange.formats import READ
from dumbbell.exchange.imported import runs_of

GOLDEN = Path(__file__).parent / "golden"


def changed(document, value, *steps):
    """A copy of a document with another value at a place; `...` takes it away."""
    copy = json.loads(json.dumps(document))
    inner = copy
    for step in steps[:-1]:
        inner = inner[step]
    if value is ...:
        del inner[steps[-1]]
    else:
        inner[steps[-1]] = value
    return json.dumps(copy)


SLASH = json.dumps(FLENT).replace("TCP upload", "TCP upload ../../etc")
BAD = {
    "nothing": ("", None, "is of no known format"),
    "text": ("hello\n", None, "is of no known format; expected one of flent, iperf3, irtt"),
    "cut JSON": (json.dumps(FLENT)[:-20], None, "is not JSON"),
    "JSON of many levels": ("[" * 100_000, "flent", "is not JSON (too many levels)"),
    "a list": ("[1]", "flent", "is a list; expected an object"),
    "a number of many digits": (changed(FLENT, 0, "x").replace('"x": 0', '"x": ' + "9" * 5000), None, "is not JSON"),
    "Flent of version 5": (changed(FLENT, 5, "version"), None, "version: is 5; expected 2, 3 or 4"),
    "Flent of version 1": (changed(FLENT, ..., "version"), None, "version: is 1; expected 2, 3 or 4"),
    "Flent without raw values": (changed(FLENT, ..., "raw_values"), None, "has no 'raw_values'"),
    "Flent with text for a rate": (
        changed(FLENT, "fast", "raw_values", "TCP upload", 0, "val"),
        None,
        "raw_values['TCP upload'][0].val: is 'fast'",
    ),
    "Flent with NaN": (
        changed(FLENT, float("nan"), "raw_values", "TCP upload", 0, "val"),
        None,
        "[0].val: is nan; expected a number from 0 to",
    ),
    "Flent with a huge number": (changed(FLENT, 10**400, "raw_values", "TCP upload", 0, "val"), None, "[0].val: is 1000"),
    "Flent with infinity": (changed(FLENT, float("inf"), "raw_values", "TCP upload", 0, "t"), None, "[0].t: is inf"),
    "Flent with a negative rate": (changed(FLENT, -1, "raw_values", "TCP upload", 0, "val"), None, "[0].val: is -1"),
    "Flent with a rate of no time": (changed(FLENT, ..., "raw_values", "TCP upload", 0, "dur"), None, "a rate has no duration"),
    "Flent with a name that has a slash": (SLASH, None, "the name 'TCP upload ../../etc' cannot be that of a flow"),
    "Flent with another unit": (changed(FLENT, "furlongs", "metadata", "SERIES_META", "TCP upload", "UNITS"), None, 'UNITS: is "furlongs"'),
    "Flent with a series without a unit": (
        changed(FLENT, [RAW], "raw_values", "warp"),
        None,
        "raw_values.warp: the unit of this series is not known",
    ),
    "Flent with too few values": (
        changed(FLENT, [], "raw_values", "TCP upload").replace("[null, 10.0]", "[1]"),
        None,
        "has 1 values; expected as many",
    ),
    "Flent with times of centuries": (
        changed(FLENT, [RAW, RAW | {"t": 1e11}], "raw_values", "TCP upload"),
        None,
        "raw_values: times are years apart",
    ),
    "Flent without streams": (
        changed(FLENT, {}, "raw_values").replace('{"TCP upload": [null, 10.0]}', "{}"),
        None,
        "has no TCP stream and no ping",
    ),
    "Flent whose metadata is text": (changed(FLENT, "x", "metadata"), None, "metadata: is 'x'; expected an object"),
    "iperf3 that failed": (changed(IPERF3, "unable to connect", "error"), None, "iperf3 says 'unable to connect'"),
    "iperf3 over SCTP": (changed(IPERF3, "SCTP", "start", "test_start", "protocol"), None, "protocol: is 'SCTP'; expected TCP or UDP"),
    "iperf3 without bytes": (changed(IPERF3, ..., "intervals", 0, "streams", 0, "bytes"), None, "intervals[0].streams[0]: has no 'bytes'"),
    "iperf3 with half a byte": (
        changed(IPERF3, 0.5, "intervals", 0, "streams", 0, "bytes"),
        None,
        "bytes: is 0.5; expected a whole number",
    ),
    "iperf3 with a time of centuries": (changed(IPERF3, 1e12, "intervals", 0, "streams", 0, "end"), None, "end: is 1000000000000.0"),
    "iperf3 without streams": (changed(IPERF3, [], "start", "connected"), None, "holds no measurement"),
    "iperf3 that is cut": (json.dumps(IPERF3)[:-9], None, "line 1: is not JSON"),
    "an event before any start": ('{"event":"interval","data":{"start":1}}', None, "line 1: the event 'interval' comes before any start"),
    "irtt of another version": (changed(IRTT, 2, "version", "json_format"), None, "version.json_format: is 2; expected 1"),
    "irtt with an unknown fate": (changed(IRTT, "maybe", "round_trips", 0, "lost"), None, "round_trips[0].lost: is 'maybe'"),
    "irtt without times": (changed(IRTT, ..., "round_trips", 0, "timestamps"), None, "round_trips[0].timestamps: is null"),
    "ss without a time": (SS, None, "line 1: a connection comes before any time; expected `date +%s.%N` before each ss"),
    "ss with another line": (f"1.5\n{SS}\nwhat is this\n", None, "line 5: is 'what is this'"),
    "siftr of another version": (SIFTR.replace("1.2.2", "1.3.0"), None, "line 1: siftrver is '1.3.0'; expected version 1.2"),
    "siftr without the unit of its RTTs": (
        SIFTR.replace("tcp_rtt_scale", "scale"),
        None,
        "line 1: has no tcp_rtt_scale: the unit of the RTTs is not known",
    ),
    "siftr with few fields": (f"{SIFTR}o,1,2\n", None, "line 2: is 'o,1,2'; expected at least 25 fields"),
    "mahimahi without its base": ("# mahimahi\n", "mahimahi-log", "has no base timestamp"),
    "mahimahi with another event": ("# base timestamp: 0\n1 x 2\n", None, "line 2: is '1 x 2'"),
    "mahimahi before its base": ("# base timestamp: 5\n1 + 2\n", None, "line 2: is '1'; expected a number from 5 to"),
    "CSV of an unknown series": (
        "t_s,entity,series,value\n1,flow/a,speed,1\n",
        None,
        "line 2: the unit of the series 'speed' is not known",
    ),
    "CSV in another unit": ("t_s,entity,series,value,unit\n1,flow/a,cwnd,1,bytes\n", None, "line 2: cwnd is in 'bytes'; expected packets"),
    "CSV with NaN": ("t_s,entity,series,value\n1,flow/a,cwnd,nan\n", None, "line 2: is 'nan'; expected a number"),
    "CSV with a slash": ("t_s,entity,series,value\n1,flow/../x,cwnd,1\n", None, "line 2: the name '../x' cannot be that of a flow"),
    "CSV with a total that falls": (
        "t_s,entity,series,value\n1,flow/a,rx_bytes,2\n2,flow/a,rx_bytes,1\n",
        None,
        "rx_bytes of flow/a falls from 2 to 1; expected a total",
    ),
    "CSV of another entity": ("t_s,entity,series,value\n1,moon/a,cwnd,1\n", None, "line 2: entity is 'moon/a'"),
    "CSV with few fields": ("t_s,entity,series,value\n1,flow/a\n", None, "line 2: has 2 fields; expected 4"),
    "CSV with another column": ("t_s,entity,series,value,colour\n", None, "line 1: has the column 'colour'"),
    "CSV with a flow of two controls": (
        "t_s,entity,series,value,cc\n1,flow/a,cwnd,1,cubic\n2,flow/a,cwnd,1,reno\n",
        None,
        "line 3: cc of flow/a is 'reno' after 'cubic'; expected one of them",
    ),
    "CSV with another direction": (
        "t_s,entity,series,value,direction\n1,flow/a,cwnd,1,up\n",
        None,
        "line 2: direction is 'up'; expected forward or reverse",
    ),
    "CSV with two times": ("t_s,t_ns,entity,series,value\n", None, "line 1: the header is"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_line_and_nothing_is_written(dumbbell, tmp_path, case):
    content, form, what = BAD[case]
    file = tmp_path / "bad"
    file.write_text(content)
    answer = dumbbell("import", file, GOLDEN / "iperf3-3.12.json", "--out", tmp_path / "out", *(("--format", form) if form else ()))
    assert answer.status == 2
    assert answer.err.startswith(f"{file}: ")
    assert what in answer.err
    assert answer.err.count("\n") == 1
    assert len(answer.err) < len(str(file)) + 400
    assert not (tmp_path / "out").exists()


FORMATS = {
    "flent-2.3.0-tcp_nup.flent.gz": "flent",
    "iperf3-3.12.json": "iperf3",
    "irtt-0.9.0.json.gz": "irtt",
    "ss-6.1.txt": "ss",
    "siftr-1.2.log": "siftr",
    "web10g.log": "web10g",
    "mahimahi.log": "mahimahi-log",
}


@pytest.mark.parametrize("asked", READ)
def test_the_file_of_another_tool_is_named(asked):
    for name, form in FORMATS.items():
        if form != asked:
            with pytest.raises(BadInput, match=f"{name}: is not of the format {asked}, but looks like {form}; expected --format {form}"):
                runs_of([GOLDEN / name], asked)


@pytest.mark.parametrize("command", ["import", "export"])
def test_a_format_that_there_is_not_and_a_folder_with_the_name_of_a_file_are_refused(dumbbell, probed, tmp_path, command):
    what = probed if command == "export" else GOLDEN / "iperf3-3.12.json"
    answer = dumbbell(command, what, "--format", "flnt", "--out", tmp_path / "out")
    assert answer.status == 2
    assert answer.err.startswith("Invalid value for '--format': 'flnt' is not one of 'flent', 'iperf3', ")
    answer = dumbbell(command, what, "--format", "iperf3", "--out", tmp_path / "out.json")
    assert answer.status == 2
    assert answer.err == f"{tmp_path / 'out.json'}: has the name of a file; expected that of a folder\n"
    assert list(tmp_path.iterdir()) == []
    answer = dumbbell(command, what, "--format", "iperf3", "--out", tmp_path / "out")
    assert answer.status == 0
    assert f"in {tmp_path / 'out'}, a new folder" in answer.err


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(b"x" * 1000)[:-9], "cannot be read (Compressed file ended"),
        (gzip.compress(b"x" * 1000)[:20], "cannot be read"),
        (bz2.compress(b"x" * 1000)[:-9], "cannot be read (Compressed file ended"),
        (gzip.compress(bytes(300 << 20), 1), "has more than 256 MiB once unpacked"),
        (b"\xff\xfe\x00# base timestamp: 0\n", "is no text (byte 0)"),
    ],
    ids=["cut gzip", "gzip cut early", "cut bzip2", "a bomb", "no text"],
)
def test_a_damaged_or_hostile_packed_file_is_one_line(tmp_path, content, what):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(BadInput) as error:
        runs_of([tmp_path / "bad"], None)
    assert what in str(error.value)
    assert "\n" not in str(error.value)


def test_what_is_no_file_is_one_line(tmp_path):
    for path, what in ((tmp_path, "Is a directory"), (tmp_path / "none", "No such file"), (Path("/dev/zero"), "is not a regular file")):
        with pytest.raises(BadInput, match=what):
            runs_of([path], None)


def test_names_that_a_terminal_would_interpret_are_refused_or_shown_escaped(dumbbell, tmp_path):
    (tmp_path / "bad").write_text(json.dumps(FLENT).replace("TCP upload", "TCP upload \\u001b[2J"))
    answer = dumbbell("import", tmp_path / "bad", "--out", tmp_path / "out")
    assert answer.status == 2
    assert "\x1b" not in answer.err
