"""Published studies as data: scenarios, reductions, published numbers and claims. Each study has a folder."""

from __future__ import annotations

from dumbbell.studies.registry import find_part, find_study, formats, study_names
from dumbbell.studies.study import Claim, Fitted, Part, Request, Study, View

__all__ = ["Claim", "Fitted", "Part", "Request", "Study", "View", "find_part", "find_study", "formats", "study_names"]
