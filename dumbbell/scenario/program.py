"""Programs of one's own that make flows: what a scenario says of them. Reading a scenario hashes their files, and runs nothing of them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SerializationInfo,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from dumbbell.documents.model import Flag, Model
from dumbbell.documents.problems import Location, Unfit
from dumbbell.errors import nearest, one_of
from dumbbell.files import read_regular
from dumbbell.scenario.base import CONTENT, Name
from dumbbell.scenario.values.csv_files import located

MOST_BYTES = 256 << 20
"""Largest file that a program is given."""
_MOST_WORDS = 1000
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z_]+)\}")
_NAME = re.compile(r"[A-Za-z0-9._+-]+(/[A-Za-z0-9._+-]+)*")
PLACEHOLDERS: Mapping[str, str] = {
    "server": "address of the server's host",
    "client": "address of the client's host",
    "port": "port of the server",
    "control_port": "another port of the server, for a control connection",
    "client_port": "port of the client",
    "duration": "time from the start of the flow to its end, s, such as 29.5",
    "seconds": "that time in whole seconds, rounded up",
    "bytes": "the flow's `bytes`",
    "cc": "the flow's congestion control",
    "name": "name of the flow",
    "seed": "seed of the run",
    "mss": "the flow's MSS option, bytes",
    "tos": "the flow's `dscp` as a TOS byte",
}
"""Words in braces that a command may contain, and their meaning."""
NUMBERS: Mapping[str, str] = {
    "bytes": "payload",
    "ms": "time that the transfer took",
    "bps": "throughput",
    "retransmits": "retransmitted segments",
    "rtt_ms": "mean round trip",
    "jitter_ms": "jitter",
    "packets": "packets that were sent",
    "lost_packets": "packets that were lost",
    "transactions": "requests, pings or objects that were answered",
}
"""Numbers that a program may report, with their meaning: columns `reported_...` of the table of flows."""


class GivenFile(Model):
    """A file that a program finds in its home."""

    name: str
    """Its name there, by default that of the file."""
    path: str
    """The file, from the folder of the scenario's file."""
    sha256: str
    """SHA-256 of its content. A file with another one is an error."""
    executable: bool
    """True if it is a program."""

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        mapping["required"] = ["path"]
        mapping["properties"].pop("executable")
        return {"title": cls.__name__, "description": mapping.pop("description"), "anyOf": [{"type": "string"}, mapping]}

    @model_serializer
    def _content(self, info: SerializationInfo) -> Any:
        """A run depends on the content of the file, and on its name there."""
        written = {"name": self.name, "sha256": self.sha256, "executable": self.executable}
        return written if info.context == CONTENT else {**written, "path": self.path}


def _given(written: Any, info: ValidationInfo) -> GivenFile:
    """A file, by its path from the scenario's file. Raises `Unfit`."""
    if isinstance(written, GivenFile):
        return written
    wanted = written.get("sha256") if isinstance(written, dict) else None
    name = written.get("path") if isinstance(written, dict) else written
    if not isinstance(name, str) or not name:
        raise Unfit("is no path of a file", "e.g. ./server.py")
    path = located(name, info)
    known = written.get("name", path.name) if isinstance(written, dict) else path.name
    if not isinstance(known, str) or not _NAME.fullmatch(known) or ".." in known.split("/") or len(known) > 200:
        raise Unfit(f"{known!r} is no name of a file", "letters, digits and . _ + -, with / between folders")
    try:
        found = hashlib.sha256(read_regular(path, MOST_BYTES)).hexdigest()
    except (OSError, ValueError) as error:
        raise Unfit(
            f"cannot read {path}: {getattr(error, 'strerror', None) or error}", "a file, by its path from the scenario's file"
        ) from None
    if wanted not in (None, found):
        raise Unfit(f"{path} is another file: its SHA-256 is {found}", f"that of {wanted}")
    return GivenFile(name=known, path=str(path.absolute()), sha256=found, executable=os.access(path, os.X_OK))


Given = Annotated[GivenFile, BeforeValidator(_given)]


