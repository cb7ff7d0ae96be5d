"""A Dockerfile's steps without a container engine: COPY and RUN, in a folder that stands for the image's root."""

from __future__ import annotations

import json
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ("Stage", "copy", "rooted", "stages")

#: What is in no image, though it is in the folder that is built from.
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass
class Stage:
    """What comes between two FROMs."""

    image: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def last(self, instruction: str) -> str:
        """The last one of a kind, which is the one that counts; empty if there is none."""
        return next((text for name, text in reversed(self.steps) if name == instruction), "")

    def command(self) -> list[str]:
        """What a container runs."""
        return [*json.loads(self.last("ENTRYPOINT")), *json.loads(self.last("CMD"))]


def stages(text: str) -> list[Stage]:
    """Read a Dockerfile that has no line continuations, no ARG and no heredocs."""
    found: list[Stage] = []
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        instruction, _, rest = line.partition(" ")
        assert instruction in {"FROM", "WORKDIR", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT", "CMD"}, line
        assert not rest.endswith("\\"), line
        if instruction == "FROM":
            image, *more = rest.split()
            found.append(Stage(image, more[1] if more else ""))
        else:
            found[-1].steps.append((instruction, rest))
    return found


def rooted(command: str, root: Path, python: str) -> list[str]:
    """A RUN's words, with the image's paths under `root`, and with this Python for the image's."""
    words = []
    for word in shlex.split(command):
        if word == "python3":
            word = python
        elif word.startswith("/"):
            word = f"{root}{word}"
        words.append(word)
    return words


def copy(rest: str, source: Path, root: Path) -> None:
    """A COPY of files, or of one folder."""
    *names, target = rest.split()
    for name in names:
        found = source / name
        goal = Path(f"{root}{target}")
        if found.is_dir():
            shutil.copytree(found, goal, ignore=_LEFT_OUT)
        else:
            goal = goal / found.name if target.endswith("/") else goal
            goal.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, goal)
