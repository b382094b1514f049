"""Values of the keys of TCP connections: congestion control, stack, feedback of ECN, start."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    SerializationInfo,
    ValidationInfo,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticKnownError

from dumbbell.documents.model import Model
from dumbbell.documents.problems import Unfit
from dumbbell.scenario.base import CONTENT, LONG
from dumbbell.scenario.function import Function, numbered
from dumbbell.scenario.generated.hosts import Host as Host
from dumbbell.scenario.library import IN_KERNEL, identified, loaded
from dumbbell.scenario.units import Duration


def _split(written: Any, name: str, rest: str) -> Any:
    """The two fields of a model: the key `name`, and a mapping of all other keys under `rest`."""
    if not isinstance(written, dict) or set(written) == {name, rest}:
        return written
    named = {name: written[name]} if name in written else {}
    return {**named, rest: {key: value for key, value in written.items() if key != name}}


def _scalar(value: Any) -> Any:
    if not isinstance(value, bool | int | float | str):
        raise Unfit(f"{'nothing' if value is None else 'a list or a mapping'} is no value of a parameter", "a number or a word")
    return value


def _name_or_mapping(model: type[Model], name: str, meaning: str, required: bool) -> dict[str, Any]:
    """Return the JSON Schema of a name, or of a mapping of that name and further keys."""
    properties = {name: {"type": "string", "description": meaning}}
    mapping = {"type": "object", "properties": properties, "required": [name] if required else []}
    return {"title": model.__name__, "description": vars(model).get("__plain_doc__", model.__doc__), "anyOf": [{"type": "string"}, mapping]}


class Cc(Model):
    """A congestion control by name, with its parameters: `{kind: cubic, hystart: off}`; or your own: `{library: ./mine.so}`,
    `{struct_ops: ./mine.bpf.o}`, `{module: ./tcp_mine.ko}`."""

    kind: str
    """Its name; of a library that of its file."""
    library: str | None = None
    """The path of a library."""
    sha256: str | None = None
    """SHA-256 of the library's file. A library with another one is an error."""
    struct_ops: str | None = None
    """The path of a BPF program that the kernel loads."""
    module: str | None = None
    """The path of a module that the kernel loads."""
    function: int | None = None
    """Number of the function in this process, if it is one."""
    parameters: dict[str, Annotated[Any, AfterValidator(_scalar)]] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, written: Any, info: ValidationInfo) -> Any:
        if isinstance(written, str):
            return {"kind": written}
        if isinstance(written, Function):
            return {"kind": written.name, "function": written.number, "parameters": {}}
        if not isinstance(written, dict | cls):
            raise PydanticKnownError("string_type")
        if isinstance(written, dict) and written.get("library") is not None:
            rest = {key: value for key, value in written.items() if key not in ("library", "sha256")}
            return {**identified(written, info), "parameters": rest.pop("parameters", None) or rest}
        if isinstance(written, dict) and "kind" not in written and any(written.get(form) is not None for form in IN_KERNEL):
            return {**loaded(written, info), "parameters": {}}
        if isinstance(written, dict) and written.get("function") is not None:
            return {"kind": numbered(written["function"]).name, "function": written["function"], "parameters": {}}
        return _split(written, "kind", "parameters")

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        meaning = "Name of the congestion control. Its parameters are further keys; `dumbbell list cc` has them."
        schema = _name_or_mapping(cls, "kind", meaning, required=True)
        library = {
            "library": "In place of `kind`: the file of your own congestion control, relative to the scenario's folder.",
            "sha256": "SHA-256 of the library's file. A library with another one is an error.",
        }
        texts = {key: {"type": "string", "description": text} for key, text in library.items()}
        schema["anyOf"].append({"type": "object", "properties": texts, "required": ["library"]})
        files = {
            "struct_ops": "In place of `kind`: a BPF program that the engine `kernel` loads, relative to the scenario's folder.",
            "module": "In place of `kind`: a module that the engine `kernel` loads, relative to the scenario's folder.",
        }
        more = {
            "sha256": {"type": "string", "description": "SHA-256 of the file. Another file is an error."},
            "name": {"type": "string", "description": "Name that the kernel knows the congestion control by; by default that of the file."},
        }
        for key, text in files.items():
            properties = {key: {"type": "string", "description": text}, **more}
            schema["anyOf"].append({"type": "object", "properties": properties, "required": [key]})
        return schema

    @property
    def in_kernel(self) -> tuple[str, str] | None:
        """The key and the path of the file that the kernel loads; None if it loads none."""
        return next(((form, path) for form in IN_KERNEL if (path := getattr(self, form)) is not None), None)

    @model_serializer
    def _join(self, info: SerializationInfo) -> Any:
        if self.library is not None:
            # A run depends on the content of the library's file, and on its name, because flows are named after it.
            where = self.kind if info.context == CONTENT else self.library
            return {"library": where, "sha256": self.sha256, **self.parameters}
        if self.in_kernel is not None:
            form, path = self.in_kernel
            # A run depends on the content of the file, and not on where it is.
            return {**({} if info.context == CONTENT else {form: path}), "name": self.kind, "sha256": self.sha256}
        if self.function is not None:
            return {"kind": self.kind, "function": self.function}
        return {"kind": self.kind, **self.parameters} if self.parameters or info.context == LONG else self.kind


class Stack(Model):
    """A TCP stack by name, with some of its options overridden: `{base: linux-6.12, initial_cwnd: 4}`."""

    base: str = "linux-6.12"
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _split(cls, written: Any) -> Any:
        if isinstance(written, str | int | float):  # 6.12 is a number
            return {"base": str(written)}
        return _split(written, "base", "options")

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        meaning = "Name of the stack. Its options are further keys; `dumbbell list stack` has them."
        return _name_or_mapping(cls, "base", meaning, required=False)

    @model_serializer
    def _join(self, info: SerializationInfo) -> Any:
        return {"base": self.base, **self.options} if self.options or info.context == LONG else self.base


_FEEDBACK = {"on": True, "off": False}


def _feedback(written: Any) -> Any:
    known = _FEEDBACK.get(written, written) if isinstance(written, str) else written
    if known not in (True, False, "accecn") or not isinstance(known, bool | str):
        raise Unfit(f"{written!r} is no feedback of ECN", "on, off or accecn")
    return known


Feedback = Annotated[Any, AfterValidator(_feedback), WithJsonSchema({"enum": [True, False, *_FEEDBACK, "accecn"]})]
"""`on` or `off`, `true` or `false`, or `accecn`."""


class Start(Model):
    """Start of the flows of a group."""

    first: Duration = Duration(0)
    """Start of the first flow, from the start of the run."""
    every: Duration = Duration(0)
    """Time between one flow of the group and the next."""
    jitter: Duration = Duration(0)
    """Maximum delay of a start: each start is later by a uniform draw from 0 to this, from the seed and the flow's name."""

    @model_validator(mode="before")
    @classmethod
    def _first(cls, written: Any) -> Any:
        """A time alone is that of the first flow."""
        return {"first": written} if isinstance(written, str | int | float) else written

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        return {"title": cls.__name__, "description": mapping.pop("description"), "anyOf": [mapping["properties"]["first"], mapping]}


_STACK, _HOST = Stack(), Host()


def usual_stack() -> Stack:
    """Return the stack that connections have by default."""
    return _STACK


def usual_host() -> Host:
    """Return the settings that hosts have by default."""
    return _HOST
