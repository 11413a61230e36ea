"""Promises of a safe to the processes that share it, in a directory and in a database."""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Thread

import pytest

from api.callers.tokens.following import open_safe
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.minting import mint_long_lived
from api.callers.tokens.register import read_register, revoke_tokens
from api.callers.tokens.safe import REGISTER, SECRET, Safe
from api.callers.tokens.secret import make_secrets, read_secrets, rotate_secret
from api.settings import Settings
from benchmarks.postgres_server import PostgresServer, new_schema
from domain.errors import StoreUnavailable
from tests.waiting import until

OpenSafe = Callable[[], Safe]
ISSUER = Issuer(secret="a secret of the test that has more than 32 bytes")


@pytest.fixture(params=["directory", "database"])
def another(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenSafe]:
    """Opens the same safe anew at each call, as another process would; one in a database does so
    on another host."""
    url = None
    if request.param == "database":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.url(new_schema())
    opened: list[Safe] = []

    def open_one() -> Safe:
        directory = tmp_path if url is None else tmp_path / str(len(opened))
        settings = Settings(data=str(directory), database_url=url)
        safe = open_safe(settings, is_there=False)
        opened.append(safe)
        # One in a database connects at the first request, which a busy server may keep waiting.
        until(lambda: answers(safe))
        return safe

    yield open_one
    for safe in opened:
        safe.close()


def answers(safe: Safe) -> bool:
    with suppress(StoreUnavailable):
        safe.stamps()
        return True
    return False


def test_a_document_that_nobody_has_made_is_not_there(another: OpenSafe) -> None:
    safe = another()
    assert (safe.read(SECRET), safe.stamps()) == (None, {})


def test_what_was_made_first_counts_for_all(another: OpenSafe) -> None:
    first, second = another(), another()
    assert [first.make(SECRET, b"one"), second.make(SECRET, b"two")] == [b"one", b"one"]
    assert [first.read(SECRET), second.read(SECRET)] == [b"one", b"one"]


def test_every_change_is_another_stamp_for_all(another: OpenSafe) -> None:
    safe, other = another(), another()
    safe.make(SECRET, b"one")
    safe.change(REGISTER, lambda _: b"{}")
    before = other.stamps()
    assert before.keys() == {SECRET, REGISTER}

    # To what it was, as a copy that is put back has it.
    safe.change(REGISTER, lambda _: b"{}")
    after = other.stamps()
    assert (after[SECRET], other.stamps()) == (before[SECRET], after)
    assert after[REGISTER] != before[REGISTER]


def test_no_change_that_another_process_makes_meanwhile_is_lost(another: OpenSafe) -> None:
    safes = [another() for _ in range(4)]
    together = Barrier(len(safes))

    def revoke(number: int, safe: Safe) -> None:
        together.wait()
        for count in range(5):
            revoke_tokens(safe, [f"{number}-{count}"], [])

    threads = [Thread(target=revoke, args=each) for each in enumerate(safes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    revoked = read_register(another()).revoked
    assert revoked.keys() == {f"{each}-{count}" for each in range(4) for count in range(5)}


def test_what_refuses_to_change_leaves_all_as_it_was(another: OpenSafe) -> None:
    safe = another()
    safe.make(SECRET, b"one")
    before = safe.stamps()

    def refuse(_: bytes | None) -> bytes:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        safe.change(SECRET, refuse)
    assert (safe.read(SECRET), safe.stamps()) == (b"one", before)


def test_all_processes_make_one_secret(another: OpenSafe) -> None:
    safes = [another() for _ in range(4)]
    together = Barrier(len(safes))
    made: list[tuple[str, ...]] = []

    def make(safe: Safe) -> None:
        together.wait()
        made.append(make_secrets(safe, SECRET))

    threads = [Thread(target=make, args=[safe]) for safe in safes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == len(safes)
    assert len(set(made)) == 1


def test_a_link_is_taken_by_one_of_those_who_ask(another: OpenSafe) -> None:
    safes = [another() for _ in range(4)]
    safes[0].put_link("digest", b"link", time.time() + 60)
    together = Barrier(len(safes))
    taken: list[bytes | None] = []

    def take(safe: Safe) -> None:
        together.wait()
        taken.append(safe.take_link("digest"))

    threads = [Thread(target=take, args=[safe]) for safe in safes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each or b"" for each in taken) == [b"", b"", b"", b"link"]
    assert safes[0].take_link("never made") is None


def test_links_that_are_over_go_with_the_next_one(another: OpenSafe) -> None:
    safe = another()
    safe.put_link("old", b"link", time.time() - 1)
    safe.put_link("new", b"link", time.time() + 60)
    assert [safe.take_link(each) for each in ("old", "new")] == [None, b"link"]


def test_a_token_made_by_one_process_is_in_the_register_of_all(another: OpenSafe) -> None:
    _, made = mint_long_lived(ISSUER, another(), "bot", ("bot",), 60)
    assert [each.id for each in read_register(another()).long_lived] == [made.id]


def test_a_secret_that_is_replaced_is_kept_behind_the_new_one(another: OpenSafe) -> None:
    (first,) = make_secrets(another(), SECRET)
    assert rotate_secret(another(), SECRET, time.time()) == first
    content = another().read(SECRET)
    assert content is not None
    assert read_secrets(SECRET, content, "here")[1:] == (first,)
