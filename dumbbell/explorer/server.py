"""Serves the explorer to this machine: read-only, on the loopback, to a browser with the token.

The server compares the name of the host, so that a page from elsewhere cannot reach it by a name that points here (DNS rebinding). Nothing
is found by a path: all look-ups go by the keys of runs and the names of series and captures. Connections without a request cannot keep
others out: there are few of them, and they are closed.
"""

from __future__ import annotations

import hmac
import json
import math
import secrets
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from dumbbell.errors import DumbbellError, EnvironmentFault
from dumbbell.explorer.arrays import Samples, belongs_to_a_packet, reduced, within
from dumbbell.explorer.capture import Capture
from dumbbell.explorer.collection import Collection, Document
from dumbbell.explorer.page import document
from dumbbell.results.storage.place import read_capture

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOPBACK = "127.0.0.1"
MOST_WAITING = 64
"""Connections without a request. One more closes the one that has waited longest; browsers open 6, and open closed ones again."""
HEAD_S = 10.0
"""Time that a connection may take to send its whole request."""
_MOST_COLUMNS = 1_000_000
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_REDUCED = "application/octet-stream; reduced=1"
_JSON, _BYTES, _HTML, _TEXT = "application/json", "application/octet-stream", "text/html; charset=utf-8", "text/plain; charset=utf-8"


class Refused(Exception):
    """A request that gets no answer but a status."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Site:
    """Answers of the server."""

    def __init__(self, collection: Collection, title: str) -> None:
        self.token = secrets.token_urlsafe(24)
        self._collection = collection
        self._title = title
        self._captures: dict[str, Capture] = {}
        self._lock = Lock()
        """One look-up at a time: the results of reading are kept, and are not made to be shared between threads."""

    def answer(self, path: str, query: Mapping[str, list[str]]) -> tuple[str, bytes | Iterator[bytes]]:
        """Type and content of a page, which may come in pieces. Raises `Refused`, or `DumbbellError` for a run that cannot be read."""
        if not hmac.compare_digest(query.get("token", [""])[0].encode(), self.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the token is missing or wrong; expected the address that `dumbbell view` printed")
        parts = [unquote(part) for part in path.split("/")[1:]]
        if any(part in ("..", ".") or "\\" in part for part in parts):
            raise Refused(HTTPStatus.FORBIDDEN, "no such place")
        if parts == [""]:
            return _HTML, document(self._title, "served", {})
        if parts[0] != "api" or len(parts) < 2:
            raise Refused(HTTPStatus.NOT_FOUND, "no such page")
        asked: dict[tuple[str, int], Callable[..., tuple[str, bytes | Iterator[bytes]]]] = {
            ("runs", 0): self._runs,
            ("run", 1): self._run,
            ("series", 3): self._series,
            ("drawn", 0): self._drawn,
            ("capture", 2): self._capture,
            ("pcap", 2): self._pcap,
        }
        found = asked.get((parts[1], len(parts) - 2))
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "no such page")
        try:
            with self._lock:
                return found(*parts[2:], **({"query": query} if parts[1] in ("series", "drawn") else {}))
        except KeyError:
            raise Refused(HTTPStatus.NOT_FOUND, "there is none of that name") from None

    def _runs(self) -> tuple[str, bytes]:
        self._collection.renew()
        return _JSON, _json(self._collection.index())

    def _run(self, key: str) -> tuple[str, bytes]:
        return _JSON, _json(self._of(key).detail(key))

    def _series(self, key: str, entity: str, name: str, query: Mapping[str, list[str]]) -> tuple[str, bytes]:
        """Times (s) of all samples, then their values, as float64; with `px` at most twice as many samples as that, and whether some are
        left out is in the type."""
        (t_ns, values), is_reduced = _Part.of(query).of_samples(self._of(key).one_series(key, entity, name))
        return _REDUCED if is_reduced else _BYTES, np.concatenate([t_ns / 1e9, values]).astype("<f8").tobytes()

    def _drawn(self, query: Mapping[str, list[str]]) -> tuple[str, Iterator[bytes]]:
        """Facts and series of several runs (each `key`, each `name`), a piece for each run.

        A piece has the sizes of its two halves (uint32), facts as JSON, and the times (s) and values of its series as float64. Series of
        packets are never reduced.
        """
        keys, names = query.get("key", []), frozenset(query.get("name", ()))
        part = _Part.of(query)
        return _BYTES, (self._piece(key, names, part) for key in keys)

    def _piece(self, key: str, names: frozenset[str], part: _Part) -> bytes:
        try:
            with self._lock:
                facts, numbers = self._drawn_of(key, names, part)
        except (DumbbellError, LookupError, OSError) as error:
            facts, numbers = {"key": key, "error": str(error)}, []
        text = _json(facts)
        content = np.concatenate(numbers).astype("<f8").tobytes() if numbers else b""
        return struct.pack("<2I", len(text), len(content)) + text + content

    def _drawn_of(self, key: str, names: frozenset[str], part: _Part) -> tuple[Document, list[NDArray[np.float64]]]:
        collection = self._of(key)
        detail = collection.detail(key)
        idle = {(each["entity"], each["name"]) for each in detail["series"] if each["idle"]}
        listed, numbers = [], []
        for entity, name, samples in collection.series(key):
            if name not in names or ((entity, name) in idle and entity.startswith(("port/", "share/"))):
                continue
            (t_ns, values), is_reduced = (samples, False) if belongs_to_a_packet(name) else part.of_samples(samples)
            listed.append([entity, name, len(values), is_reduced])
            numbers += [t_ns / 1e9, values]
        return {"key": key, "detail": detail, "series": listed}, numbers

    def _capture(self, key: str, name: str) -> tuple[str, bytes]:
        return _JSON, _json(self._opened(f"{key}:{name}:").index())

    def _pcap(self, key: str, name: str) -> tuple[str, bytes]:
        return _BYTES, read_capture(self._of(key).captures(key)[name])

    def _of(self, key: str) -> Collection:
        """The collection that a key is of: a connection of a run's capture has KEY:NAME:NUMBER."""
        run, colon, rest = key.partition(":")
        return self._opened(f"{run}:{rest.rpartition(':')[0]}:") if colon else self._collection

    def _opened(self, prefix: str) -> Capture:
        if prefix not in self._captures:
            key, name = prefix[:-1].split(":", 1)
            self._captures[prefix] = Capture(self._collection.captures(key)[name], name, prefix)
        return self._captures[prefix]


