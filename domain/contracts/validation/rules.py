"""The client of the process in which rules are evaluated."""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType

from domain.contracts.validation.rules_process import ANSWERED
from domain.machine.modules import command_of, environment

WAITS = 5.0
"""Seconds for which the rules of a contract are waited for, which have less of the processor."""
BEYOND = "the rules of the contract take too much time or memory"
_PROCESS = "domain.contracts.validation.rules_process"
_CHUNK = 65_536


class RulesProcess:
    """Evaluates the rules of contracts one after the other; for one thread.

    As a context it ends the process, which the first contract with rules starts: a start takes
    many times as long as most rules.
    """

    seconds = 1.0
    """Processor time of the rules of one contract."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "RulesProcess":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def evaluate(self, rules: Sequence[str], entity_json: bytes) -> list[str | None]:
        """Evaluate the rules of a contract: why each has failed, None for a rule that holds.

        A rule that goes beyond the bounds of the process fails, and all after it.
        """
        answer = self._asked(json.dumps([rules, entity_json.decode()]).encode() + b"\n")
        if not answer.endswith(ANSWERED):
            self._end()
        lines = answer.removesuffix(ANSWERED).splitlines()
        reasons: list[str | None] = [json.loads(line) for line in lines]
        return [*reasons, *[BEYOND] * (len(rules) - len(reasons))]

    def _asked(self, question: bytes) -> bytes:
        """The answer of the process, as far as it comes within `WAITS` seconds."""
        if self._process is None:
            self._process = subprocess.Popen(
                [*command_of(_PROCESS), str(self.seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
        answer, ends = b"", time.monotonic() + WAITS
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(question)
            process.stdin.flush()
        except BrokenPipeError:
            return answer
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not answer.endswith(ANSWERED) and selector.select(
                max(ends - time.monotonic(), 0)
            ):
                if not (chunk := os.read(process.stdout.fileno(), _CHUNK)):
                    break
                answer += chunk
        return answer

    def _end(self) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        # Nobody reads what is left in the buffer of its input.
        with process, suppress(BrokenPipeError):
            assert process.stdin is not None
            process.stdin.close()
