"""Keys that rotate, disappear and come back, by a clock that the test moves."""

from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import pytest
from anyio import create_task_group

from api.callers.tokens.fetching import Unreachable
from api.callers.tokens.key_cache import CachedKeys, start_all
from api.callers.tokens.keys import KeySet, read_key_set
from domain.errors import InvalidInput
from tests.api.callers.tokens.jwks_server import Provider, providing
from tests.api.callers.tokens.made import (
    ALGORITHMS,
    Clock,
    claims,
    document,
    issuer,
    public_jwk,
    sign,
    verifier,
    verify,
)

OLD, NEW = public_jwk("ES256", 1), public_jwk("ES256", 2)


def open_keys(provider: Provider, clock: Callable[[], float]) -> CachedKeys:
    """Started keys of a provider, by the product's own loader."""
    load = issuer(jwks=provider.url, origin="CATALOG_JWKS").loader()
    keys = CachedKeys("CATALOG_JWKS", load, clock)
    keys.start()
    return keys


def ids(keys: CachedKeys) -> list[Any]:
    return [key.key_id for key in keys.current().keys]


def later(keys: CachedKeys, clock: Clock, seconds: float) -> list[Any]:
    """The ids of the keys after some time."""
    clock.now += seconds
    anyio.run(keys.reload_if_due)
    return ids(keys)


def test_removed_key_is_gone_at_the_next_refresh() -> None:
    clock = Clock(0)
    with providing(document(OLD, NEW)) as provider:
        keys = open_keys(provider, clock)
        provider.body = document(NEW)

        assert later(keys, clock, 239) == ["ES256-1", "ES256-2"]
        assert later(keys, clock, 1) == ["ES256-2"]
        assert provider.asked == 2


def test_unchanged_keys_stay_the_same_object() -> None:
    clock = Clock(0)
    with providing(document(OLD, NEW)) as provider:
        keys = open_keys(provider, clock)
        before = keys.current()
        provider.body = document(NEW, OLD)
        later(keys, clock, 240)

        assert provider.asked == 2
        assert keys.current() is before


@pytest.mark.parametrize(
    "failure", [{"status": 500}, {"body": b"<html>"}, {"body": b"x" * 300_000}, {"status": 301}]
)
def test_keys_outlive_a_provider_that_is_down_for_a_day(failure: dict[str, Any]) -> None:
    clock = Clock(0)
    with providing(document(OLD)) as provider:
        keys = open_keys(provider, clock)
        for name, value in failure.items():
            setattr(provider, name, value)

        assert later(keys, clock, 240) == ["ES256-1"]
        assert later(keys, clock, 29) == ["ES256-1"]
        assert provider.asked == 2
        assert later(keys, clock, 1) == ["ES256-1"]
        assert provider.asked == 3
        assert later(keys, clock, 86_400 - 270 - 1) == ["ES256-1"]
        assert later(keys, clock, 1) == []
        provider.status, provider.body = 200, document(NEW)
        assert later(keys, clock, 30) == ["ES256-2"]


def test_provider_that_answers_no_keys_is_obeyed() -> None:
    clock = Clock(0)
    with providing(document(OLD)) as provider:
        keys = open_keys(provider, clock)
        provider.body = document()

        assert later(keys, clock, 240) == []


def test_weak_key_that_appears_is_left_out() -> None:
    clock = Clock(0)
    with providing(document(OLD)) as provider:
        keys = open_keys(provider, clock)
        provider.body = document(NEW, public_jwk("RS256", bits=1_024))

        assert later(keys, clock, 240) == ["ES256-2"]


def test_waiting_requests_share_one_look() -> None:
    clock = Clock(0)

    async def look(keys: CachedKeys) -> None:
        async with create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(keys.reload_for_unknown)
            tasks.start_soon(keys.reload_if_due)

    with providing(document(OLD)) as provider:
        keys = open_keys(provider, clock)
        provider.body, provider.delay = document(NEW), 0.1
        clock.now += 240

        anyio.run(look, keys)

        assert provider.asked == 2
        assert ids(keys) == ["ES256-2"]


def test_file_that_was_replaced_is_read_again(tmp_path: Any) -> None:
    clock = Clock(0)
    path = tmp_path / "keys.json"
    path.write_bytes(document(OLD))
    load = issuer(jwks=str(path)).loader()
    keys = CachedKeys("CATALOG_JWKS", load, clock)
    keys.start()
    checked = verifier((issuer(), keys))
    path.write_bytes(document(NEW))

    assert verify(checked, sign(claims(), "ES256", 1)) is not None
    assert verify(checked, sign(claims(), "ES256", 2)) is not None
    assert verify(checked, sign(claims(), "ES256", 1)) is None


def unreachable() -> tuple[KeySet, list[str]]:
    raise Unreachable("answered 503")


def test_start_needs_one_issuer_with_keys() -> None:
    down = CachedKeys("down", unreachable)
    up = CachedKeys("up", partial(read_key_set, document(OLD), ALGORITHMS))

    start_all([down, up])
    assert (ids(down), ids(up)) == ([], ["ES256-1"])
    with pytest.raises(InvalidInput) as raised:
        start_all([down])
    assert raised.value.message == "no issuer has keys: down: answered 503"


@pytest.mark.parametrize(
    ("jwks", "reason"),
    [
        ([], "up: no key there is for the algorithms allowed"),
        ([{"kty": "oct", "k": "AAAA"}], "up: no key there is for the algorithms allowed"),
        (
            [OLD, public_jwk("RS256", bits=1_024)],
            "up: key 'RS256-1' has 1024 bits; RSA keys need at least 2048",
        ),
    ],
)
def test_start_tells_what_is_wrong_with_keys(jwks: list[Any], reason: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        start_all([CachedKeys("up", partial(read_key_set, document(*jwks), ALGORITHMS))])

    assert raised.value.message == reason
