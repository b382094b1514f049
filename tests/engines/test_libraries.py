"""Congestion controls from shared libraries: their results, the harm that they may do, and that none is loaded unasked."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from required import missing
from waiting import HANG_S, wait_until

from docs import interface
from dumbbell import Scenario, run
from dumbbell.engines.prepared import Allowed
from dumbbell.engines.sim import apart
from dumbbell.errors import BadInput
from dumbbell.executor import WorkerDied
from dumbbell.executor.apart import call
from dumbbell.results import Store, asked_flows
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ScenarioError

ROOT = Path(__file__).resolve().parents[2]
ODD = ROOT / "crates" / "foreign" / "tests" / "odd.c"
TEXT = """\
name: own
path: {{rtt: 20ms, bottleneck: {{rate: 10mbit, qdisc: {{kind: pfifo, limit: 30p}}}}}}
flows: [{{name: f, cc: {cc}}}]
duration: 3s
"""


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """Compiles a source to a library, with options of the compiler's."""
    if shutil.which("cc") is None:
        missing("compiler", "there is no C compiler (cc), which compiles the tests' libraries")
    folder = tmp_path_factory.mktemp("libraries")

    def compile_(source, name, *options):
        out = folder / name
        if not out.exists():
            command = ["cc", "-O2", "-w", "-std=gnu11", "-shared", "-fPIC", "-I", str(interface.TARGET), *options]
            subprocess.run([*command, "-o", str(out), str(source)], check=True)
        return out

    return compile_


@pytest.fixture(scope="session")
def cubic(compiled):
    return compiled(ROOT / "examples" / "library" / "cubic.c", "cubic.so")


@pytest.fixture(scope="session")
def odd(compiled):
    return compiled(ODD, "odd.so")


@pytest.fixture(scope="session")
def paced(compiled):
    """Sets the window after each ACK, and the pacing rate."""
    table = "DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.cong_control=cong_control,.create=create,.needs=18"
    return compiled(ODD, "paced.so", f"-DTABLE={table}")


@pytest.fixture
def file(tmp_path):
    """Writes a scenario with this congestion control, as YAML's inline form has it."""

    def write(cc, more=""):
        path = tmp_path / "own.yaml"
        path.write_text(TEXT.format(cc=cc) + more)
        return path

    return write


def only(file, **how):
    (found,) = run(Scenario.from_file(file), allow_library=True, **how)
    return found


def own(library, **parameters):
    return json.dumps({"library": str(library), **parameters})


@pytest.mark.parametrize("more", ["", "capture: true\n", "seed: 3\nbackground: [{kind: udp, rate: 4mbit, start: 1s}]\n"])
def test_cubic_of_a_library_is_the_built_in_one_to_the_last_sample(more, file, cubic):
    assert only(file(own(cubic), more)).digest == only(file("cubic", more)).digest


def test_a_library_tells_its_state_as_the_built_in_control_does(file, cubic):
    def told(cc):
        (done,) = run(Scenario.from_file(file(cc, "series: [w_max, cnt, base_rtt_ms, origin, k_s, epoch_s, w_est]\n")), allow_library=True)
        names = ("w_max", "cnt", "base_rtt_ms", "origin", "k_s", "epoch_s", "w_est")
        return {name: [each.tolist() for each in done.series("flow/f", name)] for name in names}

    library, built_in = told(f"{{library: {cubic}}}"), told("cubic")
    assert library == built_in
    assert max(library["k_s"][1]) > 0


def test_a_library_of_before_there_was_state_still_runs(file, compiled):
    # A table without its last entry, as an older header makes it.
    table = "DUMBBELL_THIS_INTERFACE,.control_size=offsetof(struct dumbbell_control,tell),.ssthresh=ssthresh,.cong_avoid=cong_avoid"
    library = compiled(ODD, "before_tell.so", "-include", "stddef.h", f"-DTABLE={table}")
    (done,) = run(Scenario.from_file(file(f"{{library: {library}}}", "series: [control]\n")), allow_library=True)
    assert done.status != "invalid", done.reasons
    assert "rto_ms" in done.sampled["flow"]


def test_parameters_reach_the_library(file, cubic):
    given = own(cubic, beta=512, hystart=False, fast_convergence="off")
    built_in = only(file("{kind: cubic, beta: 512, hystart: off, fast_convergence: off}"))
    assert only(file(given)).digest == built_in.digest != only(file("cubic")).digest


