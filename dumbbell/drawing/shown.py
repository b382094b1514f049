"""A figure that notebooks show without pyplot."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure


class ShownFigure(Figure):
    """Figure of matplotlib that Jupyter shows as a picture wherever it is the value of a cell, with or without `%matplotlib`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        canvas: Any = FigureCanvasAgg(self)
        canvas.print_png(buffer)
        return buffer.getvalue()
