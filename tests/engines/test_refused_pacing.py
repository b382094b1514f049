"""Where the simulator does not pace."""

import pytest
from support import PATH, plain_plan

from dumbbell.plan import Place

from .test_refused import refused


@pytest.mark.parametrize(("flow", "field"), [({"cc": "bbr"}, "cc.kind"), ({"host": {"max_pacing_rate": "1mbit"}}, "host.max_pacing_bps")])
def test_no_sender_paces_behind_an_fq_of_its_own_host(flow, field):
    hosts = {"left": {"egress": {"rate": "20mbit", "qdisc": {"kind": "fq"}}}}
    (found,) = refused(plain_plan(path=PATH, hosts=hosts, flows=[{"cc": "cubic"} | flow]))
    assert (found.place, found.field) == (Place("workload", 0), field)
