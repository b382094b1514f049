"""`help()` of a model shows each field with its values, its default and its meaning, and changes nothing else."""

import inspect
import json
import pydoc
import subprocess
import sys

import pytest

import dumbbell
from dumbbell.scenario.schema import meanings, schema


@pytest.mark.parametrize("name", ["Flow", "Path", "Bottleneck", "Scenario", "Start", "Host", "FqCodel", "Ping", "Transfers", "Sweep"])
def test_each_field_is_shown(name):
    model = getattr(dumbbell, name)
    text = " ".join(inspect.getdoc(model).split())
    assert text.startswith(" ".join(vars(model)["__plain_doc__"].split()))
    for key, field in model.model_fields.items():
        shown = field.alias or key
        assert f" {shown}: " in text
        assert meanings(model).get(key, "") in text


def test_values_units_and_defaults_are_those_of_the_fields():
    text = " ".join(pydoc.render_doc(dumbbell.Flow, renderer=pydoc.plaintext).replace("|", " ").split())
    assert "rtt: a time such as 20ms (ns, us, ms, s, min, h); by default none. Base RTT of these connections" in text
    assert "count: a whole number from 1 to 100000; by default 1." in text
    assert "direction: 'forward', 'reverse'; by default 'forward'. Direction of the data" in text
    assert "cc: Cc; required." in text
    assert str(inspect.signature(dumbbell.Flow)).startswith("(*, cc, stack=")


def test_the_schema_is_the_same_with_and_without_help():
    code = "import json; from dumbbell.scenario.schema import schema; print(json.dumps(schema({}), sort_keys=True))"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for name in dir(dumbbell):
        getattr(dumbbell, name)
    assert json.dumps(schema({}), sort_keys=True) == plain.strip()
