"""What holds for all tests."""

import hypothesis

# Hypothesis holds each example to 200 ms of wall-clock time, which a busy machine takes of any of
# them. Tests that are about speed hold the time that their thread worked.
hypothesis.settings.register_profile("work, not time", deadline=None)
hypothesis.settings.load_profile("work, not time")
