"""Exports of searches: every entity once, safe for spreadsheets, in bounded parts."""

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.errors import InvalidInput, StoreUnavailable
from domain.kinds.registry import KINDS
from projections.search.answers.csv_export import (
    BOUNDS,
    HEADER,
    Bounds,
    export,
    guarded,
    row_pieces,
)
from projections.search.answers.queries import SearchRequest
from projections.search.documents.sources import ReadSources
from projections.search.engine import SearchEngine
from projections.search.restriction import EVERYTHING, Visibility
from projections.visibility.withholding import FieldWithheld, Withheld
from tests.brief_engines import brief_engine
from tests.projections.search.conftest import Catalog, make_entity


@pytest.fixture
def catalog() -> Any:
    made = Catalog(brief_engine())
    yield made
    made.engine.close()


def opener(
    catalog: Catalog,
) -> Callable[[], Any]:
    @contextmanager
    def opened() -> Iterator[tuple[SearchEngine, ReadSources]]:
        yield catalog.engine, catalog.read_sources

    return opened


def parts(
    catalog: Catalog,
    visibility: Visibility = EVERYTHING,
    bounds: Bounds = BOUNDS,
    **request: Any,
) -> list[bytes]:
    return list(export(SearchRequest(q="", **request), visibility, opener(catalog), bounds))


def rows(catalog: Catalog, **request: Any) -> list[dict[str, str]]:
    text = b"".join(parts(catalog, **request)).decode()
    return list(csv.DictReader(StringIO(text, newline="")))


def tag(fqn: str, source: str = "Classification") -> dict[str, str]:
    return {"tagFQN": fqn, "source": source}


def test_row_has_what_openmetadata_exports(catalog: Catalog) -> None:
    catalog.add(
        make_entity(
            "orders",
            displayName="The orders",
            description='All, "every"\none',
            service={"type": "databaseService", "name": "prod", "id": "1"},
            serviceType="Mysql",
            owners=[{"type": "user", "name": "ann"}, {"type": "team", "name": "sales"}],
            tags=[tag("PII.None"), tag("Tier.Tier1"), tag("g.term", "Glossary"), tag("PII.Some")],
            domains=[{"type": "domain", "name": "shop"}],
        )
    )
    assert rows(catalog) == [
        {
            "Entity Type": "table",
            "Service Name": "prod",
            "Service Type": "Mysql",
            "FQN": "shop.db.public.orders",
            "Name": "orders",
            "Display Name": "The orders",
            "Description": 'All, "every"\none',
            "Owners": "ann|sales",
            "Tags": "PII.None|PII.Some",
            "Glossary Terms": "g.term",
            "Domains": "shop",
            "Tier": "Tier.Tier1",
        }
    ]


CELLS = st.text(st.sampled_from("a,\"\r\n\té;' "), max_size=9)


@given(st.lists(CELLS, min_size=2, max_size=4))
def test_cells_are_written_as_the_standard_library_writes_them(row: list[str]) -> None:
    expected = StringIO(newline="")
    csv.writer(expected).writerow("".join(guarded(cell)) for cell in row)
    assert "".join(row_pieces(row, 2)) == expected.getvalue()


def test_export_of_nothing_is_the_header(catalog: Catalog) -> None:
    assert b"".join(parts(catalog)).decode() == ",".join(HEADER) + "\r\n"


@pytest.mark.parametrize("page", [1, 2, 3, 7])
def test_pages_have_every_entity_once(catalog: Catalog, page: int) -> None:
    bounds = Bounds(page=page)
    for number in range(7):
        # In commits of their own, and under three names.
        name = f"t{number % 3}"
        catalog.add(make_entity(name, fqn=f"s.d.{number}.{name}", version=number % 2))
    names = [row["FQN"].rpartition(".")[2] for row in rows(catalog, bounds=bounds)]
    assert names == ["t0"] * 3 + ["t1"] * 2 + ["t2"] * 2
    by_version = [
        row["FQN"] for row in rows(catalog, bounds=bounds, sort_field="version", sort_order="desc")
    ]
    assert (len(set(by_version)), {int(fqn.split(".")[2]) % 2 for fqn in by_version[:3]}) == (
        7,
        {1},
    )
    assert len(rows(catalog, bounds=bounds, sort_field="_score")) == 7


def test_parts_are_bounded_and_let_others_have_their_turn(catalog: Catalog) -> None:
    for number in range(20):
        catalog.add(make_entity(f"t{number}", description="x" * 400))
    made = parts(catalog, bounds=Bounds(part=1_000))
    assert len(made) > 5
    assert max(map(len, made)) < 1_000 + 600
    catalog.add(make_entity("large", description='"' * 50_000))
    made = parts(catalog, bounds=Bounds(part=1_000, piece=300))
    assert max(map(len, made)) < 1_000 + 2 * 300 + 1
    assert b"".join(made).count(b'"') == 2 * 50_000 + 2
    # Much was read, though little is written.
    assert parts(catalog, bounds=Bounds(part=10**9, read_bytes=1_000)).count(b"") > 5


