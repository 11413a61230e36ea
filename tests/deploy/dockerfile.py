"""The Dockerfile as data: its instructions in order, and what the finished image runs."""

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]


@dataclass
class Stage:
    """One `FROM` and what follows it."""

    base: str
    environment: dict[str, str] = field(default_factory=dict)
    copies: dict[PurePosixPath, Path] = field(default_factory=dict)
    """Path in the image -> the file or folder of the repository that is copied there."""
    values: dict[str, str] = field(default_factory=dict)
    """Instruction -> its last argument text: `USER`, `VOLUME`, `EXPOSE`, ..."""
    runs: list[str] = field(default_factory=list)
    """Commands that each `RUN` runs, in order."""

    def arguments(self, instruction: str) -> list[str]:
        """The words of an instruction in its JSON form, without the options before it."""
        words = json.loads(self.values[instruction][self.values[instruction].index("[") :])
        assert all(isinstance(word, str) for word in words)
        return list(words)


def read_stages() -> list[Stage]:
    """The stages of `deploy/Dockerfile`, the finished image's last."""
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    stages: list[Stage] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            stages.append(Stage(rest.split()[0]))
            continue
        stage = stages[-1]
        stage.values[instruction] = rest
        if instruction == "RUN":
            stage.runs.append(rest)
        if instruction == "ENV":
            stage.environment |= dict(word.split("=", 1) for word in shlex.split(rest))
        elif instruction == "COPY" and "--from=" not in rest:
            *sources, target = (word for word in rest.split() if not word.startswith("--"))
            directory = PurePosixPath(stage.values.get("WORKDIR", "/"))
            for source in sources:
                name = source if target.endswith("/") else ""
                stage.copies[directory / target / name] = ROOT / source
    return stages
