"""What holds for all tests."""

import gc

import hypothesis

# Hypothesis holds each example to 200 ms of wall-clock time, which a busy machine takes of any of
# them. Tests that are about speed hold the time that their thread worked.
hypothesis.settings.register_profile("work, not time", deadline=None)
hypothesis.settings.load_profile("work, not time")

_COLLECT_AFTER = 50_000, 20, 20
"""New objects, and rounds of the younger generations, until garbage is collected."""

gc.disable()  # until all is imported


def pytest_collection_finish() -> None:
    """Leave what is imported out of garbage collection, a third of the work of some tests."""
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