class Column(Model):
    """Where a number stands in what a program has written."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    json_: Annotated[str | None, Field(alias="json")] = None
    """Path in its JSON, such as `end.sum_received.bits_per_second` or `streams.0.rtt`."""
    regex: str | None = None
    """A regular expression. Its first group is the number, and its last match counts."""
    count: str | None = None
    """A regular expression whose matches are counted."""
    of: Literal["client", "server"] = "client"
    """The end whose output has it."""
    file: str | None = None
    """A file that `keep` keeps, in place of the standard output."""
    times: float = 1
    """Factor that makes the unit right."""

    @model_validator(mode="before")
    @classmethod
    def _short(cls, written: Any) -> Any:
        return {"json": written} if isinstance(written, str) else written

    @model_validator(mode="after")
    def _sound(self) -> Column:
        if sum(each is not None for each in (self.json_, self.regex, self.count)) != 1:
            raise Unfit("json, regex and count", "one of them")
        if (pattern := self.regex if self.regex is not None else self.count) is not None:
            try:
                groups = re.compile(pattern).groups
            except re.error as error:
                raise Unfit(f"{pattern!r} is no regular expression: {error}", "e.g. 'rate ([0-9.]+)'") from None
            if self.regex is not None and groups < 1:
                raise Unfit(f"{pattern!r} has no group", "parentheses around the number")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        return {"title": cls.__name__, "description": mapping.pop("description"), "anyOf": [{"type": "string"}, mapping]}


Words = Annotated[list[Annotated[str, Field(max_length=10_000)]], Field(min_length=1, max_length=_MOST_WORDS)]
Scalar = str | int | float | bool


class Program(Model):
    """A program that makes flows: the commands of its two ends as lists of words, in which `{server}` and others stand for values of the
    flow. A command that begins with `./` is a file next to the scenario, and is given to the program like `files`."""

    client: Words
    """The command of the end that connects."""
    server: Words | None = None
    """The command of the other end, which listens before the run begins. Some programs need none."""
    transport: Literal["tcp", "udp", "mptcp", "icmp", "any"] = "tcp"
    """The protocol of its packets. `any`: all packets between the two hosts belong to the flow, whatever their protocol and ports."""
    listens: Literal["tcp", "udp", "none"] | None = None
    """The protocol by which the server shows that it is ready: it listens on `{port}`. By default that of `transport`; `none` waits for 1 s
    of virtual time."""
    sends: Literal["client", "server"] = "client"
    """The end that sends the data."""
    files: list[Given] = Field(default_factory=list)
    """Files that both ends find in their home, by content: paths from the scenario's file, or `{name: ..., path: ...}`."""
    environment: dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")], Scalar] = Field(default_factory=dict)
    """Variables of the environment of both ends."""
    arguments: dict[Annotated[str, Field(pattern=r"^[a-z][a-z_]*$")], Scalar] = Field(default_factory=dict)
    """More words in braces, with their defaults. A flow may give others."""
    keep: list[str] = Field(default_factory=list)
    """Patterns of the files in its home that the run keeps, such as `*.json`."""
    report: dict[str, Column] = Field(default_factory=dict)
    """Numbers in its output: `bytes`, `ms`, `bps`, `retransmits`, `rtt_ms`, `jitter_ms`, `packets`, `lost_packets`, `transactions`. They
    become columns `reported_...` of the table of flows."""
    ends: Flag | None = None
    """True if the client ends by itself when its time is over, so that nobody ends it before it has said what it has to say. By default
    true if its command contains `{duration}` or `{seconds}`. Then the end of the client before that time is a warning. With `true` it is
    none."""

    @model_validator(mode="before")
    @classmethod
    def _with_programs(cls, written: Any, info: ValidationInfo) -> Any:
        """Commands that are files next to the scenario are among the files."""
        if not isinstance(written, dict):
            return written
        files, found = list(written.get("files") or ()), dict(written)
        for end in ("server", "client"):
            words = written.get(end)
            first = words[0] if isinstance(words, list) and words and isinstance(words[0], str) else ""
            if not first.startswith("./") or any(_name_of(each) == Path(first).name for each in files):
                continue
            files.append(_given(first, info))
        if files:
            found["files"] = files
        return found

    @model_validator(mode="after")
    def _sound(self) -> Program:
        for end, words in (("server", self.server or []), ("client", self.client)):
            for name in placeholders(words):
                if name not in (known := {*PLACEHOLDERS, *self.arguments}):
                    raise Unfit(f"{end}: {{{name}}} is no word in braces{nearest(name, known)}", one_of(sorted(PLACEHOLDERS)))
            if any("\0" in word for word in words):
                raise Unfit(f"{end}: a word has a character that no argument can have", "text")
        if clash := self.arguments.keys() & set(PLACEHOLDERS):
            raise Unfit(f"arguments: {sorted(clash)[0]} has a meaning already", "another name")
        if unknown := [name for name in self.report if name not in NUMBERS]:
            raise Unfit(f"report: {unknown[0]!r} is unknown{nearest(unknown[0], NUMBERS)}", one_of(sorted(NUMBERS)))
        if self.server is None and self.transport in ("tcp", "udp", "mptcp"):
            raise Unfit(f"server is missing, which {self.transport} needs", "a command, or transport: icmp or any")
        if len({each.name for each in self.files}) < len(self.files):
            raise Unfit("files: two of them have one name", "names that differ")
        return self

    def plain(self) -> dict[str, Any]:
        """Return the content that a run depends on, as plain data."""
        found: dict[str, Any] = self.model_dump(mode="json", context=CONTENT, exclude_defaults=True)
        return found

    def command(self, end: Literal["server", "client"]) -> list[str]:
        """The words of an end, of which the first is where the program finds it."""
        words = (self.server or []) if end == "server" else self.client
        return [f"./{Path(words[0]).name}", *words[1:]] if words and words[0].startswith("./") else list(words)

    @property
    def listens_by(self) -> Literal["tcp", "udp", "none"]:
        """The protocol by which its server shows that it is ready."""
        if self.listens is not None:
            return self.listens
        return "none" if self.server is None or self.transport == "icmp" else "udp" if self.transport == "udp" else "tcp"

    @property
    def names_control(self) -> bool:
        """True if its command has the congestion control. Others have that of their host."""
        return "cc" in {*placeholders(self.client), *placeholders(self.server or [])}

    @property
    def has_one_connection(self) -> bool:
        """True if both ports of its connection are known."""
        used = {*placeholders(self.client), *placeholders(self.server or [])}
        return self.transport == "tcp" and {"client_port", "port"} <= used

    @property
    def ends_by_itself(self) -> bool:
        """True if nobody ends the client."""
        if self.ends is not None:
            return self.ends
        return bool({"duration", "seconds"} & set(placeholders(self.client)))


