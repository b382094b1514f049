"""Faults of the layout of a figure: texts that overlap or leave it, and axes that are lower than half of it."""

import math

import numpy as np
from matplotlib.text import Text

_SLACK = 0.7
"""Points that two texts may share: the boxes of texts have room for letters that reach below the line."""
_PAGE_IN = 9.3
"""Height of a page's text, inches."""


def faults(figure, paper=True):
    """Return a line for each fault of a figure that is laid out. `paper`: true if it must fit on a page."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    axes = [axis for axis in figure.axes if axis.get_visible()]
    texts = list(_texts(figure, axes))
    boxes = [text.get_window_extent(renderer) for text, _ in texts]
    slack = _SLACK * figure.dpi / 72
    drawn = list(zip(texts, boxes, strict=True))
    found = [f"leaves the figure: {_named(text)}" for (text, _), box in drawn if not _within(box, figure.bbox, slack)]
    found += [
        f"legend leaves the figure: {_named(legend.get_texts()[0])}"
        for legend in (*figure.legends, *(axis.get_legend() for axis in axes if axis.get_legend() is not None))
        if not _within(legend.get_window_extent(renderer), figure.bbox, slack)
    ]
    corners = np.array([[box.x0, box.x1, box.y0, box.y1] for box in boxes]).reshape(-1, 4)
    for i, one in enumerate(corners):
        wide = np.minimum(one[1], corners[i + 1 :, 1]) - np.maximum(one[0], corners[i + 1 :, 0])
        high = np.minimum(one[3], corners[i + 1 :, 3]) - np.maximum(one[2], corners[i + 1 :, 2])
        for j in i + 1 + np.flatnonzero((wide > slack) & (high > slack)):
            if not _slanted_apart(texts[i][0], texts[j][0], boxes[i], boxes[j]):
                found.append(f"overlap: {_named(texts[i][0])} and {_named(texts[j][0])}")
    for (text, inside), box in drawn:
        for axis in axes:
            area = axis.get_window_extent(renderer)
            high = min(box.y1, area.y1) - max(box.y0, area.y0)
            wide = min(box.x1, area.x1) - max(box.x0, area.x0)
            if not inside and wide > 2 * slack and high > 2 * slack:
                found.append(f"lies in axes: {_named(text)}")
    panels = [axis.get_window_extent(renderer) for axis in axes if axis.get_subplotspec() is not None]
    share = _covered([(box.y0, box.y1) for box in panels]) / figure.bbox.height
    if share < 0.5:
        found.append(f"axes have {share:.0%} of the height")
    if paper and figure.get_figheight() > _PAGE_IN:
        found.append(f"{figure.get_figheight():.1f} inches high")
    return found


def _texts(figure, axes):
    """Each text that is drawn, and true if it belongs into axes."""
    ticks = set()
    for axis in axes:
        for way in (axis.xaxis, axis.yaxis):
            drawn = [label for tick in way._update_ticks() for label in (tick.label1, tick.label2)]
            ticks |= {label for tick in (*way.get_major_ticks(), *way.get_minor_ticks()) for label in (tick.label1, tick.label2)}
            yield from ((label, False) for label in drawn if label.get_visible() and label.get_text().strip())
    inside = {text for axis in axes for text in axis.texts}
    hidden = {text for axis in figure.axes if not axis.get_visible() for text in axis.findobj(Text)}
    for text in figure.findobj(Text):
        if text not in ticks and text not in hidden and text.get_visible() and text.get_text().strip():
            yield text, text in inside or any(text in axis.get_legend().findobj(Text) for axis in axes if axis.get_legend() is not None)


def _within(box, whole, slack):
    return box.x0 >= whole.x0 - slack and box.x1 <= whole.x1 + slack and box.y0 >= whole.y0 - slack and box.y1 <= whole.y1 + slack


def _slanted_apart(one, other, box, beside):
    """True if two texts are slanted alike, and their boxes overlap but they do not."""
    angle = one.get_rotation()
    if angle % 90 == 0 or other.get_rotation() != angle:
        return False
    return abs(box.x1 - beside.x1) * math.sin(math.radians(angle)) >= 0.9 * one.get_fontsize() * one.figure.dpi / 72


def _covered(spans):
    """Length of the union of spans."""
    total, end = 0.0, -math.inf
    for low, high in sorted(spans):
        total += max(high - max(low, end), 0.0)
        end = max(end, high)
    return total


def _named(text):
    return repr(text.get_text()[:40])
