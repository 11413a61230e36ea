"""The trusted issuers of tokens: one issuer by simple settings, or several in a TOML file."""

import tomllib
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from api.callers.tokens.fetching import check_url, fetch
from api.callers.tokens.following import open_safe
from api.callers.tokens.key_cache import Load
from api.callers.tokens.keys import ASYMMETRIC, SYMMETRIC, KeySet, read_key_set, secret_key_set
from api.callers.tokens.safe import SECRET, Safe
from api.callers.tokens.secret import MOST_PREVIOUS, check_secret, make_secrets
from api.settings import Settings
from domain.errors import InvalidInput, about


class Issuer(msgspec.Struct, frozen=True, kw_only=True):
    """An issuer of tokens: what its tokens must say, and where its keys are."""

    name: str | None = None
    """The `iss` of the issuer's tokens; None for tokens without one."""
    audiences: frozenset[str] = frozenset()
    algorithms: tuple[str, ...] = SYMMETRIC
    roles_claim: str = "roles"
    name_claim: str = "sub"
    secret: str | None = None
    """The secrets that sign this issuer's tokens; None for an issuer with a key set."""
    previous: tuple[str, ...] = ()
    """Secrets that were replaced, and still verify."""
    secret_file: str | None = None
    """Path of a file with the secret and the previous ones, one a line."""
    is_own: bool = False
    """True if the secrets are those that the catalog has made for itself."""
    jwks: str | None = None
    """URL or path of the issuer's key set; None for an issuer with a secret."""
    origin: str = "CATALOG_JWT_SECRET"
    """The setting, or file and issuer, that names the keys."""

    @property
    def source(self) -> str:
        """The origin of the issuer's keys, for messages."""
        return f"{self.origin}: {self.jwks}" if self.jwks is not None else self.origin

    def loader(self, own: Callable[[], tuple[str, ...]] | None = None) -> Load:
        """A function that gets the issuer's keys; raises InvalidInput for an unfit secret.

        `own` tells the secrets that the catalog has made for itself, which may change.
        """
        if self.secret is not None:
            secret_key_set(self.secret, self.origin, self.previous)

        def load() -> tuple[KeySet, list[str]]:
            if (where := self.jwks) is not None:
                document = fetch(where) if "://" in where else _read(Path(where))
                return read_key_set(document, self.algorithms)
            secrets: Sequence[str] = (self.secret or "", *self.previous)
            if self.is_own and own is not None:
                secrets = own()
            elif self.secret_file is not None:
                secrets = _read_secrets(Path(self.secret_file), self.origin)
            return secret_key_set(secrets[0], self.origin, secrets[1:]), []

        return load


