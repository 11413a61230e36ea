"""The register of tokens: long-lived ones, revocations, and how a process follows the file."""

import json
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from api.callers.tokens.following import FollowedSafe
from api.callers.tokens.issuers import Issuer
from api.callers.tokens.keys import secret_key_set
from api.callers.tokens.minting import mint, mint_long_lived, sign
from api.callers.tokens.register import (
    DAY,
    LongLived,
    Register,
    change_register,
    parse_lifetime,
    read_register,
    revoke_tokens,
)
from api.callers.tokens.safe import REGISTER, DirectorySafe, Safe
from api.callers.tokens.verifier import TokenVerifier
from domain.errors import InvalidInput
from tests.api.callers.tokens import made
from tests.api.callers.tokens.made import start, verifier, verify

SECRET = "a secret of the test that has more than 32 bytes"
ISSUER = Issuer(secret=SECRET)


class Served:
    """A verifier that follows the register of a data directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.safe = DirectorySafe(directory)
        self.followed = FollowedSafe(self.safe)
        keys = start(secret_key_set(SECRET, "the test"))
        self.verifier = TokenVerifier([(ISSUER, keys)], self.followed, leeway=0, max_lifetime=DAY)

    def takes(self, token: str) -> bool:
        return verify(self.verifier, token) is not None

    def remembers(self, token: str) -> bool:
        return self.verifier.remembered(b"Bearer " + token.encode()) is not None


@pytest.fixture
def served(tmp_path: Path) -> Served:
    return Served(tmp_path)


def long_lived(safe: Safe, subject: str = "bot") -> tuple[str, str]:
    token, entry = mint_long_lived(ISSUER, safe, subject, ("bot",), 365 * DAY)
    return token, entry.id


def test_a_long_lived_token_is_good_while_it_is_registered(served: Served) -> None:
    token, token_id = long_lived(served.safe)
    assert not served.takes(token)  # not followed yet

    served.followed.follow()
    assert served.takes(token)
    (entry,) = read_register(served.safe).long_lived
    assert (entry.id, entry.subject, entry.roles) == (token_id, "bot", ("bot",))
    assert entry.expires - entry.issued == 365 * DAY


def test_no_other_token_may_live_that_long(served: Served) -> None:
    _, token_id = long_lived(served.safe)
    served.followed.follow()
    (entry,) = served.followed.register.long_lived

    for made_up in ("another", token_id.upper()):
        assert not served.takes(sign(ISSUER, replace(entry, id=made_up)))
    assert not served.takes(sign(ISSUER, replace(entry, expires=entry.expires + 1)))


def test_a_token_revoked_by_its_id_is_refused_and_no_longer_remembered(served: Served) -> None:
    (revoked, token_id), (other, _) = long_lived(served.safe), long_lived(served.safe)
    served.followed.follow()
    assert served.takes(revoked)
    assert served.takes(other)

    assert revoke_tokens(served.safe, [token_id], []) == set()
    assert served.remembers(revoked)  # not followed yet
    served.followed.follow()
    assert not served.remembers(revoked)
    assert not served.takes(revoked)
    assert served.takes(other)


def test_all_tokens_that_a_subject_had_are_refused_and_a_new_one_is_good(served: Served) -> None:
    (long, _), short = long_lived(served.safe), mint(ISSUER, "bot", ("bot",), 60)
    other = mint(ISSUER, "ann", ("reader",), 60)
    revoke_tokens(served.safe, [], ["bot"])
    served.followed.follow()

    assert [served.takes(token) for token in (long, short, other)] == [False, False, True]
    assert served.takes(mint(ISSUER, "bot", ("bot",), 60))


def test_a_token_that_does_not_say_when_it_was_issued_counts_as_old() -> None:
    register = Register(subjects={"ann": 100.0})
    assert register.refuses("ann", None, None)
    assert register.refuses("ann", None, 100.0)
    assert not register.refuses("ann", None, 100.5)
    assert not register.refuses("bob", None, None)


def test_revocations_are_there_after_a_restart(served: Served) -> None:
    token, token_id = long_lived(served.safe)
    revoke_tokens(served.safe, [token_id], [])
    assert not Served(served.directory).takes(token)


def test_ids_that_are_no_long_lived_tokens_are_revoked_and_told(served: Served) -> None:
    _, token_id = long_lived(served.safe)
    assert revoke_tokens(served.safe, [token_id, "of the provider"], []) == {"of the provider"}
    assert "of the provider" in read_register(served.safe).revoked


def test_a_later_revocation_of_a_subject_stays(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a machine whose clock was ahead, or by a command that was held up."""
    late = time.time() + 20
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda: late)
        revoke_tokens(served.safe, [], ["eve"])
    revoke_tokens(served.safe, [], ["eve", "ann"])
    subjects = read_register(served.safe).subjects
    assert subjects["eve"] == late
    assert subjects["ann"] < late


