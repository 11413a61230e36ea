"""Texts that may hold a secret beside something else, and addresses whose path is one.

A secret is looked for by its shape, so that an ordinary text is sometimes taken for one: what is
lost then is a text that says where a service is, while a secret in a log can never be taken back.
Every pattern here takes time in proportion to the length of the text: what may repeat is
possessive, and begins where nothing that may repeat has begun.
"""

import re
import unicodedata
from itertools import pairwise
from urllib.parse import unquote, urlsplit

MASK = "*********"
"""Stands for a secret, as in the answers of OpenMetadata's server."""
_NAME = r"(?:pass|pwd|pw|secret|token|key|cred|sig|cookie|authorization|(?<![a-z])auth)"
"""Parts of the name of a secret, in lower case."""
_REST = r"[\w\-\[\]]{0,40}+"
"""The end of the name of a secret, after such a part."""

_SETTINGS = re.compile(
    # `pwd=x`, `password: x`, `"password": "x"`, and the same with the quotes escaped.
    rf"""{_NAME}{_REST}[\s"'\\]*+[=:][\s"'\\]*+[^\s"'\\]"""
    # `["--password","x"]`, `{"name": "PASSWORD", "value": "x"}`
    rf"""|{_NAME}{_REST}["'\\]++\s*+,"""
    # `<password>x</password>`
    rf"|{_NAME}{_REST}\s*+>[^<\s]"
    # An authorization, and statements that give a user a password.
    r"|\b(?:bearer|basic)\s++\S|\bidentified\s++by\s++\S|\blogin\s++\S++\s++password\s"
    # `-p x` and `-px` of command lines, unless it is a port; `-u user:x`
    r"|(?<!\S)-p\s*+(?!\d{1,5}(?!\S))\S|(?<!\S)(?:-u|--user)[\s=]*+[^\s:]++:\S"
    r"|\bredis-cli\s(?:[^\n]{0,200}\s)?-a\s*+\S"
    # `userid=scott/tiger`, `sqlplus scott/tiger`
    r"|(?<![a-z])(?:user(?:id|name)?|uid|login|conn(?:ect)?|sqlplus|impdp|expdp|sqlldr)"
    r"""[\s"'\\=:]++[^\s"'\\/:@=]++/[^\s/]"""
    # What stands where an address has a port, and the path of a bot of Telegram.
    r"|://[^/\s:]++:(?!\d{1,5}(?:\D|$))|/bot\d++:"
)
"""Texts in lower case that hold a secret."""
_FILES = re.compile(
    # A key or certificate, a file of credentials in JSON, a JWT.
    r"-----BEGIN|\A\s*+\{|eyJ[\w-]{10}"
    # Beginnings that issuers of tokens give them, so that they are found.
    r"|(?<!\w)(?:xox[a-z]-|gh[a-z]_|github_pat_|glpat-|AKIA|ASIA|dapi|AIza|ya29\.|hvs\.|SG\.)[\w-]{10}"
    r"|(?<!\w)sk-(?:[a-z]{1,10}-)?[A-Za-z0-9]{20}|(?<!\w)[rs]k_(?:live|test)_[A-Za-z0-9]{10}"
    r"|(?<!\w)(?:npm_|pypi-|hf_|GOCSPX-|shp[a-z]{2}_|dckr_pat_)[\w-]{10}"
    # A key or certificate without its first line.
    r"|(?<![\w+/])MII[A-Za-z0-9+/]{40}"
)
"""Beginnings of what is secret as a whole."""
_SPOKEN = re.compile(r"(?:passwd|password|passphrase|pwd|pw|secret|token|key)\Z")
"""The end of a word after which a secret may follow without a sign between them."""
_SEGMENT = re.compile(r"[\w-]{24,}+")
"""A part of an address that is long enough to be a token."""
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")
_HEX = re.compile("(?=[^a-f]*[a-f])(?=[^0-9]*[0-9])[0-9a-f]{32,}")
_SIGNS = "\"'\\`.,;:!?()[]{}<>"


def holds_secret(text: str) -> bool:
    """Return True if a text may hold a secret: `https://user:secret@host`, `--password secret`."""
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", unquote(unquote(text))))
    lower = plain.lower()
    user, at, _ = lower.rpartition("@")
    return (
        bool(at and (":" in user or "/" in user))
        or _SETTINGS.search(lower) is not None
        or _FILES.search(plain) is not None
        or any(map(_is_secret_address, plain.split()))
        or any(_is_told(name, value) for name, value in pairwise(lower.split()))
    )


def masked_lines(text: str) -> str:
    """A text, such as a stack trace, with each line masked that may hold a secret."""
    return "\n".join(MASK if holds_secret(line) else line for line in text.split("\n"))


def without_path(address: str) -> str:
    """An address for messages as it may be shown: behind the host all may be secret.

    `https://hooks.slack.com/services/T0/B0/secret` becomes `https://hooks.slack.com/*********`. The
    address that comes back is given back unchanged.
    """
    scheme, _, rest = address.partition(":")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or not rest.startswith("//"):
        return f"{scheme}:{MASK}"
    shown = f"{scheme}://{f'[{host}]' if ':' in host else host}" + (f":{port}" if port else "")
    return address if address in (shown, f"{shown}/") else f"{shown}/{MASK}"


def _is_secret_address(word: str) -> bool:
    """Return True if a word is an address whose path is a secret, as those of webhooks are."""
    lower = word.lower()
    hook = lower.find("hook")
    if hook >= 0 and "/" in lower[hook:].rstrip("/"):
        return True
    return "http" in lower and any(map(_is_random, _SEGMENT.findall(word)))


def _is_random(segment: str) -> bool:
    """Return True if a part of a path has all sorts of characters, or is a long hexadecimal one."""
    return _HEX.fullmatch(segment) is not None or all(
        re.search(sort, segment) for sort in ("[a-z]", "[A-Z]", "[0-9]")
    )


def _is_told(name: str, value: str) -> bool:
    """Return True if two words are the name of a secret and the secret.

    So they are after a hyphen (`--password x`), and before a quotation mark or what is no word of
    letters: `the password policy` is none.
    """
    name = name.strip(_SIGNS)
    if name.startswith("-"):
        return re.search(_NAME, name) is not None
    if _SPOKEN.search(name) is None:
        return False
    word = value.strip(_SIGNS)
    return word != "" and (value.startswith(('"', "'")) or not word.isalpha())
