"""Answers to reads, remembered until the read models that they were made from change."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from api.answers.responses import Finished
from api.paths.base_path import has_prefix
from domain.openmetadata.verdicts import changes_by_itself

MOST_BYTES, LONGEST = 16 * 1024 * 1024, 64 * 1024
"""Bytes of bodies that are remembered together, and of the longest single one."""
LONGEST_ADDRESS = 1_024
"""Characters of an address whose answer is remembered."""
_OVERHEAD = 2 * LONGEST_ADDRESS
"""Bytes that a remembered answer takes beside its body: key, headers and places in tables."""
_MOST_ASKED = 1_024
"""Number of addresses asked for once that are known before all of them are forgotten: about as many
as there is room for their answers, were they pages of a list."""


def key_of(scope: Any) -> Hashable | None:
    """The key of an answer to a GET: everything that it depends on beside the read models.

    None for a long address: keys are kept too.
    """
    path, query_string = scope["path"], scope["query_string"]
    if len(path) + len(query_string) > LONGEST_ADDRESS:
        return None
    return path, query_string, scope["auth"], has_prefix(scope)


class RememberedAnswers:
    """The answers used last, each with the revision of the read models that it was made from.

    An answer of another revision is as good as none. To be used on one thread.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[Hashable, Finished]] = OrderedDict()
        self._bytes = 0
        self._asked = set[int]()
        """Hashes of the keys whose answers are worth keeping when they are made again."""

    def get(self, key: Hashable | None, revision: Hashable) -> Finished | None:
        """The answer kept under a key, if there is one, and it was made from this revision."""
        kept = self._answers.get(key)
        if kept is None:
            return None
        if kept[0] != revision:
            self._forget(key)
            return None
        self._answers.move_to_end(key)
        return kept[1]

    def is_worth_keeping(self, key: Hashable | None) -> bool:
        """True if the answer to a request is kept, or if this was called for its key before.

        Whoever walks through all pages of a list asks for each of them once, and to keep their
        answers takes a part of the time in which they are made.
        """
        if key in self._answers:
            return True
        hashed = hash(key)
        if hashed in self._asked:
            return True
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        self._asked.add(hashed)
        return False

    def keep(self, key: Hashable | None, revision: Hashable, answer: Finished) -> None:
        """Keep an answer, unless it has no key, is too long or shows a verdict that time ends, and
        forget older ones for it.

        Those are forgotten that were used longest ago.

        The revision must have been read before the answer was made: one that is newer than the
        answer would keep it for too long.
        """
        if key is None or len(answer.body) > LONGEST or changes_by_itself(answer.body):
            return
        if key in self._answers:
            self._forget(key)
        self._answers[key] = revision, answer
        self._bytes += len(answer.body) + _OVERHEAD
        while self._bytes > MOST_BYTES:
            self._forget(next(iter(self._answers)))

    def _forget(self, key: Hashable) -> None:
        _, answer = self._answers.pop(key)
        self._bytes -= len(answer.body) + _OVERHEAD
