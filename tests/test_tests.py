"""Tests speak to what is public, wait for what they mean, and hold work, not moments of a clock."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SLEEPS = {
    "waiting.py": "the one place where a condition is asked for again and again",
    "api/callers/test_work_queue.py": "work that takes longer than a turn that is shared",
    "api/callers/tokens/jwks_server.py": "an identity provider that is slow",
    "e2e/crash.py": "a server is killed at a random moment",
    "e2e/test_judge_crash.py": "a server is killed at a random moment",
    "e2e/test_hostile_connections.py": "clients that send a request, or read an answer, in drops",
    "e2e/test_stopping.py": "a signal that comes so long after the start",
    "e2e/test_supervision.py": "processes that are suspended for so long",
    "projections/read_models.py": "a search looks for a newer commit after so long",
    "projections/search/index/test_index_crash.py": "a writer is killed at a random moment",
}
"""The files that may let time pass, and what the passing of time means there."""
RELEASES = "another release, of which there is one constant alone"
PAGES = "what a page shows or reads at most, which nothing between it and the application hands on"
SUPERVISED = "how often a host looks, which nothing between it and a process's stores hands on"
LARGE = "sizes that no test fills"
PATCHED = {
    "postgres_logs.py": RELEASES,
    "projections/read_models.py": RELEASES,
    "api/pages/entities/test_quality.py": PAGES,
    "api/pages/entities/test_tree_page.py": PAGES,
    "api/pages/operation/test_operation_page.py": PAGES,
    "api/pages/test_every_page.py": PAGES,
    "api/routes/search/test_search.py": PAGES,
    "api/routes/system/test_audit.py": PAGES,
    "api/routes/search/test_search_with_users.py": SUPERVISED,
    "projections/wiring/test_search_in_cluster.py": SUPERVISED,
    "projections/wiring/test_search_takeover.py": SUPERVISED,
    "api/routes/measurements/test_usage_workflow.py": LARGE,
    "projections/generations/test_damaged_generations.py": LARGE,
}
"""The files that patch constants of the product, and why these are no parameters."""
CLOCKS = ("time", "monotonic", "perf_counter")
SHORTEST = 5.0
"""Seconds of wall-clock time of which a busy machine takes more, whatever a test does."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name.strip("_") != ""


def called(node: ast.AST) -> str:
    """The last part of the name of what is called; empty when it is no call of a name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
        return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    return ""


def nodes_of(source: str) -> list[ast.AST]:
    """All that rules of this module look at."""
    read = ast.Attribute | ast.Call | ast.Compare | ast.ImportFrom
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, read)]


def private_names(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """Private names of others that are asked for, patched or imported: line and name."""
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(value=ast.Name(id="os"), attr="_exit"):
                pass  # public, whatever its name says
            case ast.Attribute(attr=name) if is_private(name):
                yield node.lineno, name
            case ast.Call(args=arguments) if called(node) in ("setattr", "getattr", "delattr"):
                for each in arguments[:2]:
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        parts = each.value.split(".")
                        yield from ((node.lineno, part) for part in parts if is_private(part))
            case ast.ImportFrom(names=names):
                yield from ((node.lineno, each.name) for each in names if is_private(each.name))


def patched_constants(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Names in capitals that are set from outside."""
    for node in nodes:
        if isinstance(node, ast.Call) and called(node) == "setattr":
            texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
            names = [str(text).rpartition(".")[2] for text in texts]
            yield from (name for name in names if name.isupper())


def sleeps(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Lines in which time passes; `sleep(0)` only lets others have their turn."""
    for node in nodes:
        if isinstance(node, ast.Call) and called(node) == "sleep":
            given = node.args[0] if node.args else None
            if not (isinstance(given, ast.Constant) and given.value == 0):
                yield node.lineno


def short_times(nodes: Sequence[ast.AST]) -> Iterator[int]:
    """Lines that compare a wall clock's time with less than can be held to."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            short = [
                part
                for part in parts
                if isinstance(part, ast.Constant)
                and isinstance(part.value, int | float)
                and 0 < part.value <= SHORTEST
            ]
            if short and any(called(inner) in CLOCKS for inner in ast.walk(node)):
                yield node.lineno


