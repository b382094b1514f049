"""Flows of real programs: what is run, and what the programs have said; pure."""

import json

import pytest
from support import planned, resolved

from dumbbell.engines.linux import applications, compile_plan
from dumbbell.running.prepare import prepare
from dumbbell.scenario import ScenarioError

OWN = {"cc": "cubic", "stack": {"base": "host"}}


def compiled(*flows, **more):
    plan = planned("testbed", flows=[{**OWN, **flow} for flow in flows], **more).plan
    return compile_plan(plan, real_time=True)


def told(script, word):
    return [line for line in script.files["script"].splitlines() if line.split()[0] == word]


def test_iperf3_is_told_by_numbers_alone():
    script = compiled({"application": "iperf3"})
    assert told(script, "application") == ["application l0 r0 10.1.0.1 10.2.0.2 10000 30000 0 -1 -1 from 30000"]
    assert told(script, "program") == [
        "program to application-0-server.json 15 iperf3 -s -1 -J -B 10.2.0.2 -p 30000",
        "program from application-0-client.json 15 iperf3 -J -c 10.2.0.2 -B 10.1.0.1 -p 30000 --cport 10000 -C cubic -t 0",
    ]


def test_iperf3_is_told_of_sockets():
    host = {"nodelay": True, "max_pacing_rate": "5mbit"}
    flow = {"application": "iperf3", "opens": "receiver", "bytes": "1MB", "mss": 536, "dscp": "EF", "host": host}
    _, client = told(compiled(flow), "program")
    words = "-p 10000 --cport 30000 -C cubic -n 1000000 -l 131072 -R -M 536 -S 184 -N --fq-rate 5000000"
    assert client == f"program to application-0-client.json 15 iperf3 -J -c 10.1.0.1 -B 10.2.0.2 {words}"


def test_what_is_less_than_a_block_is_one_block():
    assert " -n 5000 -l 5000" in told(compiled({"application": "iperf3", "bytes": "5kB"}), "program")[1]


@pytest.mark.parametrize(
    ("opens", "client", "server", "file", "way"),
    [
        ("sender", "from", "to", "upload-0", "--append --upload-file /mnt/upload-0 ftp://10.2.0.2:50000/sink"),
        ("receiver", "to", "from", "ftp/data-0", "-o /dev/null ftp://10.1.0.1:50000/data-0"),
    ],
)
def test_ftp_is_an_upload_or_a_download(opens, client, server, file, way):
    script = compiled({"application": "ftp", "opens": opens, "bytes": "1MB"})
    serving, asking = told(script, "program")
    assert serving == f"program {server} vsftpd-0 9 vsftpd vsftpd-0.conf"
    assert asking.startswith(f"program {client} application-0-client.json 0 stdbuf -o0 curl -q -s -S --interface ")
    assert asking.endswith(way)
    assert told(script, "file") == [f"file {file} 1000000"]
    assert told(script, "files") == ["files"]
    # Nobody knows which port the client takes.
    ports = told(script, "application")[0].split()[5:7]
    assert ports == (["0", "30000"] if client == "from" else ["10000", "0"])
    config = dict(line.split("=") for line in script.files["vsftpd-0.conf"].splitlines())
    port = ports[1] if client == "from" else ports[0]
    assert (config["listen_port"], config["pasv_min_port"], config["pasv_max_port"]) == ("50000", port, port)


def test_ftp_without_a_size_ends_by_itself():
    script = compiled({"application": "ftp", "start": "1s", "duration": "2500ms"}, duration="5s")
    assert " -m 2.500 " in told(script, "program")[1]
    assert told(script, "at") == [
        "at 3500000000 l0 - tc filter add dev eth0 egress protocol ip prio 1 flower ip_proto tcp dst_port 30000 action drop"
    ]


def test_ftp_has_the_congestion_control_of_the_route():
    script = compiled({"application": "ftp", "cc": "vegas", "dst": "pc"}, {"cc": "cubic"})
    assert script.files["l0.ip"].splitlines()[-1].endswith(" dev eth0 congctl vegas")
    assert "congctl" not in script.files["r0.ip"]


