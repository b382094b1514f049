"""Flows that programs make in a guest: the words of their commands, what of them is counted, and what they may not do."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from required import missing
from support import PATH

from dumbbell.engines import engine as find_engine
from dumbbell.engines.kernel import guest
from dumbbell.engines.linux import applications, flent
from dumbbell.engines.prepared import Allowed
from dumbbell.errors import BadInput, EnvironmentFault
from dumbbell.results import Store
from dumbbell.running.execute import execute
from dumbbell.running.prepare import prepare
from dumbbell.scenario import Scenario, ScenarioError

SINK = """\
import socket, sys
at = socket.create_server((sys.argv[1], int(sys.argv[2])))
while True:
    made, _ = at.accept()
    total = 0
    while got := made.recv(1 << 16):
        total += len(got)
    print("got", total, flush=True)
"""
SOURCE = """\
import socket, sys
at = socket.create_connection((sys.argv[1], int(sys.argv[2])))
at.sendall(bytes(int(sys.argv[3])))
at.close()
print('{"sent": {"bytes": ' + sys.argv[3] + ', "list": [1, 2.5]}}')
"""


@pytest.fixture(scope="module")
def kernel():
    engine = find_engine("kernel")
    try:
        engine.require()
    except EnvironmentFault as fault:
        missing("kernel", fault)
    if not Path("/usr/bin/python3").exists():
        missing("applications", "no /usr/bin/python3, which every user may read")
    return engine


@pytest.fixture
def scenario(tmp_path):
    """A function that makes the runs of a scenario whose files are in a folder of its own."""

    def make(files=(), **more):
        for name, text in dict(files).items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o755)
        settings = {"name": "s", "path": PATH, "duration": "3s", "engine": "kernel", **more}
        file = tmp_path / "scenario.yaml"
        file.write_text(json.dumps(settings))
        return prepare(Scenario.from_file(file).runs())

    return make


def computed(runs):
    (run,) = execute(runs, allowed=Allowed(program=True)).runs
    return run


def own(client, server=None, **more):
    return {"client": client, **({"server": server} if server else {"transport": "any"}), **more}


DATAGRAMS = "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n"
TRANSFER = own(
    ["python3", "source.py", "{server}", "{port}", "{bytes}"],
    ["python3", "sink.py", "{server}", "{port}"],
    files=["./source.py", "./sink.py"],
    report={"bytes": "sent.bytes", "ms": {"json": "sent.list.1", "times": 1000}, "packets": {"regex": "got ([0-9]+)", "of": "server"}},
)
FILES = {"source.py": SOURCE, "sink.py": SINK}


@pytest.mark.usefixtures("kernel")
def test_a_program_of_ones_own_makes_a_flow_beside_the_agents(scenario):
    runs = scenario(
        FILES,
        programs={"mine": TRANSFER},
        flows=[{"cc": "cubic"}, {"program": "mine", "bytes": "300kB", "start": "500ms", "cc": "reno"}],
        background=[{"kind": "ping"}],
    )
    run = computed(runs)
    assert run.status == "ok", run.reasons
    rows = {row["flow"]: row for row in run.flows.rows()}
    mine = rows["mine"]
    assert (mine["kind"], mine["transport"], mine["cc"], mine["rx_bytes"]) == ("tcp", "tcp", "reno", 300_000)
    assert (mine["reported_bytes"], mine["reported_ms"], mine["reported_packets"]) == (300_000, 2500, 300_000)
    assert 208 <= mine["delivered"] <= 211
    assert rows["cubic"]["rx_bytes"] > 1_000_000
    assert run.outputs["application-mine-client.txt"].startswith(b'{"sent"')
    assert run.outputs["application-mine-server.txt"] == b"got 300000\n"
    # The congestion control of the host is the flow's, and its series are those of any flow.
    _, received = run.series("flow/mine", "rx_bytes")
    assert received[-1] == 300_000
    assert computed(runs).digest == run.digest


@pytest.mark.usefixtures("kernel")
def test_a_run_depends_on_the_content_of_its_files(scenario):
    def key(source):
        (run,) = scenario({**FILES, "source.py": source}, programs={"mine": TRANSFER}, flows=[{"program": "mine", "bytes": "30kB"}])
        return run.key

    assert key(SOURCE) == key(SOURCE) != key(SOURCE + "\n")


@pytest.mark.usefixtures("kernel")
def test_nothing_runs_that_is_not_allowed(scenario):
    runs = scenario(FILES, programs={"mine": TRANSFER}, flows=[{"program": "mine", "bytes": "30kB"}])
    told = "mine (python3 source.py '{server}' '{port}' '{bytes}') would be run; expected --allow-program"
    with pytest.raises(BadInput, match="--allow-program") as error:
        execute(runs)
    assert str(error.value).startswith(told)
    with pytest.raises(BadInput, match="--allow-program"):
        runs[0].produce()


@pytest.mark.usefixtures("kernel")
def test_a_file_that_has_changed_is_not_run(scenario, tmp_path):
    runs = scenario(FILES, programs={"mine": TRANSFER}, flows=[{"program": "mine", "bytes": "30kB"}])
    (tmp_path / "source.py").write_text("pass")
    with pytest.raises(BadInput, match="has changed since the run was prepared"):
        execute(runs, allowed=Allowed(program=True))


@pytest.mark.usefixtures("kernel")
def test_a_damaged_run_is_made_again_from_the_files_that_it_remembers(scenario, tmp_path, dumbbell):
    runs = scenario(FILES, programs={"mine": TRANSFER}, flows=[{"program": "mine", "bytes": "30kB"}])
    store = Store(tmp_path / "store")
    execute(runs, store, allowed=Allowed(program=True))
    series = tmp_path / "store" / runs[0].key / "series.parquet"
    whole = series.read_bytes()
    series.write_bytes(whole[:100] + b"?" + whole[101:])
    answer = dumbbell("check", "--repair", tmp_path / "store")
    assert answer.status == 2
    assert "mine (python3 source.py '{server}' '{port}' '{bytes}') would be run; expected --allow-program" in answer.err
    assert dumbbell("check", "--repair", "--allow-program", tmp_path / "store").status == 0
    assert series.read_bytes() == whole
    (tmp_path / "source.py").write_text("pass")
    series.write_bytes(whole[:100])
    answer = dumbbell("check", "--repair", "--allow-program", tmp_path / "store")
    assert answer.status == 1
    assert "a file that it names has changed" in answer.err


@pytest.mark.usefixtures("kernel")
def test_tcp_sockets_are_those_of_mptcp_where_the_scenario_says_so(scenario):
    asks = "import socket\nfor made in (socket.socket(), socket.socket(type=socket.SOCK_DGRAM)):\n    print(made.getsockopt(1, 38))"

    def protocols(transport):
        program = own(["python3", "-c", asks], ["python3", "sink.py", "{server}", "{port}"], files=["./sink.py"], transport=transport)
        return computed(scenario(FILES, programs={"p": program}, flows=[{"program": "p"}], duration="1s")).outputs[
            "application-p-client.txt"
        ]

    assert protocols("tcp") == b"6\n17\n"
    assert protocols("mptcp") == b"262\n17\n"


@pytest.mark.usefixtures("kernel")
def test_datagrams_of_a_program_are_counted_at_both_hosts(scenario):
    udp = own(
        [
            "python3",
            "-c",
            "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\nfor i in range(20): s.sendto(bytes(100), ('{server}', {port}))",
        ],
        [
            "python3",
            "-c",
            "import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\ns.bind(('{server}', {port}))\nwhile s.recv(2000): pass",
        ],
        transport="udp",
    )
    run = computed(scenario(programs={"mine": udp}, flows=[{"program": "mine", "src": "one"}, {"cc": "cubic"}]))
    assert run.status == "ok", run.reasons
    row = next(row for row in run.flows.rows() if row["flow"] == "mine")
    assert (row["kind"], row["transport"]) == ("program", "udp")
    assert (row["sent_packets"], row["arrived_packets"], row["acks_arrived"], row["rx_bytes"]) == (20, 20, 0, 2000)


@pytest.mark.usefixtures("kernel")
def test_a_program_that_fails_is_a_warning_with_its_last_words(scenario):
    bad = own(["sh", "-c", "echo trouble >&2; exit 3"])
    run = computed(scenario(programs={"bad": bad}, flows=[{"program": "bad", "src": "one"}, {"cc": "cubic"}]))
    assert run.status == "warn"
    assert any("flow/bad: its client ended at 0.0" in reason and "with status 3: trouble; 3.0" in reason for reason in run.reasons)


@pytest.mark.usefixtures("kernel")
def test_a_client_that_ends_before_its_time_is_a_warning_with_the_time_that_is_lost(scenario):
    def told(client):
        return computed(scenario(programs={"p": own(client)}, flows=[{"program": "p", "src": "one", "duration": "2s"}, {"cc": "cubic"}]))

    early = told(["sh", "-c", "sleep 0.5 # {duration}"])
    assert early.status == "warn"
    assert any(reason.startswith("flow/p: its client ended early, at 0.5") and "; 1.5" in reason for reason in early.reasons)
    for client in (["sleep", "{duration}"], ["sleep", "0.5"]):
        assert not any("early" in reason for reason in told(client).reasons)


@pytest.mark.usefixtures("kernel")
def test_programs_have_the_time_of_day_that_the_scenario_says(scenario):
    def said(**more):
        asks = own(["date", "-u", "+%F %T"])
        return computed(
            scenario(programs={"mine": asks}, flows=[{"program": "mine", "src": "one"}, {"cc": "cubic"}], duration="1s", **more)
        ).outputs

    assert said()["application-mine-client.txt"].startswith(b"2023-11-14 22:14:")
    assert said(clock="2026-01-01")["application-mine-client.txt"] == b"2026-01-01 00:00:00\n"
    with pytest.raises(ScenarioError, match="clock: '2026-13-01' is no time of day"):
        said(clock="2026-13-01")


@pytest.mark.usefixtures("kernel")
def test_files_that_a_program_keeps_are_in_the_run(scenario):
    keeps = own(["sh", "-c", "echo here > a.txt; echo no > b.log; ln -s /etc/shadow c.txt; mkfifo d.txt"], keep=["*.txt"])
    run = computed(scenario(programs={"mine": keeps}, flows=[{"program": "mine", "src": "one"}, {"cc": "cubic"}]))
    kept = {name: content for name, content in run.outputs.items() if name.startswith("application-mine-client.")}
    assert kept == {"application-mine-client.a.txt": b"here\n"}


# --- what it may not do ----------------------------------------------------------------------------------------------

SECRET = "/root/dumbbell-secret"
ATTEMPTS = {
    "mount hostfs": "mkdir x && mount -t hostfs none x -o /",
    "mount hostfs in a user namespace": "unshare -Urm mount -t hostfs none /tmp -o /",
    "mount a tmpfs": "mkdir x && mount -t tmpfs none x",
    "remount /": "mount -o remount,rw /",
    "unmount /proc": "umount /proc",
    "write to /etc": "touch /etc/dumbbell-was-here",
    "write to /usr": "touch /usr/bin/dumbbell-was-here",
    "write to /var/lib": "touch /var/lib/dumbbell-was-here",
    "write to the host's /tmp": "ls /tmp/dumbbell-run-*",
    "read /etc/shadow": "cat /etc/shadow",
    "read root's home": "ls /root",
    "be root by su": "su -c id",
    "be root by setuid": "python3 -c 'import os; os.setuid(0)'",
    "a capability": "grep -q '^CapBnd:.*[1-9a-f]' /proc/self/status",
    "new privileges": "grep -q '^NoNewPrivs:.*0' /proc/self/status",
    "a namespace of the network": "unshare -n true",
    "another host's namespace": "nsenter -t 1 -n true",
    "chroot": "chroot / true",
    "a raw socket": "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
    "a packet socket": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)'",
    "an address": "ip address add 10.1.0.99/32 dev eth0",
    "a queue discipline": "tc qdisc add dev eth0 root pfifo",
    "a sysctl": "echo 1 > /proc/sys/net/ipv4/tcp_sack",
    "the machine's end": "echo o > /proc/sysrq-trigger",
    "a device": "mknod x c 1 1",
    "/dev/mem": "head -c 1 /dev/mem",
    "the first process's memory": "head -c 1 /proc/1/mem",
    "the first process's files": "ls /proc/1/fd/",
    "the first process's root": "ls /proc/1/root/",
    "the first process's death": "kill -9 1 && sleep 0.1 && ! test -d /proc/1",
    "ptrace": 'python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).ptrace(16, 1, 0, 0) != 0)"',
    "the clock": "date -s 2030-01-01",
    "reboot": 'python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).reboot(0x4321fedc) != 0)"',
    "more room": "head -c 200000000 /dev/zero > fill; came=$?; rm fill; exit $came",
    "more room in /dev/shm": "head -c 200000000 /dev/zero > /dev/shm/fill; came=$?; rm /dev/shm/fill; exit $came",
    "more processes": "ulimit -u unlimited",
    "a module": "python3 -c \"import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(313, 0, b'', 0) != 0)\"",
    "BPF": 'python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(321, 0, bytes(64), 64) < 0)"',
}
"""Commands that succeed if a program can do what it must not."""


@pytest.mark.usefixtures("kernel")
def test_no_attempt_to_escape_succeeds(scenario):
    text = "".join(f'if ( {command} ) >/dev/null 2>&1; then echo "escaped: {name}"; fi\n' for name, command in ATTEMPTS.items())
    there = 'id -u; id -G; test -w . && echo home; head -c 4 /dev/urandom >/dev/null && echo devices; echo "$HOME"; echo end\n'
    run = computed(
        scenario(
            {"try.sh": text + there},
            programs={"mine": own(["sh", "./try.sh"], files=["./try.sh"])},
            flows=[{"program": "mine", "src": "one"}, {"cc": "cubic"}],
        )
    )
    said = run.outputs["application-mine-client.txt"].decode().splitlines()
    assert said == ["65534", "65534", "home", "devices", "/run/home", "end"]
    assert not Path("/etc/dumbbell-was-here").exists()


@pytest.mark.usefixtures("kernel")
def test_a_fork_bomb_ends_nothing_but_itself(scenario):
    bomb = own(["python3", "-c", "import os\ntry:\n  while True: os.fork()\nexcept OSError: os._exit(0)"])
    run = computed(scenario(programs={"bomb": bomb}, flows=[{"program": "bomb", "src": "one"}, {"cc": "cubic"}], duration="1s"))
    rows = {row["flow"]: row for row in run.flows.rows()}
    assert rows["cubic"]["rx_bytes"] > 500_000


@pytest.mark.usefixtures("kernel")
def test_a_program_that_fills_the_memory_is_ended_and_nothing_else(scenario, monkeypatch):
    monkeypatch.setattr(guest, "MORE_MEMORY", ("256M",))
    fills = own(["python3", "-c", "kept = []\nwhile True: kept.append(bytearray(1 << 24))"])
    run = computed(scenario(programs={"fills": fills}, flows=[{"program": "fills", "src": "one"}, {"cc": "cubic"}], duration="1s"))
    assert run.status == "warn"
    assert any("flow/fills: its client ended at" in reason and "with status 137" in reason for reason in run.reasons), run.reasons
    assert next(row for row in run.flows.rows() if row["flow"] == "cubic")["rx_bytes"] > 500_000


@pytest.mark.usefixtures("kernel")
def test_a_program_that_spins_is_ended_and_named(scenario, monkeypatch):
    monkeypatch.setitem(applications._SPINNING, "um.user_spin_s", 2)
    spins = own(["python3", "-c", "while True: pass"])
    run = computed(scenario(programs={"spins": spins}, flows=[{"program": "spins", "src": "one"}, {"cc": "cubic"}], duration="1s"))
    assert run.status == "warn"
    told = "flow/spins: its client computed for 2 s of a processor without a system call at 0.0"
    assert any(reason.startswith(told) and "s of virtual time are lost" in reason for reason in run.reasons)


# --- what cannot be --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "flow", "told"),
    [
        ({"client": ["a", "{sever}"]}, {}, "client: {sever} is no word in braces (did you mean 'server'?)"),
        ({"client": ["a"]}, {}, "server is missing, which tcp needs"),
        ({"client": ["./not-there"], "transport": "any"}, {}, "not-there: No such file or directory"),
        ({"client": ["a"], "transport": "any", "report": {"speed": "x"}}, {}, "report: 'speed' is unknown"),
        ({"client": ["a"], "transport": "any", "report": {"bps": {"regex": "("}}}, {}, "'(' is no regular expression"),
        ({"client": ["a", "{bytes}"], "transport": "any"}, {}, "flows.0.bytes: is missing, and the program's command needs it"),
        ({"client": ["a"], "transport": "any"}, {"arguments": {"x": 1}}, "flows.0.arguments.x: is no argument of the program"),
        ({"client": ["a"], "transport": "any"}, {"opens": "receiver"}, "flows.0.opens: is what the program says"),
        ({"client": ["a"], "transport": "any"}, {"program": "main"}, "there is no program 'main' (did you mean 'mine'?)"),
    ],
)
def test_errors_are_one_line(scenario, program, flow, told):
    with pytest.raises(ScenarioError) as error:
        scenario(programs={"mine": program}, flows=[{"program": "mine", **flow}])
    assert told in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_other_engines_refuse_programs_by_name(scenario):
    with pytest.raises(ScenarioError) as error:
        scenario(flows=[{"program": "ping"}], engine="sim")
    assert "flows.0.program: the engine sim has no flows by programs; expected engine: kernel" in str(error.value)


def test_packets_that_nobody_can_tell_apart_are_refused(scenario):
    told = "has ICMP between two hosts, which filters cannot tell from those of"
    for more in ({"background": [{"kind": "ping"}]}, {"flows": [{"program": "ping", "count": 2}]}):
        with pytest.raises(ScenarioError) as error:
            scenario(**{"flows": [{"program": "ping"}], **more})
        assert told in str(error.value)
    assert scenario(flows=[{"program": "ping", "src": "pinger"}], background=[{"kind": "ping"}])


def test_a_program_that_is_not_installed_is_named_with_its_package(kernel, scenario, monkeypatch):
    monkeypatch.setattr(applications, "_PATH", "/nowhere")
    flent.installed.cache_clear()
    monkeypatch.setattr(flent, "find_spec", lambda _: None)
    for name, told in (
        ("irtt", "apt-get install irtt"),
        ("netperf", "github.com/HewlettPackard/netperf"),
        ("flent", "apt-get install flent"),
    ):
        (run,) = scenario(flows=[{"program": name}])
        with pytest.raises(EnvironmentFault) as error:
            kernel.require(run.plan)
        assert told in str(error.value)
    flent.installed.cache_clear()


# --- ready-made ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "program", "flow"),
    [
        ("ping", "ping", {}),
        ("irtt", "irtt", {}),
        ("http", "nginx", {"direction": "reverse", "arguments": {"objects": 10, "size": 20_000}}),
        ("ftp", "vsftpd", {"bytes": "200kB"}),
        ("iperf3-mptcp", "iperf3", {}),
    ],
)
@pytest.mark.usefixtures("kernel")
def test_ready_made_programs_run_and_report(scenario, name, program, flow):
    if shutil.which(program, path="/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin") is None:
        missing("applications", f"{program} is not installed")
    run = computed(scenario(flows=[{"program": name, **flow}], duration="3s"))
    assert run.status == "ok", run.reasons
    (row,) = run.flows.rows()
    if name in ("ping", "irtt"):
        assert row["reported_rtt_ms"] == pytest.approx(20.2, abs=0.3)
        # One may be under way at the end.
        assert 14 <= row["sent_packets"] <= row["arrived_packets"] + 1
    elif name == "http":
        assert (row["reported_transactions"], row["rx_bytes"] > 200_000) == (10, True)
    elif name == "iperf3-mptcp":
        # The program ends some round trips after the run's counters are read.
        assert row["rx_bytes"] < row["reported_bytes"] < 1.1 * row["rx_bytes"]
    else:
        assert row["reported_bytes"] == row["rx_bytes"] == 200_000


def test_flent_itself_writes_its_file(kernel, dumbbell, tmp_path, monkeypatch):
    (example,) = prepare(Scenario.from_file(Path(__file__).parents[3] / "examples" / "flent.yaml").runs())
    try:
        kernel.require(example.plan)
    except EnvironmentFault as fault:
        missing("netperf", fault)
    monkeypatch.chdir(tmp_path)
    answer = dumbbell("flent", "tcp_download", "--length", "3", "--set", "path.rtt=20ms")
    assert answer.status == 0, answer.err
    found = json.loads(gzip.decompress((tmp_path / "tcp_download.flent.gz").read_bytes()))
    rates = [value for value in found["results"]["TCP download"] if value is not None]
    assert found["metadata"]["NAME"] == "tcp_download"
    assert 15 < sum(rates) / len(rates) < 19.5
    assert "Summary of tcp_download test run" in answer.out
