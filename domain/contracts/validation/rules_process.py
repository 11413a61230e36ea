"""Evaluates rules in JSON logic for another process, within a time and an amount of memory.

The budget of the engine counts what a rule does, but not how large a value is that holds another
one many times over: a rule of some hundred bytes can make one that no machine could write down. So
each contract has a process with bounds of its own, which ends at them: a copy of one that has
imported all that rules take, and no more.

The argument is the seconds of processor time that the rules of one contract have. A contract is a
line of JSON on standard input: a list of its rules, each a text, and the entity. For each rule, in
order, goes a line of JSON to standard output: null where the value of the rule is true, or why the
rule has failed; and `true` when the process of the contract has ended.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any

from datalogic_py import DataLogicError, Engine

MEMORY = 768 * 1024 * 1024
"""Bytes of address space, those of the interpreter and of the entity included."""
LONGEST_REASON = 300
"""Characters."""
ANSWERED = b"true\n"
"""The line after those of a contract."""
OPERATIONS = 1_000_000
"""Work of one rule, in the units of the engine."""


def evaluate(rule: str, entity: str) -> str | None:
    """Evaluate a rule; returns the reason why the rule has failed, None where its value is true."""
    try:
        json.loads(rule)
    except (ValueError, RecursionError):
        return "the rule is no JSON"
    for fault in _ENGINE.check(rule):
        if fault["severity"] == "error":
            return fault["message"]
    try:
        # Compared with true by the engine, as what the rule comes to may be too large to be told.
        value, _ = _ENGINE.eval_metered(f'{{"===":[{rule},true]}}', entity, OPERATIONS)
    except DataLogicError as error:
        # Without the message, which may hold values of the entity.
        where = f" in {error.operator}" if error.operator else ""
        return f"not evaluated: {error.error_type}{where}"
    return None if value == "true" else "its value is not true"


def _operator(work: Callable[..., Any]) -> Callable[[str], str]:
    """The operator as the engine calls it: with JSON of its arguments, for JSON of a value."""

    def called(given: str) -> str:
        arguments = json.loads(given)
        return json.dumps(work(*(arguments if isinstance(arguments, list) else [arguments])))

    return called


def _owned_well(owners: Any, *_: Any) -> bool:
    """Several users, or one team alone."""
    if not isinstance(owners, list):
        return True
    teams = sum(each.get("type") == "team" for each in owners if isinstance(each, dict))
    return teams == 0 or len(owners) == 1


def _having(key: str) -> Callable[..., list[Any]]:
    def having(elements: Any = None, value: Any = None, *_: Any) -> list[Any]:
        held = elements if isinstance(elements, list) else []
        return [each for each in held if isinstance(each, dict) and each.get(key) == value]

    return having


_ENGINE = Engine(
    strict_operator_names=True,
    custom_operators={
        "multipleUsersOrSingleTeamOwnership": _operator(_owned_well),
        "filterReferenceByType": _operator(_having("type")),
        "filterTagsBySource": _operator(_having("source")),
    },
)


def main() -> None:
    """Answer the contracts that stand on standard input, until it ends."""
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seconds = float(sys.argv[1])
    # Whoever started this process may ignore the signal.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    for line in sys.stdin.buffer:
        process = os.fork()
        if process == 0:
            try:
                _answer(line, seconds)
            finally:
                os._exit(0)
        os.waitpid(process, 0)
        sys.stdout.buffer.write(ANSWERED)
        sys.stdout.buffer.flush()


def _answer(line: bytes, seconds: float) -> None:
    """Answer a contract, or end at the bounds."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # Its signal ends the process, as that of RLIMIT_CPU would, which has whole seconds only.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    rules, entity = json.loads(line)
    for rule in rules:
        reason = evaluate(rule, entity)
        # Short, so that a line is written whole or not at all.
        print(json.dumps(reason and reason[:LONGEST_REASON]), flush=True)


if __name__ == "__main__":
    main()
