"""Recorded answers of machines about themselves: the three guests of a laboratory, and a virtual machine with a kernel that has little."""

from functools import cache
from pathlib import Path

from support import planned

from dumbbell.engines.testbed.deployment import deploy, unseated
from dumbbell.engines.testbed.facts_reading import read_facts

HOSTS = """
control: {known_hosts: known_hosts, key: key}
machines:
  router:
    at: ssh://192.0.2.2
    role: router
    left: {device: vec1, address: 10.1.0.254/24}
    right: {device: vec2, address: 10.2.0.254/24}
  left1: {at: "ssh://192.0.2.11", role: left, data: {device: vec1, address: 10.1.0.1/24}}
  right1: {at: "ssh://192.0.2.131", role: right, data: {device: vec1, address: 10.2.0.1/24}}
"""
MACHINES = ("router", "left1", "right1")
DATA = Path(__file__).parent / "data"


@cache
def said(name):
    """The text."""
    return (DATA / f"{name}.facts").read_bytes()


@cache
def facts(name):
    """Return the facts that are read from the answers."""
    return read_facts(said(name))


def deployed(hosts, /, **more):
    plan = planned("testbed", **more).plan
    assert not list(unseated(plan, hosts))
    return plan, deploy(plan, hosts, {name: facts(name) for name in MACHINES}, "/run/dumbbell/1")
