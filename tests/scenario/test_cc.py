"""Ways of writing a congestion control."""

import pytest
from support import PATH

from dumbbell.scenario import Cc, Scenario, ScenarioError, flow_names


def scenario(*ccs):
    settings = {"name": "s", "path": PATH, "flows": [{"cc": cc} for cc in ccs], "duration": "2s"}
    return Scenario.model_validate(settings)


def test_a_name_is_enough():
    (flow,) = scenario("cubic").flows
    assert flow.cc == Cc(kind="cubic")
    assert scenario("cubic") == scenario({"kind": "cubic"})


def test_it_is_written_as_it_was():
    for cc in ("cubic", {"kind": "cubic", "hystart": False}):
        assert scenario(cc).dump()["flows"][0]["cc"] == cc
        (run,) = scenario(cc).expand()
        assert run.dump()["flows"][0]["cc"] == cc


def test_flows_have_the_name_of_the_kind():
    assert flow_names(scenario({"kind": "cubic", "hystart": False}, "cubic", "reno").flows) == [["cubic-1"], ["cubic-2"], ["reno"]]


@pytest.mark.parametrize(
    ("cc", "line"),
    [
        ({"hystart": False}, "flows.0.cc.kind: is missing; expected the key kind"),
        (5, "flows.0.cc: 5 is not a name; expected a name"),
        (
            {"kind": "cubic", "beta": [1]},
            "flows.0.cc.beta: a list or a mapping is no value of a parameter; expected a number or a word",
        ),
        ({"kind": "cubic", "beta": None}, "flows.0.cc.beta: nothing is no value of a parameter; expected a number or a word"),
    ],
)
def test_what_is_no_congestion_control(cc, line):
    with pytest.raises(ScenarioError) as error:
        Scenario(name="s", path=PATH, flows=[{"cc": cc}], duration="2s")
    assert str(error.value) == line
