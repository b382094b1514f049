"""Versions of Linux, as numbers that sort as the versions do."""

from __future__ import annotations

import re


def numbers(version: str) -> list[int]:
    """The numbers that a version such as 6.12.117, 7.4-rc2 or 7.3.0+ begins with; none if it begins with something else."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return [int(part) for part in found[0].split(".")] if found else []
