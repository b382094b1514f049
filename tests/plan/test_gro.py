"""Network cards that gather packets, in a plan."""

import pytest
from support import planned

from dumbbell.engines import engine
from dumbbell.plan import Link

CARD = {"host": {"gro": "50us"}}


def test_a_card_is_the_last_port_of_either_direction():
    plan = planned(flows=[{"cc": "cubic", **CARD}]).plan
    (path,) = plan.paths
    cards = [plan.ports[ports[-1]] for ports in (path.forward, path.reverse)]
    assert [(card.id, card.direction, card.coalesce_ns) for card in cards if isinstance(card, Link)] == [
        ("card-50us", "forward", 50_000),
        ("card-50us-reverse", "reverse", 50_000),
    ]
    ((_, _, tcp),) = plan.over_tcp
    assert tcp.gro
    assert tcp.plain()["gro"] is True


def test_flows_with_interrupts_of_one_time_share_it_and_others_pass_by():
    plan = planned(flows=[{"cc": "cubic", "count": 2, **CARD}, {"cc": "reno", **CARD}, {"cc": "reno"}], background=[{"rate": "1mbit"}]).plan
    assert len(plan.paths) == 2
    assert sum(port.id.startswith("card") for port in plan.ports) == 2
    assert [workload.path for workload in plan.workloads] == [0, 0, 1, 1]


@pytest.mark.parametrize(("name", "refused"), [("sim", []), ("kernel", ["the engine kernel has no offload gro"])])
def test_the_kernel_refuses_it_by_name(name, refused):
    plan = planned(name, flows=[{"cc": "cubic", **CARD}]).plan
    found = list(engine(name).capabilities().refusals(plan))
    assert [(each.field, each.what) for each in found] == [("gro", what) for what in refused]
