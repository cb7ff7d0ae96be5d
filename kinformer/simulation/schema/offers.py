"""Offers: the server is asked which changes it would accept.

A change is offered with ``dryRun``, as the creation of the changed object. A refused value is mended, if the server
says how: a required field that is missing is added, and the values that are supported are tried. That is how the fields
of built-in kinds are found whose schemas have no such rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from kinformer.client import ApiError, PatchType, Resource
from kinformer.meta.patch import create_merge_patch
from kinformer.simulation.oracles.normal import normal_form, steps_of
from kinformer.simulation.schema.changes import ABSENT, Change, Path, value_at
from kinformer.simulation.schema.values import Field, Schema, Schemas

__all__ = ("Accepted", "Offers")

#: How often a refused value is mended.
_REPAIRS: Final = 4
_LISTED: Final = re.compile(r'"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Accepted:
    """
    A valid change.

    :param field: the field
    :param change: the change
    :param can_follow: whether an object that exists can be changed so
    """

    field: Field
    change: Change
    can_follow: bool = True


class Offers:
    """
    Offers changes of an object to the server.

    :param resource: the resource of the object
    :param obj: the object; it must not exist while new objects are offered
    """

    def __init__(self, resource: Resource[dict[str, Any]], obj: Mapping[str, Any], namespace: str) -> None:
        self._resource = resource
        self._obj = obj
        self._namespace = namespace
        self._plain: Any = None

    async def accepted(self, field: Field, schemas: Schemas, schema: Schema) -> tuple[list[Accepted], str]:
        """
        The changes of a field that are valid as new objects and make a difference, one of each group at most.

        :return: the changes, and what the server said of the last one that it refused
        """
        groups, found, refusal, is_listed = list(field.groups), list[Accepted](), "", False
        while groups:
            for value in groups.pop(0):
                change, error = await self._mended(Change(field.path, value), schemas, schema)
                if error is None:
                    if change is not None and all(change != other.change for other in found):
                        found.append(Accepted(field, change))
                        break
                    continue
                refusal = error.message
                if not is_listed and (listed := _listed(error, field.path)):
                    own, is_listed = value_at(self._obj, field.path), True
                    groups = [[each] for each in listed if each != own]
                    break
        return found, refusal

    async def _mended(self, change: Change, schemas: Schemas, schema: Schema) -> tuple[Change | None, ApiError | None]:
        """The change as the server accepts it, None if it makes no difference, or the refusal."""
        for _ in range(_REPAIRS):
            try:
                differs = await self._differs(change)
            except ApiError as error:
                mended = _with_required(change, error, schemas, schema)
                if mended is None:
                    return None, error
                change = mended
            else:
                return (change if differs else None), None
        return None, None

    async def _differs(self, change: Change) -> bool:
        if self._plain is None:
            self._plain = _stored(await self._create(self._obj))
        return bool(_stored(await self._create(change.of(self._obj))) != self._plain)

    async def _create(self, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self._resource.create(obj, self._namespace, dry_run=True)

    async def followed(self, accepted: Iterable[Accepted]) -> list[Accepted]:
        """The changes, each with whether the object, which exists now, can be changed so, and back."""
        return [replace(each, can_follow=await self._can_follow(each.change)) for each in accepted]

    async def _can_follow(self, change: Change) -> bool:
        patch = create_merge_patch(self._obj, change.of(self._obj))
        name = self._obj["metadata"]["name"]
        try:
            await self._resource.patch(name, patch, self._namespace, patch_type=PatchType.MERGE, dry_run=True)
        except ApiError:
            return False
        return True


def _stored(obj: Mapping[str, Any]) -> Any:
    """An object as it would be stored, without what is new in each creation."""
    return normal_form({"objects/new": obj})


def _listed(error: ApiError, path: Path) -> list[str]:
    """The values that the server says it supports for a field. Some errors name the field around it."""
    for cause in error.causes:
        named = steps_of(cause.field)
        if cause.reason == "FieldValueNotSupported" and named and path[: len(named)] == named:
            return [text for text in _LISTED.findall(cause.message.partition("supported values:")[2]) if text]
    return []


def _with_required(change: Change, error: ApiError, schemas: Schemas, schema: Schema) -> Change | None:
    """The change with values for the fields that the server wants within it; None if it wants none."""
    whole = {"value": change.value}
    is_mended = False
    for cause in error.causes:
        path = steps_of(cause.field)
        within = path[len(change.path) :]
        if cause.reason not in ("FieldValueRequired", "FieldValueNotSupported") or not within:
            continue
        if path[: len(change.path)] != change.path or change.value is ABSENT:
            continue
        values = _listed(error, path) or list(schemas.samples(schemas.below(schema, path)))
        if value_at(whole["value"], within) in (ABSENT, "", {}, []) or cause.reason == "FieldValueNotSupported":
            whole = Change(("value", *within), values[0]).of(whole)
            is_mended = True
    return Change(change.path, whole["value"]) if is_mended else None
