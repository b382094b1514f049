"""The abilities of the kernel engine: the features in the configuration of the kernels that `dumbbell kernel build` makes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from dumbbell.catalogue.feature import Feature
from dumbbell.engines.capabilities import APPLICATIONS, Capabilities
from dumbbell.engines.kernel.series import DEFAULT, series
from dumbbell.engines.linux.capabilities import of_linux

NAME = "kernel"
BPF = "bpf"
"""The set of changes with which congestion controls may be BPF programs."""


@cache
def capabilities(name: str = NAME, version: str = DEFAULT, lacks: Sequence[str] = (), sets: Sequence[str] = ()) -> Capabilities:
    """Return the abilities of a kernel.

    Args:
        name: Name of the engine.
        version: The series of the kernel.
        lacks: Lines of the series' configuration that the kernel does not have.
        sets: Sets of further changes that it has.
    """
    stack, wanted = f"linux-{version}", series(version)
    # The stack is the kernel's own, by the name that scenarios have by default, too.
    others = {} if version == DEFAULT else {f"linux-{DEFAULT}": stack}
    summary = f"Linux {version} itself"
    return of_linux(
        name,
        {stack: summary},
        series=version,
        defaults=wanted.stack,
        stands_for=others,
        lacks=lacks,
        sets=sets,
        features=(
            Feature.STATE_SERIES,
            *APPLICATIONS.values(),
            Feature.FLOWS_BY_PROGRAMS,
            Feature.MODULE_CONTROLS,
            *((Feature.BPF_CONTROLS,) if BPF in sets and wanted.patches_of(BPF) else ()),
        ),
    )
