"""A published study as data, and the work with one: running it, comparing it with its numbers, judging its claims.

The studies themselves are in packages that register them (`registry`). They import from here, from `repeats` and from `claims`; `dumbbell
new study NAME` writes such a package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dumbbell.lazy import lazily

if TYPE_CHECKING:
    from dumbbell.comparing.format import Format, Measured, Metric, Tolerance
    from dumbbell.comparing.tables import Table
    from dumbbell.study.model import Claim, Fitted, Part, Request, Study, View, combine
    from dumbbell.study.registry import find_part, find_study, formats, study_names

__all__ = [
    "Claim",
    "Fitted",
    "Format",
    "Measured",
    "Metric",
    "Part",
    "Request",
    "Study",
    "Table",
    "Tolerance",
    "View",
    "combine",
    "find_part",
    "find_study",
    "formats",
    "study_names",
]

_HOMES = {
    "comparing.format": "Format Measured Metric Tolerance",
    "comparing.tables": "Table",
    "study.model": "Claim Fitted Part Request Study View combine",
    "study.registry": "find_part find_study formats study_names",
}
"""Modules of the names."""

if not TYPE_CHECKING:
    __getattr__ = lazily(globals(), _HOMES)
