"""The rules by which changes of contracts are graded, each a row of a table."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import msgspec

from domain.errors import cut

_LONGEST = 300
"""Characters of a name in a path."""
_LONGEST_PATH = 1_000


class Level(StrEnum):
    """The weight of a change for those who read the data, or for those who write it."""

    BREAKING = "breaking"
    REVIEW = "review"
    COMPATIBLE = "compatible"


class Bump(StrEnum):
    """The part of a semantic version that has to rise for a change, the least first."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    MAJOR = "major"


class Perspective(StrEnum):
    """The view in which a change is graded."""

    CONSUMER = "consumer"
    PRODUCER = "producer"
    FULL = "full"


class Rule(msgspec.Struct, frozen=True):
    """A row of the table: a change with its grades."""

    word: str
    """The stable name, as `column.removed`."""
    change: str
    """The change in words, after which the place is named."""
    consumer: Level
    """The grade for readers of the data."""
    producer: Level
    """The grade for writers of the data: whether their deliveries still keep the contract."""
    bump: Bump

    def level(self, perspective: Perspective) -> Level:
        """The grade in a view; of the full view it is the worse of both."""
        if perspective is Perspective.FULL:
            return min(self.consumer, self.producer, key=_WORST_FIRST.index)
        return self.consumer if perspective is Perspective.CONSUMER else self.producer


class Path(msgspec.Struct, frozen=True, gc=False):
    """The place of a value in a document.

    A name may be a megabyte, and thousands of changes lie below it: they share the outer path, and
    a text is made of those alone that are shown.
    """

    name: str
    outer: "Path | None" = None

    def __str__(self) -> str:
        names: list[str] = []
        each: Path | None = self
        while each is not None:
            names.append(cut(each.name, _LONGEST))
            each = each.outer
        return cut(".".join(reversed(names)), _LONGEST_PATH)


class Change(msgspec.Struct, frozen=True):
    """One difference of two versions."""

    rule: Rule
    at: Path
    place: tuple[str, ...] = ()
    """Names of the schema object that it is in, and of its column, an inner one behind its outer
    ones."""
    before: Any = None
    after: Any = None
    """The values, cut where they are long; those of lists and mappings as JSON texts."""

    @property
    def path(self) -> str:
        """Place in the document, with names for the places in lists, as datacontract-cli writes it:
        `schema.orders.properties.total.physicalType`. Long ones are cut."""
        return str(self.at)

    @property
    def message(self) -> str:
        """The change as a sentence says it."""
        said = f"{self.rule.change}: {self.path}"
        if self.before is None or self.after is None:
            return said
        return f"{said} from {self.before!r} to {self.after!r}"


def bump_of(changes: Iterable[Change]) -> Bump:
    """The greatest bump of changes."""
    bumps = {change.rule.bump for change in changes}
    return max(bumps, key=[*Bump].index, default=Bump.NONE)


_WORST_FIRST = (Level.BREAKING, Level.REVIEW, Level.COMPATIBLE)
_GRADES = {"B": Level.BREAKING, "R": Level.REVIEW, "C": Level.COMPATIBLE}
_TABLE = """
object.removed          | schema object removed                       | B C major
object.added            | schema object added                         | C B minor
column.removed          | column removed                              | B C major
column.added            | column added                                | C B minor
type.widened            | type widened                                | R C minor
type.narrowed           | type narrowed                               | C B minor
type.removed            | type no longer said                         | B C major
type.added              | type said, which was not                    | C B minor
required.removed        | column may be null                          | B C major
required.added          | column may no longer be null                | C B minor
unique.removed          | values may repeat                           | B C major
unique.added            | values may no longer repeat                 | C B minor
key.removed             | primary key removed                         | B C major
key.added               | primary key added                           | C B minor
bound.loosened          | bound loosened or removed                   | B C major
bound.tightened         | bound tightened or added                    | C B minor
pattern.removed         | pattern or format removed                   | B C major
pattern.added           | pattern or format added                     | C B minor
enum.loosened           | values allowed that were not                | B C major
enum.tightened          | values no longer allowed                    | C B minor
foreign-key.removed     | foreign key removed                         | B C major
foreign-key.added       | foreign key added                           | C B minor
quality.removed         | quality rule removed                        | B C major
quality.added           | quality rule added                          | C B minor
quality.loosened        | quality rule loosened                       | B C major
quality.tightened       | quality rule tightened                      | C B minor
severity.lowered        | quality rule only warns                     | B C major
severity.raised         | quality rule fails, which only warned       | C B minor
sla.weaker              | service level weaker, or removed            | B C major
sla.stronger            | service level stronger, or added            | C B minor
semantics.removed       | rule about metadata removed or disabled     | R C minor
semantics.added         | rule about metadata added or enabled        | C B minor
access.tightened        | classification raised, or access removed    | B R major
access.loosened         | classification lowered, or access added     | R B minor
status.ended            | contract deprecated or retired              | R C minor
status.revived          | contract no longer deprecated or retired    | C C minor
end.earlier             | end brought forward                         | B C major
end.later               | end put off                                 | C C minor
server.removed          | server removed                              | B R major
server.added            | server added                                | C C minor
deprecated.set          | marked as deprecated                        | R C minor
deprecated.withdrawn    | no longer marked as deprecated              | C C minor
physical-name.changed   | physical name changed                       | B B major
column.recased          | name in other capitals                      | R R minor
type.changed            | type changed to an unrelated one            | B B major
shape.changed           | type of a map or shape of a vector changed  | B B major
composite-key.changed   | column joins or leaves a composite key      | B B major
key-order.changed       | order of the columns of a key changed       | C C patch
partitioning.changed    | partitioning changed                        | R R minor
bound.changed           | bound changed in a way not comparable       | R R minor
pattern.changed         | pattern or format changed                   | R R minor
enum.changed            | some values allowed, and others no longer   | B B major
enum.reworded           | order or texts of allowed values changed    | C C patch
foreign-key.changed     | foreign key leads elsewhere                 | B B major
quality.changed         | quality rule passes other data than before  | B B major
quality.reworded        | quality rule changed, not comparable        | R R minor
warning.changed         | quality rule that only warns changed        | C C patch
sla.changed             | service level changed, not comparable       | R R minor
semantics.changed       | rule about metadata changed                 | R R minor
terms.changed           | terms of use changed                        | R C minor
status.changed          | status changed                              | C C minor
server.changed          | server changed                              | B R major
entity.changed          | contract is about another entity            | B B major
column-order.changed    | order of columns changed                    | C C patch
text.changed            | text about the data changed                 | C C patch
restated                | same promise in other words                 | C C patch
other.changed           | changed, of which no rule knows             | R R minor
"""


def _read(table: str) -> Iterable[Rule]:
    for line in table.strip().splitlines():
        word, change, grades = map(str.strip, line.split("|"))
        consumer, producer, bump = grades.split()
        yield Rule(word, change, _GRADES[consumer], _GRADES[producer], Bump(bump))


RULES: Mapping[str, Rule] = MappingProxyType({rule.word: rule for rule in _read(_TABLE)})
"""Word -> rule."""
