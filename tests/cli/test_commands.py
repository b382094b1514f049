"""The commands: exit statuses, JSON alone on stdout, interruption and resumption."""

import json
import os
import re
import signal
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from waiting import HANG_S, wait_until

import dumbbell as package
from dumbbell.native import native
from dumbbell.results import Store

SCENARIO = """\
name: small
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: reno}]
duration: 2s
sweep: {path.rtt: [10ms, 20ms]}
"""
LONG = """\
name: long
path: {rtt: 20ms, bottleneck: {rate: 100mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: cubic, start: {jitter: 10ms}}]
duration: 30s
repeat: 40
"""


@pytest.fixture
def file(tmp_path):
    """A scenario file."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def test_run(dumbbell, file, tmp_path):
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--rows")
    assert answer.status == 0
    header, *rows = answer.out.splitlines()
    assert header.split() == ["run", "path.rtt", "flow", "Mbit/s", "retransmits", "limited", "by", "status"]
    assert [row.split()[1] for row in rows] == ["10ms", "20ms"]
    assert [row.split()[-1] for row in rows] == ["ok", "ok"]
    assert "2 of 2 runs" in answer.err


def test_run_prints_a_row_for_each_cell_and_the_next_command(dumbbell, file, tmp_path):
    limits = "sweep={path.bottleneck.qdisc.limit: [1bdp, 4bdp]}"
    answer = dumbbell("run", file, "--set", limits, "--out", tmp_path / "out")
    title, *lines = answer.out.splitlines()
    assert title == "small: one run of each cell"
    assert any(line.split()[:3] == ["limit", "goodput", "(Mbit/s)"] for line in lines)
    assert [line.split()[0] for line in lines if "bdp " in line[:8]] == ["1bdp", "4bdp"]
    assert lines[-1].endswith(", in one run each.")
    assert (
        answer.err.splitlines()[-1]
        == f"next: `dumbbell plot {tmp_path / 'out'}` for figures, or `dumbbell view {tmp_path / 'out'}` for the browser"
    )


def test_run_quietly_prints_no_summary(dumbbell, file, tmp_path):
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--quiet")
    assert (answer.status, answer.out) == (0, "")
    assert len(answer.err.splitlines()) == 1
    wrong = dumbbell("run", file, "--out", tmp_path / "out", "--quiet", "--rows")
    assert (wrong.status, wrong.err) == (2, "--quiet and --rows were given together; expected one of them\n")


def test_run_json_and_again(dumbbell, file, tmp_path):
    first = json.loads(dumbbell("run", file, "--out", tmp_path / "out", "--json").out)
    again = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert again.err == ""
    second = json.loads(again.out)
    assert (first["ran"], first["kept"], first["ok"]) == (2, 0, 2)
    assert (second["ran"], second["kept"], second["ok"]) == (0, 2, 2)
    assert second["runs"] == first["runs"]


def test_a_transfer_is_told_with_the_time_that_it_took(dumbbell, file, tmp_path):
    file.write_text(SCENARIO.replace("cc: reno", "cc: reno, bytes: 100kB, start: {first: 500ms}"))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--rows")
    header, *rows = answer.out.splitlines()
    assert header.split()[-5:] == ["completed", "s", "limited", "by", "status"]
    took = [float(row.split()[-5]) for row in rows]
    assert all(0.08 < time_s < 0.5 for time_s in took)
    table = json.loads(dumbbell("table", tmp_path / "out", "--json").out)
    assert [row["completion_s"] for row in table["rows"]] == pytest.approx(took, abs=1e-3)
    assert [row["flow_goodput_mbit"] for row in table["rows"]] == pytest.approx([0.8 / time_s for time_s in took], rel=0.01)
    assert all(0 < row["cwnd_mean_packets"] < 100 for row in table["rows"])


def test_a_flow_that_a_buffer_limits_is_pointed_out_with_its_key(dumbbell, file, tmp_path):
    file.write_text(SCENARIO.replace("cc: reno", "cc: reno, host: {sndbuf: 5kB}"))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--rows")
    noted = [line for line in answer.err.splitlines() if line.startswith("note: ")]
    said = [f"note: path.rtt: {rtt}: flow/reno: limited by the send buffer" for rtt in ("10ms", "20ms")]
    assert [line.partition(" for ")[0] for line in noted] == said
    assert all(line.endswith(" % of the time: host.sndbuf") for line in noted)
    assert [row.split()[-4] for row in answer.out.splitlines()[1:]] == ["sndbuf", "sndbuf"]
    table = json.loads(dumbbell("table", tmp_path / "out", "--json").out)
    assert all(row["sndbuf_limited"] > 0.5 > row["rwnd_limited"] for row in table["rows"])


def test_run_writes_to_results_by_default(dumbbell, file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert dumbbell("run", file).status == 0
    assert (tmp_path / "results" / "small" / "study.json").exists()


def test_a_failed_run_ends_with_status_1(dumbbell, file, tmp_path, monkeypatch):
    from dumbbell.engines import sim

    def fail(*_):
        raise RuntimeError("panicked")

    monkeypatch.setattr(sim.native(), "simulate", fail)
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert answer.status == 1
    assert answer.err.splitlines()[0] == "invalid: path.rtt: 10ms: the simulator failed: panicked"
    assert json.loads(answer.out)["invalid"] == 2


def test_a_warning_is_told_and_is_no_failure(dumbbell, file, tmp_path):
    file.write_text(SCENARIO.replace("rtt: 20ms,", "rtt: 20ms, delay: {limit: 3p},", 1))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["warn"] == 2
    assert "packets at the limit of a delay stage" in answer.err


def test_a_destination_below_a_file(dumbbell, file):
    answer = dumbbell("run", file, "--out", file / "below")
    assert answer.status == 2
    assert answer.err == f"{file}/below: cannot be made (a file is in the way); expected a path at which something can be made\n"


def test_a_truncated_result_is_told(dumbbell, file, tmp_path):
    out = tmp_path / "out"
    key = json.loads(dumbbell("run", file, "--out", out, "--json").out)["runs"][0]["key"]
    series = out / key / "series.parquet"
    series.write_bytes(series.read_bytes()[:50])
    answer = dumbbell("run", file, "--out", out)
    assert answer.status == 1
    first, last, hint = answer.err.splitlines()
    assert hint.startswith("next: ")
    assert first.startswith(f"{series}: is 50 bytes long, not ")
    assert first.endswith(f"truncated or changed; expected a whole run (`dumbbell check --repair {out}` makes it again)")
    assert re.fullmatch(rf"0 of 2 runs in [^,]+, 1 reused, 1 damaged left out; results in {out}", last)


def test_runs_that_another_process_has_computed_meanwhile_were_there(dumbbell, file, tmp_path, monkeypatch):
    """Another process stores the run after this one has looked for existing runs."""
    claim, out = Store.claim, tmp_path / "out"

    def claim_late(self, key):
        monkeypatch.setattr(Store, "claim", claim)
        dumbbell("run", file, "--out", out)
        return claim(self, key)

    monkeypatch.setattr(Store, "claim", claim_late)
    answer = dumbbell("run", file, "--out", out, "--quiet")
    assert answer.err.splitlines()[-1].startswith("0 of 2 runs in ")
    assert answer.err.splitlines()[-1].endswith(f" s, 2 reused; results in {out}")


def test_a_full_disk(dumbbell, small_disk, tmp_path):
    file = tmp_path / "big.yaml"
    file.write_text(SCENARIO.replace("duration: 2s", "duration: 60s\nsample: 1ms"))
    answer = dumbbell("run", file, "--out", small_disk / "out")
    assert answer.status == 3
    assert answer.err == f"{small_disk}/out: No space left on device; the runs finished so far are kept\n"


def test_plan(dumbbell, file, tmp_path):
    fresh = json.loads(dumbbell("plan", file, "--out", tmp_path / "out", "--json").out)
    assert (fresh["runs"], fresh["missing"]) == (2, 2)
    assert fresh["packets"] == 2 * (10_000_000 * 2 // (8 * 1514))
    assert fresh["cpu_s"] > 0
    assert fresh["plan"]["paths"][0]["base_rtt_ns"] == 10_000_000
    assert not (tmp_path / "out").exists()
    dumbbell("run", file, "--out", tmp_path / "out")
    kept = [json.loads(path.read_text())["plan"] for path in (tmp_path / "out").glob("*/run.json")]
    assert len(kept) == 2
    assert fresh["plan"] in kept
    done = dumbbell("plan", file, "--out", tmp_path / "out")
    assert ["missing", "0"] in [line.split()[:2] for line in done.out.splitlines()]
    assert any(line.startswith("left  --") and line.split()[-2] == "right" for line in done.out.splitlines())


def test_the_planned_disk_space_is_about_right(dumbbell, file, tmp_path):
    file.write_text(SCENARIO.replace("duration: 2s", "duration: 200s"))
    planned = json.loads(dumbbell("plan", file, "--out", tmp_path / "out", "--json").out)["disk_bytes"]
    dumbbell("run", file, "--out", tmp_path / "out")
    found = sum(path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert 0.3 < planned / found < 3


@pytest.mark.parametrize("kind", ["cc", "qdisc", "stack", "study", "engine"])
def test_list(dumbbell, kind):
    entries = json.loads(dumbbell("list", kind, "--json").out)
    assert entries
    assert all(entry["name"] and entry["summary"] for entry in entries)
    plain = dumbbell("list", kind).out
    assert [line.split()[0] for line in plain.splitlines() if not line.startswith(" ")] == [entry["name"] for entry in entries]


def test_ready_made_programs_are_listed_with_what_they_take(dumbbell):
    entries = {entry["name"]: entry for entry in json.loads(dumbbell("list", "program", "--json").out)}
    assert entries["ftp"]["needs"] == ["curl", "vsftpd"]
    assert "arguments: {interval} 0.2 {size} 56" in entries["ping"]["summary"]


def test_a_program_that_is_not_allowed_is_named_before_it_runs(dumbbell, tmp_path):
    (tmp_path / "mine.yaml").write_text(
        "{name: mine, engine: kernel, path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: fq_codel}}, duration: 1s,"
        " programs: {own: {client: [rm, -rf, x], transport: any}}, flows: [{program: own}]}"
    )
    told = "own: rm -rf x, with `dumbbell run --allow-program` only"
    assert told in dumbbell("plan", tmp_path / "mine.yaml").out


def test_the_variants_of_a_discipline_are_listed_with_the_engines_that_have_them(dumbbell):
    entries = {entry["name"]: entry.get("variants") for entry in json.loads(dumbbell("list", "qdisc", "--json").out)}
    assert entries["pie"] == {"linux-6.12": ["sim", "kernel", "testbed"], "2013": ["sim"]}
    assert entries["pfifo"] is None
    assert "variants: linux-6.12, linux-3.10" in dumbbell("list", "qdisc").out


@pytest.mark.parametrize(
    "arguments", [("list", "cakes"), ("run",), ("run", "x.yaml", "--wokers", "2"), ("dance",), ("run", "x.yaml", "--workers", "0")]
)
def test_a_wrong_command_line(dumbbell, arguments):
    answer = dumbbell(*arguments)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("run", "x.yaml", "--workers", "0"), "Invalid value for '--workers': expected at least 1 (see `dumbbell run --help`)"),
        (("run", "x.yaml", "--workers", "1001"), "Invalid value for '--workers': expected at most 1000 (see `dumbbell run --help`)"),
        (("run", "x.yaml", "--workers", "two"), "Invalid value for '--workers': expected a whole number (see `dumbbell run --help`)"),
        (("plot", "out", "--window", "100ms"), "Invalid value for '--window': expected a number (see `dumbbell plot --help`)"),
        (
            ("list", "ccs"),
            "'ccs' is not one of 'cc', 'qdisc', 'stack', 'study', 'engine', 'state', 'program' (did you mean 'cc'?) "
            "(see `dumbbell list --help`)",
        ),
        (
            ("export", "out"),
            "'--format'; expected one of flent, iperf3, xpl, mahimahi-log, teacup, csv, parquet, qlog (see `dumbbell export --help`)",
        ),
        (("table", "out", "--format", "json"), "(did you mean --json?) (see `dumbbell table --help`)"),
        (("run", "x.yaml", "--seed", "3"), "No such option: --seed (did you mean --set seed=VALUE?) (see `dumbbell run --help`)"),
    ],
)
def test_what_the_command_line_takes_is_said_in_its_own_words(dumbbell, arguments, line):
    answer = dumbbell(*arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.rstrip("\n").endswith(line)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A scenario file of two runs, and their results."""
    folder = tmp_path_factory.mktemp("pair")
    text = "path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}\nflows: [{cc: cubic}]\nduration: 1s\n"
    file = folder / "pair.yaml"
    file.write_text(f"name: pair\n{text}sweep: {{path.rtt: [10ms, 20ms]}}\n")
    package.run(package.Scenario.from_file(file), folder / "out", workers=1)
    return file, folder / "out"


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            "path.bottleneck.rate=20 Mbit/s",
            "path.bottleneck.rate: '20 Mbit/s' has an unknown unit 'Mbit/s' (did you mean mbit?); expected a rate",
        ),
        ("path.bottleneck.qdisc={kind: codel, target: 5}", "path.bottleneck.qdisc.target: 5 has no unit; expected a time"),
        ("path.bottleneck.qdisc={kind: codel, targt: 5ms}", "path.bottleneck.qdisc.targt: unknown key (did you mean 'target'?)"),
        (
            "path.bottleneck.qdisc={kind: pfifo, limit: 1BDP}",
            "path.bottleneck.qdisc.limit: '1BDP' has an unknown unit 'BDP' (did you mean bdp?)",
        ),
        ("flows=[{cc: cubic, start: 5}]", "flows.0.start: 5 has no unit; expected a time such as 20ms"),
        ("flows.*.cc=[reno, cubic]", "flows.*.cc: a list is not a name; expected a name; lists of values go into `sweep`"),
        ("flows.0.stop=1s", "flows.0.stop: unknown key (did you mean 'duration'?)"),
        ("path.bandwidth=1mbit", "path.bandwidth: unknown key (did you mean path.access.rate or path.bottleneck.rate?)"),
        ("flows.cc=reno", "flows.cc: 'cc' is not an entry of a list of 1 (from 0, or * for all); expected a dotted key such as path.rtt"),
        ("path.bottleneck=", "--set: path.bottleneck: is missing; expected a rate and a qdisc"),
        ("sweep.flows.0.cc=reno", "'reno' is not a list; expected a list"),
        (
            "path.bottleneck.qdisc={kind: red, limit: 1MB, min: 97500B, max: 97501B, avpkt: 100B, burst: 1p, ecn: true}",
            "path.bottleneck.qdisc.burst: 1p of 100B do not reach min; expected at least 975p",
        ),
        (
            "path.bottleneck.qdisc={kind: red, limit: 2bdp, min: 1bdp, max: 1.5bdp, burst: 1p}",
            "path.bottleneck.qdisc.burst: 1 packets; expected at least",
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_key_and_what_to_type(dumbbell, pair, change, line):
    answer = dumbbell("plan", pair[0], "--set", change)
    assert (answer.status, answer.out) == (2, "")
    said = answer.err.splitlines()[0]  # a line for each cell
    assert line in said


@pytest.mark.parametrize(
    "change",
    [
        "sweep.flows.0.cc=[reno, cubic]",
        "sweep.zip={flows.0.cc: [reno, cubic]}",
        "path.bottleneck.qdisc={kind: red, limit: 1MB, min: 97500B, max: 97501B, avpkt: 1500B, ecn: true}",
    ],
)
def test_values_that_are_right_are_taken(dumbbell, pair, change):
    assert dumbbell("plan", pair[0], "--set", change).status == 0


def test_a_file_of_a_similar_name_is_named(dumbbell, pair):
    for name in ("pair.yml", "piar.yaml"):
        answer = dumbbell("plan", pair[0].with_name(name))
        assert answer.err == f"{pair[0].with_name(name)}: no such file (did you mean 'pair.yaml'?); expected a scenario file\n"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("compare", "OUT", "OUT"),
            "OUT was given more than once; expected different folders",
        ),
        (("compare", "OUT", "scee"), "scee: no such study or file (did you mean 'sce'?); expected"),
        (("compare", "OUT", "sce"), "expected runs of a cell of sce, as `dumbbell reproduce sce` makes them"),
        (("plot", "OUT", "sce"), "sce: is a study; expected it first: `dumbbell plot sce OUT`"),
        (("plot", "OUT", "--x", "Time"), "--x 'Time' is unknown (did you mean 'time'?); expected one of path.rtt, time"),
        (("plot", "OUT", "--x", "throughput"), "--x goodput_mbit is drawn along the y axis, too; expected another --y, or a key"),
        (("plot", "OUT", "--x", "rtt", "--y", "goodput,srtt"), "--y 'goodput,srtt' has a comma; expected one column, and the option again"),
    ],
)
def test_folders_and_figures_that_cannot_be(dumbbell, pair, arguments, line):
    answer = dumbbell(*(str(pair[1]) if each == "OUT" else each for each in arguments))
    assert answer.status == 2
    assert line.replace("OUT", str(pair[1])) in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize("option", ["--groups", "--datagrams", "--tins"])
