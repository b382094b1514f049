"""A plugin of pytest (`-p drawn_cases`) that runs no test: property tests draw their cases, whose digests it prints, a test a line."""

import hashlib

from hypothesis import is_hypothesis_test


def pytest_collection_modifyitems(items):
    """Keep the tests that draw, each without its use of the cases."""
    items[:] = [item for item in items if is_hypothesis_test(getattr(item, "obj", None))]
    for item in items:
        item.drawn = hashlib.sha256()
        item.obj.hypothesis.inner_test = _noting(item.drawn, item.fixturenames)


def _noting(digest, fixtures):
    def note(*_arguments, **named):
        digest.update(repr(sorted((name, value) for name, value in named.items() if name not in fixtures)).encode())

    return note


def pytest_sessionfinish(session):
    """Print the digests."""
    for item in session.items:
        print(f"\ndrawn {item.nodeid} {item.drawn.hexdigest()}", end="")
    print()
