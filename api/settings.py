"""What an operator can set: environment variables `CATALOG_*`, read once at start."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from domain.errors import InvalidInput

_PREFIX = "CATALOG_"
MIN_SECRET_BYTES = 32


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is the variable `CATALOG_<FIELD>`; its docstring is its documentation."""

    data: str = "./catalog-data"
    """The data directory: the log, the read models, the secret."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8585
    """Port to listen on; 0 takes a free one."""
    workers: Annotated[int, Meta(ge=1, le=64)] = 1
    """HTTP processes; from 2 on, the projectors run in a process of their own."""
    jwt_secret: str | None = None
    """Shared secret of the tokens (HS256), at least 32 bytes; made in `data` if unset."""
    search_refresh: Annotated[float, Meta(ge=0.0, le=60.0)] = 0.2
    """Seconds during which writes are gathered before they become searchable."""
    ready_lag: Annotated[float, Meta(gt=0.0)] = 30.0
    """Seconds a projection may lie behind before `/readyz` says so."""
    version: Annotated[str, Meta(pattern=r"^\d+\.\d+\.\d+$")] = "2.0.7"
    """OpenMetadata version told to clients, whose major and minor must equal their own."""
    log_level: str = "INFO"
    """Least severe level of the log lines written to standard error."""

    @property
    def directory(self) -> Path:
        """The data directory."""
        return Path(self.data)


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
        settings = msgspec.convert(values, type=Settings, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
        for field in known:
            message = message.replace(f"$.{field}", _PREFIX + field.upper())
        raise InvalidInput(f"setting: {message}") from None
    secret = settings.jwt_secret
    if secret is not None and len(secret.encode()) < MIN_SECRET_BYTES:
        raise InvalidInput(
            f"CATALOG_JWT_SECRET must have at least {MIN_SECRET_BYTES} bytes (256 bits),"
            f" got {len(secret.encode())}"
        )
    return settings
