"""The simulator and ns-3 on the same scenarios."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import measured, memory, side_by_side
from benchmarks.ns3 import installation, program
from benchmarks.side_by_side import Comparison, read, write
from dumbbell.bench.measure import network
from dumbbell.bench.present import lines
from dumbbell.errors import BadInput, EnvironmentFault

LINE = "packets=82000 goodput_bps=95000000 drops=8 marks=3 events=900000 cpu_s=2.5000 maxrss_kb=27304\n"
MADE = Comparison("cubic-fq_codel-1", 5e6, 25e3, 95.1, 94.8, "ns-3.44 (wheel)", "g++ 12.2.0", "0.1.0", "1.95.0", "2026-01-02")


@pytest.fixture
def prefix(tmp_path):
    """A function that makes an installation prefix whose libraries are empty, except the internet module."""

    def make(profile="", internet=b"", folder="lib"):
        (tmp_path / "include" / "ns3").mkdir(parents=True)
        (tmp_path / "include" / "ns3" / "core-module.h").touch()
        (tmp_path / folder).mkdir()
        for module in installation.MODULES:
            (tmp_path / folder / f"libns3.44-{module}{profile}.so").write_bytes(internet if module == "internet" else b"")
        return tmp_path

    return make


@pytest.fixture
def ns3_there(monkeypatch, prefix):
    """An ns-3 that prints the same line for any scenario."""
    root = prefix()
    executable = root / "dumbbell"
    executable.write_text(f"#!/bin/sh\necho '{LINE.strip()}'\n")
    executable.chmod(0o755)
    monkeypatch.setenv("NS3_ROOT", str(root))
    monkeypatch.setattr(program, "build", lambda _: executable)
    monkeypatch.setattr(program, "compiler", lambda: "g++ 12.2.0")


def test_the_line_of_ns3_is_read():
    outcome = program.parse(LINE)
    assert (outcome.packets, outcome.goodput_bps, outcome.cpu_s, outcome.marks) == (82000, 95e6, 2.5, 3)


@pytest.mark.parametrize("line", ["", "Segmentation fault", LINE.replace("cpu_s=2.5000", "cpu_s=?"), LINE.replace("packets=82000", "")])
def test_any_other_line_is_an_error(line):
    with pytest.raises(EnvironmentFault, match="ns-3 printed"):
        program.parse(line)


def test_the_profile_of_an_installation_is_read_from_its_libraries(prefix):
    found = installation.find({"NS3_ROOT": str(prefix("-optimized", folder="lib64"))})
    assert (found.version, found.profile, found.asserts, found.logging) == ("3.44", "optimized", False, False)
    assert found.definitions == ["-DNS3_BUILD_PROFILE_OPTIMIZED"]
    assert found.library("core") == "libns3.44-core-optimized.so"
    assert "optimized profile, asserts off, logging off" in str(found)


def test_compiled_in_features_are_detected_in_the_libraries(prefix):
    found = installation.find({"NS3_ROOT": str(prefix(internet=b'..NS_ASSERT failed, cond="..ns3::ParameterLogger..'))})
    assert found.definitions == ["-DNS3_BUILD_PROFILE_RELEASE", "-DNS3_ASSERT_ENABLE", "-DNS3_LOG_ENABLE"]
    assert "release profile, asserts compiled in, logging compiled in" in str(found)


def test_a_root_without_ns3_is_refused_in_one_line(prefix):
    with pytest.raises(BadInput, match=r"^NS3_ROOT=/nowhere: there is no include/ns3/core-module.h; expected the prefix") as refusal:
        installation.find({"NS3_ROOT": "/nowhere"})
    assert "\n" not in str(refusal.value)
    root = prefix()
    (root / "lib" / "libns3.44-stats.so").unlink()
    with pytest.raises(BadInput, match=r"there is no libns3\.44-stats\.so"):
        installation.find({"NS3_ROOT": str(root)})
    (root / "lib" / "libns3.44-core.so").unlink()
    with pytest.raises(BadInput, match="there is no core library"):
        installation.find({"NS3_ROOT": str(root)})


def test_a_bad_root_ends_the_job_instead_of_measuring_something_else(monkeypatch):
    monkeypatch.setenv("NS3_ROOT", "/nowhere")
    with pytest.raises(BadInput, match="NS3_ROOT=/nowhere"):
        side_by_side.main(["cubic-fq_codel-1"])


def test_without_a_compiler_the_simulator_is_measured_alone(monkeypatch, prefix, capsys):
    monkeypatch.setenv("NS3_ROOT", str(prefix()))
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert side_by_side.main(["cubic-pfifo-1"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "ns-3: not measured, expected a C++ compiler (no-such-compiler); CXX names another"
    assert second.startswith("cubic-pfifo-1")
    assert "packets per CPU second" in second
    with pytest.raises(EnvironmentFault, match="nothing to record"):
        side_by_side.main(["cubic-pfifo-1", "--record"])


@pytest.mark.usefixtures("ns3_there")
def test_the_ratio_is_of_packets_per_cpu_second(capsys):
    assert side_by_side.main(["cubic-pfifo-1"]) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.startswith("against ns-3.44 (")
    assert "ns-3 32.8 k, ratio " in line
    assert "not the same work" not in line


def test_differing_goodputs_are_reported():
    assert MADE.same_work
    assert MADE.ratio == 200
    apart = replace(MADE, ns3_goodput_mbit=80.0)
    assert not apart.same_work
    assert "80.0 (not the same work)" in side_by_side.table([apart]).markdown()


def test_recorded_ratios_are_read_back_and_drawn(tmp_path):
    path = tmp_path / "side_by_side.csv"
    side_by_side.write([MADE], path)
    assert side_by_side.read(path) == [MADE]
    assert [each.suffix for each in side_by_side.draw([MADE], tmp_path)] == [".png", ".svg"]


def test_each_build_of_ns3_has_a_table_of_its_own():
    fast = replace(MADE, ns3="ns-3.44 (own build)", ns3_packets_per_cpu_s=50e3)
    text = side_by_side.section([MADE, fast])
    assert text.count("| 1 flow, fq_codel |") == 2
    assert text.index("against ns-3.44 (wheel) (program by g++ 12.2.0, -O3)") < text.index("| 200 |")
    assert text.index("| 200 |") < text.index("against ns-3.44 (own build)") < text.index("| 100 |")


@pytest.mark.usefixtures("ns3_there")
def test_recording_keeps_the_ratios_to_other_builds(monkeypatch, tmp_path):
    path = tmp_path / "side_by_side.csv"
    monkeypatch.setattr(side_by_side, "FILE", path)
    monkeypatch.setattr(side_by_side, "read", lambda: read(path))
    monkeypatch.setattr(side_by_side, "write", lambda made: write(made, path))
    monkeypatch.setattr(side_by_side, "draw", lambda made: drawn.append(len(made)))
    drawn = []
    write([MADE], path)
    for _ in range(2):
        assert side_by_side.main(["cubic-pfifo-1", "--record"]) == 0
    first, second = read(path)
    assert first == MADE
    assert second.scenario == "cubic-pfifo-1"
    assert second.ns3.startswith("ns-3.44 (own build), release profile")
    assert drawn == [2, 2]


def test_both_simulators_get_the_same_scenario():
    for setting in side_by_side.SETTINGS.values():
        described = network(setting.scenario())
        assert f'"duration_ns":{setting.duration_s * 10**9}' in described
        assert described.count('"delay_ns":10000000') == 4
        arguments = setting.arguments()
        assert f"--duration={setting.duration_s}" in arguments
        assert f"--limit={setting.limit_packets}" in arguments
        # A full segment takes as long on both bottlenecks.
        (rate,) = (int(each.split("=")[1]) for each in arguments if each.startswith("--bottleneck="))
        assert 1502 * 8 / rate == pytest.approx(1514 * 8 / setting.rate_bps, rel=1e-6)


def test_memory_is_shown_with_its_targets():
    row = {"name": "memory", "targets": memory.TARGETS, "bytes_per_idle_flow": 5000.0, "bytes_per_segment_in_flight": 64.2}
    shown = lines(row)
    assert shown[0] == ("memory", "bytes per idle flow", "5,000", "16,000", "met")
    assert shown[1][2:] == ("64.2", "64.0", "not met")


def test_higher_packet_rates_and_lower_other_numbers_are_better():
    row = {"name": "x", "targets": {"packets_per_cpu_s": 2e6, "wall_s": 180.0}, "packets_per_cpu_s": 3e6, "wall_s": 200.0, "ms": None}
    assert [(line[1], line[4]) for line in lines(row)] == [("packets per CPU second", "met"), ("wall time, s", "not met")]


def test_the_documents_table_names_each_benchmark():
    recorded = {"dumbbell": "0.1.0", "rustc": "1.95.0", "processors": 2}
    row = {"name": "cubic-cake-1", "date": "2026-01-02", "targets": {"packets_per_cpu_s": 8e6}, "packets_per_cpu_s": 9e6}
    recorded["rows"] = [row]
    assert "| one flow, cake (`cubic-cake-1`) | packets per CPU second | 9.00 M | 8.00 M | met |" in measured.table(recorded).markdown()
    assert measured.conditions(recorded) == "2026-01-02: dumbbell 0.1.0, rustc 1.95.0, 2 processors."
