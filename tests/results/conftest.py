"""Runs made by hand."""

import pytest
from support import make_run


@pytest.fixture
def run():
    """One run."""
    return make_run()
