"""`change_entity`: edits of one entity, shown as a difference before they are stored."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from api.answers.bodies import has_left
from api.callers.permissions import Action
from api.mcp.answers import Answer, fill, short
from api.mcp.asking import Asked, Named, Shown, viewed, which_of
from api.mcp.cleaning import plain
from api.mcp.facts import exact_or_id
from api.use_cases.entity_writes import MAX_KEY_LENGTH, context_of, write_entity
from api.use_cases.entity_writes import Asked as AskedWrite
from domain.aggregate.lifecycle import format_version
from domain.errors import InvalidInput, StoreUnavailable
from domain.kinds.entity_kind import EntityKind
from domain.reading import changes
from domain.writing.catalog import EntityProposal
from domain.writing.edits import Act, Edit, Unresolved
from domain.writing.entity_cache import ByName
from domain.writing.plans import Change, Plan
from projections.search.answers.suggestions import SuggestRequest, suggestions
from projections.search.language.patterns import MAX_PATTERN

MOST_CHANGES, MOST_NAMES = 50, 50
MOST_VALUE = 2_000
"""Characters of an old or a new value in the difference."""
_REPLACING = (Act.REPLACE_IN_DESCRIPTION, Act.SET_DESCRIPTION, Act.SET_DISPLAY_NAME)
_NEAR = 3
"""Names of which a refusal tells near ones, and how many of each."""


class ChangeAsked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change."""

    act: Act
    column: Annotated[str, Meta(max_length=3_072)] = ""
    text: Annotated[
        str, Meta(max_length=100_000, description="What is appended, or stands there then.")
    ] = ""
    old: Annotated[
        str, Meta(max_length=100_000, description="Of replace_in_description: occurs once.")
    ] = ""
    replaces: Annotated[
        str | None, Meta(description="Of set_: the present text, empty if none.")
    ] = None
    names: Annotated[list[Annotated[str, Meta(max_length=3_072)]], Meta(max_length=MOST_NAMES)] = []


class ChangeEntity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments."""

    entity: Named
    version: Annotated[float, Meta(gt=0, lt=1e8, description="As get_entities gives it.")]
    changes: Annotated[list[ChangeAsked], Meta(min_length=1, max_length=MOST_CHANGES)]
    dry_run: Annotated[bool, Meta(description="Show the difference, store nothing.")] = True
    key: Annotated[
        str, Meta(max_length=MAX_KEY_LENGTH, description="The same again stores nothing twice.")
    ] = ""


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field that differs; values are data, whatever they say."""

    field: str
    how: str
    old: str = ""
    new: str = ""


class Changed(Answer, kw_only=True, omit_defaults=True):
    """The answer."""

    entity: Shown
    stored: bool
    version: str
    """The version of the entity after it, or that it would have."""
    diff: list[Difference]
    more_diff: int = 0
    """Number of differences that are not shown."""
    dropped_tags: list[str] = msgspec.field(default_factory=list)
    """Tags that were left out: a bot may not add a tag that excludes one which is there."""


async def change_entity(asked: Asked, given: ChangeEntity) -> Changed:
    """The difference that changes make, which are stored unless the run is dry.

    Raises StaleVersion where the entity is at another version, and Unresolved with near names.
    """
    kind = viewed(asked.access, given.entity)
    asked.access.require(Action.EDIT, kind.name)
    edits = [_edit(number, each) for number, each in enumerate(given.changes, 1)]
    _refuse_withheld(asked, kind, edits)
    write = _write(asked, given)
    plan_of = partial(_plan_of, asked, kind, given, edits)
    shown = partial(_shown_difference, asked, kind)
    try:
        if given.dry_run:
            return await _rehearsed(asked, write, plan_of, shown)
        written, (proposal, diff) = await write_entity(
            asked.services, asked.request, write, plan_of, lambda made: (made, shown(made))
        )
    except Unresolved as error:
        near = await _near_names(asked, error)
        raise InvalidInput(f"{error.message}{near}") from None
    stored = proposal.change is not Change.NO_CHANGE
    return _answer(asked, proposal, diff, written.position, stored=stored)


def _edit(number: int, given: ChangeAsked) -> Edit:
    """The edit that a change asks for; raises InvalidInput for what does not go together."""
    act = given.act
    needed: dict[str, bool | None] = {
        "names": act.is_of_names,
        "old": act is Act.REPLACE_IN_DESCRIPTION,
        "replaces": act in (Act.SET_DESCRIPTION, Act.SET_DISPLAY_NAME),
        # An empty text takes away what stands there.
        "text": None if act in _REPLACING else not act.is_of_names,
    }
    for name, is_needed in needed.items():
        is_given = bool(getattr(given, name)) or (name == "replaces" and given.replaces is not None)
        if is_needed is not None and is_given is not is_needed:
            verb = "needs" if is_needed else "takes no"
            raise InvalidInput(f"change {number}: {act} {verb} {name}")
    return Edit(
        act=act,
        column=given.column,
        text=given.text,
        old=given.old,
        replaces=given.replaces,
        names=given.names,
    )


