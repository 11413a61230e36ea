"""The rules that grant permissions to roles: built in, or read from a file that may change.

`docs/permissions.md` describes the file. An edit takes effect on the next request, also for cursors
already issued. A file that cannot be read is logged, and the rules before it stay in force.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path

import msgspec

from api.callers.permissions import Access, Action
from domain.errors import InvalidInput
from domain.kinds.registry import ALL_KINDS, KINDS
from domain.machine import durable_files
from domain.machine.toml_files import read_toml
from domain.openmetadata.status_names import OWN, StatusNames
from projections.visibility.field_paths import field_path
from projections.visibility.withholding import Withheld, in_both, simplest

ANY_KIND = "*"
_REMEMBERED = 1_000
_HEADER = re.compile(rb"^[ \t]*\[\[[ \t]*rule[ \t]*\]\]", re.MULTILINE)

log = logging.getLogger("catalog.policies")


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The actions of one role on some kinds, and the fields of them that it does not see."""

    role: str
    allow: tuple[Action, ...] = ()
    kinds: tuple[str, ...] = (ANY_KIND,)
    withhold: tuple[str, ...] = ()
    bot: bool = False
    """True if callers with the role are bots, whose PUTs keep what people curated."""

    def concerns(self, kind: str) -> bool:
        """True if the rule is about a kind."""
        return ANY_KIND in self.kinds or kind in self.kinds


Rules = tuple[Rule, ...]

_READ = (Action.LIST, Action.VIEW, Action.SEARCH)
_WRITE = (*_READ, Action.CREATE, Action.EDIT, Action.DELETE)

_OF_COLLECTIONS = frozenset((Action.LIST, Action.SEARCH))
"""Actions that do not exist for kinds without lists and indexes, such as edges."""

DEFAULT_RULES: Rules = (
    Rule("reader", _READ),
    Rule("editor", _WRITE),
    Rule("admin", tuple(Action)),
    Rule("bot", _WRITE, bot=True),
    Rule("scraper", (Action.METRICS,)),
)
"""The rules in force while no file is named."""


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rule: tuple[Rule, ...] = ()


class Policies:
    """The rules in force; each request looks at the times of their file, in about a microsecond."""

    def __init__(self, file: str | None) -> None:
        """Read the file, None for the rules built in; raises InvalidInput that names a mistake."""
        self._path = None if file is None else Path(file)
        self._stamp = None if self._path is None else durable_files.stamp(self._path)
        self._take(DEFAULT_RULES if self._path is None else read_rules(self._path))

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that have rules."""
        return tuple(dict.fromkeys(rule.role for rule in self._rules))

    def access(self, roles: tuple[str, ...], statuses: StatusNames = OWN) -> Access:
        """The access that a caller's roles have now; unknown roles grant nothing.

        `statuses` are the caller's names of statuses.
        """
        if self._path is not None and (stamp := durable_files.stamp(self._path)) != self._stamp:
            self._stamp = stamp
            try:
                self._take(read_rules(self._path))
            except InvalidInput as error:
                log.error("policies not changed", extra={"reason": error.message})
            else:
                changed = {"file": str(self._path), "rules": len(self._rules)}
                log.warning("policies changed", extra=changed)
        return self._combined(roles, statuses)

    def _take(self, rules: Rules) -> None:
        self._rules = rules
        self._combined = lru_cache(_REMEMBERED)(partial(combine, rules))


def read_rules(path: Path) -> Rules:
    """The rules of a TOML file; raises InvalidInput with the file, the line and the mistake."""
    where = f"CATALOG_POLICIES {path}"
    content, given = read_toml(path, where)
    try:
        document = msgspec.convert(given, type=_File)
    except msgspec.ValidationError as error:
        place = re.search(r"\$\.rule\[(\d+)\]", str(error))
        line = f" line {_line(content, int(place[1]))}" if place else ""
        raise InvalidInput(f"{where}{line}: {error}") from None
    for number, rule in enumerate(document.rule):
        if problem := _problem(rule):
            line = f"line {_line(content, number)}"
            raise InvalidInput(f"{where} {line}: rule {number + 1} ({rule.role!r}): {problem}")
    if not document.rule:
        raise InvalidInput(f"{where}: no [[rule]] in it, so that nobody may do anything")
    return document.rule


def _problem(rule: Rule) -> str | None:
    """The mistake in a rule, for a message; None for a good rule."""
    if not rule.role.strip():
        return "role is empty"
    if not rule.allow and not rule.withhold:
        return "it neither allows nor withholds anything"
    for kind in rule.kinds:
        if kind != ANY_KIND and kind not in ALL_KINDS:
            return f"unknown kind {kind!r}; known are {ANY_KIND}, {', '.join(ALL_KINDS)}"
    if not rule.kinds:
        return "kinds is empty"
    for action in (Action.OPERATE, Action.METRICS):
        if action in rule.allow and ANY_KIND not in rule.kinds:
            return f"{action} concerns no kind: it needs kinds = [{ANY_KIND!r}]"
    kinds = [kind for kind in ALL_KINDS if rule.concerns(kind)]
    for path in rule.withhold:
        known = [(kind, about) for kind in kinds if (about := field_path(kind, path)) is not None]
        if not known:
            return f"unknown field {path!r}: no kind of this rule has it"
        for kind, about in known:
            if about.needed:
                return f"{path!r} cannot be withheld: every {kind} needs it"
    return None


def combine(rules: Sequence[Rule], roles: Iterable[str], statuses: StatusNames = OWN) -> Access:
    """The access of several roles together: all that any of them allows.

    Under an action a field is withheld if each role that allows the action withholds it.
    """
    allowed: dict[Action, set[str]] = {}
    hidden: dict[Action, dict[str, frozenset[str]]] = {}
    names = dict.fromkeys(roles)
    for role in names:
        own = [rule for rule in rules if rule.role == role]
        for kind in ALL_KINDS:
            about = [rule for rule in own if rule.concerns(kind)]
            paths = simplest(path for rule in about for path in rule.withhold)
            paths = frozenset(path for path in paths if field_path(kind, path) is not None)
            granted = {action for rule in about for action in rule.allow}
            if Action.OPERATE in granted:
                granted.add(Action.METRICS)
            for action in granted if kind in KINDS else granted - _OF_COLLECTIONS:
                before = hidden.setdefault(action, {}).get(kind)
                hidden[action][kind] = paths if before is None else in_both(before, paths)
                allowed.setdefault(action, set()).add(kind)
    return Access(
        {action: frozenset(kinds) for action, kinds in allowed.items()},
        {
            action: {kind: Withheld(kind, paths) for kind, paths in by_kind.items() if paths}
            for action, by_kind in hidden.items()
        },
        bot=any(rule.bot for rule in rules if rule.role in names),
        statuses=statuses,
    )


def _line(content: bytes, number: int) -> int:
    """The line of the file at which the rule with a number, from 0, begins."""
    headers = list(_HEADER.finditer(content))
    at = headers[number].start() if number < len(headers) else 0
    return content.count(b"\n", 0, at) + 1
