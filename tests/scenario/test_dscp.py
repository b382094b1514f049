"""Codepoints as they are written."""

import pytest
from pydantic import ValidationError
from support import PATH, plain_plan

from dumbbell.scenario import Scenario


def dscp(written):
    return plain_plan(flows=[{"cc": "cubic", "dscp": written}])["workloads"][0].get("dscp", 0)


@pytest.mark.parametrize(
    ("written", "number"),
    [("EF", 46), ("cs1", 8), ("AF41", 34), ("AF13", 14), ("LE", 1), ("VA", 44), ("DF", 0), ("CS7", 56), (63, 63), (0, 0)],
)
def test_a_codepoint_has_a_name_or_a_number(written, number):
    assert dscp(written) == number


@pytest.mark.parametrize("written", ["AF44", "CS8", "46", 64, -1, True, 1.5, None])
def test_what_is_none_is_refused(written):
    with pytest.raises(ValidationError, match="dscp"):
        Scenario.model_validate({"name": "s", "path": PATH, "flows": [{"cc": "cubic", "dscp": written}], "duration": "1s"})