def test_an_empty_table_says_so(dumbbell, pair, option):
    answer = dumbbell("table", pair[1], option)
    assert answer.status == 0
    assert answer.err.endswith(f"`dumbbell table {pair[1]}` shows what they have\n")


def test_doctor(dumbbell):
    answer = dumbbell("doctor", "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["good"] is True


def test_doctor_without_the_native_module(dumbbell, monkeypatch):
    monkeypatch.setitem(sys.modules, "dumbbell._native", None)
    monkeypatch.delattr(package, "_native", raising=False)
    native.cache_clear()
    answer = dumbbell("doctor", "--json")
    assert answer.status == 3
    (bad,) = [finding for finding in json.loads(answer.out)["findings"] if not (finding["good"] or finding["optional"])]
    assert bad["name"] == "simulator"


# The command; from its fifth run on, each waits for Ctrl-C.
WAITING = """
import itertools, time
from dumbbell.__main__ import main
from dumbbell.engines.prepared import Prepared
from dumbbell.executor import interrupt

produce, earlier = Prepared.produce, itertools.count()

def waiting(self):
    number = next(earlier)
    while number >= 4 and not interrupt.is_interrupted():
        time.sleep(0.01)
    return produce(self)

Prepared.produce = waiting
main()
"""


def command(*arguments):
    return [sys.executable, "-c", "from dumbbell.__main__ import main; main()", *map(str, arguments)]


def test_the_version_waits_for_no_heavy_package():
    code = "import sys; from dumbbell.__main__ import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    found = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"dumbbell {package.__version__}\n"
    loaded = set(found.stderr.split())
    assert "dumbbell.__main__" in loaded
    assert not loaded & {"numpy", "polars", "matplotlib", "ruamel.yaml", "dumbbell._native"}


def test_an_interrupt_while_starting_is_one_line():
    code = """
import sys
from dumbbell.__main__ import main
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "interrupted\n")


def test_the_console_script_starts_there():
    (script,) = entry_points(group="console_scripts", name="dumbbell")
    assert script.value == "dumbbell.__main__:main"


def test_starting_up_does_not_import_what_is_slow():
    code = (
        "import sys, dumbbell.cli; print([name for name in ('polars', 'matplotlib', 'scipy', 'pydantic', 'rich') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_where_it_was(dumbbell, tmp_path, stop):
    file, out = tmp_path / "long.yaml", tmp_path / "out"
    file.write_text(LONG)

    def there():
        return {name for name in os.listdir(out) if len(name) == 32} if out.exists() else set()

    arguments = ("run", str(file), "--out", str(out), "--workers", "2")
    process = subprocess.Popen([sys.executable, "-c", WAITING, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len(there()) == 4 or process.poll() is not None)
        process.send_signal(stop)
        printed, said = process.communicate(timeout=HANG_S)
    finally:
        process.kill()
    assert printed == ""
    if stop is signal.SIGINT:
        assert process.returncode == 130
        *progress, last = said.splitlines()
        assert last == f"interrupted; {len(there())} of 40 runs are in {out}, the same command goes on from there"
        assert all(line.endswith("of 40 runs") for line in progress)
    first = there()
    assert len(first) == 4, "those under way are aborted"
    before = {key: (out / key / "run.json").stat().st_ino for key in first}
    answer = json.loads(dumbbell("run", file, "--out", out, "--json").out)
    assert (answer["ran"], answer["kept"], answer["ok"]) == (40 - len(first), len(first), 40)
    assert {key: (out / key / "run.json").stat().st_ino for key in first} == before
    assert sorted(os.listdir(out)) == sorted([*there(), ".lock", "index.jsonl", "study.json"])
    assert len(there()) == 40


def test_a_table_names_the_columns_that_it_leaves_out_and_shows_them_with_all(dumbbell, file, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    dumbbell("run", file, "--out", tmp_path / "out", "--quiet")
    short = dumbbell("table", tmp_path / "out").out
    assert max(map(len, short.splitlines())) <= 80
    assert "no value: completion_s; equal everywhere: flow reno, " in " ".join(short.split())
    whole = dumbbell("table", tmp_path / "out", "--all").out
    assert "completion_s" in whole.splitlines()[2]
    assert "--all" not in whole
    csv = dumbbell("table", tmp_path / "out", "--format", "csv").out
    assert csv.splitlines()[0].split(",")[:2] == ["path.rtt", "flow"]


def test_the_same_cells_on_several_engines(dumbbell, file, tmp_path):
    answer = dumbbell("run", file, "--engines", "sim,sim", "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == "--engines 'sim,sim': expected two engines that differ, or more, such as kernel,kernel:7.3\n"
    answer = dumbbell("run", file, "--engine", "sim", "--engines", "sim,kernel", "--out", tmp_path / "out")
    assert answer.err == "--engine and --engines were given together; expected one of them\n"
    answer = dumbbell("run", file, "--engines", "sim,kernel:none", "--out", tmp_path / "out")
    assert (answer.status, len(answer.err.splitlines())) == (2, 1)
    assert dumbbell("run", file, "--engine", "sim", "--out", tmp_path / "one").status == 0
