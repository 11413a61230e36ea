"""Texts of connections that may hold a secret: each shape is known, and ordinary texts stay."""

import pytest

from domain.kinds.bodies.secret_texts import holds_secret, without_path
from tests.depth import first_alone

HELD = {
    "json": [
        'jdbc {"password": "hunter2"}',
        'x {"user": "a", "accessToken" : "hunter2"}',
        r'"{\"password\": \"hunter2\"}"',
        r"a \\\"api_key\\\":\\\"hunter2\\\"",
        '[{"name": "DB_PASSWORD", "value": "hunter2"}]',
        "x {'secret': 'hunter two'}",
        "{hunter2}",
    ],
    "settings": [
        "pw=hunter2",
        "p\u200bassword=hunter2",
        "password%253Dhunter2",
        "<password>hunter2</password>",
        "db;PW = hunter2",
        "password: hunter2",
        "a: b\npassword:\n        hunter2",
        'password="two words"',
        "password               = hunter2",
        "x-api-key: hunter2",
        "secret-value=hunter2",
        "spring.datasource.password[0]=hunter2",
        "password\uff1ahunter2",
        "\uff30\uff37=hunter2",
        "Cookie: hunter2",
        "Authorization: hunter2",
        "auth=hunter2",
        "PGPASSWORD=hunter2 psql",
        "machine db login a password hunter2",
        "create user a identified by hunter",
        "alter role a password 'hunter'",
        "account_key hunter2",
    ],
    "command lines": [
        "psql --password hunter",
        "redis-cli -h cache -a hunter2",
        "psql --password=hunter",
        "tool -password hunter",
        "tool --db-pass hunter",
        '["tool", "--password", "hunter"]',
        "tool --api-token\nhunter",
        "mysql -u a -phunter",
        "mysql -p hunter",
        "-p hunter",
        "sqlcmd -P hunter2",
        "curl -u a:hunter2 x",
        "curl --user a:hunter2 x",
        "sqlplus scott/tiger",
        "exp userid=scott/tiger",
        "connect scott/tiger",
        "user scott/tiger",
    ],
    "addresses": [
        "scott/tiger@host",
        "scott/tiger@//host:1521/x",
        "https://user:hunter2@host/",
        "https://hunter2@host/",
        "https%3A%2F%2Fuser%3Ahunter2%40host",
        "https://host/x?access_token=hunter2",
        "https://host/x?a=b&pw=hunter2",
        "https://host/x#key=hunter2",
        "https://host/x?access%5Ftoken=hunter2",
        "https://hooks.slack.com/services/T0/B0/hunter",
        "hooks.slack.com/services/T0/B0/hunter",
        "https://acme.webhook.office.com/webhookb2/hunter",
        "https://outlook.office.com/webhook/hunter",
        "https://discord.com/api/webhooks/1/hunter",
        "https://host/v1/aB3dE5fG7hI9jK1lM3nO5pQ7/x",
        "see https://api.telegram.org/bot123456:hunter/x",
    ],
    "tokens": [
        "xoxb-1234567890-hunter",
        "ghp_0123456789abcdef",
        "glpat-0123456789abcdef",
        "npm_0123456789abcdefghij",
        "GOCSPX-0123456789abcdefghij",
        "sk_live_0123456789abcdefghij",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ",
        "https://events.pagerduty.com/integration/0123456789abcdef0123456789abcdef/enqueue",
        "AKIA0123456789ABCDEF",
        "dapi0123456789abcdef0123456789abcdef",
        "eyJhbGciOiJIUzI1NiJ9.x",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer  hunter2",
    ],
}

PLAIN = [
    "db.example:5432",
    "http://db:8080",
    "https://host/path?a=b",
    "me@company.example",
    "C:\\data",
    "a/b",
    "/sql/1.0/warehouses/0123456789abcdef",
    "https://login.example/8d7f6a5b-1234-4cde-9f00-0123456789ab/oauth2",
    "https://idp.example/oauth2/token",
    "arn:aws:iam::123456789012:role/reader",
    "/opt/oracle/instantclient_21_12",
    "/etc/ssl/MyCompanyRootAuthority2024.pem",
    "s3://bucket/a/b",
    "psql -p 5432 -d shop",
    "the password policy is strict, and a token, which lasts, is short",
    "the secret is kept elsewhere.",
    "primary key, or none",
    "password=",
    'password: ""',
    "tokens (of words)",
    "(?i)^tmp_.*",
    "select * from t where a = 'b'",
    "postgresql+psycopg2",
    "*********",
]


@pytest.mark.parametrize("text", [text for texts in HELD.values() for text in texts])
def test_a_text_with_a_secret_is_known(text: str) -> None:
    assert holds_secret(text)


@pytest.mark.parametrize("text", PLAIN)
def test_an_ordinary_text_stays(text: str) -> None:
    assert not holds_secret(text)


PARTS = [
    *("pw", "password", "key ", '"', "\\", "hook", "hook/", "-p", " -p", "--", "--pass", "@", "a@"),
    *(
        "://",
        "https://aB3",
        "user ",
        "user a",
        "a/",
        "user:",
        "token\t",
        "eyJ",
        "%",
        "%25",
        "\uff1d",
    ),
    *(
        "aB3",
        "identified by",
        "basic ",
        "-u ",
        "a:b ",
        "\uff50\uff57",
        " ",
        "\n",
        "password'",
        "pass,",
    ),
]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("length", first_alone(100_000, 1_000_000))
def test_a_long_text_is_looked_through_in_proportion_to_its_length(part: str, length: int) -> None:
    """A pattern that goes over a text once for each of its characters would never end."""
    assert holds_secret(part * (length // len(part))) in (True, False)


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        ("https://hooks.slack.com/services/T0/B0/x", "https://hooks.slack.com/*********"),
        ("https://user:x@host:8443/a?b=c#d", "https://host:8443/*********"),
        ("https://host?token=x", "https://host/*********"),
        ("https://host/*********", "https://host/*********"),
        ("https://host/", "https://host/"),
        ("https://host", "https://host"),
        ("https://[::1]:8/x", "https://[::1]:8/*********"),
        ("https://[::1/x", "https:*********"),
        ("https://host:x/x", "https:*********"),
        ("mailto:a@host", "mailto:*********"),
    ],
)
def test_an_address_for_messages_is_kept_without_what_is_behind_the_host(
    address: str, kept: str
) -> None:
    assert without_path(address) == kept
    assert without_path(kept) == kept
