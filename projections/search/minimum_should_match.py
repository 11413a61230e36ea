"""The number of optional clauses that must match, by the rules of OpenSearch."""

import re

from domain.errors import InvalidInput


def required_matches(rule: str, clauses: int) -> int:
    """Return the number of so many optional clauses that a rule asks for.

    A rule is a number (`2`, or `-1`: all but one), a percentage (`75%`, or `-25%`: a quarter may be
    missing; rounded down), or one or more conditions (`2<75% 9<-3`: all of up to two clauses, three
    quarters of up to nine, all but three of more). The number is never negative, but may be more
    than there are clauses. Raises InvalidInput for anything else.
    """
    if "<" not in rule:
        return _simple_rule(rule.strip(), clauses, rule)
    required, decided = clauses, False
    for condition in re.sub(r"\s*<\s*", "<", rule).split():
        limit, _, rest = condition.partition("<")
        above = clauses > _whole_number(limit, rule)
        wanted = _simple_rule(rest, clauses, rule)
        decided = decided or not above
        if not decided:
            required = wanted
    return required


def _simple_rule(text: str, clauses: int, rule: str) -> int:
    if not text.endswith("%"):
        number = _whole_number(text, rule)
        return max(0, clauses + number) if number < 0 else number
    percentage = _whole_number(text[:-1], rule)
    part = clauses * abs(percentage) // 100
    return part if percentage >= 0 else max(0, clauses - part)


def _whole_number(text: str, rule: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 6):
        return _refuse(rule)
    return int(text)


def _refuse(rule: str) -> int:
    raise InvalidInput(
        f"minimum_should_match must be a number, a percentage or `n<either`, got {rule[:40]!r}"
    )
