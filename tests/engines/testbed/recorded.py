"""What machines said of themselves: the three guests of a laboratory, and a virtual machine with a kernel that has little."""

from functools import cache
from pathlib import Path

from dumbbell.engines.testbed.facts_reading import read_facts

DATA = Path(__file__).parent / "data"


@cache
def said(name):
    """The text."""
    return (DATA / f"{name}.facts").read_bytes()


@cache
def facts(name):
    """What it is read as."""
    return read_facts(said(name))
