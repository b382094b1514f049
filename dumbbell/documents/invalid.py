"""Translates pydantic's errors into the terms of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from dumbbell.documents.problems import Location, Unfit
from dumbbell.errors import all_of, nearest, one_of

_MODEL = ("model_type", "model_attributes_type")
_MOST_PLACES = 2
"""Maximum number of places that a message names for a misplaced key."""
_OF_ONE, _NOT_A = ("string_type", "int_type", "bool_type", "finite_number"), r" is not a \w+$"
"""Errors of keys that take one value, by pydantic's names and in words."""
_ELSEWHERE = {
    **dict.fromkeys(("bandwidth", "bw", "capacity"), "rate"),
    **dict.fromkeys(("stop", "end"), "duration"),
    **dict.fromkeys(("buffer", "queue", "aqm"), "qdisc"),
    **dict.fromkeys(("congestion_control", "congestion", "tcp"), "cc"),
    "latency": "rtt",
    "repeats": "repeat",
}
"""The name of a key in other tools -> the key."""
_MEANT = re.compile(r"^unknown key \(did you mean '(\w+)'\?\)$")
_NOUNS = {
    "bool_type": "true or false, or on or off",
    "int_type": "a whole number",
    "string_type": "a name",
    "list_type": "a list",
    "dict_type": "keys and values",
    "finite_number": "a finite number",
}


def explain(error: ValidationError, top: type[BaseModel]) -> Iterator[tuple[Location, str, str]]:
    """Yield for each error its location, what is wrong, and what was expected; `top` is the model that was validated.

    A key that is missing because its name is misspelt is one error.
    """
    details = [(detail, *_words(detail, top)) for detail in error.errors(include_url=False)]
    meant = {(*detail["loc"][:-1], found[1]) for detail, what, _ in details if (found := _MEANT.search(what))}
    for detail, what, expected in details:
        if detail["type"] == "missing" and detail["loc"] in meant:
            continue
        is_list = isinstance(detail["input"], list) and (detail["type"] in _OF_ONE or re.search(_NOT_A, what))
        yield detail["loc"], what, f"{expected}; lists of values go into `sweep`" if is_list else expected


def _words(detail: ErrorDetails, top: type[BaseModel]) -> tuple[str, str]:
    kind, context, given = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind == "extra_forbidden":
        known = sorted({name for model in _models_at(top, detail["loc"][:-1]) for name in _names_in(model)})
        return f"unknown key{_meant(top, detail['loc'], known)}", one_of(known)
    if kind == "missing":
        models = _models_at(top, detail["loc"][:-1])
        return "is missing", _summary(models, str(detail["loc"][-1]))
    if kind == "union_tag_not_found":
        return f"{_shown(given)} has no {context['discriminator'].strip(chr(39))}", "keys and values with one"
    if kind == "union_tag_invalid":
        known = [tag.strip("' ") for tag in str(context["expected_tags"]).split(",")]
        what = str(context["discriminator"]).strip("'").removesuffix("()")  # a key, or a function of that name
        return f"unknown {what} {context['tag']!r}{nearest(context['tag'], known)}", one_of(known)
    if kind == "literal_error":
        known = [value.strip("' ") for value in str(context["expected"]).replace(" or ", ", ").split(",")]
        return f"{_shown(given)} is unknown{nearest(given, known)}", one_of(known)
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than"):
        words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
        bound = " and ".join(f"{words[key]} {_bound(value)}" for key, value in context.items() if key in words)
        return f"{_shown(given)} is out of range", bound
    if kind == "too_short":
        return f"has {context['actual_length']} entries", f"at least {context['min_length']}"
    if kind == "too_long":
        return f"has more than {context['max_length']} entries", f"at most {context['max_length']}"
    if kind == "string_pattern_mismatch":
        return f"{_shown(given)} is not a name", "letters, digits and . _ + - after a letter or digit"
    if kind == "value_error":
        unfit = context["error"]
        return (unfit.what, unfit.expected) if isinstance(unfit, Unfit) else (str(unfit), "another value")
    if kind in _MODEL:
        return f"{_shown(given)} is not keys and values", f"keys and values{_keys(_models_at(top, detail['loc']), given)}"
    if kind in _NOUNS:
        return f"{_shown(given)} is not {_NOUNS[kind]}", _NOUNS[kind]
    return f"{_shown(given)}: {detail['msg']}", "another value"


