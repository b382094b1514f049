"""The draws of property tests: one seed gives the same cases on every machine, in any order, alone or with others."""

from hypothesis import HealthCheck, is_hypothesis_test, seed, settings
from hypothesis.internal.conjecture import providers

_FRESH = "fresh"


def draw_from(examples):
    """Set the profile of property tests; each draws this many `examples`, or its own number if None."""
    # The time of an example means nothing where tests run next to others, and a database has what was drawn before.
    kept = {"deadline": None, "database": None, "derandomize": False, "suppress_health_check": [HealthCheck.too_slow]}
    settings.register_profile("recorded", **kept)
    settings.register_profile(_FRESH, max_examples=examples or 100, **kept)
    settings.load_profile("recorded" if examples is None else _FRESH)
    # Else Hypothesis also draws constants that it finds in the sources of the modules loaded so far, which depend on the tests before.
    providers.is_local_module_file = lambda _: False


def examples(count):
    """Return how many cases a test draws that does not draw 100: `count`, or the number of `--examples`."""
    return settings.default.max_examples if settings.get_current_profile_name() == _FRESH else count


def seeded(item, number):
    """Have a collected test draw from a seed, if it draws."""
    if is_hypothesis_test(test := getattr(item, "obj", None)):
        seed(number)(getattr(test, "__func__", test))
