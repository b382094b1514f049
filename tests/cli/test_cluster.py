"""`dumbbell cluster`, and `--cluster` of other commands."""

import json

import pytest

SCENARIO = """\
name: small
path: {rtt: 20ms, bottleneck: {rate: 10mbit, qdisc: {kind: pfifo, limit: 1bdp}}}
flows: [{cc: reno, start: {jitter: 10ms}}]
duration: 1s
repeat: 2000
"""
JOBS = "system: slurm\njobs: 4\noptions: {cores: 8, processes: 8, memory: 8GB}\n"


@pytest.fixture
def jobs(tmp_path):
    """A file of jobs."""
    path = tmp_path / "slurm.yaml"
    path.write_text(JOBS)
    return path


@pytest.fixture
def file(tmp_path):
    """A scenario file."""
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


def test_the_job_of_a_file_is_printed_and_none_is_submitted(dumbbell, jobs):
    answer = dumbbell("cluster", jobs)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("#!")
    assert "#SBATCH --cpus-per-task=8\n" in answer.out
    found = json.loads(dumbbell("cluster", jobs, "--json").out)
    assert found["threads"] == 32
    assert "#SBATCH" in found["script"]


def test_workers_are_listed_with_what_they_can_run(dumbbell):
    answer = dumbbell("cluster", "local:1", "--json")
    assert answer.status == 0
    (worker,) = json.loads(answer.out)["workers"]
    assert (worker["threads"], worker["engines"]["sim"], worker["refused"]) == (1, "", "")
    assert worker["address"].startswith("tls://127.0.0.1:")
    assert worker["host"]["processors"] >= 1


def test_what_a_plan_takes_depends_on_the_workers(dumbbell, file, jobs, tmp_path):
    out = ("--out", tmp_path / "out", "--json")
    many, few = (json.loads(dumbbell("plan", file, "--cluster", where, *out).out) for where in (jobs, "local:1"))
    assert (many["workers"], few["workers"]) == (32, 1)
    assert many["wall_s"] < few["wall_s"]
    assert few["disk_bytes"] < json.loads(dumbbell("plan", file, *out).out)["disk_bytes"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("cluster", "lokal:2"), "--cluster 'lokal:2' is no place; expected tcp://HOST:PORT, local:N, or a file such as slurm.yaml"),
        (("run", "FILE", "--cluster", "local"), "--cluster 'local' is no place; expected"),
        (
            ("run", "FILE", "--cluster", "local:2", "--workers", "3"),
            "--workers 3 is of this machine, and --cluster local:2 of others; expected",
        ),
        (("run", "FILE", "--cluster", "local:2", "--executor", "processes"), "--executor processes is of this machine"),
        (("plan", "FILE", "--cluster", "local:2", "--workers", "3"), "--workers 3 is of this machine"),
        (("run", "FILE", "--cluster", "nothing.yaml"), "nothing.yaml: no such file; expected a file of jobs"),
    ],
)
def test_what_is_typed_wrongly_is_one_line(dumbbell, file, command, said, tmp_path):
    arguments = [file if each == "FILE" else each for each in command]
    more = [] if command[0] == "cluster" else ["--out", tmp_path / "out"]
    answer = dumbbell(*arguments, *more)
    assert answer.status == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_very_many_runs_have_no_summary_but_the_command_that_shows_them(dumbbell, file, tmp_path, monkeypatch):
    monkeypatch.setattr("dumbbell.cli.run.run._MOST_SHOWN", 2)
    out = tmp_path / "out"
    many, few = (dumbbell("run", file, "--set", f"repeat={repeat}", "--out", out) for repeat in (3, 2))
    assert many.out == ""
    assert many.err.splitlines()[-1] == f"next: `dumbbell table {out} --statistic mean` for the 3 runs, or `dumbbell view {out}`"
    assert "mean of 2 runs" in few.out
    assert few.err.splitlines()[-2].endswith(f", 2 reused; results in {out}")
