"""Checking an object against the type of its kind. For now every object is taken as it comes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kinformer.envtest.registry.resources import Resource

__all__ = ("Problems", "check", "zero_of")


@dataclass(slots=True)
class Problems:
    """What was found: the first value of a wrong type, and the fields that the type does not have."""

    error: str | None = None
    unknown: list[str] = field(default_factory=list)


def check(resource: Resource, data: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """The object in the form in which it is stored."""
    return data


def zero_of(resource: Resource) -> dict[str, Any]:
    """What an object of that kind has that has nothing."""
    return {}
