"""Print the lowest versions that pyproject.toml allows of what kinformer needs, as requirements for pip.

``make lowest`` installs them into an environment of its own and runs the core of the tests there: a lower bound that
nobody tries is a guess.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

__all__ = ("lowest",)

_PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def lowest(text: str) -> str:
    """
    A requirement, with its lower bound as the only version.

    :raises ValueError: if it has none
    """
    requirement = Requirement(text)
    bounds = [Version(one.version) for one in requirement.specifier if one.operator in (">=", "==", "~=")]
    if not bounds:
        raise ValueError(f"{text}: no lower bound")
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}{extras}=={max(bounds)}{marker}"


def requirements(path: Path = _PYPROJECT) -> list[str]:
    """All of them, those of the extras as well, each once."""
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *(text for extra in project["optional-dependencies"].values() for text in extra)]
    return sorted({lowest(text) for text in texts})


if __name__ == "__main__":
    print("\n".join(requirements()))  # noqa: T201  # what it is for
