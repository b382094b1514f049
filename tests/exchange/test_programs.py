"""Programs of others compared with dumbbell's readers and writers, where they are installed."""

import json
import re
import shutil
import socket
import subprocess

import pytest
from required import missing
from waiting import wait_until

from dumbbell import load
from dumbbell.exchange.exported import writer
from dumbbell.exchange.imported import runs_of

from .conftest import stored


def program(name):
    found = shutil.which(name)
    if found is None:
        missing(name, f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """A run whose hosts' packets were captured."""
    folder = tmp_path_factory.mktemp("captured")
    stored(folder, capture=True, duration="3s", background=[])
    return load(folder)[0]


def test_tshark_finds_the_packets_that_were_counted(captured):
    read = [program("tshark"), "-r", captured.captures["left.pcap"], "-Y", "tcp", "-T", "fields"]
    fields = ["-e", "tcp.srcport", "-e", "frame.time_epoch"]
    done = subprocess.run([*read, *fields], capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    ports = {"cubic": "10000", "bbr": "10001"}
    for row in captured.flows.rows():
        assert sum(port == ports[row["flow"]] for port, _ in rows) == row["sent_packets"]
    assert float(rows[0][1]) == pytest.approx(1577836800, abs=1)
    assert re.fullmatch(r"1577836800\.\d{9}", rows[0][1])


def test_our_xplot_files_use_no_more_than_tcptraces(captured, tmp_path):
    """Each of our lines is of a shape that has one in tcptrace's own files, which have the same axes."""
    arguments = [program("tcptrace"), "-n", "-S", "-R", "-N", f"--output_dir={tmp_path}", captured.captures["left.pcap"]]
    subprocess.run(arguments, capture_output=True, check=True)

    def shapes(lines):
        commands = [re.sub(r"-?\d+(\.\d+)?", "N", line).split(" ")[:3] for line in lines]
        return {tuple(words) for words in commands if words[0] in ("line", "ltext", "dot")}, lines[0], lines[-1]

    theirs = [path.read_text().splitlines() for path in tmp_path.glob("*.xpl")]
    known = set().union(*(shapes(lines)[0] for lines in theirs))
    ours = writer("xpl")(captured, "x").files["x-inflight.xpl"].decode().splitlines()
    found, types, last = shapes(ours)
    assert found <= known
    assert types in {lines[0] for lines in theirs} | {"timeval double"}
    assert last == "go" == theirs[0][-1]
    # The same time axis: tcptrace's first samples are of the first round trip.
    times = [float(line.split()[1]) for lines in theirs for line in lines if line.startswith("dot ")]
    assert min(times) == pytest.approx(1577836800, abs=1)
    assert min(float(line.split()[1]) for line in ours if line.startswith("line ")) == pytest.approx(1577836800, abs=1)


def test_what_iperf3_measures_here_can_be_read(tmp_path):
    iperf3 = program("iperf3")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    server = subprocess.Popen([iperf3, "-s", "-p", port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        client = [iperf3, "-c", "127.0.0.1", "-p", port, "-n", "200K", "-b", "8M", "-i", "0.1", "-J"]
        # Until the server listens; its exit status is 0 even so.
        said = wait_until(lambda: b'"error"' not in (found := subprocess.check_output(client)) and found)
    finally:
        server.kill()
        server.wait()
    (tmp_path / "here.json").write_bytes(said)
    (run,) = runs_of([tmp_path / "here.json"], None)
    assert run.flows.rows()[0]["rx_bytes"] == json.loads(said)["end"]["sum_received"]["bytes"] > 0
