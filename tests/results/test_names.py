"""The names of `dumbbell.results` are imported when they are asked for."""

import subprocess
import sys

import pytest

from dumbbell import results


@pytest.mark.parametrize("name", results.__all__)
def test_every_name_is_there(name):
    assert getattr(results, name).__module__.startswith("dumbbell.results.")


def test_a_name_that_is_not_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'Sotre'"):
        results.Sotre  # noqa: B018 - the access is the test


def test_a_plan_is_made_without_numpy(tmp_path):
    program = "import sys; from dumbbell.cli.scenario_runs import read_sample; from pathlib import Path\n"
    program += f"read_sample(Path('tcp_nup'), Path({str(tmp_path / 'out')!r}), None); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
