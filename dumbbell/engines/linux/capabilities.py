"""The table of an engine whose hosts are Linux."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from dumbbell.catalogue.feature import Feature
from dumbbell.engines.capabilities import OFFLOAD, Capabilities
from dumbbell.engines.linux import sce
from dumbbell.engines.linux.controls import controls as controls_of
from dumbbell.engines.linux.hosts import STACK_OPTIONS, STACK_SINCE
from dumbbell.engines.linux.qdiscs import DISCIPLINES
from dumbbell.engines.linux.traffic import FEATURES
from dumbbell.engines.linux.versions import numbers


def of_linux(
    engine: str,
    stacks: Mapping[str, str],
    *,
    series: str | None = None,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    stands_for: Mapping[str, str] = MappingProxyType({}),
    lacks: Sequence[str] = (),
    sets: Sequence[str] = (),
    features: Sequence[Feature] = (),
) -> Capabilities:
    """Return the abilities that Linux can have.

    Args:
        engine: Name of the engine.
        stacks: Names of stacks with summaries.
        series: The series of Linux, such as 6.12; by default the newest that the catalogue knows.
        defaults: Defaults of the stacks' options that differ from `STACK_OPTIONS`.
        stands_for: Names by which scenarios may call a stack, with that stack.
        lacks: Lines of a configuration that the kernel does not have, such as CONFIG_NET_SCH_PIE=y.
        sets: Sets of further changes that the kernel has, such as sce.
        features: Features beyond those of every Linux.
    """
    without = {line.partition("=")[0].lower() for line in lacks}
    controls = {name: asdict(control) for name, control in controls_of(sets).items() if f"config_tcp_cong_{name}" not in without}
    disciplines = {
        name: {"summary": entry.summary, "later": {each.name: each.since for each in entry.parameters if _is_later(each.since, series)}}
        for name, entry in DISCIPLINES.items()
        if not _is_later(entry.since, series) and f"config_net_sch_{name}" not in without
    }
    options = {name: value for name, value in STACK_OPTIONS.items() if not _is_later(STACK_SINCE[name], series)}
    return Capabilities.from_table(
        engine,
        {
            "cc": controls,
            "qdisc": disciplines,
            "stack": {
                name: {
                    "summary": summary,
                    "options": {**options, **defaults, **(sce.OPTIONS if sce.NAME in sets else {})},
                    "has_own_buffers": True,
                }
                for name, summary in stacks.items()
            },
            "stands_for": stands_for,
            "shaper": ["link", "tbf", "htb", "cake"],
            "feature": [
                *(*OFFLOAD.values(), Feature.SYSCTLS, Feature.OUTAGES, Feature.RATE_STEPS, *FEATURES),
                *(Feature.REVERSE_FLOWS, Feature.CAPTURES, Feature.FAULTS, Feature.HOST_QUEUES, Feature.SERVER_OPENS, Feature.SLOW_READERS),
                *(Feature.WHOLE_CHUNKS, *((Feature.SCE,) if sce.NAME in sets else ()), *features),
            ],
            "listeners": "own",
        },
    )


def _is_later(since: str, series: str | None) -> bool:
    """True if a series of Linux lacks a feature that came with another."""
    return bool(series and since) and numbers(since) > numbers(str(series))
