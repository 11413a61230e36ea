"""What an operator can set: environment variables `CATALOG_*`, read once at start."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domain.errors import InvalidInput

_PREFIX = "CATALOG_"
Text = Annotated[str, Meta(min_length=1)]
"""An empty one would mean another thing than none: every address, or the working directory."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is the variable `CATALOG_<FIELD>`; its docstring is its documentation."""

    data: Text = "./catalog-data"
    """The data directory: the log, the read models, the secret."""
    database_url: Text | None = None
    """URL of the PostgreSQL database that has the log, `postgresql://...`, in place of `data`."""
    search_url: Text | None = None
    """URL of the OpenSearch cluster with the search index, `https://...`, in place of `data`."""
    host: Text = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8585
    """Port to listen on; 0 takes a free one."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """HTTP processes; from 2 on, the projectors run in a process of their own."""
    worker_timeout: Annotated[float, Meta(ge=1.0, le=3_600.0)] = 30.0
    """Seconds that one of several processes may give no sign of life before it is replaced."""
    jwt_secret: str | None = None
    """Shared secret of the tokens (HS256), at least 32 bytes; made if nothing is set."""
    jwt_secret_file: Text | None = None
    """File that holds the shared secret, and below it those that it replaces, one a line."""
    jwks: Text | None = None
    """URL (https) or path of the issuer's JSON Web Key Set, instead of a secret."""
    jwt_issuer: Text | None = None
    """The `iss` that tokens must have; needed with `jwks`."""
    jwt_audience: Text | None = None
    """The `aud` that tokens must have, or several separated by commas; needed with `jwks`."""
    jwt_algorithms: str | None = None
    """Algorithms allowed, separated by commas; by default all that fit the kind of key."""
    jwt_leeway: Annotated[float, Meta(ge=0.0, le=60.0)] = 30.0
    """Seconds by which the clocks of issuer and catalog may differ."""
    jwt_max_lifetime: Annotated[int, Meta(ge=1, le=31_536_000)] = 86_400
    """Seconds that a token may be good for, from its issue to its end."""
    jwt_roles_claim: Text = "roles"
    """Claim that holds the caller's roles: its name or a dotted path."""
    jwt_name_claim: Text = "sub"
    """Claim that holds the caller's name, which stands in every event."""
    issuers: Text | None = None
    """TOML file of several issuers, instead of the settings for one."""
    public_url: Text | None = None
    """Address of the catalog in browsers, `https://catalog.example.org`; by default as asked."""
    oidc_issuer: Text | None = None
    """Address of the identity provider at which people sign in to the pages (`docs/pages.md`)."""
    oidc_client_id: Text | None = None
    """What the catalog is called at that provider; needed with `oidc_issuer`."""
    oidc_client_secret_file: Text | None = None
    """File with the secret of a confidential client; a public one has none."""
    oidc_scope: Text = "openid"
    """What is asked for at that provider, with spaces between."""
    policies: Text | None = None
    """TOML file of roles and what they may do (`docs/permissions.md`); its changes are followed."""
    rate_limit: Annotated[float, Meta(ge=0.0, le=1e6)] = 0.0
    """Requests a second that one caller may make of each process; 0 for no limit."""
    rate_burst: Annotated[int, Meta(ge=1, le=1_000_000)] = 100
    """Requests that one caller may make at once under `rate_limit`."""
    search_queue: Annotated[int, Meta(ge=1, le=10_000)] = 128
    """Searches of one caller that may be under way or waiting in each process."""
    max_connections: Annotated[int, Meta(ge=1, le=100_000)] = 1_000
    """Connections of each process; idle ones make room for new ones."""
    receive_timeout: Annotated[float, Meta(gt=0.0, le=3_600.0)] = 30.0
    """Seconds that a request's head, then its body, may take; and a client, to read on."""
    measurement_days: Annotated[int, Meta(ge=1, le=3_650)] = 365
    """Days that measurements (profiles, test results, use) are kept."""
    measurement_bytes: Annotated[int, Meta(ge=1_000_000, le=2**50)] = 10_000_000_000
    """Bytes that the measurements of all entities may take; beyond, new ones are refused."""
    search_refresh: Annotated[float, Meta(ge=0.0, le=60.0)] = 0.2
    """Seconds during which writes are gathered before they become searchable."""
    ready_lag: Annotated[float, Meta(gt=0.0)] = 30.0
    """Seconds a projection may lie behind before `/readyz` says so."""
    version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$")] = "2.0.7"
    """OpenMetadata version told to clients, whose major and minor must equal their own."""
    log_level: Text = "INFO"
    """Least severe level of the log lines written to standard error."""
    access_log: bool = True
    """Whether each request is a log line."""
    trusted_proxies: Text | None = None
    """Addresses and networks of proxies, with commas, whose X-Forwarded-For names the client."""

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.data)

    @property
    def makes_secret(self) -> bool:
        """Whether the catalog signs with a secret of its own, as no other key is named."""
        return not (self.jwt_secret or self.jwt_secret_file or self.jwks or self.issuers)


def read_settings(environment: Mapping[str, str] = os.environ, **given: Any) -> Settings:
    """Settings from the environment; `given` values (flags) that are not None come first.

    Raises InvalidInput naming the variable and what is wrong with it.
    """
    known = {field.name for field in msgspec.structs.fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(_PREFIX):
            field = name.removeprefix(_PREFIX).lower()
            if field not in known:
                allowed = ", ".join(sorted(_PREFIX + field.upper() for field in known))
                raise InvalidInput(f"{name} is no setting; there are {allowed}")
            values[field] = value
    values |= {field: value for field, value in given.items() if value is not None}
    try:
        return msgspec.convert(values, type=Settings, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
        for field in known:
            message = message.replace(f"$.{field}", _PREFIX + field.upper())
        raise InvalidInput(f"setting: {message}") from None
