"""Figures are closed after each test: pyplot keeps what it made."""

import pytest
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def closed_figures():
    """Nothing stays open."""
    yield
    pyplot.close("all")
