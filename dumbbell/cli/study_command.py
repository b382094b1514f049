"""Commands that take a study: their help names the parts of the study that is given."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

from dumbbell.study.model import Part, Study
from dumbbell.study.registry import find_study, study_names

_HOUR_MINUTES = 60


class StudyCommand(TyperCommand):
    """A command whose help names the parts of the study: `dumbbell reproduce sce --help`."""

    _study: str | None = None
    """The study that the arguments name."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context, after a look at the arguments."""
        known = study_names() if "--help" in args else []
        self._study = next((name for each in args if (name := each.partition("/")[0]) in known), None)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the command, and the parts of the study."""
        super().format_options(ctx, formatter)
        if self._study is not None:
            study = find_study(self._study)
            with formatter.section(f"Parts of {study.name} (the first is the default), with the time of one processor"):
                formatter.write_dl([(name, f"{part.title}. {_cost(study, part)}") for name, part in study.parts.items()])


def _cost(study: Study, part: Part) -> str:
    """Return the cost of a part in words; empty if the study does not tell."""
    minutes = study.cpu_minutes.get(part.name)
    if minutes is None:
        return ""
    return f"About {minutes / _HOUR_MINUTES:.1g} h." if minutes > 2 * _HOUR_MINUTES else f"About {minutes:g} min."