def test_what_a_client_sends_finds_the_server_from_whatever_port():
    flows = [{"count": 6}, {"application": "ftp", "ecn": True}, {"application": "iperf3", "opens": "receiver", "ecn": True}]
    tc = compiled(*flows).files["net.tc"]
    for match in ("dst_port 30006", "src_port 30006", "dst_port 50006", "src_port 50006", "dst_port 10007", "src_port 10007"):
        assert f"flower ip_proto tcp {match} action mirred" in tc


@pytest.mark.parametrize(
    ("flows", "told"),
    [
        ([{"application": "ftp", "dscp": "EF"}], "flows.0.dscp: cannot be passed to curl and vsftpd"),
        ([{"application": "ftp", "mss": 536}], "flows.0.mss: cannot be passed to curl and vsftpd"),
        ([{"application": "iperf3", "host": {"rcvbuf": "64kB"}}], "flows.0.host.rcvbuf: cannot be passed to iperf3"),
        ([{"application": "iperf3", "host": {"reads": "1mbit"}}], "flows.0.host.reads: cannot be passed to iperf3"),
        (
            [{"application": "ftp"}, {"cc": "reno"}],
            "flows.1.cc.kind: is 'reno', and a flow by FTP between the same hosts has 'cubic' by the route; expected cubic",
        ),
    ],
)
def test_what_programs_cannot_be_told_is_refused(flows, told):
    with pytest.raises(ScenarioError) as error:
        prepare([resolved(flows=[{**OWN, **flow} for flow in flows])], on="testbed")
    assert told in str(error.value)


@pytest.mark.parametrize(("application", "what"), [("iperf3", "flows by iperf3"), ("ftp", "flows by FTP")])
def test_the_simulator_refuses_it_in_one_line(application, what):
    with pytest.raises(ScenarioError) as error:
        prepare([resolved(flows=[{"cc": "cubic", "application": application}])], on="sim")
    assert str(error.value) == f"flows.0.application: the engine sim has no {what}; expected engine: kernel or testbed"


IPERF3_CLIENT = {"end": {"sum_sent": {"retransmits": 7}, "sum_received": {"bytes": 0, "seconds": 2, "bits_per_second": 0}}}
IPERF3_SERVER = {"end": {"sum_sent": {}, "sum_received": {"bytes": 1000, "seconds": 2.5, "bits_per_second": 3200.4}}}
CURL = {"size_upload": 99, "speed_upload": 11, "time_total": 9.5, "size_download": 0, "speed_download": 0}


def test_reports_are_read_from_where_they_were_written(tmp_path):
    plan = planned("testbed", flows=[{**OWN, "application": "iperf3"}, {**OWN, "application": "ftp", "name": "load"}]).plan
    texts = {
        "0-client.json": json.dumps(IPERF3_CLIENT),
        "0-server.json": json.dumps(IPERF3_SERVER),
        "1-client.json": json.dumps(CURL),
        "1-server.txt": "OK UPLOAD",
    }
    for name, text in texts.items():
        (tmp_path / f"application-{name}").write_text(text)
    said = applications.outputs(plan, tmp_path)
    assert set(said) == {
        f"application-{name}" for name in ("cubic-client.json", "cubic-server.json", "load-client.json", "load-server.txt")
    }
    assert said["application-load-server.txt"] == b"OK UPLOAD"
    assert applications.reports(plan, said) == {
        "cubic": {"reported_bytes": 1000, "reported_ms": 2500.0, "reported_bps": 3200, "reported_retransmits": 7},
        "load": {"reported_bytes": 99, "reported_ms": 9500.0, "reported_bps": 88},
    }


@pytest.mark.parametrize("text", ["", "{", "[]", '{"end": {}}'])
def test_a_program_that_says_nothing_has_no_columns(text):
    plan = planned("testbed", flows=[{**OWN, "application": "iperf3"}]).plan
    assert applications.reports(plan, {f"application-cubic-{who}.json": text.encode() for who in ("client", "server")}) == {"cubic": {}}
