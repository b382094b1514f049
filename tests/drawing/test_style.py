"""Colours that readers can tell apart."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from dumbbell.drawing.style import colour

# Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision Deficiency (2009), severity 1.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) / [[0.9505], [1.0], [1.089]]


def lab(name, sight):
    """A colour in CIELAB, as somebody sees it."""
    srgb = np.array(to_rgb(name))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(np.array(sight) @ linear, 0, 1)
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHTS)
def test_fast_differs_from_all_that_it_is_drawn_with(sight):
    others = ("cubic", "bic", "htcp", "highspeed", "scalable", "reno", "westwood")
    fast = lab(colour("fast"), SIGHTS[sight])
    assert min(np.linalg.norm(fast - lab(colour(other), SIGHTS[sight])) for other in others) > 25


def test_no_two_common_controls_look_alike():
    for sight in SIGHTS.values():
        for one, other in combinations(("reno", "cubic", "dctcp", "bbr"), 2):
            assert np.linalg.norm(lab(colour(one), sight) - lab(colour(other), sight)) > 15
