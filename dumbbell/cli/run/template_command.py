"""Commands that take a scenario file or a ready-made test, which has options of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand

from dumbbell.templates.options import as_settings, named_in, options


class TemplateCommand(TyperCommand):
    """A command whose options include those of the ready-made test that it is given: `dumbbell run home --down 50mbit`."""

    _test: str | None = None
    """The test that the arguments name."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context, with the test's options as settings."""
        flags = {name for each in self.params if getattr(each, "is_flag", False) for name in (*each.opts, *each.secondary_opts)}
        self._test = named_in(args, flags)
        return super().make_context(info_name, args if self._test is None else as_settings(self._test, args), parent, **extra)

    @property
    def own_options(self) -> Sequence[str]:
        """The names of the test's options; none without a test."""
        return [] if self._test is None else [option.name for option in options(self._test)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options of the command, and those of the test."""
        super().format_options(ctx, formatter)
        if self._test is not None and (rows := _rows(self._test)):
            with formatter.section(f"Options of {self._test}"):
                formatter.write_dl(rows)


def _rows(test: str) -> Sequence[tuple[str, str]]:
    return [(f"{option.name} {option.metavar}", f"{option.help[0].upper()}{option.help[1:]}.") for option in options(test)]
