"""The server: who gets an answer, and what."""

import http.client
import json
import random
import socket
from urllib.parse import quote

import numpy as np
import pytest
from waiting import HANG_S

from dumbbell.errors import EnvironmentFault
from dumbbell.explorer import server as server_module
from dumbbell.explorer.runs import Runs
from dumbbell.explorer.server import Server, Site
from dumbbell.results import load


@pytest.fixture
def site(made):
    """A site of one run."""
    return Site(Runs(made("small")[0], "small"), "small")


@pytest.fixture
def ask(site, serving):
    """A function that asks for a path, with the token unless told otherwise; gives status and content."""
    with serving(site) as server:

        def get(path, token=site.token, host=None):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANG_S)
            address = f"{path}{'&' if '?' in path else '?'}token={token}" if token is not None else path
            connection.putrequest("GET", address, skip_host=True)
            connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
            connection.endheaders()
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            return answer.status, content

        yield get


def test_the_page_and_its_data_are_served(site, ask, made):
    status, page = ask("/")
    assert status == 200
    assert b'data-source="served"' in page
    assert b"connect-src &#x27;self&#x27;" in page
    (run,) = load(made("small")[0])
    assert json.loads(ask("/api/runs")[1])["runs"]["facts"]["key"] == [run.key]
    assert json.loads(ask(f"/api/run/{run.key}")[1])["digest"] == run.digest
    assert site.token not in page.decode()


@pytest.mark.parametrize(
    ("path", "options", "status"),
    [
        pytest.param("/", {"token": None}, 403, id="no token"),
        pytest.param("/api/runs", {"token": "guessed"}, 403, id="wrong token"),
        pytest.param("/api/runs", {"host": "evil.example"}, 403, id="other host"),
        pytest.param("/api/runs", {"host": "127.0.0.1:1"}, 403, id="other port"),
        pytest.param("/api/run/..%2f..%2fetc", {}, 404, id="no key"),
        pytest.param("/api/run/../runs", {}, 403, id="two points"),
        pytest.param("/api/run/%2e%2e", {}, 403, id="two points, escaped"),
        pytest.param("/../../etc/passwd", {}, 403, id="out of the folder"),
        pytest.param("/api/pcap/KEY/..", {}, 403, id="capture out of the folder"),
        pytest.param("/api/pcap/KEY/run.json", {}, 404, id="a file that is no capture"),
        pytest.param("/api/series/KEY/flow%2Fone/none", {}, 404, id="no series"),
        pytest.param("/api/series/KEY/flow%2Fone/cwnd?px=0", {}, 400, id="no columns"),
        pytest.param("/api/series/KEY/flow%2Fone/cwnd?from=x", {}, 400, id="no number"),
        pytest.param("/api/capture/KEY/left.pcap", {}, 404, id="no capture"),
        pytest.param("/favicon.ico", {}, 404, id="no page"),
    ],
)
def test_others_and_other_places_are_refused(ask, made, path, options, status):
    (run,) = load(made("small")[0])
    assert ask(path.replace("KEY", run.key), **options)[0] == status


def test_what_is_drawn_of_several_runs_comes_as_one_answer_in_pieces(ask, made):
    (run,) = load(made("small")[0])
    status, content = ask(f"/api/drawn?key={run.key}&key=none&name=cwnd&name=srtt_ms&px=20")
    assert status == 200
    pieces = []
    while content:
        facts, numbers = (int.from_bytes(content[at : at + 4], "little") for at in (0, 4))
        pieces.append((json.loads(content[8 : 8 + facts]), np.frombuffer(content[8 + facts : 8 + facts + numbers], "<f8")))
        content = content[8 + facts + numbers :]
    (found, numbers), (missing, nothing) = pieces
    assert found["detail"]["digest"] == run.digest
    assert {(entity, name) for entity, name, *_ in found["series"]} == {
        (f"flow/{flow}", name) for flow in ("one", "two") for name in ("cwnd", "srtt_ms")
    }
    assert all(count <= 40 and reduced for *_, count, reduced in found["series"])
    assert len(numbers) == 2 * sum(count for *_, count, _ in found["series"])
    assert (missing["key"], "detail" in missing, len(nothing)) == ("none", False, 0)


