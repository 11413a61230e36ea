"""The commands: exit codes, what they say, and what they leave behind."""

import gzip
import json
import os
import re
import socket
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import catalog, replay, serving
from tests.e2e.forked import Forked

SERVICE = '{"entityType":"databaseService","name":"s","serviceType":"Mysql"}'


def test_token_is_signed_with_a_secret_that_only_its_owner_reads(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_text(SERVICE)
    catalog("import", str(file), "--data", str(tmp_path / "d"))
    arguments = ("token", "--subject", "ann", "--role", "reader", "--data", str(tmp_path / "d"))
    first, second = catalog(*arguments), catalog(*arguments)

    assert (first.returncode, first.stdout.count(".")) == (0, 2)
    assert second.returncode == 0
    secret = tmp_path / "d" / "secret"
    assert stat.S_IMODE(os.stat(secret).st_mode) == 0o600
    assert len(secret.read_text()) == 64


@pytest.mark.parametrize("subject", ["", "two\nlines", "x" * 257])
def test_token_for_a_name_that_requests_may_not_have_is_refused(
    tmp_path: Path, subject: str
) -> None:
    outcome = catalog("token", "--subject", subject, "--role", "reader", "--data", str(tmp_path))
    assert outcome.returncode == 2
    assert outcome.stderr.startswith(
        "error: --subject must have 1 to 256 printable characters, got "
    )


def test_token_that_nobody_reads_ends_without_a_word(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "api.commands", "token", "--subject=ann", "--role=reader"],
        env={**os.environ, "CATALOG_DATA": str(tmp_path), "CATALOG_JWT_SECRET": "x" * 32},
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("made", [True, False])
def test_token_for_a_directory_without_a_catalog_is_refused(tmp_path: Path, made: bool) -> None:
    directory = tmp_path / "typo"
    if made:
        directory.mkdir()

    done = catalog("token", "--subject", "ann", "--role", "reader", "--data", str(directory))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {directory} holds neither a secret nor a catalog: ")
    assert list(tmp_path.rglob("*")) == [directory] * made


@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("token", "--subject", "a", "--role", "king"), {}, "reader, editor, admin"),
        (("serve",), {"CATALOG_JWT_SECRET": "short"}, "CATALOG_JWT_SECRET must have at least 32"),
        (("serve",), {"CATALOG_PORT": "http"}, "CATALOG_PORT"),
        (("serve",), {"CATALOG_COLOUR": "red"}, "CATALOG_COLOUR is not a setting"),
        (("serve", "--workers", "0"), {}, "CATALOG_WORKERS"),
        (("serve", "--host", "256.0.0.1"), {}, "cannot listen on 256.0.0.1"),
        (("serve",), {"CATALOG_POLICIES": "/nowhere.json"}, "CATALOG_POLICIES"),
        (("serve",), {"CATALOG_OIDC_CLIENT_ID": "x"}, "CATALOG_OIDC_CLIENT_ID need each other"),
        (("sign-in-link", "--address", "foo"), {}, "--address must be a URL such as https://"),
    ],
)
def test_wrong_setting_is_named_and_refused(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    done = catalog(*arguments, "--data", str(tmp_path / "d"), **environment)

    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "d").exists()


