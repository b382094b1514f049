"""The recorded numbers of instructions, and the job that compares with them."""

from __future__ import annotations

import pytest

from benchmarks import instructions
from dumbbell.bench import recorded
from dumbbell.bench.cases import CASES
from dumbbell.bench.recorded import Recorded
from dumbbell.errors import BadInput, EnvironmentFault

NAME = "cubic-fq_codel-1"


def value(count: float, name: str = NAME, date: str = "2026-01-02") -> Recorded:
    return Recorded(name, count, "1.95.0", "3.19.0", date)


@pytest.fixture
def counts(monkeypatch, tmp_path):
    """A function that replaces valgrind: the job counts the given number of instructions, and 1000 are recorded."""
    path = tmp_path / "instructions.csv"
    recorded.write([value(1000.0)], path)

    def set_count(count):
        monkeypatch.setattr(instructions, "valgrind_version", lambda: "3.19.0")
        monkeypatch.setattr(instructions, "rustc_version", lambda: "1.95.0")
        monkeypatch.setattr(instructions, "build", lambda name: tmp_path / name)
        monkeypatch.setattr(instructions, "count", lambda *_: count)
        return path

    return set_count


def test_growth_of_six_percent_fails_in_one_line(counts, capsys):
    path = counts(1060.0)
    assert instructions.main([NAME], path) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"grown: {NAME}: 1060 instructions per packet, 6.0 % more than the 1000 recorded on 2026-01-02")
    assert recorded.read(path)[NAME].instructions_per_packet == 1000.0


def test_growth_of_four_percent_passes(counts, capsys):
    assert instructions.main([NAME], counts(1040.0)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "+4.0 %" in captured.out


def test_recording_replaces_only_the_benchmarks_that_ran(counts):
    path = counts(1060.0)
    recorded.write([value(1000.0), value(7.0, "cubic-cake-1")], path)
    assert instructions.main(["--record", NAME], path) == 0
    after = recorded.read(path)
    assert after[NAME].instructions_per_packet == 1060.0
    assert after[NAME].date != "2026-01-02"
    assert after["cubic-cake-1"] == value(7.0, "cubic-cake-1")
    assert path.read_text().splitlines()[0] == "benchmark,instructions_per_packet,rustc,valgrind,date"


def test_without_valgrind_the_job_says_so_and_succeeds(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert instructions.main([], tmp_path / "none.csv") == 0
    assert capsys.readouterr().out == "instructions per packet: not measured, valgrind is not installed\n"


def test_an_unknown_name_is_refused(tmp_path):
    with pytest.raises(BadInput, match="unknown benchmark 'cubic-red-9'"):
        instructions.main(["cubic-red-9"], tmp_path / "none.csv")


def test_instructions_are_divided_by_the_packets_that_the_example_delivered(tmp_path, monkeypatch):
    valgrind = tmp_path / "valgrind"
    valgrind.write_text('#!/bin/sh\necho "500 packets, 9 events, 0.1 s, 1 packets/s" >&2\necho "== Collected : 600000" >&2\n')
    valgrind.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert instructions.count(tmp_path / "run", "{}") == 1200.0


def test_a_program_that_fails_under_valgrind_is_an_error(tmp_path, monkeypatch):
    valgrind = tmp_path / "valgrind"
    valgrind.write_text("#!/bin/sh\necho 'Collected : 600000' >&2\nexit 4\n")
    valgrind.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(EnvironmentFault, match="exit status 4"):
        instructions.count(tmp_path / "run", "{}")


def test_a_malformed_file_is_refused(tmp_path):
    path = tmp_path / "instructions.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(BadInput, match="expected benchmark, instructions_per_packet"):
        recorded.read(path)
    recorded.write([value(1.0)], path)
    path.write_text(path.read_text().replace("1.0", "many"))
    with pytest.raises(BadInput, match=r"instructions.csv:2: 'many' is no number"):
        recorded.read(path)


def test_every_counted_benchmark_is_recorded():
    assert set(recorded.read()) == {name for name, case in CASES.items() if case.counted}
