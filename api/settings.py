"""Settings of an operator: environment variables `CATALOG_*`, read once at start."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, inspect

from domain.contracts.changes.rules import Perspective
from domain.errors import InvalidInput

_PREFIX = "CATALOG_"
_OF_CLIENTS = frozenset({"url", "token"})
"""Names of variables that say which catalog a client asks, and that no server reads."""
Text = Annotated[str, Meta(min_length=1)]
"""A text that is not empty: an empty address means every address, an empty path this directory."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a catalog: each field is read from the variable `CATALOG_<FIELD>`."""

    data: Text = "./catalog-data"
    """The data directory: the log, the read models, the secret."""
    database_url: Text | None = None
    """URL of a PostgreSQL database (`postgresql://...`) that stores log and lists, not `data`."""
    search_url: Text | None = None
    """URL of an OpenSearch cluster (`https://...`) that stores the search index, not `data`."""
    host: Text = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8585
    """Port to listen on; 0 takes a free one."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """HTTP processes; from 2 on, the projectors run in a process of their own."""
    worker_timeout: Annotated[float, Meta(ge=1.0, le=3_600.0)] = 30.0
    """Seconds without a sign of life after which one of several processes is replaced."""
    jwt_secret: str | None = None
    """Secret that signs the tokens (HS256), at least 32 bytes; made at the first start if unset."""
    jwt_secret_file: Text | None = None
    """File with the secret in its first line, and those that it replaces in the next lines."""
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
    """Longest time from the issue of a token to its end, in seconds."""
    jwt_roles_claim: Text = "roles"
    """Claim that holds the caller's roles: its name or a dotted path."""
    jwt_name_claim: Text = "sub"
    """Claim that holds the caller's name, which every event records."""
    issuers: Text | None = None
    """TOML file of several issuers, instead of the settings for one."""
    public_url: Text | None = None
    """Address of the catalog in browsers (`https://...`); by default that of each request."""
    oidc_issuer: Text | None = None
    """Address of the identity provider at which people sign in to the pages (`docs/pages.md`)."""
    oidc_client_id: Text | None = None
    """Client id of the catalog at that provider; needed with `oidc_issuer`."""
    oidc_client_secret_file: Text | None = None
    """File with the client secret, for a confidential client; a public client has none."""
    oidc_scope: Text = "openid"
    """Scopes to request from that provider, separated by spaces."""
    policies: Text | None = None
    """TOML file of roles and their permissions (`docs/permissions.md`); changes apply at once."""
    openlineage: Text | None = None
    """TOML file of what OpenLineage's namespaces mean (`docs/openlineage.md`); it is followed."""
    contract_gate: Literal["none", "consumer", "producer", "full"] = "none"
    """View in which no write may break an Active contract, unless its version announces it."""
    rate_limit: Annotated[float, Meta(ge=0.0, le=1e6)] = 0.0
    """Requests a second that each process accepts from one caller; 0 for no limit."""
    rate_burst: Annotated[int, Meta(ge=1, le=1_000_000)] = 100
    """Requests that one caller may make at once under `rate_limit`."""
    search_queue: Annotated[int, Meta(ge=1, le=10_000)] = 128
    """Searches of one caller that each process runs or keeps waiting; more are refused (429)."""
    max_connections: Annotated[int, Meta(ge=1, le=100_000)] = 1_000
    """Open connections of each process; beyond, the one that has idled longest is closed."""
    receive_timeout: Annotated[float, Meta(gt=0.0, le=3_600.0)] = 30.0
    """Seconds that a client may take to send a request's head, to send its body, or to read on."""
    measurement_days: Annotated[int, Meta(ge=1, le=3_650)] = 365
    """Days after which measurements (profiles, test results, use) are deleted."""
    measurement_bytes: Annotated[int, Meta(ge=1_000_000, le=2**50)] = 10_000_000_000
    """Bytes that all measurements may take together; beyond, new ones are refused (503)."""
    history_days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    """Days of which the past can be read, in lists and searches as of then; None for all of it."""
    mcp: Literal["off", "read", "write"] = "read"
    """Tools that agents are given at `/mcp`: none, those that read, or all (`docs/agents.md`)."""
    mcp_answer: Annotated[int, Meta(ge=16_000, le=60_000)] = 16_000
    """Characters that an answer to an agent may have; cursors go on behind them."""
    search_refresh: Annotated[float, Meta(ge=0.0, le=60.0)] = 0.2
    """Seconds for which writes are collected before they become searchable together."""
    ready_lag: Annotated[float, Meta(gt=0.0)] = 30.0
    """Seconds that a read model may lag behind the log before `/readyz` answers 503."""
    version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$")] = "2.0.7"
    """OpenMetadata version to report to clients, which require their own major and minor."""
    log_level: Text = "INFO"
    """Lowest level of log lines that are written to standard error."""
    access_log: bool = True
    """Write a log line for each request."""
    trusted_proxies: Text | None = None
    """Proxies (addresses, networks, separated by commas) whose X-Forwarded-For is believed."""

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.data)

    @property
    def gate(self) -> Perspective | None:
        """The view of `contract_gate`; None for no gate."""
        return None if self.contract_gate == "none" else Perspective(self.contract_gate)

    @property
    def makes_secret(self) -> bool:
        """True where no key is set, so that the catalog makes the secret that signs tokens."""
        return not (self.jwt_secret or self.jwt_secret_file or self.jwks or self.issuers)


