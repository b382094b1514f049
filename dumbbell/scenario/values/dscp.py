"""Differentiated services codepoints: by name or by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from dumbbell.documents.problems import Unfit

MOST = 63
NAMES: Mapping[str, int] = {
    "DF": 0,
    "LE": 1,
    "VA": 44,
    "EF": 46,
    **{f"CS{n}": 8 * n for n in range(8)},
    **{f"AF{group}{drop}": 8 * group + 2 * drop for group in range(1, 5) for drop in range(1, 4)},
}
"""RFC 2474 (CS), 2597 (AF), 3246 (EF), 5865 (VA), 8622 (LE); DF is the default."""


def _read(written: object) -> int:
    if isinstance(written, str) and (named := NAMES.get(written.upper())) is not None:
        return named
    if isinstance(written, int) and not isinstance(written, bool) and 0 <= written <= MOST:
        return written
    raise Unfit(f"{written!r} is no DSCP", f"a name such as EF, CS1 or AF41, or 0 to {MOST}")


_SCHEMA: dict[str, Any] = {"anyOf": [{"enum": list(NAMES)}, {"type": "integer", "minimum": 0, "maximum": MOST}]}

Dscp = Annotated[int, BeforeValidator(_read), WithJsonSchema(_SCHEMA)]
"""A codepoint as its number."""
