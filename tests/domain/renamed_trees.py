"""Random lives of things that are renamed, and a model of what they must be called."""

import random
from contextlib import suppress

from domain.aggregate.entity import Entity
from domain.errors import CatalogError
from domain.kinds import names
from domain.kinds.registry import KINDS
from tests.domain.conftest import World


class Tree:
    """A model of a catalog by ids: what stands below what, who refers to whom."""

    def __init__(self, rng: random.Random, world: World) -> None:
        self.rng = rng
        self.world = world
        self.names: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        self.parents: dict[str, str | None] = {}
        self.labels: dict[str, str] = {}
        """Id of what has a label -> id of what the label names."""
        self.owned: dict[str, str] = {}
        """Id -> id of the team that owns it."""
        self.aliases: dict[str, set[str]] = {}

    def fqn(self, entity_id: str) -> str:
        """The qualified name that an entity must have."""
        above = self.parents[entity_id]
        return names.child(self.fqn(above) if above else None, self.names[entity_id])

    def is_below(self, entity_id: str, other: str) -> bool:
        """True of an entity that is, or is below, another one."""
        above: str | None = entity_id
        while above is not None and above != other:
            above = self.parents[above]
        return above == other

    def some_name(self, entity_id: str) -> str:
        """One of the names by which an entity may be called."""
        return self.rng.choice(sorted({self.fqn(entity_id), *self.aliases[entity_id]}))

    def add(self, entity: Entity, parent: str | None = None) -> str:
        """Note an entity that was created."""
        self.names[entity.id], self.kinds[entity.id] = entity.name, entity.kind
        self.parents[entity.id], self.aliases[entity.id] = parent, set()
        return entity.id

    def of(self, *kinds: str) -> list[str]:
        """The ids of all that is of these kinds."""
        return [each for each, kind in self.kinds.items() if kind in kinds]

    def step(self) -> None:
        """Do something at random that may well be refused."""
        choices = [self.create, self.create, self.label, self.own, self.rename, self.rename]
        with suppress(CatalogError, IndexError):
            self.rng.choice([*choices, self.purge])()

    def create(self) -> None:
        """Create something, below what is there where it needs a parent."""
        name = self.rng.choice(("a", "b", 'c.d"', "A"))
        kind = self.rng.choice(("classification", "tag", "glossary", "glossaryTerm", "team"))
        if kind == "team":
            self.add(self.world.create(kind, name, teamType="Group"))
        elif kind in ("classification", "glossary"):
            self.add(self.world.create(kind, name, description=""))
        else:
            root = "classification" if kind == "tag" else "glossary"
            above = self.rng.choice(self.of(root, kind) or [""])
            key = root if self.kinds.get(above) == root else "parent"
            given = {key: self.some_name(above)} if above else {key: "none"}
            self.add(self.world.create(kind, name, description="", **given), above)

    def label(self) -> None:
        """Create something with a label, by any name of what that names."""
        which = self.rng.choice(self.of("tag", "glossaryTerm"))
        source = "Classification" if self.kinds[which] == "tag" else "Glossary"
        label = {"tagFQN": self.some_name(which), "source": source}
        made = self.world.create(
            "databaseService", f"s{len(self.names)}", serviceType="Mysql", tags=[label]
        )
        self.labels[self.add(made)] = which

    def own(self) -> None:
        """Have a team own something, by any of its names."""
        team = self.rng.choice(self.of("team"))
        which = self.rng.choice(self.of("glossary", "classification", "tag", "glossaryTerm"))
        owner = {"type": "team", "fullyQualifiedName": self.some_name(team)}
        self.world.catalog.patch(
            KINDS[self.kinds[which]],
            which,
            [{"op": "add", "path": "/owners", "value": [owner]}],
            self.world.context(),
        )
        self.owned[which] = team

    def rename(self) -> None:
        """Give something another name."""
        which = self.rng.choice(
            self.of("glossary", "classification", "tag", "glossaryTerm", "team")
        )
        name = self.rng.choice(("a", "b", 'c.d"', "e", "A"))
        patch = [{"op": "replace", "path": "/name", "value": name}]
        before = {each: self.fqn(each) for each in self.names}
        self.world.catalog.patch(KINDS[self.kinds[which]], which, patch, self.world.context())
        self.names[which] = name
        for each, fqn in before.items():
            if self.is_below(each, which):
                self.aliases[each].add(fqn)
                self.aliases[each].discard(self.fqn(each))

    def purge(self) -> None:
        """Purge something with all that is below it."""
        which = self.rng.choice(self.of("glossary", "classification", "tag", "glossaryTerm"))
        kind = KINDS[self.kinds[which]]
        self.world.catalog.delete(kind, which, self.world.context(), hard=True, recursive=True)
        for each in [each for each in self.names if self.is_below(each, which)]:
            for held in (self.names, self.kinds, self.aliases, self.owned):
                held.pop(each, None)
            # A label goes on to name what is gone, as references do.
            for holder in [one for one, named in self.labels.items() if named == each]:
                del self.labels[holder]
        self.parents = {each: self.parents[each] for each in self.names}
