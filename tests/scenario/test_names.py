"""Names of flows."""

from support import PATH

from dumbbell.scenario import Scenario, flow_names


def test_flow_names_are_numbered_where_they_are_shared():
    flows = [{"cc": "reno", "count": 2}, {"cc": "cubic"}, {"cc": "reno"}, {"cc": "cubic", "name": "late"}]
    parsed = Scenario.model_validate({"name": "s", "path": PATH, "flows": flows, "duration": "10s"}).flows
    assert flow_names(parsed) == [["reno-1", "reno-2"], ["cubic"], ["reno-3"], ["late"]]