@pytest.mark.parametrize(
    "content",
    [None, b"no JSON", b'{"revoked": 1}', b'{"revoked": {"\xff": 1}}', b"[" * 5_000],
    ids=["gone", "no JSON", "another type", "no UTF-8", "deep"],
)
def test_a_register_that_cannot_be_read_changes_nothing(
    served: Served, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    (revoked, token_id), (good, _) = long_lived(served.safe), long_lived(served.safe)
    revoke_tokens(served.safe, [token_id], [])
    served.followed.follow()
    path = served.directory / REGISTER
    whole = path.read_bytes()
    path.unlink() if content is None else path.write_bytes(content)
    caplog.clear()

    served.followed.follow()
    served.followed.follow()
    assert [served.takes(token) for token in (revoked, good)] == [False, True]
    assert [record.message for record in caplog.records] == ["register of tokens not followed"]
    path.write_bytes(whole)
    revoke_tokens(served.safe, [], ["bot"])
    served.followed.follow()
    assert not served.takes(good)


def test_a_damaged_register_stops_the_start_and_a_change(tmp_path: Path) -> None:
    (tmp_path / REGISTER).write_text("{")
    for act in (
        lambda: FollowedSafe(DirectorySafe(tmp_path)),
        lambda: revoke_tokens(DirectorySafe(tmp_path), ["a"], []),
    ):
        with pytest.raises(InvalidInput, match="register of tokens cannot be read"):
            act()
    assert (tmp_path / REGISTER).read_text() == "{"


def test_what_has_no_effect_any_more_is_dropped(tmp_path: Path) -> None:
    def entry(name: str, expires: float) -> LongLived:
        return LongLived(id=name, subject="bot", roles=(), issued=0, expires=expires)

    given = Register(
        long_lived=(entry("old", 0.0), entry("new", 500 * DAY)),
        revoked={"old": 1.0, "new": 1.0, "theirs": 1.0, "later": 300.0 * DAY},
        subjects={"ann": 1.0, "bob": 300.0 * DAY},
    )
    kept = change_register(DirectorySafe(tmp_path), 400.0 * DAY, lambda _: given)
    assert [each.id for each in kept.long_lived] == ["new"]
    assert kept.revoked.keys() == {"new", "later"}
    assert kept.subjects.keys() == {"bob"}
    assert read_register(DirectorySafe(tmp_path)) == kept


def test_the_register_is_closed_to_others_and_bounded(tmp_path: Path) -> None:
    many = {str(number) for number in range(10_000)}
    revoke_tokens(DirectorySafe(tmp_path), many, [])
    with pytest.raises(InvalidInput, match="may hold 10000"):
        revoke_tokens(DirectorySafe(tmp_path), ["c"], [])
    assert json.loads((tmp_path / REGISTER).read_text())["revoked"].keys() == many
    assert (tmp_path / REGISTER).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("text", "seconds"), [("365d", 365 * DAY), ("12h", 43_200), ("30m", 1_800), ("45s", 45)]
)
def test_lifetimes(text: str, seconds: int) -> None:
    assert parse_lifetime(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "d", "0d", "366d", "1", "1w", "-1d", "1.5d", "\u00b2d", "1 d"]
)
def test_lifetimes_that_are_none(text: str) -> None:
    with pytest.raises(InvalidInput, match="of 365d at most"):
        parse_lifetime(text)


def test_a_token_whose_id_is_no_text_is_refused() -> None:
    assert verify(verifier(), made.sign(made.claims(jti=["a"]))) is None
    assert verify(verifier(), made.sign(made.claims(jti="a"))) is not None
