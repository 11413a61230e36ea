"""Suggestions of an input box while a person types."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from api.pages.frame.rendering import AnyRequest
from api.use_cases.searcher import Searcher
from domain.errors import InvalidInput
from projections.generations.current_generation import NotBuilt
from projections.search.answers.suggestions import SuggestRequest, suggestions
from projections.search.language.patterns import MAX_PATTERN

_MOST = 8


async def suggested(
    searcher: Searcher,
    request: AnyRequest,
    typed: str,
    index: str,
    fields: Iterable[str],
    at: int | None = None,
) -> list[dict[str, Any]]:
    """The suggestions for a text: `text` of each, and `fields` of its entity as `_source`.

    With `at` they are those of that position of the log. A text longer than any that suggestions
    are made for has none: no box refuses what is typed. Nor has any while search is not there yet,
    or where the documents of then take too much to be made.
    """
    if len(typed) > MAX_PATTERN:
        return []
    asked = SuggestRequest(q=typed, index=index, size=_MOST, shown_fields=tuple(fields))
    try:
        ask = partial(suggestions, asked)
        options, _ = await searcher.in_thread(request, asked.index, ask, at)
    except NotBuilt:
        return []
    except InvalidInput:
        if at is None:
            raise
        return []
    return options
