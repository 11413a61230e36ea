"""Patterns over single terms: automata, wildcards, edit distance, all in bounded time.

A pattern becomes an automaton, run as a lazily built deterministic one: time grows with the length
of the term only, whatever the pattern (no backtracking). `regex` builds them for expressions.
"""

from domain.errors import InvalidInput

MAX_PATTERN = 256
MAX_STATES = 2_000
_MAX_REMEMBERED = 2_000
_MAX_TESTED = 32

States = frozenset[int]
ANY = (True, frozenset[str](), ())
CharSet = tuple[bool, frozenset[str], tuple[tuple[str, str], ...]]
"""Negated or not, single characters, ranges."""


class Automaton:
    """Decides whether a whole term matches a pattern."""

    def __init__(self, free: list[list[int]], edges: list[tuple[CharSet, int] | None]) -> None:
        self._free = free
        self._edges = edges
        self._final = len(free) - 1
        self._seen: dict[States, dict[str, States]] = {}

    def matches(self, term: str) -> bool:
        """Whether the pattern matches all of `term`."""
        states = self.start()
        for character in term:
            states = self.step(states, character)
            if not states:
                return False
        return self.accepts(states)

    def start(self) -> States:
        """The states before the first character."""
        return self._closure([0])

    def accepts(self, states: States) -> bool:
        """Whether a term that led to these states matches."""
        return self._final in states

    @property
    def prefix(self) -> str:
        """Characters with which every matching term begins."""
        found = ""
        states = self._closure([0])
        while self._final not in states and len(found) < MAX_PATTERN:
            choices = {edge[0] for state in states if (edge := self._edges[state])}
            if len(choices) != 1:
                break
            negated, single, ranges = choices.pop()
            if negated or ranges or len(single) != 1:
                break
            (character,) = single
            found += character
            states = self.step(states, character)
        return found

    @property
    def required(self) -> str:
        """The longest text found that every matching term contains; often empty."""
        longest = ""
        tested = 0
        state = 0
        while state < self._final and tested < _MAX_TESTED:
            text, after = self._forced(state)
            if len(text) > len(longest):
                tested += 1
                if not self._avoidable(state):
                    longest = text
                    state = after
                    continue
            state += 1
        return longest

    def _forced(self, state: int) -> tuple[str, int]:
        """The characters that must follow in this state, and the state after them."""
        text = ""
        seen: set[int] = set()
        while state not in seen:
            seen.add(state)
            free, edge = self._free[state], self._edges[state]
            if edge is not None and not free:
                (negated, single, ranges), after = edge
                if negated or ranges or len(single) != 1:
                    break
                text += next(iter(single))
                state = after
            elif edge is None and len(free) == 1 and text:
                state = free[0]
            else:
                break
        return text, state

    def _avoidable(self, state: int) -> bool:
        """Whether a term can match without passing the state."""
        reached = {0, state}
        waiting = [0] if state else []
        while waiting:
            here = waiting.pop()
            edge = self._edges[here]
            for target in (*self._free[here], *([edge[1]] if edge else [])):
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return self._final in reached

    def step(self, states: States, character: str) -> States:
        """The states after one more character."""
        known = self._seen.get(states)
        if known is None:
            if len(self._seen) >= _MAX_REMEMBERED:
                self._seen.clear()
            known = self._seen[states] = {}
        after = known.get(character)
        if after is None:
            edges = (self._edges[state] for state in states)
            after = self._closure([edge[1] for edge in edges if edge and _fits(edge[0], character)])
            known[character] = after
        return after

    def _closure(self, states: list[int]) -> States:
        reached = set(states)
        while states:
            for target in self._free[states.pop()]:
                if target not in reached:
                    reached.add(target)
                    states.append(target)
        return frozenset(reached)


def _fits(chars: CharSet, character: str) -> bool:
    negated, single, ranges = chars
    inside = character in single or any(low <= character <= high for low, high in ranges)
    return inside != negated


class Builder:
    """Lays an automaton out state by state; a piece is its first state, its end the last one."""

    def __init__(self, pattern: str, what: str) -> None:
        self.pattern = pattern
        self.what = what
        self.at = 0
        self.depth = 0
        self.free: list[list[int]] = []
        self.edges: list[tuple[CharSet, int] | None] = []
        self.state()

    def error(self, why: str, at: int | None = None) -> InvalidInput:
        column = (self.at if at is None else at) + 1
        return InvalidInput(f"{self.what} {self.pattern[:80]!r}: {why} at character {column}")

    def state(self) -> int:
        if len(self.free) >= MAX_STATES:
            raise self.error("the pattern is too large")
        self.free.append([])
        self.edges.append(None)
        return len(self.free) - 1

    def take(self, chars: CharSet) -> None:
        """After the last state: one character of the set."""
        here = len(self.free) - 1
        after = self.state()
        self.edges[here] = (chars, after)

    def loop(self, chars: CharSet) -> None:
        """After the last state: any number of characters of the set."""
        here = len(self.free) - 1
        inner = self.state()
        after = self.state()
        self.free[here].append(inner)
        self.free[inner].append(after)
        self.edges[inner] = (chars, inner)

    def done(self) -> Automaton:
        return Automaton(self.free, self.edges)


def wildcard(pattern: str) -> Automaton:
    """The automaton of a wildcard pattern as `tree.Wildcard` holds it, lower-cased."""
    if len(pattern) > 2 * MAX_PATTERN:
        raise InvalidInput(
            f"wildcard pattern {pattern[:40]!r}... has over {MAX_PATTERN} characters"
        )
    builder = Builder(pattern, "wildcard pattern")
    literal = False
    previous = ""
    for character in pattern.lower():
        if literal or character not in "\\*?":
            builder.take(single(character))
            literal = False
        elif character == "\\":
            literal = True
        elif character == "?":
            builder.take(ANY)
        elif previous != "*":
            builder.loop(ANY)
        previous = character
    return builder.done()


def lower(character: str) -> str:
    lowered = character.lower()
    return lowered if len(lowered) == 1 else character


def single(character: str) -> CharSet:
    return False, frozenset(lower(character)), ()


def distance(left: str, right: str, limit: int) -> int:
    """Slips between two words (a letter more, less, other, or two swapped); over `limit`: more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        two_before, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, two_before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
    return row[-1]
