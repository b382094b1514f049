"""A validator of JSON by CDDL (RFC 8610), of as much of the language as `qlog.cddl` takes.

Rules with `=` and `/=`, choices, maps with `?`, `*` and `text => any`, unwrapped maps (`~`), arrays with `*` and `+`, text in quotes, the
types text, uint, number, float64 and any, and the operator `.regexp`.
"""

from __future__ import annotations

import re
from typing import Any

_TOKEN = re.compile(r'\s*(;[^\n]*|"(?:[^"\\]|\\.)*"|[$~]?[A-Za-z_]\w*|\.regexp|/=|=>|[{}\[\]:,?*+/=()])')


class Invalid(AssertionError):
    """A value that does not fit."""


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES = {
    "text": lambda value: isinstance(value, str),
    "uint": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "number": _number,
    "float64": _number,
    "any": lambda _: True,
}


class Schema:
    """The rules of a text."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[Any]] = {}
        self._tokens, at = [], 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            assert found, text[at : at + 40]
            at = found.end()
            if not found[1].startswith(";"):
                self._tokens.append(found[1])
        while self._tokens:
            name, sign = self._tokens.pop(0), self._tokens.pop(0)
            assert sign in ("=", "/="), (name, sign)
            assert sign == "/=" or name not in self.rules, name
            self.rules.setdefault(name, []).extend(self._choice())

    def _next(self, *wanted: str) -> bool:
        if self._tokens and self._tokens[0] in wanted:
            self._tokens.pop(0)
            return True
        return False

    def _choice(self) -> list[Any]:
        found = [self._type()]
        while self._next("/"):
            found.append(self._type())
        return found

    def _type(self) -> Any:
        token = self._tokens.pop(0)
        if token == "{":
            return ("map", self._members())
        if token == "[":
            least = 1 if self._tokens.pop(0) == "+" else 0
            inner = self._choice()
            assert self._next("]")
            return ("array", least, inner)
        if token.startswith('"'):
            return ("literal", token[1:-1])
        if self._next(".regexp"):
            return ("regexp", self._tokens.pop(0)[1:-1].replace("\\\\", "\\"))
        return ("name", token)

    def _members(self) -> list[Any]:
        found = []
        while not self._next("}"):
            if self._tokens[0].startswith("~"):
                found.append(("unwrap", self._tokens.pop(0)[1:]))
            elif self._next("*"):
                assert [self._tokens.pop(0) for _ in range(3)] == ["text", "=>", "any"]
                found.append(("open",))
            else:
                optional = self._next("?")
                name = self._tokens.pop(0)
                assert self._next(":"), name
                found.append(("member", name, optional, self._choice()))
            self._next(",")
        return found

    def check(self, rule: str, value: Any, place: str = "$") -> None:
        """Raises `Invalid` if a value does not fit a rule."""
        self._any_of(self.rules[rule], value, place)

    def _any_of(self, choices: list[Any], value: Any, place: str) -> None:
        wrong = []
        for choice in choices:
            try:
                self._one(choice, value, place)
            except Invalid as error:
                wrong.append(str(error))
            else:
                return
        raise Invalid("; ".join(wrong))

    def _one(self, choice: Any, value: Any, place: str) -> None:
        kind = choice[0]
        if kind == "name" and choice[1] in self.rules:
            self._any_of(self.rules[choice[1]], value, place)
        elif kind == "map":
            self._map(choice[1], value, place)
        elif kind == "array":
            if not isinstance(value, list) or len(value) < choice[1]:
                raise Invalid(f"{place}: is no list of at least {choice[1]}")
            for i, each in enumerate(value):
                self._any_of(choice[2], each, f"{place}[{i}]")
        elif not self._plain(choice, value):
            raise Invalid(f"{place}: {value!r} is no {choice[1]}")

    @staticmethod
    def _plain(choice: Any, value: Any) -> bool:
        if choice[0] == "literal":
            return bool(value == choice[1])
        if choice[0] == "regexp":
            return isinstance(value, str) and re.fullmatch(choice[1], value) is not None
        return bool(_TYPES[choice[1]](value))

    def _flat(self, members: list[Any]) -> list[Any]:
        found = []
        for member in members:
            if member[0] == "unwrap":
                ((_, inner),) = self.rules[member[1]]
                found += self._flat(inner)
            else:
                found.append(member)
        return found

    def _map(self, members: list[Any], value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise Invalid(f"{place}: is no map")
        flat = self._flat(members)
        known = {member[1]: member for member in flat if member[0] == "member"}
        for name, (_, _, optional, choices) in known.items():
            if name in value:
                self._any_of(choices, value[name], f"{place}.{name}")
            elif not optional:
                raise Invalid(f"{place}: lacks {name}")
        if not any(member[0] == "open" for member in flat) and (more := value.keys() - known.keys()):
            raise Invalid(f"{place}: has {', '.join(sorted(more))}")