def _bound(value: object) -> str:
    return format(Decimal(str(value)).normalize(), "f") if isinstance(value, float) else str(value)


def _meant(top: type[BaseModel], location: Location, known: Sequence[str]) -> str:
    """Return a hint at the meaning of an unknown key: a key of another kind, one that belongs elsewhere, or one of a similar name."""
    name = _ELSEWHERE.get(str(location[-1]), str(location[-1]))
    if name in known:
        return f" (did you mean {name!r}?)"
    others = _models_at(top, location[:-2]) if len(location) > 1 else []
    having = [str(_kind(model)) for model in others if _kind(model) and name in _names_in(model)]
    if having:
        return f": {location[-2]} has none of that name, but {all_of(having)} {'have' if len(having) > 1 else 'has'}"
    places = _places(top).get(name, ())[:_MOST_PLACES]
    return f" (did you mean {' or '.join(places)}?)" if places else nearest(name, known)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _keys(models: list[type[BaseModel]], given: object) -> str:
    """Return what a user may write there: a kind as such, or the names of the keys."""
    if isinstance(given, str) and any("kind" in model.model_fields for model in models):
        return f" such as {{kind: {given}}}"
    return f", {one_of(sorted({name for model in models for name in _names_in(model)}))}"


def _names_in(model: type[BaseModel]) -> Iterator[str]:
    """The keys that a model has."""
    yield from (field.alias or name for name, field in model.model_fields.items())


def _models_at(top: type[BaseModel], location: Location) -> list[type[BaseModel]]:
    """The models that may stand at `location`."""
    models = [top]
    for part in location:
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        if fields:
            models = [found for field in fields for found in _models_in(field.annotation)]
        elif isinstance(part, str):  # the branch of a union: a kind or a class
            models = [model for model in models if part in (model.__name__, _kind(model))] or models
    return models


@cache
def _places(top: type[BaseModel]) -> Mapping[str, Sequence[str]]:
    """Return the places where each key may stand, as dotted keys, the shortest first. `*` stands for every entry of a list, NAME for a
    name."""
    found: dict[str, dict[str, None]] = {}
    for dotted in _dotted(top):
        found.setdefault(dotted.rpartition(".")[2], {})[dotted] = None
    return {name: sorted(dotted, key=lambda each: each.count(".")) for name, dotted in found.items()}


def _dotted(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{field.alias or name}"
        yield key
        for inner in _models_in(field.annotation):
            yield from _dotted(inner, f"{key}.{_entries(field.annotation)}")


def _entries(annotation: Any) -> str:
    """Return the part of a dotted key between a setting of this type and the entries in it."""
    origins = {get_origin(each) for each in (annotation, *get_args(annotation))}
    return "*." if list in origins else "NAME." if dict in origins else ""


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """All models in an annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) is Annotated:
        yield from _models_in(get_args(annotation)[0])
    else:
        for inner in get_args(annotation):
            if not isinstance(inner, Tag):
                yield from _models_in(inner)


def _kind(model: type[BaseModel]) -> object:
    field = model.model_fields.get("kind")
    return field.default if field else None


def _summary(models: list[type[BaseModel]], name: str) -> str:
    for model in models:
        if name in model.model_fields:
            expected = getattr(model.model_fields[name].annotation, "EXPECTED", None)
            return str(expected) if expected else f"the key {name}"
    return f"the key {name}"