FILES = {path.relative_to(TESTS).as_posix(): path for path in sorted(TESTS.rglob("*.py"))}


@pytest.fixture(scope="module")
def files() -> dict[str, list[ast.AST]]:
    return {name: nodes_of(path.read_text()) for name, path in FILES.items()}


def test_names_of_tests_are_short(request: pytest.FixtureRequest) -> None:
    names = [item.nodeid for item in request.session.items]
    assert [name[:200] for name in names if len(name) > 1_000] == []


@pytest.mark.parametrize(
    "long", ["a" * 1_000_000, "a" * 999_999 + "b", b"a" * 1_000_000, "\ud800" * 99]
)
def test_long_parameters_have_short_names_of_their_own(
    request: pytest.FixtureRequest, long: str | bytes
) -> None:
    assert len(request.node.name) < 600
    assert ascii(long[:40]) in request.node.name


def test_tests_use_no_private_names(files: dict[str, list[ast.AST]]) -> None:
    assert [(name, *use) for name, nodes in files.items() for use in private_names(nodes)] == []


def test_tests_patch_constants_only_where_no_parameter_is_in_reach(
    files: dict[str, list[ast.AST]],
) -> None:
    assert {name for name, nodes in files.items() if any(patched_constants(nodes))} == set(PATCHED)


def test_tests_sleep_only_where_the_passing_of_time_is_meant(
    files: dict[str, list[ast.AST]],
) -> None:
    assert {name for name, nodes in files.items() if any(sleeps(nodes))} == set(SLEEPS)


def test_tests_hold_no_short_wall_clock_times(files: dict[str, list[ast.AST]]) -> None:
    assert [(name, line) for name, nodes in files.items() for line in short_times(nodes)] == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("engine._merger.wait()", ["_merger"]),
        ("monkeypatch.setattr(phrases, '_STEP', 1)", ["_STEP"]),
        ("monkeypatch.setattr('domain.reading.history._kept', 1)", ["_kept"]),
        ("getattr(engine, '_current')", ["_current"]),
        ("from domain.reading.history import _kept", ["_kept"]),
        ("self._left = cls._made = engine.__doc__, hit['_id']", []),
        ("os._exit(0)", []),
        ("os._get_exports_list(os)", ["_get_exports_list"]),
    ],
)
def test_private_name_is_noticed(source: str, names: list[str]) -> None:
    assert [name for _, name in private_names(nodes_of(source))] == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("monkeypatch.setattr(phrases, 'STEP', 1)", ["STEP"]),
        ("monkeypatch.setattr('domain.reading.history.HELD_BYTES', 1)", ["HELD_BYTES"]),
        ("monkeypatch.setattr('domain.reading.history.versions', 1)", []),
    ],
)
def test_patched_constant_is_noticed(source: str, names: list[str]) -> None:
    assert list(patched_constants(nodes_of(source))) == names


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("time.sleep(0.1)", [1]),
        ("async def f():\n    await asyncio.sleep(delay)", [2]),
        ("from time import sleep\nsleep(1)", [2]),
        ("async def f():\n    await asyncio.sleep(0)", []),
    ],
)
def test_sleep_is_noticed(source: str, lines: list[int]) -> None:
    assert list(sleeps(nodes_of(source))) == lines


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("assert time.perf_counter() - started < 0.05", [1]),
        ("assert time.monotonic() - started < 2", [1]),
        ("assert time.monotonic() - started < 10", []),
        ("assert time.thread_time() - started < 0.05", []),
    ],
)
def test_short_wall_clock_time_is_noticed(source: str, lines: list[int]) -> None:
    assert list(short_times(nodes_of(source))) == lines