class _Entry(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """An issuer as the TOML file has it, or the settings for a single one."""

    issuer: str | None
    audience: str | list[str] = []
    jwks: str | None = None
    secret_file: str | None = None
    algorithms: list[str] | None = None
    roles_claim: str = "roles"
    name_claim: str = "sub"


class _File(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    issuer: list[_Entry]


_SIMPLE = (
    "jwt_secret",
    "jwt_secret_file",
    "jwks",
    "jwt_issuer",
    "jwt_audience",
    "jwt_algorithms",
    "jwt_roles_claim",
    "jwt_name_claim",
)


def read_issuers(settings: Settings, safe: Safe | None = None) -> list[Issuer]:
    """The issuers that the settings name; without any, the catalog with a secret of its own.

    That secret is in the safe of the catalog, which is opened for the while where none is given.
    Raises InvalidInput naming the setting, or the file and issuer, that is wrong, and what the safe
    raises.
    """
    if settings.issuers is None:
        if settings.makes_secret and safe is None:
            with closing(open_safe(settings)) as opened:
                return [_read_simple(settings, opened)]
        return [_read_simple(settings, safe)]
    defaults = Settings()
    for field in _SIMPLE:
        if getattr(settings, field) != getattr(defaults, field):
            raise InvalidInput(
                f"CATALOG_{field.upper()} is for a single issuer; beside CATALOG_ISSUERS it has no"
                " meaning: say it in that file"
            )
    return _read_file(Path(settings.issuers))


def _read_simple(settings: Settings, safe: Safe | None) -> Issuer:
    given = [name for name in _SIMPLE[:3] if getattr(settings, name) is not None]
    if len(given) > 1:
        names = " and ".join(f"CATALOG_{name.upper()}" for name in given)
        raise InvalidInput(f"{names} are both given; for several issuers there is CATALOG_ISSUERS")
    origin = f"CATALOG_{(given or _SIMPLE)[0].upper()}"
    secrets: Sequence[str] = () if settings.jwt_secret is None else (settings.jwt_secret,)
    if settings.jwt_secret_file is not None:
        secrets = _read_secrets(Path(settings.jwt_secret_file), origin)
    elif not given and safe is not None:
        secrets = make_secrets(safe, SECRET)
        origin = f"{safe.name(SECRET)} (remove or mend it)"
    entry = _Entry(
        issuer=settings.jwt_issuer,
        audience=_split(settings.jwt_audience) or [],
        jwks=settings.jwks,
        secret_file=settings.jwt_secret_file,
        algorithms=_split(settings.jwt_algorithms),
        roles_claim=settings.jwt_roles_claim,
        name_claim=settings.jwt_name_claim,
    )
    return _make(
        entry, secrets, origin, lambda part: f"CATALOG_JWT_{part.upper()}", is_own=not given
    )


def _read_file(path: Path) -> list[Issuer]:
    origin = f"CATALOG_ISSUERS: {path}"
    with about(origin):
        content = _read(path)
    try:
        entries = msgspec.convert(tomllib.loads(content.decode()), _File).issuer
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"{origin}: {error}") from None
    if not entries:
        raise InvalidInput(f"{origin} names no issuer")
    issuers = [_read_entry(entry, path.parent, origin) for entry in entries]
    for issuer in issuers:
        if sum(issuer.name == other.name for other in issuers) > 1:
            raise InvalidInput(f"{origin}: issuer {issuer.name!r} is there twice")
    return issuers


def _read_entry(entry: _Entry, directory: Path, file: str) -> Issuer:
    origin = f"{file}: issuer {entry.issuer!r}"
    if not entry.issuer or (entry.jwks is None) == (entry.secret_file is None):
        raise InvalidInput(f"{origin} needs a name and either jwks or secret_file")
    secrets: Sequence[str] = ()
    keys = "jwks" if entry.secret_file is None else "secret_file"
    if entry.secret_file is not None:
        entry.secret_file = str(directory / entry.secret_file)
        secrets = _read_secrets(Path(entry.secret_file), f"{origin}: secret_file")
    elif entry.jwks is not None and "://" not in entry.jwks:
        entry.jwks = str(directory / entry.jwks)
    return _make(entry, secrets, f"{origin}: {keys}", lambda part: f"{origin}: {part}")


def _make(
    entry: _Entry,
    secrets: Sequence[str],
    origin: str,
    named: Callable[[str], str],
    *,
    is_own: bool = False,
) -> Issuer:
    """The issuer of an entry; raises InvalidInput for settings that disagree.

    `named` gives the name of one of them in messages.
    """
    secret, *previous = secrets or (None,)
    possible = ASYMMETRIC if secret is None else SYMMETRIC
    audiences = [entry.audience] if isinstance(entry.audience, str) else entry.audience
    issuer = Issuer(
        name=entry.issuer,
        audiences=frozenset(audiences),
        algorithms=possible if entry.algorithms is None else tuple(entry.algorithms),
        roles_claim=entry.roles_claim,
        name_claim=entry.name_claim,
        secret=secret,
        previous=tuple(previous),
        secret_file=entry.secret_file,
        is_own=is_own,
        jwks=entry.jwks,
        origin=origin,
    )
    for algorithm in issuer.algorithms or ("",):
        if algorithm not in possible:
            keys = "a key set" if issuer.secret is None else "a secret"
            raise InvalidInput(
                f"{named('algorithms')}: {algorithm!r} does not fit {keys}; allowed:"
                f" {', '.join(possible)}"
            )
    jwks, no_path = issuer.jwks, "must be a claim's name or a dotted path"
    for part, good, problem in (
        ("roles_claim", all(issuer.roles_claim.split(".")), no_path),
        ("name_claim", all(issuer.name_claim.split(".")), no_path),
        ("issuer", issuer.name != "", "must not be empty"),
        ("audience", "" not in issuer.audiences, "must not be empty"),
        # A provider issues tokens for many services: without both, all these would be let in.
        ("issuer", jwks is None or issuer.name, "must be given with a key set"),
        ("audience", jwks is None or issuer.audiences, "must be given with a key set"),
    ):
        if not good:
            raise InvalidInput(f"{named(part)} {problem}")
    if jwks is not None and "://" in jwks:
        with about(issuer.origin):
            check_url(jwks)
    return issuer


def _split(value: str | None) -> list[str] | None:
    return None if value is None else [part.strip() for part in value.split(",")]


def _read_secrets(path: Path, origin: str) -> list[str]:
    """The secret in a file, and those that it replaces, one a line."""
    try:
        text = _read(path).decode("utf-8-sig").strip()
    except (InvalidInput, UnicodeDecodeError):
        raise InvalidInput(f"{origin}: cannot read a secret from {path}") from None
    check_secret(text, origin)  # refuses a public or private key, which has lines too
    secrets = [line.strip() for line in text.splitlines()]
    if len(secrets) > 1 + MOST_PREVIOUS:
        raise InvalidInput(f"{origin} may have {MOST_PREVIOUS} previous secrets, one a line")
    return secrets


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}") from None