def read_settings(environment: Mapping[str, str] = os.environ, **given: Any) -> Settings:
    """Read the settings from the environment; `given` values (flags) that are not None win.

    Raises InvalidInput, which names the variable and says what is wrong with it.
    """
    known = {field.name for field in msgspec.structs.fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in environment.items():
        if name.startswith(_PREFIX):
            field = name.removeprefix(_PREFIX).lower()
            if field in _OF_CLIENTS:
                continue
            if field not in known:
                allowed = ", ".join(sorted(_PREFIX + field.upper() for field in known))
                raise InvalidInput(f"{name} is not a setting; the settings are {allowed}")
            values[field] = value
    values |= {field: value for field, value in given.items() if value is not None}
    try:
        settings = msgspec.convert(values, type=Settings, strict=False)
    except msgspec.ValidationError as error:
        field = str(error).rpartition("$.")[2].rstrip("`")
        raise InvalidInput(_explain(field, values[field])) from None
    for field, value in values.items():
        # Msgspec takes the text `null` for None.
        if getattr(settings, field) is None:
            raise InvalidInput(_explain(field, value))
    if settings.public_url is not None:
        check_address("CATALOG_PUBLIC_URL", settings.public_url)
    return settings


def check_address(name: str, address: str) -> None:
    """Raise InvalidInput unless links to the catalog can begin with an address; `name` gave it."""
    try:
        parts = urlsplit(address)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or re.search(r"[?#\s]", address):
        raise InvalidInput(
            f"{name} must be a URL such as https://catalog.example.org, got {address!r}"
        )


def _explain(field: str, value: Any) -> str:
    """Say what the value of a setting must be."""
    struct: Any = inspect.type_info(Settings)
    declared = next(each.type for each in struct.fields if each.name == field)
    return f"{_PREFIX}{field.upper()} must be {_allowed(declared)}, got {value!r}"


def _allowed(declared: inspect.Type) -> str:
    """Describe the values of a type of `Settings`."""
    match declared:
        case inspect.UnionType(types=types):
            return _allowed(types[0])
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=lowest, le=most):
            return f"a whole number from {lowest} to {most}"
        case inspect.FloatType(gt=above, ge=lowest, le=most):
            lower = f"of at least {lowest:.0f}" if above is None else f"above {above:.0f}"
            return f"a number {lower}" + ("" if most is None else f" and at most {most:.0f}")
        case inspect.StrType(pattern=str()):
            return f"a version such as {Settings().version}"
    return "a text that is not empty"
