"""Places where the simulator does not pace."""

import pytest
from support import PATH, plain_plan

from dumbbell.plan import Place

from .test_refused import refused

HOSTS = {"left": {"egress": {"rate": "20mbit", "qdisc": {"kind": "fq"}}}}
PACED = [({"cc": "bbr"}, "tcp.cc.kind"), ({"host": {"max_pacing_rate": "1mbit"}}, "tcp.host.max_pacing_bps")]


@pytest.mark.parametrize(("flow", "field"), PACED)
def test_no_application_paces_behind_an_fq_of_its_own_host(flow, field):
    exchange = {"kind": "exchange", "request": "100B", "response": "10kB", "think": "1s", "cc": "cubic"} | flow
    (found,) = refused(plain_plan(path=PATH, hosts=HOSTS, flows=[], background=[exchange]))
    assert (found.place, found.field) == (Place("workload", 0), field)
