"""The characters of a query text: where the parser is, what comes next, what is in quotes."""

import re

from domain.errors import InvalidInput

_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"[^\s()^]+")


class Scanner:
    """`at` is the next character; `plain` turns False at the first operator."""

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.at = 0
        self.plain = True

    def error(self, why: str, at: int | None = None) -> InvalidInput:
        column = (self.at if at is None else at) + 1
        return InvalidInput(f"{self.where}: {why} at column {column}")

    def skip_space(self) -> None:
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
            self.plain = False
        return found

    def quoted(self) -> str:
        opened = self.at
        self.plain = False
        self.at += 1
        text = ""
        while (character := self.peek()) != '"':
            if character == "\\":
                self.at += 1
                character = self.peek()
            if not character:
                raise self.error("unbalanced '\"'", opened)
            text += character
            self.at += 1
        self.at += 1
        return text

    def bare(self) -> str:
        found = _BARE.match(self.text, self.at)
        if not found:
            raise self.error("a value is expected")
        self.at = found.end()
        return found[0].replace("\\", "")

    def number(self, text: str, limit: int, what: str, at: int) -> int:
        if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > limit:
            raise self.error(f"{what} is a whole number from 0 to {limit}", at)
        return int(text)
