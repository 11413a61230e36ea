"""Texts to tokens: names split into their parts with the whole kept, sentences lightly stemmed.

A name is split at everything that is no letter or digit, at case changes and between letters and
digits; its parts take successive positions. The whole name, and each of its dotted or slashed
segments, is a further token at the position of its first part. All tokens are lower-cased. A
combining mark, such as a vowel sign, belongs to the letter before it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import msgspec

_SEGMENT = re.compile(r"[\w-]+")
_WORD = re.compile(r"[^\W_]+")
_ASCII_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OUTER = ".,;:!?\"'()[]{}<>`*"
_CONTROL = {code: " " for code in (*range(32), 127)}
_MAX_TOKEN = 256
"""Characters of a token; what is longer is cut."""
_SHORT = 40
"""Characters up to which what stands between spaces is remembered with its tokens."""
_LONG = 500
"""Characters above which few texts are remembered with their tokens."""


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of one text."""

    parts: tuple[str, ...]
    """The part at each position."""
    wholes: tuple[tuple[str, int], ...]
    """Longer tokens, with the position of their first part."""


def fold(text: str) -> str:
    """Lower case in composed Unicode, control characters as spaces."""
    lower = lowered(text)
    return lower if text.isascii() and text.isprintable() else lower.translate(_CONTROL)


def lowered(text: str) -> str:
    """Lower case in composed Unicode."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def keyword(text: str) -> str:
    """The whole text as it is compared: folded, runs of spaces as one."""
    folded = fold(text)
    return folded if folded.isalnum() else " ".join(folded.split())


def tokens(text: str, prose: bool = False) -> Tokens:
    """The tokens of a text; in prose only segments, not everything between spaces, stay whole."""
    return (_of_usual if len(text) <= _LONG else _of_long)(text, prose)


def single_token(text: str, analysed: Tokens) -> str:
    """The token of all of a text that is one word, or one name; empty for a text of several."""
    if len(analysed.parts) == 1 or (analysed.wholes and len(text.split()) == 1):
        return analysed.wholes[0][0] if analysed.wholes else analysed.parts[0]
    return ""


def _of_text(text: str, prose: bool) -> Tokens:
    text = compose(text)
    parts: list[str] = []
    wholes: list[tuple[str, int]] = []
    for chunk in text.split():
        own = _of_short(chunk, prose) if len(chunk) <= _SHORT else _of_chunk(chunk, prose)
        if own.wholes:
            first = len(parts)
            wholes += [(whole, first + place) for whole, place in own.wholes]
        parts += own.parts
    if not parts:
        parts = [fold(chunk)[:_MAX_TOKEN] for chunk in text.split()]
    return Tokens(tuple(parts), tuple(dict.fromkeys(wholes)))


_of_usual = lru_cache(512)(_of_text)
_of_long = lru_cache(16)(_of_text)
"""Tokens take many times the memory of their text."""


def _of_chunk(chunk: str, prose: bool) -> Tokens:
    """The tokens of what stands between spaces."""
    parts: list[str] = []
    wholes: list[tuple[str, int]] = []
    for segment in _found(_SEGMENT, chunk):
        first = len(parts)
        parts += _parts(segment)
        if len(parts) - first > 1:
            _longer(segment, first, wholes)
    if not prose and len(parts) > 1:
        wholes.insert(0, (fold(chunk.strip(_OUTER))[:_MAX_TOKEN], 0))
    return Tokens(tuple(parts), tuple(wholes))


_of_short = lru_cache(16_384)(_of_chunk)
"""Remembers words, of which a few thousand make up most of all texts."""


def _longer(segment: str, at: int, wholes: list[tuple[str, int]]) -> None:
    """Add the segment, and each word in it that case or digits split."""
    wholes.append((fold(segment)[:_MAX_TOKEN], at))
    for word in _found(_WORD, segment):
        size = sum(1 for _ in _parts(word))
        if size > 1:
            wholes.append((fold(word)[:_MAX_TOKEN], at))
        at += size


def _found(pattern: re.Pattern[str], text: str) -> Iterable[str]:
    """The parts of a text that fit a pattern, with the combining marks inside and behind them."""
    if text.isascii():
        return pattern.findall(text)
    return [text[start:end] for start, end in _spans(pattern, text)]


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the beginning and the end of what `_found` gives."""
    if text.isascii():
        yield from (match.span() for match in pattern.finditer(text))
        return
    first = last = -1
    for match in pattern.finditer(text):
        start, end = match.span()
        while end < len(text) and _is_mark(text[end]):
            end += 1
        if start != last:
            if first >= 0:
                yield first, last
            first = start
        last = end
    if first >= 0:
        yield first, last


def _is_mark(character: str) -> bool:
    """Return True for a combining mark, other than those that choose how an emoji is drawn."""
    is_combining = unicodedata.category(character) in ("Mn", "Mc")
    return is_combining and not "\ufe00" <= character <= "\ufe0f"


def _parts(text: str) -> Iterator[str]:
    for word in _found(_WORD, text):
        if word.isascii():
            for part in _ASCII_PART.findall(word):
                yield part.lower()
        else:
            for start, end in _cuts(word):
                yield fold(word[start:end])


def _cuts(word: str) -> Iterator[tuple[int, int]]:
    """Yield the beginning and the end of each part of a word."""
    if word.isascii():
        yield from (part.span() for part in _ASCII_PART.finditer(word))
        return
    start = 0
    for at in range(1, len(word)):
        before, here = word[at - 1], word[at]
        if (before.isdigit() != here.isdigit()) or (before.islower() and here.isupper()):
            yield start, at
            start = at
    yield start, len(word)


def places(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the beginning, the end and the token of each part of a composed text (`compose`)."""
    for first, last in _spans(_WORD, text):
        word = text[first:last]
        for start, end in _cuts(word):
            yield first + start, first + end, fold(word[start:end])


def segments(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the beginning, the end and the token of each word, of which `_` and `-` are a part."""
    for start, end in _spans(_SEGMENT, text):
        yield start, end, fold(text[start:end])


def compose(text: str) -> str:
    """The text in composed Unicode, as it is taken apart."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def stem(word: str) -> str:
    """The word without a plural ending; only English plurals are known."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1]
