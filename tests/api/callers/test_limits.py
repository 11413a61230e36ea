"""Bounds of one caller: requests a second, and places for work."""

import pytest

from api.callers.limits import Places, RateLimit
from api.errors import Overloaded, TooManyRequests


def test_bucket_lets_a_burst_pass_and_fills_again() -> None:
    now = [0.0]
    limit = RateLimit(10, 3, lambda: now[0])
    for _ in range(3):
        limit.take("ann")
    with pytest.raises(TooManyRequests) as raised:
        limit.take("ann")
    assert raised.value.retry_after == 1
    limit.take("bo")

    now[0] = 0.11
    limit.take("ann")
    with pytest.raises(TooManyRequests):
        limit.take("ann")


def test_no_rate_is_no_limit() -> None:
    limit = RateLimit(0, 1)
    for _ in range(1_000):
        limit.take("ann")


def test_places_may_be_taken_by_size() -> None:
    places = Places(10, "bytes of writes")
    with places.held("ann", 6):
        with pytest.raises(TooManyRequests) as raised, places.held("ann", 5):
            pass
        assert str(raised.value) == "you have 6 bytes of writes under way: wait for some"
        with places.held("ann", 4), places.held("bo", 10):
            pass
    with places.held("ann", 10):
        pass


def test_places_of_all_callers_together_are_bounded() -> None:
    places = Places(10, "bytes of writes", of_all=15)
    with places.held("ann", 10):
        with pytest.raises(Overloaded) as raised, places.held("bo", 6):
            pass
        assert (
            str(raised.value) == "too many bytes of writes of all callers are under way: try again"
        )
        with places.held("bo", 5):
            pass
    with places.held("bo", 10), places.held("ann", 5):
        pass
