"""Aggregations over all documents that a search matches, in terms that no engine owns.

An aggregation makes buckets of the matching documents by what they hold in a field, or gives the
best of them; one inside another is about the documents of each bucket by themselves. Counts are
exact: a document counts once in a bucket, however many of its values are in it.
"""

from collections.abc import Iterator
from typing import Literal, Union

import msgspec

from domain.errors import InvalidInput

MAX_BUCKETS = 10_000
"""Buckets in one answer, those inside others included."""
MAX_AGGREGATIONS = 64
"""Aggregations in one request, those inside others included."""
MAX_DEPTH = 4
"""Aggregations inside each other."""
MAX_TOP_HITS = 1_000
"""Documents in all top hits of an answer together."""

Values = Literal["texts", "numbers", "moments", "booleans"]
CALENDAR = ("minute", "hour", "day", "week", "month", "quarter", "year")
"""Intervals that begin where they do in the calendar, in UTC; weeks begin on Mondays."""


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket for each whole value of a field; texts are folded as `analysis.keyword` folds them.

    Only texts that begin with `prefix`, that `pattern` matches as a whole and that contain the text
    `containing` make buckets.
    """

    name: str
    field: str
    """A path of the document, `.keyword` or not."""
    values: Values = "texts"
    """The values that make buckets; a field has others only where nobody has fixed its type."""
    size: int = 10
    """The most buckets given; `Buckets.others` says how much the rest would count."""
    order: Literal["count", "key", "nearest"] = "count"
    """`count` gives the largest buckets first, ties in the order of their keys; `key` goes by the
    keys in code-point order, numbers by size; `nearest` gives the value that is `containing` first,
    then those that begin with it, then the others, each by key."""
    prefix: str = ""
    pattern: str | None = None
    """A regular expression of the dialect of `tree.Regex`."""
    containing: str | None = None
    written: bool = False
    """Texts make a bucket for each way in which documents write them, and that is its key; for the
    paths of `terms.WRITTEN_PATHS` alone, and with neither `pattern` nor `containing`."""
    below: tuple["Aggregation", ...] = ()


class DateHistogram(msgspec.Struct, frozen=True, kw_only=True):
    """A bucket for each interval of time that a moment of the field is in, in order of time.

    Moments outside the years 1 to 9999 are in no bucket.
    """

    name: str
    field: str
    interval: str | int
    """One of CALENDAR, or a number of milliseconds; intervals are counted from 1970."""
    gaps: bool = True
    """True if intervals without a document between two with some have buckets too."""
    below: tuple["Aggregation", ...] = ()


class TopHits(msgspec.Struct, frozen=True, kw_only=True):
    """The first documents in an order, ties by name and id."""

    name: str
    size: int = 3
    sort_field: str | None = None
    """A sortable path; None orders by score."""
    descending: bool = True
    sources: bool = True
    """True if the documents themselves are shown; like the two below for whoever shows the hits, of
    which an engine gives the ids.
    """
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


Aggregation = Union[Terms, DateHistogram, TopHits]  # noqa: UP007 (named above, in quotes)


def below(aggregation: Aggregation) -> tuple[Aggregation, ...]:
    """The aggregations directly inside one."""
    return () if isinstance(aggregation, TopHits) else aggregation.below


def every(aggregation: Aggregation) -> Iterator[Aggregation]:
    """The aggregation and all inside it."""
    yield aggregation
    for inner in below(aggregation):
        yield from every(inner)


class AnswerSize:
    """Counts the buckets of one answer, and the documents of its top hits."""

    def __init__(self) -> None:
        self._buckets = 0
        self._documents = 0

    def add_buckets(self, number: int) -> None:
        """Count some more buckets; raises InvalidInput beyond MAX_BUCKETS."""
        self._buckets += number
        if self._buckets > MAX_BUCKETS:
            raise too_many_buckets()

    def add_documents(self, number: int) -> None:
        """Count the documents of some more top hits; raises InvalidInput beyond MAX_TOP_HITS."""
        self._documents += number
        if self._documents > MAX_TOP_HITS:
            raise InvalidInput(
                f"all top hits may have {MAX_TOP_HITS:,} documents together: ask for fewer hits, or"
                " for fewer buckets, with size"
            )


def too_many_buckets() -> InvalidInput:
    """The answer would have more buckets than one may have."""
    return InvalidInput(
        f"an answer may have {MAX_BUCKETS:,} buckets: ask for fewer with size, or for a"
        " longer interval"
    )
