"""The choices that make one catalog differ from another: who owns what, what is said of it."""

import itertools
import random
from collections.abc import Sequence
from typing import TypeVar

from benchmarks import words
from benchmarks.sample.lines import Line, reference

T = TypeVar("T")
_MOST_USERS = 5_000


class Choices:
    """Random choices, the same for the same count and seed if they are asked for in one order."""

    def __init__(self, count: int, seed: int) -> None:
        self._random = random.Random(f"{seed}/{count}")
        self._users = min(max(6, count // 40), _MOST_USERS)
        self._teams = max(len(words.AREAS), self._users // 10)
        self._cumulative = {
            size: list(itertools.accumulate(1 / (rank + 2.7) for rank in range(size)))
            for size in range(1, 200)
        }

    def _zipf(self, choices: Sequence[T]) -> T:
        """One of the choices, the first most often, after Zipf and Mandelbrot."""
        weights = self._cumulative[len(choices)]
        return self._random.choices(choices, cum_weights=weights)[0]

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _user(self, number: int) -> tuple[str, str]:
        """First and last name of a user; numbers repeat the combinations after a while."""
        first = words.FIRST_NAMES[number % len(words.FIRST_NAMES)]
        rest = number // len(words.FIRST_NAMES)
        # Steps of 7 through 30 names reach all of them, so no pair comes twice in 900 users.
        last = words.LAST_NAMES[(number + 7 * rest) % len(words.LAST_NAMES)]
        again = rest // len(words.LAST_NAMES)
        return first, last + (str(again + 1) if again else "")

    def _user_name(self, number: int) -> str:
        first, last = self._user(number)
        return f"{first}.{last}".lower()

    def _some_user(self) -> Line:
        number = int(self._users * self._random.random() ** 3)
        return reference("user", f'"{self._user_name(number)}"')

    def _team_name(self, number: int) -> str:
        area = words.AREAS[number % len(words.AREAS)].title
        again = number // len(words.AREAS)
        return f"{area} {again + 1}" if again else area

    def _some_team(self) -> Line:
        return reference("team", self._team_name(int(self._teams * self._random.random() ** 2)))

    def _owners(self) -> list[Line]:
        owners = [self._some_team()] if self._chance(0.4) else [self._some_user()]
        if self._chance(0.2) and (other := self._some_user()) not in owners:
            owners.append(other)
        return owners

    def _tags(self) -> list[Line]:
        tags = []
        if self._chance(0.5):
            name, _, labels = self._zipf(words.VOCABULARIES)
            tags.append({"tagFQN": f"{name}.{self._zipf(labels)[0]}", "source": "Classification"})
        if self._chance(0.15):
            term = f"Business.{self._zipf(words.TERMS)[0]}"
            tags.append({"tagFQN": term, "source": "Glossary"})
        return tags

    def _codename(self) -> str:
        return f"{self._random.choice(words.ADJECTIVES)} {self._random.choice(words.NOUNS)}"

    def _prose(self, opening: str) -> str:
        """The opening and up to four sentences more."""
        sentences = [opening]
        if self._chance(0.7):
            cadence, system = self._zipf(words.CADENCES), self._zipf(words.SYSTEMS)
            sentences.append(f"Loaded from {system} {cadence}.")
        if self._chance(0.6):
            sentences.append(f"Used for {self._zipf(words.PURPOSES)}.")
        if self._chance(0.8):
            sentences.append(self._zipf(words.CARES))
        if self._chance(0.3):
            year = self._random.randint(2015, 2025)
            sentences.append(f"Introduced with project {self._codename().title()} in {year}.")
        if self._chance(0.2):
            ticket = self._random.randint(100, 99_999)
            sentences.append(f"Open questions are collected in DATA-{ticket}.")
        return " ".join(sentences)