def test_a_series_comes_exactly_or_in_columns(ask, made):
    (run,) = load(made("small")[0])
    t_s, values = run.series("flow/one", "cwnd")
    address = f"/api/series/{run.key}/{quote('flow/one', safe='')}/cwnd"

    def series(query=""):
        all_ = np.frombuffer(ask(address + query)[1], dtype="<f8")
        return all_[: len(all_) // 2], all_[len(all_) // 2 :]

    assert np.array_equal(series(), [t_s, values])
    times, kept = series("?from=0.5&to=2&px=7")
    assert len(kept) <= 14
    inside = values[(t_s >= 0.5) & (t_s <= 2)]
    assert kept.max() >= inside.max()
    assert kept.min() <= inside.min()
    assert (np.diff(times) > 0).all()


def test_only_reading_is_known(site, serving):
    with serving(site) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=HANG_S)
        connection.request("POST", f"/api/runs?token={site.token}")
        assert connection.getresponse().status == 501


def said(server, request):
    """All that the server answers to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=HANG_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.makefile("rb").read()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("GET http://[x/ HTTP/1.1", b"400"),
        ("GET  HTTP/1.1 x y", b"400"),
        ("GET / HTTP/9.9", b"505"),
        ("<script> / HTTP/1.1", b"501"),
        ("GET / HTTP/1.1\r\n" + "A: b\r\n" * 200, b"431"),
    ],
)
def test_what_is_no_request_is_told_in_a_line_of_text(site, serving, capfd, line, status):
    with serving(site) as server:
        answer = said(server, f"{line}\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == status
    assert b"Content-Type: text/plain" in head
    assert b"X-Content-Type-Options: nosniff" in head
    assert content.count(b"\n") == 1
    assert capfd.readouterr() == ("", "")


def test_any_bytes_are_answered_or_closed_in_silence(site, serving, capfd, pytestconfig):
    dice = random.Random(pytestconfig.getoption("--seed"))
    tokens = [b"[", b"]", b"%", b"%00", b"\x00", b"\xff", b"//", b"..", b"?", b"#", b"@", b":", b" ", b"\r\n", b"HTTP/1.0", b"\xe2\x84\x80"]
    with serving(site) as server:
        whole = f"GET /api/runs?token={site.token}&px=5 HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
        assert said(server, whole).startswith(b"HTTP/1.1 200 ")
        answers = []
        for _ in range(3 * pytestconfig.getoption("--flips")):
            damaged = bytearray(whole)
            for _ in range(dice.randint(1, 4)):
                at = dice.randrange(len(damaged))
                damaged[at : at + dice.choice((0, 1, 3))] = dice.choice((*tokens, bytes([dice.randrange(256)])))
            answers.append(said(server, bytes(damaged)))
    kinds = {answer.split(b" ", 2)[1] for answer in answers if answer.startswith(b"HTTP/1.")}
    assert {b"200", b"400", b"403"} <= kinds <= {b"200", b"400", b"403", b"404", b"431", b"501", b"505"}
    assert capfd.readouterr() == ("", "")


def test_connections_without_a_request_keep_nobody_out(site, serving, monkeypatch):
    monkeypatch.setattr(server_module, "HEAD_S", 1e9)
    with serving(site) as server:
        place = ("127.0.0.1", server.server_port)
        silent = [socket.create_connection(place, timeout=HANG_S) for _ in range(3 * server_module.MOST_WAITING)]
        half = socket.create_connection(place, timeout=HANG_S)
        half.sendall(b"GET / HTTP/1.1\r\nHost:")
        request = f"GET /api/runs?token={site.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"
        assert said(server, request.encode()).startswith(b"HTTP/1.1 200 ")
        assert [each.recv(1) for each in silent[: 2 * server_module.MOST_WAITING]] == [b""] * 2 * server_module.MOST_WAITING
        for each in (*silent, half):
            each.close()


def test_a_request_that_does_not_come_is_not_waited_for(site, serving, monkeypatch):
    monkeypatch.setattr(server_module, "HEAD_S", 0.0)
    with serving(site) as server, socket.create_connection(("127.0.0.1", server.server_port), timeout=HANG_S) as silent:
        assert silent.recv(1) == b""


def test_a_port_that_is_taken_is_said(site):
    with Server(site) as server, pytest.raises(EnvironmentFault, match="expected a free one"):
        Server(site, server.server_port)


def test_a_damaged_series_is_said(ask, made):
    (run,) = load(made("small")[0])
    file = made("small")[0] / run.key / "series.parquet"
    content = file.read_bytes()
    try:
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        status, said = ask(f"/api/run/{run.key}")
    finally:
        file.write_bytes(content)
    assert status == 500
    assert b"SHA-256 differs" in said
