"""Values of `--cluster`, and the file of jobs of a batch system."""

import gc
import re
import shlex
from pathlib import Path

import pytest
from waiting import wait_until

import dumbbell
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.executor.cluster import Cluster, batch_system

# The file in the document.
JOBS = re.search(r"```yaml\n# slurm.yaml\n(.*?)```", (Path(dumbbell.__file__).parents[1] / "docs/clusters.md").read_text(), re.DOTALL)[1]


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere", "--cluster 'nowhere' is no place; expected tcp://HOST:PORT, local:N, or a file such as slurm.yaml"),
        ("local:0", "--cluster local:0: 0 workers; expected a number from 1 to 1000"),
        ("local:two", "--cluster 'local:two' is no place"),
        ("http://a:1", "--cluster 'http://a:1' is no place"),
        ("none.yaml", "none.yaml: no such file; expected a file of jobs"),
    ],
)
def test_a_wrong_place_is_one_line(place, said):
    with pytest.raises(BadInput, match=re.escape(said)) as error:
        Cluster(place)
    assert "\n" not in str(error.value)


def test_a_scheduler_that_does_not_answer_is_one_line(monkeypatch):
    monkeypatch.setattr("dumbbell.executor.cluster.where._CONNECT_S", 0.2)
    with (
        Cluster("tcp://127.0.0.1:9") as cluster,
        pytest.raises(EnvironmentFault, match=r"no scheduler answers.*expected that of `dask"),
    ):
        cluster.connect()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("slurm", "slurmm", "jobs.yaml:1: system: 'slurmm'"),
        ("jobs: 10", "jobs: 0", "jobs.yaml:2: jobs: 0"),
        ("jobs: 10", "job: 3", "jobs.yaml:2: job"),
        ("system: slurm\n", "", "jobs.yaml:1: system: is missing"),
        (JOBS, "- 1\n", "jobs.yaml:1: holds a list; expected keys such as system, jobs and options"),
    ],
)
def test_what_is_wrong_in_a_file_of_jobs_is_said_with_its_line(old, new, said, tmp_path):
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS.replace(old, new))
    with pytest.raises(BadInput, match=re.escape(said)):
        batch_system.read(file)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("queue: short", "qeue: short", "jobs.yaml:4: options.qeue: is no option of SLURMCluster (did you mean 'queue'?); expected one of"),
        ("  cores: 8\n", "", "jobs.yaml:3: options: lacks cores; expected what a job needs"),
        # An object that dask has half made complains when it is collected.
        ("memory: 16GB", "memory: much", "jobs.yaml:3: options: dask-jobqueue does not take them (Could not interpret 'much' as a"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_options_that_dask_jobqueue_does_not_take_are_named(old, new, said, tmp_path):
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS.replace(old, new))
    with pytest.raises(BadInput, match=re.escape(said)):
        batch_system.read(file).cluster()
    gc.collect()


def test_jobs_of_slurm_are_asked_for_as_the_file_says(tmp_path, monkeypatch):
    """The script that is submitted, by a program in place of Slurm's."""
    submitted, program = tmp_path / "submitted", tmp_path / "bin" / "sbatch"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncat "$1" >>{shlex.quote(str(submitted))}\necho "Submitted batch job $$"\n')
    program.chmod(0o755)
    (program.parent / "scancel").write_text("#!/bin/sh\n")
    (program.parent / "scancel").chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS)
    system = batch_system.read(file)
    with system.cluster() as cluster:
        script = cluster.job_script()
        system.start(cluster)
        wait_until(lambda: cluster.sync(_nap) or (submitted.exists() and submitted.read_text().count("#!/") == 10))
        assert submitted.read_text().count("#SBATCH -p short") == 10
    lines = script.splitlines()
    assert lines[0].startswith("#!")
    assert {"#SBATCH -p short", "#SBATCH -n 1", "#SBATCH --cpus-per-task=8", "#SBATCH -t 02:00:00"} <= set(lines)
    assert any(line.startswith("#SBATCH --mem=") for line in lines)
    assert "module load gcc" in lines
    (command,) = (line for line in lines if "dask_worker" in line or "dask worker" in line)
    assert command.startswith("/opt/dumbbell/bin/python -m ")
    assert "--nworkers 8" in command
    assert "--nthreads 1" in command
    assert "--nanny" in command


async def _nap():
    import asyncio

    await asyncio.sleep(0.1)


# dask leaves open what it could not start.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_jobs_that_are_not_taken_are_one_line(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "sbatch"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'invalid partition specified: short' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS)
    with Cluster(str(file)) as cluster, pytest.raises(EnvironmentFault, match=r"slurm: a job was not taken .*invalid partition") as error:
        cluster.connect()
    assert "\n" not in str(error.value)
    gc.collect()


def test_jobs_that_cannot_be_submitted_are_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    file = tmp_path / "jobs.yaml"
    file.write_text(JOBS)
    with Cluster(str(file)) as cluster, pytest.raises(EnvironmentFault, match="slurm: sbatch, which submits jobs, is not there; expected"):
        cluster.connect()
