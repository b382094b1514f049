"""Any scenario: packets are conserved, throughput is within the rate of the link, and a second run is identical."""

import numpy as np
from drawn import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dumbbell.catalogue.feature import Feature
from dumbbell.running.prepare import compute
from dumbbell.scenario import Scenario

RATES = {"200kbit": 0.2e6, "3mbit": 3e6, "40mbit": 40e6}
QDISCS = st.one_of(
    st.integers(1, 300).map(lambda n: {"kind": "pfifo", "limit": f"{n}p"}),
    st.integers(1514, 200_000).map(lambda n: {"kind": "bfifo", "limit": f"{n}B"}),
    st.builds(
        lambda isolation, sce: {"kind": "cake", "isolation": isolation, "sce": sce},
        st.sampled_from(["flowblind", "flows", "triple-isolate", "dual-dsthost"]),
        st.sampled_from([False, True, "single", 16]),
    ),
)
FLOWS = st.lists(
    st.fixed_dictionaries(
        {
            "cc": st.sampled_from(["reno", "cubic", "dctcp"]),
            "count": st.integers(1, 3),
            "ecn": st.sampled_from([None, True, False]),
            "start": st.fixed_dictionaries({"first": st.sampled_from(["0s", "130ms"]), "jitter": st.sampled_from(["0s", "500ms"])}),
        },
        optional={
            "bytes": st.integers(1, 500_000).map("{}B".format),
            "duration": st.sampled_from(["1ms", "700ms"]),
            "rtt": st.sampled_from(["3ms", "90ms"]),
            "host": st.fixed_dictionaries(
                {"offload": st.sampled_from(["none", "tso"])}, optional={"rcvbuf": st.sampled_from(["2304B", "100kB"])}
            ),
        },
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=examples(30))
@given(
    rate=st.sampled_from(sorted(RATES)),
    rtt=st.sampled_from(["0s", "1us", "17ms", "300ms"]),
    where=st.sampled_from(["before", "after", "ack-path"]),
    limit=st.sampled_from([None, "3p", "1000p"]),
    reverse=st.sampled_from(["mirror", "none"]),
    access=st.sampled_from([None, {"rate": "1gbit"}]),
    qdisc=QDISCS,
    flows=FLOWS.map(lambda flows: [{**flow, "ecn": None} if flow["cc"] == "dctcp" else flow for flow in flows]),
    seed=st.integers(0, 2**63 - 1),
)
def test_any_scenario(engine, rate, rtt, where, limit, reverse, access, qdisc, flows, seed):
    assume(not qdisc.get("sce") or Feature.SCE in engine.capabilities().feature)
    delay = {"where": where, "limit": limit}
    path = {"rtt": rtt, "delay": delay, "reverse": reverse, "access": access, "bottleneck": {"rate": rate, "qdisc": qdisc}}
    scenario = Scenario.model_validate({"name": "any", "path": path, "flows": flows, "duration": "3s", "seed": seed, "engine": engine.name})
    (resolved,) = scenario.expand()
    run = compute(resolved, on=engine.name)
    assert run.status != "invalid", run.reasons
    received = sum(counters["rx_bytes"] for entity, counters in run.counters.items() if entity.startswith("flow/"))
    carried = run.counters["port/bottleneck"]["sent_bytes"]
    assert received <= carried <= RATES[rate] / 8 * 3 + 2 * 1514
    for group in run.frame.partition_by("entity", "series"):
        if group["series"][0] in ("rx_bytes", "delivered", "retransmits", "drops", "ce_marks", "sce_marks", "sent_packets", "sent_bytes"):
            assert np.all(np.diff(group["value"].to_numpy()) >= 0), group
    assert compute(resolved, on=engine.name).digest == run.digest
