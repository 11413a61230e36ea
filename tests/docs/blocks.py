"""The fenced blocks of a page, and the commands and printed lines of those that are typed."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
_BLOCK = re.compile(
    r"(?:^<!-- not typed: (?P<reason>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """Text between two fences."""

    page: str
    line: int
    """The number of the line of the first fence, from 1."""
    language: str
    text: str
    reason: str | None
    """Reason why a test does not type it; None of a block that is typed."""


@dataclass(frozen=True)
class Command:
    """A line after a prompt, with those that continue it, and what is said to be printed."""

    text: str
    printed: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page in their order."""
    text = (ROOT / page).read_text()
    return [
        Block(
            page,
            text.count("\n", 0, match.start("language")) + 1,
            match["language"],
            match["text"],
            match["reason"],
        )
        for match in _BLOCK.finditer(text)
    ]


def commands(block: Block) -> list[Command]:
    """The commands of a block; raises ValueError for a line before the first prompt."""
    found: list[list[str]] = []
    goes_on = False
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append([line.removeprefix("$ "), ""])
            goes_on = line.endswith("\\")
        elif not found:
            raise ValueError(f"{block.page}:{block.line}: {line!r} is no command")
        elif goes_on:
            found[-1][0] += f"\n{line}"
            goes_on = line.endswith("\\")
        else:
            found[-1][1] += f"{line}\n"
    return [Command(text, printed) for text, printed in found]


def is_as_printed(printed: str, page: str) -> bool:
    """True if a command has printed what a page shows: spaces aside, `…` being any text."""
    pieces = ("".join(piece.split()) for piece in page.split("…"))
    return re.fullmatch(".*".join(map(re.escape, pieces)), "".join(printed.split())) is not None
