"""Processes that follow a safe whose database does not answer, and keys that are replaced."""

from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from api.callers.tokens.following import AWAY_SECONDS, FollowedSafe
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.keys import secret_key_set
from api.callers.tokens.minting import find_minter, mint
from api.callers.tokens.register import DAY, revoke_tokens
from api.callers.tokens.safe import SECRET, SESSION_KEY, DirectorySafe
from api.callers.tokens.secret import drop_previous, make_secrets, rotate_secret
from api.callers.tokens.verifier import TokenVerifier, open_verifier
from api.settings import Settings
from domain.errors import InvalidInput, StoreUnavailable
from tests.api.callers.tokens.made import Clock, start, verify
from tests.api.conftest import running
from tests.waiting import until

SECRET_TEXT = "a secret of the test that has more than 32 bytes"
ISSUER = Issuer(secret=SECRET_TEXT)


class Away(DirectorySafe):
    """A safe whose database answers or not, as a test has it."""

    is_away = False

    def stamps(self) -> Mapping[str, object]:
        if self.is_away:
            raise StoreUnavailable("its database is away")
        return super().stamps()


class Served:
    """A verifier that follows a safe which can be away, on a clock that the test holds."""

    def __init__(self, directory: Path) -> None:
        self.clock = Clock()
        self.safe = Away(directory)
        self.followed = FollowedSafe(self.safe, self.clock)
        self.verifier = TokenVerifier(
            [(ISSUER, start(secret_key_set(SECRET_TEXT, "the test")))],
            self.followed,
            leeway=0,
            max_lifetime=DAY,
        )

    def remembers(self, token: str) -> bool:
        return self.verifier.remembered(b"Bearer " + token.encode()) is not None


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def test_the_last_known_register_counts_for_a_minute_and_no_longer(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    revoke_tokens(served.safe, [], ["bob"])
    served.followed.follow()
    good, revoked = (mint(ISSUER, name, ("reader",), 600) for name in ("ann", "eve"))
    assert verify(served.verifier, good) is not None
    caplog.clear()

    served.safe.is_away = True
    served.followed.follow()
    served.clock.now += AWAY_SECONDS - 1
    served.followed.follow()
    assert served.remembers(good)
    revoke_tokens(served.safe, [], ["eve"])

    served.clock.now += 1
    assert not served.remembers(good)
    with pytest.raises(StoreUnavailable, match="revocations of tokens are unknown"):
        anyio.run(served.verifier.verify, b"Bearer " + good.encode())
    served.safe.is_away = False
    served.followed.follow()
    assert verify(served.verifier, good) is not None
    assert verify(served.verifier, revoked) is None
    assert [record.message for record in caplog.records] == [
        "register of tokens not followed",
        "register of tokens changed",
        "register of tokens followed again",
    ]


def test_requests_are_503_while_nobody_can_tell_what_was_revoked(
    served: Served, tmp_path: Path
) -> None:
    headers = {"Authorization": f"Bearer {mint(ISSUER, 'ann', ('admin',), 600)}"}
    with running(tmp_path, verifier=served.verifier) as client:

        def statuses() -> list[int]:
            paths = ("/v1/databases", "/v1/databases", "/v1/search/query?q=a")
            return [client.http.get(path, headers=headers).status_code for path in paths]

        until(lambda: statuses() == [200, 200, 200])
        served.safe.is_away = True
        served.followed.follow()
        served.clock.now += AWAY_SECONDS
        assert statuses() == [503, 503, 503]
        assert client.http.get("/healthz").status_code == 200
        served.safe.is_away = False
        served.followed.follow()
        assert statuses() == [200, 200, 200]


def test_a_document_that_cannot_be_read_just_then_is_read_later(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database can go away between the stamps and the register."""
    good = mint(ISSUER, "ann", ("reader",), 600)
    revoke_tokens(served.safe, [], ["ann"])

    def away(_: str) -> bytes | None:
        raise StoreUnavailable("its database is away")

    with monkeypatch.context() as patch:
        patch.setattr(served.safe, "read", away)
        served.followed.follow()
    assert verify(served.verifier, good) is not None
    served.followed.follow()
    assert verify(served.verifier, good) is None


def test_what_was_taken_over_before_the_database_went_is_told(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_secrets(served.safe, SECRET)
    make_secrets(served.safe, SESSION_KEY)
    assert served.followed.follow() == {SECRET, SESSION_KEY}
    rotate_secret(served.safe, SECRET, 0)
    rotate_secret(served.safe, SESSION_KEY, 0)
    read, asked = served.safe.read, list[str]()

    def goes(document: str) -> bytes | None:
        asked.append(document)
        if len(asked) == 2:
            raise StoreUnavailable("its database is away")
        return read(document)

    monkeypatch.setattr(served.safe, "read", goes)
    assert [served.followed.follow(), served.followed.follow()] == [{asked[0]}, {asked[1]}]


@pytest.mark.parametrize("content", ["no key", "ab" * 31, "ab" * 33, f"{'AB' * 32}"])
def test_a_key_of_sessions_that_is_none_is_not_followed(served: Served, content: str) -> None:
    (key,) = make_secrets(served.safe, SESSION_KEY)
    served.followed.follow()
    served.safe.change(SESSION_KEY, lambda _: content.encode())
    assert served.followed.follow() == set()
    assert served.followed.secrets(SESSION_KEY) == (key,)


def test_whatever_happens_revocations_are_followed_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = mint(ISSUER, "ann", ("reader",), 600)
    served.verifier.follow_seconds = 0.01
    failed = list[str]()

    def fails() -> set[str]:
        failed.append("once")
        monkeypatch.undo()
        raise RuntimeError("nobody has thought of this")

    monkeypatch.setattr(served.followed, "follow", fails)

    async def served_meanwhile() -> None:
        async with served.verifier.refreshing(None):
            with anyio.fail_after(60):
                while verify_now := served.verifier.remembered(b"Bearer " + token.encode()):
                    assert verify_now.name == "ann"
                    await anyio.lowlevel.checkpoint()

    assert verify(served.verifier, token) is not None
    revoke_tokens(served.safe, [], ["ann"])
    anyio.run(served_meanwhile)
    assert failed == ["once"]


def good(verifier: TokenVerifier, tokens: list[str]) -> list[bool]:
    """Tell for each token if a verifier takes it once it has looked at its safe."""
    anyio.run(verifier.follow)
    return [verify(verifier, token) is not None for token in tokens]


def test_own_secret_is_replaced_under_a_server_and_old_tokens_go_on(tmp_path: Path) -> None:
    settings, safe = Settings(data=str(tmp_path)), DirectorySafe(tmp_path)
    verifier = open_verifier(settings)
    old = mint(find_minter(settings), "ann", ("reader",), 600)

    rotate_secret(safe, SECRET, 0.0)
    new = mint(find_minter(settings), "ann", ("reader",), 600)
    assert good(verifier, [old, new]) == [True, True]

    drop_previous(safe, SECRET)
    assert good(verifier, [old, new]) == [False, True]


def test_a_mark_of_the_byte_order_is_no_part_of_a_secret(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET_TEXT, encoding="utf-8-sig")
    settings = Settings(data=str(tmp_path), jwt_secret_file=str(tmp_path / "secret.txt"))
    assert verify(open_verifier(settings), mint(ISSUER, "ann", ("reader",), 600)) is not None


def test_a_secret_in_a_file_is_replaced_by_a_line_above_it(tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    settings = Settings(data=str(tmp_path / "data"), jwt_secret_file=str(file))
    file.write_text(f"{SECRET_TEXT}\n")
    old = mint(find_minter(settings), "ann", ("reader",), 600)
    file.write_text(f"{SECRET_TEXT.upper()}\n{SECRET_TEXT}\n")
    new = mint(find_minter(settings), "ann", ("reader",), 600)

    assert find_minter(settings).secret == SECRET_TEXT.upper()
    both = open_verifier(settings)
    assert [verify(both, token) is not None for token in (old, new)] == [True, True]
    file.write_text(SECRET_TEXT.upper())
    alone = open_verifier(settings)
    assert [verify(alone, token) is not None for token in (old, new)] == [False, True]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{SECRET_TEXT}\nshort", "must have at least 32 bytes"),
        (f"{SECRET_TEXT}\n" * 10, "may have 8 previous secrets"),
    ],
)
def test_a_file_of_secrets_that_is_none_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "secret.txt").write_text(text)
    with pytest.raises(InvalidInput, match=reason):
        open_verifier(Settings(data=str(tmp_path), jwt_secret_file=str(tmp_path / "secret.txt")))


def test_secrets_that_were_replaced_are_bounded_and_end_by_themselves(tmp_path: Path) -> None:
    safe = DirectorySafe(tmp_path)
    for _ in range(8):
        rotate_secret(safe, SECRET, 0.0)
    with pytest.raises(InvalidInput, match="keeps 8 former keys: drop them first"):
        rotate_secret(safe, SECRET, 0.0)
    rotate_secret(safe, SECRET, 367.0 * DAY)
    assert len(make_secrets(safe, SECRET)) == 2
