"""A good scenario, and the check that a mistake in it is reported with its place."""

GOOD = """\
name: good
path:
  rtt: 20ms
  delay: {where: before}
  bottleneck:
    rate: 10mbit
    shaper: tbf
    qdisc: {kind: pfifo, limit: 180p}
flows:
  - {cc: cubic, start: {first: 0s}}
duration: 2s
sample: 100ms
"""


def assert_told(case, dumbbell, tmp_path):
    """`dumbbell run` on the changed scenario reports the mistake on stderr, runs nothing, and ends with status 2.

    The case is (text that is replaced, by what, line, key, part of what is wrong, part of what is expected); line None and key "" are not
    compared.
    """
    old, new, line, key, what, expected = case
    assert GOOD.count(old) == 1, "the case must change the scenario in one place"
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace(old, new))
    answer = dumbbell("run", file, "--out", tmp_path / "out", "--json")
    assert answer.status == 2
    assert answer.out == ""
    lines = answer.err.splitlines()
    place = f"{file}:" if line is None else f"{file}:{line}: "
    found = [text for text in lines if text.startswith(place) and what in text]
    assert found, answer.err
    assert not key or found[0].startswith(f"{place}{key}: "), answer.err
    assert expected in found[0].split("; expected", 1)[1], answer.err
    assert all("; expected" in text and text.startswith(f"{file}:") for text in lines), answer.err
    assert "Traceback" not in answer.err
    assert not (tmp_path / "out").exists()
