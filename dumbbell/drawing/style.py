"""The style of figures: fixed colours and markers by congestion control, two sizes, and reproducible files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dumbbell.files import write_within

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Size: TypeAlias = Literal["print", "screen", "one-column", "two-column"]
Format: TypeAlias = Literal["png", "svg", "pdf"]
FORMATS: tuple[Format, ...] = ("png", "svg", "pdf")

# The palette of Okabe and Ito, safe for colour-blind readers, and similar colours. Congestion controls of one figure have different hues.
_CC = {
    "reno": ("#D55E00", "s"),
    "cubic": ("#0072B2", "o"),
    "dctcp": ("#009E73", "^"),
    "reno-sce": ("#6A3D9A", "D"),
    "cubic-sce": ("#56B4E9", "p"),
    "dctcp-sce": ("#CC79A7", "v"),
    "bbr": ("#000000", "*"),
    "bbr3": ("#35978F", "*"),
    "vegas": ("#8C6D1F", "P"),
    "bic": ("#7F7F7F", "h"),
    "htcp": ("#B2182B", "<"),
    "highspeed": ("#1B7837", ">"),
    "scalable": ("#E69F00", "X"),
    "fast": ("#A919FF", "d"),
    "illinois": ("#A6761D", "8"),
    "westwood": ("#01665E", "H"),
    "cdg": ("#C51B7D", "."),
    "hybla": ("#5E4FA2", "1"),
    "lp": ("#9E9AC8", "2"),
    "nv": ("#3B3B98", "3"),
    "veno": ("#66A61E", "4"),
    "yeah": ("#E7298A", "+"),
}
_OTHER = ("#4D4D4D", "o")
_FLOWS = (("#0072B2", "o"), ("#D55E00", "^"), ("#009E73", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"), ("#000000", "X"))

MOST_HUES = len(_FLOWS)
"""Maximum number of flows that `of_flow` tells apart by colour."""
OTHERS = ("#E69F00", "#CC79A7", "#8C6D1F", "#6A3D9A", "#56B4E9", "#B2182B")
"""Colours of applications and probes, the same for every protocol."""
REFERENCE_COLOUR = "#1A1A1A"
"""Colour of reference lines."""
GRID_COLOUR = "#D9D9D9"
MISSING_COLOUR = "#EFEFEF"


_TWO_COLUMNS_WIDE, _PRINT_FONT = 7.1, 7.0


@dataclass(frozen=True)
class Geometry:
    """Dimensions of one size of figures, in inches and points."""

    width: float
    font: float
    line: float
    dpi: int

    @property
    def tall(self) -> float:
        """Return the length that heights are shares of: the width. Panels in one column of a paper are as high as in two, so that their
        labels fit."""
        return max(self.width, _TWO_COLUMNS_WIDE * self.font / _PRINT_FONT)

    @property
    def of_paper(self) -> bool:
        """True for a size of a paper."""
        return self.font == _PRINT_FONT


# The columns of IEEE's and ACM's two-column layouts are 3.3 to 3.5 inches wide, both together 7.0 to 7.2.
_TWO_COLUMNS = Geometry(width=_TWO_COLUMNS_WIDE, font=_PRINT_FONT, line=0.8, dpi=300)
GEOMETRY: dict[Size, Geometry] = {
    "one-column": Geometry(width=3.4, font=_PRINT_FONT, line=0.8, dpi=300),
    "two-column": _TWO_COLUMNS,
    "print": _TWO_COLUMNS,
    "screen": Geometry(width=13.0, font=10.0, line=1.2, dpi=110),
}


def is_control(name: str) -> bool:
    """True if it is a congestion control with a look of its own."""
    return name in _CC


def colour(cc: str) -> str:
    """The colour of a congestion control."""
    return _CC.get(cc, _OTHER)[0]


def marker(cc: str) -> str:
    """The marker of a congestion control."""
    return _CC.get(cc, _OTHER)[1]


def colours(ccs: Sequence[str]) -> list[str]:
    """A colour for each flow: that of its congestion control, paler for each further flow with the same one."""
    return shaded([colour(cc) for cc in ccs])


def shaded(hues: Sequence[str]) -> list[str]:
    """These colours, paler for each further time that one is there."""
    found = []
    for index, hue in enumerate(hues):
        earlier, all_ = hues[:index].count(hue), hues.count(hue)
        found.append(paler(hue, 0.65 * earlier / max(all_ - 1, 1)))
    return found


def paler(of: str, share: float) -> str:
    """A colour with this share of white."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(of)
    return to_hex((red + (1 - red) * share, green + (1 - green) * share, blue + (1 - blue) * share))


def of_flow(number: int) -> tuple[str, str]:
    """Colour and marker of a flow by its number (from 0), for figures that distinguish flows by their order."""
    return _FLOWS[number % len(_FLOWS)]


@contextmanager
def styled(size: Size) -> Iterator[Geometry]:
    """Let matplotlib draw in this style within the context."""
    import matplotlib

    geometry = GEOMETRY[size]
    font = geometry.font
    settings: Any = {
        "font.family": ["DejaVu Sans", "sans-serif"],  # the second is for readers of SVG without the first
        "font.size": font,
        "axes.titlesize": font * 1.05,
        "axes.labelsize": font,
        "xtick.labelsize": font * 0.9,
        "ytick.labelsize": font * 0.9,
        "legend.fontsize": font * 0.95,
        "legend.frameon": False,
        "figure.titlesize": font * 1.3,
        "axes.linewidth": 0.6,
        "axes.edgecolor": "#666666",
        "axes.labelcolor": "#222222",
        "xtick.color": "#444444",
        "ytick.color": "#444444",
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "lines.linewidth": geometry.line,
        "grid.color": GRID_COLOUR,
        "grid.linewidth": 0.5,
        "figure.dpi": geometry.dpi,
        "text.parse_math": False,  # a $ in a name is a $
    }
    with matplotlib.rc_context(settings):
        yield geometry


def save(figure: Figure, folder: Path, name: str, formats: Sequence[Format] = ("png", "svg")) -> list[Path]:
    """Write NAME.png and so on; NAME may be of a folder in this one. Texts are texts in SVG and PDF.

    The files contain no date, so that equal data give equal files. Raises as `write_within`.
    """
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "dumbbell", "svg.fonttype": "none", "pdf.fonttype": 42}):
        return [write_within(folder, f"{name}.{each}", _printed(figure, each)) for each in FORMATS if each in formats]


def _printed(figure: Figure, form: Format) -> bytes:
    # Figure.savefig would draw everything twice, to compute a layout that `with_fixed_layout` has fixed already. The canvases of
    # SVG and PDF change the figure's resolution, so that of PNG comes first.
    canvas: Any
    file = io.BytesIO()
    if form == "png":
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        canvas = FigureCanvasAgg(figure)
        canvas.print_png(file, metadata={"Software": None})
    elif form == "svg":
        from matplotlib.backends.backend_svg import FigureCanvasSVG

        canvas = FigureCanvasSVG(figure)
        canvas.print_svg(file, metadata={"Date": None, "Creator": "dumbbell"})
    else:
        from matplotlib.backends.backend_pdf import FigureCanvasPdf

        canvas = FigureCanvasPdf(figure)
        canvas.print_pdf(file, metadata={"CreationDate": None, "Creator": "dumbbell"})
    return file.getvalue()
