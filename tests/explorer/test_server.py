"""The server: who gets an answer, and what."""

import http.client
import json
from urllib.parse import quote

import numpy as np
import pytest
from waiting import HANG_S

from dumbbell.errors import EnvironmentFault
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