def test_too_many_rows_are_refused_before_the_first_part(catalog: Catalog) -> None:
    few = Bounds(rows=2)
    catalog.add(*(make_entity(f"t{number}") for number in range(3)))
    made = export(SearchRequest(q=""), EVERYTHING, opener(catalog), few)
    with pytest.raises(InvalidInput, match="may have 2 rows, and 3 entities match: narrow it"):
        next(made)
    assert len(rows(catalog, bounds=few, query_filter=b'{"prefix": {"name": "t1"}}')) == 1


def test_cut_search_makes_no_file(catalog: Catalog) -> None:
    catalog.add(make_entity("a"))
    times = iter([0.0, 9.0, 9.0, 9.0, 9.0])
    catalog.engine = brief_engine(deadline=1.0, clock=lambda: next(times))
    catalog.add(make_entity("b"))
    with pytest.raises(StoreUnavailable, match="takes too long to be exported"):
        parts(catalog)


def test_withheld_fields_are_cut_or_refused(catalog: Catalog) -> None:
    catalog.add(make_entity("orders", description="secret", tags=[tag("Tier.Tier1")]))
    catalog.add(make_entity("clicks", "topic", description="open"))
    visibility = Visibility(
        frozenset(KINDS), {"table": Withheld("table", frozenset({"description"}))}
    )
    text = b"".join(parts(catalog, visibility)).decode()
    assert ("secret" in text, "open" in text, "Tier.Tier1" in text) == (False, True, True)
    with pytest.raises(FieldWithheld):
        parts(catalog, visibility, query_filter=b'{"match": {"description": "secret"}}')
    topics = b"".join(parts(catalog, Visibility(frozenset({"topic"}), {}))).decode()
    assert ("orders" in topics, "clicks" in topics) == (False, True)


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(1)", "  =1", "\uff1d1", "\u00a0-1", "\t"]
)
def test_formulas_are_made_texts(cell: str) -> None:
    assert "".join(guarded(cell)) == f"'{cell}"


@pytest.mark.parametrize("piece", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("cell", "made"),
    [
        ("a;=1;b", "a;'=1;b"),
        ("a\t=1", "a\t'=1"),
        ("a\n=1\r\n@x", "a\n'=1\r\n'@x"),
        ("\t=1", "'\t'=1"),
        ("a;;+1", "a;;'+1"),
        ("a; \u3000 =1", "a;' \u3000 =1"),
        ('a;"=1"', 'a;\'"=1"'),
        ('a;" "=1', 'a;\'" "=1'),
        ("a;\uff0d1", "a;'\uff0d1"),
        ("a; b=1; c-1", "a; b=1; c-1"),
        ("a=1", "a=1"),
        ("a;'=1", "a;'=1"),
    ],
)
def test_formulas_behind_what_splits_a_cell_are_made_texts(
    piece: int, cell: str, made: str
) -> None:
    guarded_cell = "".join(guarded(cell, piece))
    # In small pieces the apostrophe may stand behind the blanks and quotes: it guards there too.
    assert guarded_cell == made if piece == 100 else no_part_is_a_formula(guarded_cell)
    assert guarded_cell.count("'") == made.count("'")


def no_part_is_a_formula(made: str) -> bool:
    """True if no cell is one, however a spreadsheet splits the text."""
    return not any(
        part.lstrip(BLANK).startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
        for part in re.split("[;\t\r\n]", made)
    )


BLANK = ' "\u00a0\u3000'
SPLIT = st.text(st.sampled_from(";\t\n\r =+-@\"'a\u3000\uff1d"), max_size=12)


@example(' "@', 1)
@given(st.text() | SPLIT, st.integers(1, 5))
def test_no_cell_begins_a_formula(cell: str, piece: int) -> None:
    made = "".join(guarded(cell, piece))
    assert made.replace("'", "") == cell.replace("'", "")
    assert not made.strip().startswith(("=", "+", "-", "@"))
    assert not made.startswith(("\t", "\r", "\n"))
    # A cell that begins with a quote, after blanks or not, is a text already.
    assert cell.lstrip().startswith('"') or no_part_is_a_formula(made)


def test_formulas_are_guarded_in_every_column(catalog: Catalog) -> None:
    bad = '=HYPERLINK("x")'
    reference = {"type": "user", "name": bad}
    catalog.add(
        make_entity(
            bad,
            fqn=bad,
            displayName=bad,
            description=bad,
            serviceType=bad,
            service=reference,
            owners=[reference],
            domains=[reference],
            tags=[tag(bad), tag(bad, "Glossary")],
        )
    )
    (row,) = rows(catalog)
    assert {row[name] for name in HEADER[1:-1]} == {f"'{bad}"}