@pytest.mark.parametrize("beta", [5000, 204])
def test_a_refused_parameter_is_an_error_in_the_scenario(beta, dumbbell, tmp_path, file, cubic):
    answer = dumbbell("run", file(own(cubic, beta=beta)), "--allow-library", "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert f"own.yaml:3: flows.0.cc: cubic.so refuses its parameters: beta is {beta}; beta is 205 to 1023" in answer.err


def test_nothing_is_loaded_that_is_not_allowed(dumbbell, tmp_path, monkeypatch, file, odd):
    mark = tmp_path / "loaded"
    monkeypatch.setenv("ODD_LOADED", f"touch {mark}")
    written, out = file(own(odd, does="nothing")), tmp_path / "out"
    answer = dumbbell("run", written, "--out", out)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == f"{odd} would be loaded and run; expected --allow-library (in Python allow_library=True) if you trust it\n"
    planned = dumbbell("plan", written, "--out", out)
    assert planned.status == 0
    assert f"loads    {odd} (SHA-256 " in planned.out
    assert list(json.loads(dumbbell("plan", written, "--json").out)["libraries"]) == [str(odd)]
    scenario = Scenario.from_file(written)
    with pytest.raises(BadInput, match="expected --allow-library"):
        run(scenario)
    with pytest.raises(BadInput, match="expected --allow-library"):
        prepare(scenario.runs())[0].produce()
    assert not mark.exists()
    dumbbell("run", written, "--out", out, "--allow-library")
    assert mark.exists()


@pytest.mark.parametrize("does", ["segv", "abort", "exit"])
def test_a_crash_is_one_invalid_run(does, dumbbell, tmp_path, file, odd):
    out = tmp_path / "out"
    sweep = f"sweep: {{flows.0.cc: [cubic, {own(odd, does=does)}, {own(odd, does='nothing')}]}}\n"
    answer = dumbbell("run", file("cubic", sweep), "--out", out, "--allow-library", "--json")
    assert answer.status == 1
    runs = json.loads(answer.out)["runs"]
    assert [each["status"] for each in runs] == ["ok", "invalid", "ok"]
    how = {"segv": "was killed by SIGSEGV", "abort": "was killed by SIGABRT", "exit": "ended with exit status 0"}[does]
    assert runs[1]["reasons"] == [f"the process that computed it {how}; it ran odd.so"]
    assert not Store(out).missing([runs[0]["key"], runs[2]["key"]])
    assert Store(out).missing([runs[1]["key"]])


def test_a_loop_without_end_is_ended(monkeypatch, file, odd):
    monkeypatch.setattr(apart, "LEAST_CPU_S", 1)
    monkeypatch.setattr(apart, "CPU_FACTOR", 0)
    found = only(file(own(odd, does="loop")))
    assert found.status == "invalid"
    assert found.reasons == ("the process that computed it did not end within 1 s of CPU time; it ran odd.so",)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executor", ["threads", "processes", "exclusive"])
def test_a_signal_ends_a_loop_without_end(sent, executor, tmp_path, monkeypatch, file, odd):
    written, out, begun = file(own(odd, does="loop")), tmp_path / "out", tmp_path / "begun"
    monkeypatch.setenv("ODD_LOOPS", str(begun))
    command = [sys.executable, "-m", "dumbbell", "run", written, "--out", out, "--allow-library", "--executor", executor]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_until(begun.exists)
        process.send_signal(sent)
        found = process.communicate(timeout=HANG_S)
    assert found == ("", f"interrupted; 0 of 1 runs are in {out}, the same command goes on from there\n")
    assert process.returncode == 130


def test_a_function_that_sleeps_is_ended(monkeypatch):
    monkeypatch.setattr("dumbbell.executor.apart.WALL_PER_CPU", 0.5)
    with pytest.raises(WorkerDied, match=r"did not end within 0\.5 s"):
        call("time:sleep", 60, cpu_s=1)


@pytest.mark.parametrize(
    ("does", "what"),
    [
        ("zero", "set a window of 0 segments"),
        ("huge", "set a window of 1073741824 segments"),
        ("threshold", "set a threshold of 0 segments"),
        ("flag", "set enters_cwr to 7"),
    ],
)
def test_a_window_of_nonsense_is_one_clear_error(does, what, file, odd):
    found = only(file(own(odd, does=does)))
    assert found.status == "invalid"
    (reason,) = found.reasons
    assert reason.startswith(f"the congestion control odd.so {what} at 1."), reason
    assert " s (connection 0); expected " in reason


def test_a_pacing_rate_of_0_is_one_clear_error(file, paced):
    assert only(file(own(paced, does="nothing"))).status == "ok"
    (reason,) = only(file(own(paced, does="rate"))).reasons
    assert reason.startswith("the congestion control paced.so set a pacing rate of 0 bytes/s at 1.")


def test_a_control_that_works_on_marks_needs_ecn(file, compiled):
    table = "DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.cong_avoid=cong_avoid,.create=create,.needs=DUMBBELL_NEEDS_ECN"
    marks = compiled(ODD, "marks.so", f"-DTABLE={table}")
    with pytest.raises(ScenarioError, match=r"flows\.0: false leaves marks\.so without the marks that it works on; expected true"):
        only(file(own(marks, does="nothing")))
    assert only(file(own(marks, does="nothing") + ", ecn: true")).status == "ok"


def test_a_control_that_needs_losses_is_told_of_each(file, compiled):
    table = "DUMBBELL_THIS_INTERFACE,.ssthresh=ssthresh,.cong_control=cong_control,.create=create,.lost=lost,.needs=38"
    told = compiled(ODD, "told.so", f"-DTABLE={table}")
    (reason,) = only(file(own(told, does="lost"))).reasons
    assert reason.startswith("the congestion control told.so set a window of 0 segments at ")
    assert only(file(own(told, does="nothing"))).status == "ok"


def test_a_run_is_stored_under_what_the_library_is_not_where(tmp_path, file, cubic):
    def prepared(library):
        (found,) = prepare(Scenario.from_file(file(own(library))).runs())
        return found

    copy = tmp_path / "cubic.so"
    shutil.copy(cubic, copy)
    same = prepared("./cubic.so")
    assert same.key == prepared(cubic).key
    assert str(tmp_path) not in json.dumps([dict(same.scenario), same.plan.plain()])
    copy.write_bytes(cubic.read_bytes() + b"\0")
    assert prepared("./cubic.so").key != same.key


def test_the_hash_is_stored_and_a_stored_run_is_read_without_the_library(tmp_path, file, cubic):
    written = file(own(cubic))
    made = only(written, out=tmp_path / "out")
    sha256 = made.scenario["flows"][0]["cc"]["sha256"]
    (path,) = (tmp_path / "out").rglob("run.json")
    stored = json.loads(path.read_text())
    assert stored["scenario"]["flows"][0]["cc"] == {"library": "cubic.so", "sha256": sha256}
    (again,) = run(Scenario.from_file(written), out=tmp_path / "out")
    assert again.digest == made.digest
    # Figures and tables of it ask what its flows were, where the library is not.
    assert asked_flows(again)["f"].cc.kind == "cubic.so"


def test_a_library_that_changes_after_planning_is_refused(tmp_path, file, cubic):
    library = tmp_path / "cubic.so"
    shutil.copy(cubic, library)
    runs = prepare(Scenario.from_file(file(own("./cubic.so"))).runs())
    library.write_bytes(cubic.read_bytes() + b"\0")
    with pytest.raises(BadInput, match="has changed: its SHA-256 is"):
        execute(runs, allowed=Allowed(library=True))
    library.unlink()
    with pytest.raises(BadInput, match="cannot be read"):
        execute(runs, allowed=Allowed(library=True))


@pytest.mark.parametrize(
    ("cc", "more", "expected"),
    [
        ("{library: ./none.so}", "", "none.so: No such file or directory; expected a shared library"),
        ("{library: ./own.yaml}", "", "'own.yaml' is no name of a shared library"),
        ("{library: [1]}", "", "the library is no path"),
        ("{kind: cubic, library: ./a.so}", "", "kind and library; expected one of them"),
        ("{library: ./a.so, sha256: abc}", "", "a.so is another library: its SHA-256 is"),
        ("{library: ./a.so}", "engine: kernel\n", "the engine kernel has no congestion controls of one's own; expected engine: sim"),
        ("{library: ./a.so, gain: {a: 1}}", "", "a list or a mapping is no value of a parameter"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(cc, more, expected, tmp_path, file):
    (tmp_path / "a.so").write_bytes(b"")
    with pytest.raises(ScenarioError) as error:
        prepare(Scenario.from_file(file(cc, more)).runs())
    assert "own.yaml:3: flows.0.cc" in str(error.value)
    assert expected in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_no_library_is_refused_at_its_line(dumbbell, tmp_path, file):
    (tmp_path / "a.so").write_bytes(b"no library")
    answer = dumbbell("run", file("{library: ./a.so}"), "--allow-library", "--out", tmp_path / "out")
    assert (answer.status, answer.out) == (2, "")
    assert "own.yaml:3: flows.0.cc.library: a.so cannot be loaded (" in answer.err


@pytest.mark.parametrize("name", interface.FILES)
def test_the_interface_is_written_as_the_sources_have_it(name):
    there = (interface.TARGET / name).read_text(encoding="utf-8")
    assert there == interface.FILES[name](), "expected `python docs/interface.py` to have been run"


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("language", ["c", "rust"])
def test_a_new_project_builds_and_tests_itself(language, dumbbell, tmp_path, monkeypatch):
    if language == "rust" and shutil.which("cargo") is None:
        missing("cargo", "there is no Rust compiler")
    monkeypatch.chdir(tmp_path)
    answer = dumbbell("new", "cc", "mine", "--language", language)
    assert answer.status == 0, answer.err
    made = subprocess.run(["make", "-s", "-C", "mine", "test", f"PYTHON={sys.executable}"], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "own " in made.stdout
    planned = dumbbell("plan", tmp_path / "mine" / "mine.yaml")
    assert planned.status == 0, planned.err
    assert dumbbell("new", "cc", "mine").err == "mine: there is one already; expected the name of a new folder\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["cc", "Mine!"], "'Mine!' is no name of a congestion control"),
        (["cc", "../mine"], "'../mine' is no name of a congestion control"),
        (["cc", "mine", "--language", "cobol"], "--language 'cobol' is unknown; expected one of c, rust"),
        (["rrul", "mine"], "'mine' after rrul; expected one name"),
    ],
)
def test_a_project_that_cannot_be_is_refused(arguments, expected, dumbbell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = dumbbell("new", *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert expected in answer.err
    assert len(answer.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
