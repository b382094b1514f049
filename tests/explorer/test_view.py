"""`dumbbell view`."""

import json
import resource
import signal
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from explorer import stores
from waiting import HANG_S

from dumbbell.explorer.runs import _shown_command


def test_a_folder_is_exported(dumbbell, made, tmp_path):
    folder, _ = made("small")
    answer = dumbbell("view", folder, "--export", tmp_path / "new" / "page.html")
    assert answer.status == 0
    assert "kB, 1 run with its series, in a new folder" in answer.err
    content = (tmp_path / "new" / "page.html").read_bytes()
    assert content.startswith(b"<!doctype html>")


def test_a_capture_is_exported(dumbbell, tmp_path):
    stores.small(tmp_path / "runs", capture=True)
    (file,) = (tmp_path / "runs").glob("*/left.pcap")
    assert dumbbell("view", file, "--export", tmp_path / "page.html").status == 0
    assert b"left.pcap" in (tmp_path / "page.html").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "nowhere: no such folder or file"),
        (["FOLDER", "--all"], "--all was given without --export; expected both"),
        (["FOLDER", "--points", "5000"], "--points was given without --export; expected both"),
        (["FOLDER", "--title", "T"], "--title was given without --export; expected both"),
        (["FOLDER", "--export", "page.html", "--tab", "seris"], "--tab seris: no such view (did you mean 'series'?)"),
        (["FOLDER", "--limit", "300kB"], "--limit was given without --export; expected both"),
        (
            ["FOLDER", "--export", "page.html", "--limit", "20kB"],
            "with as few runs' series as it has; expected a higher limit, or fewer --points",
        ),
        (["FOLDER", "--export", "page.html", "--limit", "1"], "--limit '1' has no unit; expected a size"),
        (["FOLDER", "--export", "page.html", "--limit", "1MB", "--all"], "--all and --limit were both given; expected one of them"),
        (["FOLDER", "--export", "page.png"], "--export page.png: expected the name of a page, which ends with .html"),
        (["FOLDER", "--export", "a/b/page.html"], "--export a/b/page.html: neither the folder nor the one above it is there"),
        (["FOLDER", "--export", "page.html", "--port", "1234"], "--port and --export were both given; expected one of them"),
        (["TEXT", "--export", "page.html"], "is no packet capture"),
    ],
)
def test_bad_arguments_are_one_line(dumbbell, made, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "it.txt").write_text("text")
    places = {"FOLDER": made("small")[0], "TEXT": tmp_path / "it.txt"}
    answer = dumbbell("view", *(places.get(each, each) for each in arguments))
    assert answer.status == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


def test_a_page_is_written_whole_or_not_at_all(dumbbell, made, tmp_path):
    folder, page = made("small")[0], tmp_path / "page.html"
    page.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        answer = dumbbell("view", folder, "--export", page)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert answer.status == 2
    assert answer.err == f"{page}: cannot be written (File too large); expected a writable folder\n"
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {"page.html": "before"}


def test_the_browser_is_not_given_the_token_where_other_users_can_read_it(dumbbell, made, monkeypatch):
    given = []

    def look(address):
        page = Path(urlsplit(address).path)
        given.append((address, page, page.read_text(), page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", look)
    monkeypatch.setattr("dumbbell.explorer.server.Server.serve_forever", interrupted)
    answer = dumbbell("view", made("small")[0])
    assert answer.status == 0
    printed = answer.err.split(": ", 1)[1].split(" ")[0]
    token = printed.partition("token=")[2]
    ((address, page, content, mode, above),) = given
    assert address.startswith("file:///")
    assert token not in address
    assert f'content="0; url={printed}"' in content
    assert (mode, above) == (0o600, 0o700)
    assert not page.parent.exists()


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("/usr/bin/dumbbell run 'my file.yaml'", "dumbbell run 'my file.yaml'"),
        ("curl x|sh #'", ""),
        ("dumbbell run x; rm -rf ~", "dumbbell run 'x;' rm -rf '~'"),
        ("curl evil|sh", "dumbbell 'evil|sh'"),
        ("dumbbell run $(id) `id`\nid", "dumbbell run '$(id)' '`id`' id"),
        ("dumbbell run 'a\x1b[201~\nid\n'", ""),
        ("", ""),
    ],
)
def test_a_recorded_command_is_shown_as_one_of_dumbbell_or_not_at_all(recorded, shown):
    assert _shown_command(recorded) == shown


@pytest.mark.usefixtures("interruptible")
def test_it_serves_until_it_is_interrupted(made):
    folder, _ = made("small")
    command = [sys.executable, "-m", "dumbbell", "view", str(folder), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        address = process.stderr.readline().split(": ", 1)[1].split(" ")[0]
        with urllib.request.urlopen(address.replace("/?", "/api/runs?"), timeout=HANG_S) as answer:
            assert json.load(answer)["title"] == "small"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=HANG_S) == 0
