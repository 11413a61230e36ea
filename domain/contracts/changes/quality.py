"""Changes of quality rules."""

from collections.abc import Mapping
from typing import Any

from domain.contracts.changes.findings import (
    Findings,
    compare_keys,
    compare_lists,
    differing,
    moves,
    or_none,
)
from domain.contracts.changes.limits import THRESHOLDS, is_upper, relation_of_limits
from domain.contracts.changes.rules import Path
from domain.contracts.data_types import Relation

Rule = dict[str, Any]

_MOVES = moves("quality.loosened", "quality.tightened", "quality.changed")
_WARNINGS = frozenset(("info", "warning", "warn", "low", "minor", "trivial"))
"""Severities with which a rule that fails is a warning, as datacontract-cli has it."""
_TEXTS = (
    *("id", "name", "description", "dimension", "businessImpact", "method"),
    *("schedule", "scheduler", "tags", "customProperties", "authoritativeDefinitions"),
)
_GRADES = dict.fromkeys(_TEXTS, "text.changed")
_OWN = ("sql", "custom")
"""Types of rules whose result may be any number."""
_APART = ("arguments", "severity", *THRESHOLDS)
"""Keys of a rule that have comparisons of their own, beside `_GRADES`."""
_ARGUMENTS: Mapping[Any, bool] = {
    ("invalidValues", "validValues"): False,
    ("missingValues", "missingValues"): True,
    ("duplicateValues", "properties"): False,
}
"""Metric and an argument of it that is a list -> True if a longer list counts more rows."""


def compare_quality(findings: Findings, path: Path, old: Any, new: Any) -> None:
    """Find the changes of the rules of an object or column.

    They are matched by id, or name, or by what they measure.
    """

    def name_of(rule: Rule) -> Any:
        return rule.get("id") or rule.get("name") or _metric(rule)

    compare_lists(findings, path, (old, new), name_of, _compare_rule)


def _compare_rule(findings: Findings, path: Path, old: Rule | None, new: Rule | None) -> None:
    if all(each is None or _warns(each) for each in (old, new)):
        findings.add("warning.changed", path, old, new)
        return
    if old is None or new is None:
        findings.add("quality.removed" if new is None else "quality.added", path, old, new)
        return
    if old.get("severity") != new.get("severity"):
        word = "text.changed"
        if _warns(old) != _warns(new):
            word = "severity.lowered" if _warns(new) else "severity.raised"
        findings.add(word, Path("severity", path), old.get("severity"), new.get("severity"))
    body = _in_new_words(old), _in_new_words(new)
    limits = [
        {key: each[key] for key in THRESHOLDS if or_none(each.get(key)) is not None}
        for each in body
    ]
    if limits[0] != limits[1]:
        _compare_limits(findings, path, body, limits)
    arguments = [each.get("arguments") for each in body]
    if arguments[0] != arguments[1]:
        _compare_arguments(findings, Path("arguments", path), body, limits, arguments)
    left = [{key: each[key] for key in each if key not in _APART} for each in body]
    compare_keys(findings, path, left[0], left[1], _GRADES, "quality.reworded")


def _compare_limits(
    findings: Findings, path: Path, rules: tuple[Rule, Rule], limits: list[dict[str, Any]]
) -> None:
    counted = {_is_percent(each) for each in rules}
    # A metric of the library counts rows, unless it is a percentage of them.
    whole = counted == {False} and not any(each.get("type") in _OWN for each in rules)
    relation = relation_of_limits(*limits, whole=whole) if len(counted) == 1 else None
    key, after, before = next(differing(limits[1], limits[0]))
    word = "quality.reworded" if relation is None else _MOVES[relation]
    findings.add(word, Path(key, path), before, after)


def _compare_arguments(
    findings: Findings,
    path: Path,
    rules: tuple[Rule, Rule],
    limits: list[dict[str, Any]],
    arguments: list[Any],
) -> None:
    metrics, uppers = {str(each.get("metric")) for each in rules}, {*map(is_upper, limits)}
    metric = metrics.pop() if len(metrics) == 1 else None
    upper = uppers.pop() if len(uppers) == 1 else None
    held = [each if isinstance(each, dict) else {"": each} for each in arguments]
    for key, before, after in differing(*held):
        word = "quality.reworded"
        counts_more = _ARGUMENTS.get((metric, key))
        lists = all(each is None or isinstance(each, list) for each in (before, after))
        if counts_more is not None and upper is not None and lists:
            was, now = ({repr(each) for each in side or ()} for side in (before, after))
            if was == now:
                word = "restated"
            elif was < now or now < was:
                more = (was < now) == counts_more
                word = _MOVES[Relation.NARROWER if more == upper else Relation.WIDER]
        findings.add(word, Path(key, path), before, after)


def _metric(rule: Rule) -> Any:
    return rule.get("metric") or rule.get("rule")


def _in_new_words(rule: Rule) -> Rule:
    """A rule with `metric` for `rule`, which was its name before version 3.1 of the standard."""
    return {**rule, "metric": _metric(rule), "rule": None}


def _warns(rule: Rule) -> bool:
    return str(rule.get("severity") or "").strip().lower() in _WARNINGS


def _is_percent(rule: Rule) -> bool:
    return str(rule.get("unit") or "").strip().lower() in ("percent", "%", "percentage")