@dataclass(frozen=True)
class _Part:
    """The part of a series that a request wants."""

    from_s: float
    to_s: float
    columns: int | None
    """At most twice as many samples."""

    @classmethod
    def of(cls, query: Mapping[str, list[str]]) -> _Part:
        """Raises `Refused` for numbers that are none."""
        columns = _number(query, "px", 0) if "px" in query else None
        if columns is not None and not 1 <= columns <= _MOST_COLUMNS:
            raise Refused(HTTPStatus.BAD_REQUEST, f"px is not from 1 to {_MOST_COLUMNS}")
        return cls(_number(query, "from", -math.inf), _number(query, "to", math.inf), None if columns is None else int(columns))

    def of_samples(self, samples: Samples) -> tuple[Samples, bool]:
        """The samples, and true if they are fewer than there are in that time."""
        if math.isfinite(self.from_s) or math.isfinite(self.to_s):
            samples = within(samples, self.from_s, self.to_s)
        found = samples if self.columns is None else reduced(samples, self.columns)
        return found, len(found[1]) < len(samples[1])


class _Handler(BaseHTTPRequestHandler):
    """Answers GET, in the name of the site of its server."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"
    """With HTTP/0.9, the answer to a malformed request has no head."""
    server_version = "dumbbell"
    sys_version = ""
    timeout = 60
    server: Server

    def handle_one_request(self) -> None:
        """Waits for a request, and answers it."""
        self.server.waits(self.connection)
        super().handle_one_request()

    def parse_request(self) -> bool:
        """Reads the rest of a request."""
        is_whole = super().parse_request()
        self.server.served(self.connection)
        return is_whole

    def do_GET(self) -> None:
        """Answers a request."""
        try:
            kind, content = self._answer()
            status = HTTPStatus.OK
        except Refused as refusal:
            kind, content, status = _TEXT, f"{refusal}\n".encode(), refusal.status
        except (DumbbellError, OSError) as error:
            kind, content, status = _TEXT, f"{error}\n".encode(), HTTPStatus.INTERNAL_SERVER_ERROR
        self._send(status, kind, content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002 (its name there)
        """Send a line about the error in a malformed request."""
        self.close_connection = True
        self._send(code, _TEXT, f"{message or HTTPStatus(code).phrase}\n".encode())

    def _send(self, status: int, kind: str, content: bytes | Iterator[bytes]) -> None:
        self.send_response(status)
        # The end of an answer in pieces is that of its connection: how long it is nobody knows before.
        self.close_connection |= not isinstance(content, bytes)
        sized = {"Content-Length": str(len(content))} if isinstance(content, bytes) else {}
        for name, value in {**_HEADERS, "Content-Type": kind, **sized}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        for piece in [content] if isinstance(content, bytes) else content:
            self.wfile.write(piece)

    def _answer(self) -> tuple[str, bytes | Iterator[bytes]]:
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "another host; expected the address that `dumbbell view` printed")
        try:
            address = urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "no address; expected the one that `dumbbell view` printed") from None
        return self.server.site.answer(address.path, parse_qs(address.query))

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (its name in http.server)
        """Print nothing: the browser shows its own requests."""


class Server(ThreadingHTTPServer):
    """The server of a site on the loopback."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, site: Site, port: int = 0) -> None:
        """Port 0 takes a free one. Raises `EnvironmentFault` if the port cannot be had."""
        self.site = site
        self._waiting: dict[socket.socket, float] = {}
        """Connections without a request, and since when; in that order."""
        self._lock = Lock()
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise EnvironmentFault(f"port {port} of {LOOPBACK}: {error}; expected a free one (--port)") from None
        self.hosts = frozenset(f"{host}:{self.server_port}" for host in (LOOPBACK, "localhost"))

    def process_request(self, request: Any, client_address: Any) -> None:
        """Takes a connection, in the place of one that waits if there are too many."""
        self.waits(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Closes a connection."""
        self.served(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Closes connections that have waited too long; called between connections, and every half second without any."""
        with self._lock:
            late = [each for each, since_s in self._waiting.items() if time.monotonic() - since_s > HEAD_S]
            self._end(late)

    def waits(self, connection: socket.socket) -> None:
        """A connection has no request yet."""
        with self._lock:
            self._waiting.setdefault(connection, time.monotonic())
            self._end(list(self._waiting)[:-MOST_WAITING])

    def served(self, connection: socket.socket) -> None:
        """A connection has one."""
        with self._lock:
            self._waiting.pop(connection, None)

    def _end(self, connections: list[socket.socket]) -> None:
        """Stop waiting; the thread that waited closes the connection."""
        for connection in connections:
            del self._waiting[connection]
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that has gone away."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        """Return the address for a browser."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.site.token}"


def _number(query: Mapping[str, list[str]], name: str, otherwise: float) -> float:
    try:
        found = float(query[name][0]) if name in query else otherwise
    except ValueError:
        found = math.nan
    if math.isnan(found):
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name} is no number")
    return found


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
