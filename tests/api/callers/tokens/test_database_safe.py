"""A host whose safe is in a database that stops and starts."""

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from api.callers.tokens.following import AWAY_SECONDS, FollowedSafe, open_safe
from api.callers.tokens.register import read_register, revoke_tokens
from api.callers.tokens.safe import REGISTER, SESSION_KEY
from api.callers.tokens.secret import drop_previous, make_secrets, rotate_secret
from api.settings import Settings
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from domain.event_store.postgres import clock
from domain.event_store.postgres.link import Link
from tests.api.callers.tokens.made import Clock
from tests.postgres_servers import running_or_skipped


def test_a_host_with_a_wrong_clock_revokes_nothing_from_the_first_time_on(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=str(tmp_path), database_url=postgres.url(new_schema()))
    with closing(open_safe(settings, is_there=False)) as safe:
        monkeypatch.setattr(clock, "wall_clock", lambda: time.time() + 90_000)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="the clock of this host is 90000 s ahead"):
                revoke_tokens(safe, ["first"], [])
        assert safe.read(REGISTER) is None

        monkeypatch.undo()
        revoke_tokens(safe, ["first"], [])
        assert read_register(safe).revoked.keys() == {"first"}


def test_a_rotation_whose_connection_breaks_behind_its_commit_is_done_once(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data=str(tmp_path), database_url=postgres.url(new_schema()))
    with closing(open_safe(settings, is_there=False)) as safe:
        present, *_ = make_secrets(safe, SESSION_KEY)
        ask = Link.one

        def ask_twice(link: Link, statement: str, *values: Any) -> Any:
            if statement.startswith("INSERT INTO safe_documents"):
                ask(link, statement, *values)
            return ask(link, statement, *values)

        monkeypatch.setattr(Link, "one", ask_twice)
        assert rotate_secret(safe, SESSION_KEY, 0.0) == present
        assert make_secrets(safe, SESSION_KEY)[1:] == (present,)
        assert drop_previous(safe, SESSION_KEY) == (present,)


def test_a_host_goes_on_without_its_database_for_a_minute_and_follows_it_again(
    tmp_path: Path,
) -> None:
    with running_or_skipped() as server:
        settings = Settings(data=str(tmp_path), database_url=server.url(new_schema()))
        clock = Clock()
        with closing(open_safe(settings, is_there=False)) as safe:
            revoke_tokens(safe, ["first"], [])
            followed = FollowedSafe(safe, clock)
            followed.prepare(SESSION_KEY)
            keys = followed.secrets(SESSION_KEY)

            server.stop("fast")
            assert followed.follow() == set()
            assert followed.register.revoked.keys() == {"first"}
            clock.now += AWAY_SECONDS
            with pytest.raises(StoreUnavailable, match="has not answered for 60 s"):
                _ = followed.register
            with pytest.raises(StoreUnavailable):
                revoke_tokens(safe, ["second"], [])

            server.start()
            revoke_tokens(safe, ["second"], [])
            followed.follow()
            assert followed.register.revoked.keys() == {"first", "second"}
            assert followed.secrets(SESSION_KEY) == keys