def test_revoking_an_id_that_is_not_registered_is_done_and_warned_of(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text(SERVICE)
    here = ("--data", str(tmp_path / "d"))
    catalog("import", str(lines), *here)
    made = catalog("token", "--subject", "bot", "--role", "bot", "--expires", "9d", *here)
    known = re.findall(r"token (\S+),", made.stderr)[0]

    typo = catalog("revoke", "--id", "mistyped", *here)
    strict = catalog("revoke", "--known", "--id", "mistyped", "--id", known, *here)
    good = catalog("revoke", "--known", "--id", known, *here)

    warning = "warning: no long-lived token has the id mistyped\n"
    assert (typo.returncode, typo.stdout, typo.stderr) == (0, "revoked: token mistyped\n", warning)
    assert (strict.returncode, strict.stderr) == (1, warning)
    assert strict.stdout == f"revoked: token mistyped\nrevoked: token {known}\n"
    assert (good.returncode, good.stderr) == (0, "")
    register = json.loads((tmp_path / "d" / "tokens.json").read_text())
    assert set(register["revoked"]) == {"mistyped", known}


def test_make_run_on_a_port_in_use_says_so_first(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        arguments = [f"PORT={port}", f"VENV={sys.prefix}", f"DATA={tmp_path / 'd'}"]
        # As from a shell: `make test` hands its own options on to what it runs.
        inherited = {"MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS"}
        done = subprocess.run(
            ["make", "--old-file=install", "run", *arguments],
            cwd=root,
            env={name: value for name, value in os.environ.items() if name not in inherited},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert done.stderr.startswith(f"error: port {port} is taken by another program: end it, or")
    assert not (tmp_path / "d").exists()


def test_server_on_a_port_in_use_leaves_nothing_behind(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = str(other.getsockname()[1])
        done = catalog("serve", "--port", port, "--data", str(tmp_path / "d"))

    assert done.returncode == 2
    assert done.stderr.startswith(
        f"error: cannot listen on 127.0.0.1:{port}: another program has the port; name a free one"
    )
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("api.commands", "token", "--subject", "ann", "--role", "king"),
        ("replay_tool.commands", "verify"),
    ],
)
def test_error_that_cannot_be_printed_has_its_exit_code(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    module, *arguments = command
    with open("/dev/full", "w") as full:
        arguments += ["--data", str(tmp_path)]
        process = Forked(module, arguments, os.environ, full.fileno(), full.fileno())

        assert process.wait(60) == 2


def test_import_keeps_good_lines_and_names_bad_ones(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl.gz"
    lines = [SERVICE, "{broken", "", '{"entityType":"ghost","name":"x"}', SERVICE[:-1] + ',"x":1}']
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    data = str(tmp_path / "d")

    done = catalog("import", str(file), "--data", data)
    again = catalog("import", str(file), "--data", data)

    assert (done.returncode, again.returncode) == (1, 1)
    assert done.stdout.startswith("4 lines: 1 created, 0 changed, 0 unchanged, 3 bad; 1 events")
    assert again.stdout.startswith("4 lines: 0 created, 0 changed, 1 unchanged, 3 bad; 0 events")
    named = [line.split(": ", 1)[0] for line in done.stderr.splitlines()]
    assert named == ["lines.jsonl.gz:2", "lines.jsonl.gz:4", "lines.jsonl.gz:5"]


def test_import_as_a_bot_keeps_what_is_there(tmp_path: Path) -> None:
    file, data = tmp_path / "lines.jsonl", str(tmp_path / "d")

    def imported(description: str, *options: str) -> str:
        file.write_text(json.dumps(json.loads(SERVICE) | {"description": description}))
        done = catalog("import", str(file), "--data", data, *options)
        return done.stdout.partition(";")[0]

    imported("ours")
    assert imported("theirs", "--as-bot") == "1 lines: 0 created, 0 changed, 1 unchanged, 0 bad"
    assert imported("theirs") == "1 lines: 0 created, 1 changed, 0 unchanged, 0 bad"


def test_classifications_are_made_once_and_keep_what_people_wrote(tmp_path: Path) -> None:
    file, data = tmp_path / "lines.jsonl", str(tmp_path / "d")
    ours = {"entityType": "classification", "name": "PII", "description": "ours"}
    file.write_text(json.dumps(ours | {"mutuallyExclusive": True}))
    catalog("import", str(file), "--data", data)

    made, again = (catalog("classifications", "--data", data) for _ in range(2))
    shown = replay("history", "classification", "PII", "--at", "0.1", "--data", data)
    tag = replay("history", "tag", "PII.Sensitive", "--at", "0.1", "--data", data)

    counts = [done.stdout.partition(";")[0] for done in (made, again)]
    assert counts == [
        "10 lines: 9 created, 1 changed, 0 unchanged, 0 bad",
        "10 lines: 0 created, 0 changed, 10 unchanged, 0 bad",
    ]
    assert json.loads(shown.stdout)["description"] == "ours"
    assert json.loads(tag.stdout)["updatedBy"] == "catalog"


def test_import_names_the_hundredth_line_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "load[red].jsonl"
    file.write_text("\n" * 99 + '{"entityType":":smile:","name":"x"}\n')

    done = catalog("import", str(file), "--data", str(tmp_path / "d"))

    assert done.stderr.startswith("load[red].jsonl:100: entityType must be one of ")
    assert done.stderr.endswith(", got ':smile:'\n")


@pytest.mark.parametrize("packed", [False, True])
def test_import_reads_standard_input(tmp_path: Path, packed: bool) -> None:
    lines = f"{SERVICE}\nno JSON\n".encode()

    given = gzip.compress(lines) if packed else lines
    done = catalog("import", "-", "--data", str(tmp_path / "d"), given=given)

    assert done.stdout.startswith("2 lines: 1 created, 0 changed, 0 unchanged, 1 bad")
    assert (done.returncode, done.stderr[:5]) == (1, "-:2: ")


def test_import_knows_gzip_by_its_first_bytes(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    file.write_bytes(gzip.compress(SERVICE.encode()))

    done = catalog("import", str(file), "--data", str(tmp_path / "d"))

    assert done.stdout.startswith("1 lines: 1 created")


def test_import_without_standard_input_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "api.commands", "import", "-", "--data", str(tmp_path / "d")]

    done = subprocess.run(
        ["bash", "-c", 'exec "$@" <&-', "closed", *command],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert (done.returncode, done.stderr) == (2, "error: standard input is closed\n")


def test_import_stops_when_the_log_cannot_grow_and_goes_on_when_it_can(tmp_path: Path) -> None:
    count, data = 4_000, str(tmp_path / "d")
    file = tmp_path / "lines.jsonl"
    service = json.loads(SERVICE) | {"description": "x" * 500}
    file.write_text("".join(json.dumps(service | {"name": f"s{n}"}) + "\n" for n in range(count)))
    command = [sys.executable, "-m", "api.commands", "import", str(file), "--data", data]

    # No file may have more than 4 MB: the second or third thousand of lines does not fit.
    limited = ["bash", "-c", 'ulimit -f 4000; exec "$@"', "limited", *command]
    stopped = subprocess.run(limited, capture_output=True, text=True, timeout=120, check=False)
    again = catalog("import", str(file), "--data", data)

    assert stopped.returncode == 3
    said = re.search(r"error: the event log cannot be used .* up to line (\d+) are", stopped.stderr)
    assert said is not None, stopped.stderr
    stored = int(said[1])
    assert stopped.stdout.startswith(f"{stored} lines: {stored} created, 0 changed, 0 unchanged, 0")
    # An import that takes longer than five seconds says now and then how far it has come.
    progress = re.compile(r"lines\.jsonl: \d+ lines")
    strange = [line for line in again.stderr.splitlines() if not progress.fullmatch(line)]
    assert (again.returncode, strange) == (0, [])
    left = f"{count} lines: {count - stored} created, 0 changed, {stored} unchanged, 0 bad"
    assert again.stdout.startswith(left)
    assert 0 < stored < count


@pytest.mark.parametrize("cores", [{0}, set(range(os.cpu_count() or 1))])
def test_what_can_be_read_of_a_damaged_file_is_imported(tmp_path: Path, cores: set[int]) -> None:
    file, lines = tmp_path / "lines.jsonl.gz", 3_000
    service = json.loads(SERVICE)
    text = "".join(json.dumps({**service, "name": f"s{n}"}) + "\n" for n in range(lines))
    file.write_bytes(gzip.compress(text.encode())[:-4])
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores & mine)
    try:
        done = catalog("import", str(file), "--data", str(tmp_path / "d"))
    finally:
        os.sched_setaffinity(0, mine)

    assert done.returncode == 2
    assert f"cannot be read beyond line {lines}" in done.stderr
    assert done.stdout.startswith(f"{lines} lines: {lines} created")


def test_line_that_is_too_long_is_refused_by_its_number(tmp_path: Path) -> None:
    file = tmp_path / "lines.jsonl"
    with file.open("w") as lines:
        lines.write(SERVICE.strip() + " " * 30_000_000 + "\n")
        lines.write(SERVICE)
    done = catalog("import", str(file), "--data", str(tmp_path / "d"))

    assert done.returncode == 1
    assert "lines.jsonl:1: a line may have 10000000 bytes" in done.stderr
    assert done.stdout.startswith("2 lines: 1 created")


def test_lines_may_come_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as thread:
        written = thread.submit(pipe.write_text, SERVICE)
        done = catalog("import", str(pipe), "--data", str(tmp_path / "d"))
        written.result(20)

    assert (done.returncode, done.stdout[:18]) == (0, "1 lines: 1 created")


def test_replay_inspects_catches_up_and_rebuilds(tmp_path: Path) -> None:
    file, data = tmp_path / "lines.jsonl", str(tmp_path / "d")
    file.write_text(SERVICE)
    catalog("import", str(file), "--data", data)

    def lags() -> dict[str, int]:
        shown = json.loads(replay("inspect", "--json", "--data", data).stdout)
        return {report["name"]: report["lag"] for report in shown["projections"]}

    before, caught_up, after = lags(), replay("catch-up", "--data", data), lags()
    rebuilt = replay("rebuild", "entities", "--force", "--data", data)
    both = replay("rebuild", "--data", data)

    assert (before, after) == ({"entities": 1, "search": 1}, {"entities": 0, "search": 0})
    assert [line.partition(" in ")[0] for line in caught_up.stdout.splitlines()] == [
        "entities: at position 1",
        "search: at position 1",
    ]
    assert rebuilt.stdout.startswith("entities: rebuilt, generation 2, 1 entities, checkpoint 1")
    assert [line.partition(",")[0] for line in both.stdout.splitlines()] == [
        "entities: unchanged",
        "search: unchanged",
    ]
    assert "head 1" in replay("inspect", "--data", data).stdout


def test_inspect_tells_of_read_models_that_nobody_builds(tmp_path: Path) -> None:
    file, data = tmp_path / "lines.jsonl", str(tmp_path / "d")
    file.write_text(SERVICE)
    catalog("import", str(file), "--data", data)

    shown = json.loads(replay("inspect", "--json", "--data", data).stdout)

    assert shown["projected"] is False
    assert [report["error"] for report in shown["projections"]] == [
        f"the read model {name} is not built yet: a server builds it at its start, and so does"
        " catalog-replay catch-up"
        for name in ("entities", "search")
    ]


def test_catch_up_is_refused_beside_a_server_and_without_a_catalog(tmp_path: Path) -> None:
    nothing = replay("inspect", "--data", str(tmp_path / "nowhere"))
    with serving(tmp_path / "d"):
        beside = replay("catch-up", "--data", str(tmp_path / "d"))
        shown = replay("inspect", "--json", "--data", str(tmp_path / "d"))

    assert (nothing.returncode, "holds no catalog" in nothing.stderr) == (2, True)
    assert (beside.returncode, "stop it first" in beside.stderr) == (2, True)
    assert json.loads(shown.stdout)["projected"] is True


def test_secret_that_is_too_short_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a")

    done = catalog("token", "--subject", "a", "--role", "reader", "--data", str(tmp_path))

    assert (done.returncode, "must have at least 32 bytes" in done.stderr) == (2, True)


def test_what_is_written_is_for_its_owner_only(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    file = tmp_path / "lines.jsonl"
    file.write_text(SERVICE)
    catalog("import", str(file), "--data", str(tmp_path))
    replay("catch-up", "--data", str(tmp_path))

    for name in ("events.db", "entities-1.db", "search-1/manifest.json"):
        assert stat.S_IMODE(os.stat(tmp_path / name).st_mode) == 0o600