def _name_of(written: Any) -> str:
    if isinstance(written, GivenFile):
        return written.name
    if isinstance(written, dict):
        return str(written.get("name") or Path(str(written.get("path"))).name)
    return Path(str(written)).name


def placeholders(words: Iterable[str]) -> Iterator[str]:
    """The names in braces of some words."""
    return (found[1] for word in words for found in _PLACEHOLDER.finditer(word) if found[1])


def filled(words: Iterable[str], values: Mapping[str, object]) -> list[str]:
    """Words with values in place of names in braces; `{{` is a brace. Raises `KeyError` for a name without a value."""
    return [_PLACEHOLDER.sub(lambda found: str(values[found[1]]) if found[1] else found[0][0], word) for word in words]


def wrong_use(program: Program, arguments: Mapping[str, Scalar], has_bytes: bool) -> Iterator[tuple[Location, str, str]]:
    """The errors in a flow's use of a program: where in the flow, what is wrong, what is expected."""
    for name in arguments:
        if name not in program.arguments:
            near = nearest(name, program.arguments)
            yield (
                ("arguments", name),
                f"is no argument of the program{near}",
                one_of(sorted(program.arguments)) if program.arguments else "none",
            )
    used = {*placeholders(program.client), *placeholders(program.server or [])}
    if "bytes" in used and not has_bytes:
        yield ("bytes",), "is missing, and the program's command needs it", "a size, such as 10MB"
    if has_bytes and "bytes" not in used:
        yield ("bytes",), "does not appear in the command of the program", "{bytes} in its command"


Programs = dict[Name, Program]
