"""Key sets over HTTP: providers that are slow, huge, elsewhere or broken."""

import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from api.callers.tokens.fetching import Unreachable, check_url, fetch
from domain.errors import InvalidInput
from tests.api.callers.tokens.jwks_server import providing
from tests.api.callers.tokens.made import private_key
from tests.waiting import until


def test_document_is_fetched() -> None:
    with providing(b"the document") as provider:
        assert fetch(provider.url) == b"the document"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"status": 503}, "answered 503"),
        ({"status": 204}, "answered 204"),
        (
            {"status": 302, "headers": {"Location": "file:///etc/passwd"}},
            "redirects to 'file:///etc/passwd'; redirects are not followed",
        ),
        ({"body": b"x" * 262_145}, "answered with more than 262144 bytes"),
    ],
)
def test_provider_that_misbehaves_is_given_up(behaviour: dict[str, Any], reason: str) -> None:
    with providing(b"{}") as provider:
        for name, value in behaviour.items():
            setattr(provider, name, value)

        with pytest.raises(Unreachable) as raised:
            fetch(provider.url)

        assert raised.value.message == reason
        assert provider.asked == 1


def test_provider_that_does_not_answer_is_given_up() -> None:
    with providing(b"{}") as provider:
        provider.may_answer.clear()

        with pytest.raises(Unreachable) as raised:
            fetch(provider.url, step_seconds=0.5, total_seconds=120.0)

        assert raised.value.message == "no answer: timed out"
        until(lambda: provider.asked == 1)


@pytest.mark.parametrize("says_length", [True, False])
def test_provider_that_drips_its_answer_is_given_up(says_length: bool) -> None:
    """The rest comes while the answer is cut off, which may then look like a broken connection."""
    with providing(b"x" * 60_000) as provider:
        provider.drip, provider.says_length = 0.002, says_length

        with pytest.raises(Unreachable) as raised:
            fetch(provider.url, step_seconds=60.0, total_seconds=0.5)

        assert raised.value.message == "no whole answer within 0.5 seconds"
        until(lambda: provider.asked == 1)


def test_redirect_to_another_provider_is_not_followed() -> None:
    with providing(b"other keys") as other, providing() as provider:
        provider.status, provider.headers = 307, {"Location": other.url}

        with pytest.raises(Unreachable, match="redirects are not followed"):
            fetch(provider.url)

        assert other.asked == 0


def test_nobody_listening_is_unreachable() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/jwks"

        with pytest.raises(Unreachable, match="Connection refused"):
            fetch(url)


def test_certificate_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(make_certificate(tmp_path))
    with providing(b"the document", context) as provider:
        with pytest.raises(Unreachable, match="certificate verify failed"):
            fetch(provider.url)

        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert fetch(provider.url) == b"the document"
        with pytest.raises(Unreachable, match="certificate verify failed"):
            fetch(provider.url.replace("localhost", "127.0.0.1"))


def make_certificate(directory: Path) -> Path:
    """A certificate of `localhost`, signed by itself, with its key."""
    key = private_key("ES256")
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = directory / "certificate.pem"
    path.write_bytes(made.public_bytes(Encoding.PEM) + secret)
    return path


def test_plain_http_is_no_tls() -> None:
    with providing() as provider, pytest.raises(Unreachable):
        fetch(provider.url.replace("http://", "https://"))


@pytest.mark.parametrize(
    "url",
    [
        "https://idp.example/jwks",
        "https://idp.example:8443/a?b=c",
        "http://127.0.0.1:1/jwks",
        "http://127.9.9.9/",
        "http://localhost:8080/jwks",
        "http://[::1]:80/jwks",
    ],
)
def test_https_or_loopback_is_allowed(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://idp.example/jwks",
        "http://127.0.0.1.evil.example/jwks",
        "http://localhost.evil.example/jwks",
        "http://10.0.0.1/jwks",
        "file:///etc/passwd",
        "ftp://idp.example/jwks",
        "https:///jwks",
        "https://ann:secret@idp.example/jwks",
        "https://idp.example:99999/jwks",
        "https://idp.example/jwks\r\nX: y",
        "https://[::1/jwks",
    ],
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        check_url(url)

    assert "secret" not in raised.value.message
