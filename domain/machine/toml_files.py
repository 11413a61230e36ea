"""Files in TOML that people write and processes follow."""

import tomllib
from pathlib import Path
from typing import Any

from domain.errors import InvalidInput

MAX_BYTES = 1_048_576


def read_toml(path: Path, where: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a TOML file of at most MAX_BYTES, and its decoded content.

    Raises InvalidInput, which begins with `where`, for a file that cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise InvalidInput(f"{where}: more than {MAX_BYTES} bytes")
        return content, tomllib.loads(content.decode())
    except OSError as error:
        raise InvalidInput(f"{where}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{where}: {error}") from None
