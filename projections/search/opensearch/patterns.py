"""Patterns over terms, as the cluster's own language of regular expressions has them."""

import re

from projections.search.language.patterns import TermPattern

_ESCAPED = re.compile(r"[^A-Za-z0-9_\x80-\U0010ffff]")
_QUANTIFIERS = "*+?{"


def escaped(text: str) -> str:
    """The regular expression of exactly this text."""
    return _ESCAPED.sub(lambda sign: "\\" + sign[0], text)


def escaped_wildcards(text: str) -> str:
    """The wildcard pattern of exactly this text."""
    return "".join("\\" + sign if sign in "\\*?" else sign for sign in text)


def lucene(pattern: TermPattern) -> str:
    """A regular expression that the terms match which a pattern matches, as the cluster reads it.

    `TermPattern.source` is made of escaped characters, `(?:`, classes, quantifiers and `|` alone.
    """
    source, out, at = pattern.source, "", 0
    while at < len(source):
        sign = source[at]
        if sign == "\\":
            # What RE2 writes for a control character stands for nothing that a term has.
            out += escaped(source[at + 1])
            at += 2
        elif source.startswith("(?:", at):
            out += "("
            at += 3
        elif sign == "[":
            inside, at = _class(source, at)
            out += inside
        elif sign == "{":
            close = source.index("}", at) + 1
            out += source[at:close]
            at = close
        else:
            out += sign if sign in "()|*+?" else escaped(sign)
            at += 1
    return _filled(out)


def _class(source: str, at: int) -> tuple[str, int]:
    """A class of characters that begins at a place, and where it ends."""
    end = at + 1
    while source[end] != "]" or end == at + 1 or source[at + 1 : end] == "^":
        end += 2 if source[end] == "\\" else 1
    members = source[at + 1 : end]
    negated = members.startswith("^")
    members = members[negated:].removesuffix("\\n")
    if not members:
        return ".", end + 1
    out, place = "", 0
    while place < len(members):
        sign = members[place]
        if sign == "\\":
            place += 1
            sign = members[place]
            out += "\\" + sign
        else:
            out += sign if sign == "-" else escaped(sign)
        place += 1
    return f"[{'^' if negated else ''}{out}]", end + 1


def _filled(source: str) -> str:
    """The expression with `()` for each empty alternative, which the cluster does not know."""
    out = ""
    before = "("
    at = 0
    while at < len(source):
        sign = source[at]
        if sign in "|)" and before in "(|":
            out += "()"
        if sign == "\\":
            out += source[at : at + 2]
            at += 2
            before = "x"
            continue
        if sign == "[":
            end = at + 1
            while source[end] != "]":
                end += 2 if source[end] == "\\" else 1
            out += source[at : end + 1]
            at = end + 1
            before = "x"
            continue
        out += sign
        before = sign
        at += 1
    return out + "()" if before in "(|" else out