def _refuse_withheld(asked: Asked, kind: EntityKind, edits: list[Edit]) -> None:
    """Raise FieldWithheld for an edit of what the caller does not see or change whole."""
    columns = [f"{part.replace('.', '/')}/-/" for part in kind.body.parts]
    pointers = [
        {"path": f"/{above}{edit.act.key}"}
        for edit in edits
        for above in (columns if edit.column else ("",))
    ]
    for action in (Action.EDIT, Action.VIEW):
        if withheld := asked.access.withheld(action, kind.name):
            withheld.refuse_patching(pointers)


def _tenths(version: float) -> int:
    """The number of a version in tenths; raises InvalidInput for what no entity is at."""
    tenths = round(version * 10)
    if tenths / 10 != version:
        raise InvalidInput(f"version is one such as 0.3, got {version}")
    return tenths


def _write(asked: Asked, given: ChangeEntity) -> AskedWrite:
    """The write that is asked for, as writes over HTTP are kept."""
    key = None if given.dry_run or not given.key else given.key
    context = replace(
        context_of(asked.request),
        via=asked.via,
        must_exist=True,
        expected_version=_tenths(given.version),
        idempotency_key=key,
    )
    return AskedWrite(b"change_entity", msgspec.json.encode(given), context, asked.access)


def _plan_of(
    asked: Asked, kind: EntityKind, given: ChangeEntity, edits: list[Edit], write: AskedWrite
) -> Callable[[], Plan]:
    named = which_of(kind, given.entity)
    which: Any = named.get("entity_id") or ByName(named["fqn"])
    return partial(asked.services.catalog.planner.edit, kind, which, edits, write.context)


async def _rehearsed(
    asked: Asked,
    write: AskedWrite,
    plan_of: Callable[[AskedWrite], Callable[[], Plan]],
    shown: Callable[[EntityProposal], list[Difference]],
) -> Changed:
    """The answer to a dry run, which is decided in the caller's turn and not appended."""

    def work() -> Changed:
        proposal = asked.services.catalog.propose(plan_of(write), write.context)
        position = asked.services.stores.log.head()
        return _answer(asked, proposal, shown(proposal), position, stored=False)

    left = partial(has_left, asked.request.receive)
    return await asked.services.writes.run(asked.request.user.name, work, left)


def _shown_difference(asked: Asked, kind: EntityKind, proposal: EntityProposal) -> list[Difference]:
    """The fields that differ, as far as the caller may see them."""
    before = proposal.before
    if before is None or proposal.change is not Change.UPDATED:
        return []

    def cut(body: bytes) -> bytes:
        for action in (Action.EDIT, Action.VIEW):
            if withheld := asked.access.withheld(action, kind.name):
                body = withheld.cut(body)
        return body

    described = changes.describe(before, proposal.entity, cut)
    return [
        Difference(
            plain(each.name),
            how,
            _value(each.name, each.old_value),
            _value(each.name, each.new_value),
        )
        for how, fields in (
            ("added", described.fields_added),
            ("updated", described.fields_updated),
            ("deleted", described.fields_deleted),
        )
        for each in fields
    ]


def _value(field: str, value: str | UnsetType) -> str:
    return "" if value is UNSET else short(field, value, MOST_VALUE)


def _answer(
    asked: Asked, proposal: EntityProposal, diff: list[Difference], position: int, *, stored: bool
) -> Changed:
    entity = proposal.entity
    shown, more = fill(asked.room(), diff)
    return Changed(
        position=position,
        request_id=asked.request_id,
        entity=Shown(entity.kind, exact_or_id(entity.fqn, entity.id)),
        stored=stored,
        version=format_version(entity.version),
        diff=shown,
        more_diff=0 if more is None else len(diff) - more,
        dropped_tags=[plain(each) for each in proposal.dropped],
    )


async def _near_names(asked: Asked, error: Unresolved) -> str:
    """The names near to those that are missing, of what the caller may search, for a message."""
    hints = []
    for name, kinds in error.missing[:_NEAR]:
        index = ",".join(each for each in kinds if each in asked.access.kinds(Action.SEARCH))
        if not index or len(name) > MAX_PATTERN:
            continue
        sought = SuggestRequest(
            q=name, index=index, size=_NEAR, shown_fields=("fullyQualifiedName",)
        )
        try:
            options, _ = await asked.searcher.in_thread(
                asked.request, index, partial(suggestions, sought)
            )
        except StoreUnavailable:
            # No search yet: the refusal says what is missing all the same.
            continue
        if near := [plain(each["_source"]["fullyQualifiedName"]) for each in options]:
            hints.append(f"; instead of {plain(name)} there is {' or '.join(near)}")
    return "".join(hints)
