"""Entities to which all others refer: people, vocabularies and domains."""

from collections.abc import Iterator

from benchmarks import words
from benchmarks.sample.choices import Choices
from benchmarks.sample.lines import Line, entity_line, reference


class Foundations(Choices):
    """The first lines of a catalog."""

    def foundations(self) -> Iterator[Line]:
        """Yield the entities to which all others refer."""
        yield from self._people()
        yield from self._vocabularies()
        yield from self._domains()

    def _people(self) -> Iterator[Line]:
        for number in range(self._teams):
            name = self._team_name(number)
            yield {
                **entity_line("team", None, name),
                "teamType": "Group",
                "description": f"Answers for the data of {name}.",
            }
        for number in range(self._users):
            first, last = self._user(number)
            name = self._user_name(number)
            yield {
                "entityType": "user",
                "name": name,
                "fullyQualifiedName": f'"{name}"',
                "displayName": f"{first} {last}",
                "email": f"{name}@example.org",
                "teams": [reference("team", self._team_name(number % self._teams))],
            }

    def _vocabularies(self) -> Iterator[Line]:
        for name, description, labels in words.VOCABULARIES:
            yield {**entity_line("classification", None, name), "description": description}
            for label, meaning in labels:
                yield {
                    **entity_line("tag", name, label),
                    "description": meaning,
                    "classification": reference("classification", name),
                }
        yield {
            **entity_line("glossary", None, "Business"),
            "displayName": "Business terms",
            "description": "What the numbers in our reports mean.",
        }
        for term, meaning in words.TERMS:
            yield {
                **entity_line("glossaryTerm", "Business", term),
                "displayName": term.replace("_", " ").capitalize(),
                "description": meaning,
                "glossary": reference("glossary", "Business"),
            }

    def _domains(self) -> Iterator[Line]:
        yield {
            **entity_line("domain", None, "Commerce"),
            "domainType": "Aggregate",
            "description": "Everything the company sells, ships and earns.",
        }
        for area in words.AREAS:
            yield {
                **entity_line("dataProduct", "Commerce", f"{area.name}_insights"),
                "displayName": f"{area.title} insights",
                "description": f"The tables and dashboards on {area.title.lower()} that other"
                " teams may rely on.",
                "domains": [reference("domain", "Commerce")],
                "owners": [reference("team", area.title)],
            }
