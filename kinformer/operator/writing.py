"""Reading, changing and writing back: what controller-runtime calls ``CreateOrUpdate``.

Server-side apply (:class:`kinformer.operator.Applier`) is the better way for objects that an operator makes itself.
This is for objects that others write too, where a change depends on what is there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeVar

from kinformer.client import Client, NotFound, Resource
from kinformer.meta import accessor_of
from kinformer.operator.changes import Outcome, Written, changed_fields
from kinformer.operator.identity import resource_of

__all__ = ("create_or_update",)

T = TypeVar("T")


async def create_or_update(client: Client, obj: T, mutate: Callable[[T], None]) -> Written[T]:
    """
    Have an object be as `mutate` makes it: create it if it is not there, update it if `mutate` changes something.

    ::

        def set_data(found: V1ConfigMap) -> None:
            found.data = {**(found.data or {}), "host": "shop.example.com"}

        config = V1ConfigMap(metadata=V1ObjectMeta(name="shop", namespace="default"))
        written = await create_or_update(client, config, set_data)

    :param obj: names the object; what a new one is made from. It is not changed
    :param mutate: is given a copy of what the server has, or of `obj`, and changes it in place. It may be called again
    :raises Conflict: if somebody else wrote in between: a sync lets it out, others use :func:`retry_on_conflict`
    :raises AlreadyExists: if somebody else created the object in between
    :raises ValueError: if `mutate` changes the name or the namespace
    """
    resource: Resource[Any] = await resource_of(client, obj)
    accessor = accessor_of(obj)
    name = accessor.object_name(obj)
    try:
        found = await resource.get(name.name, name.namespace)
    except NotFound:
        return Written(await resource.create(_mutated(obj, mutate)), Outcome.CREATED)
    wanted = _mutated(found, mutate)
    if wanted == found:
        return Written(found, Outcome.UNCHANGED)
    written = await resource.update(wanted)
    if accessor.resource_version(written) == accessor.resource_version(found):
        # What was changed is nothing to the server, or it has set it back.
        return Written(written, Outcome.UNCHANGED)
    return Written(written, Outcome.UPDATED, changed_fields(found, written))


def _mutated(obj: T, mutate: Callable[[T], None]) -> T:
    changed = copy.deepcopy(obj)
    mutate(changed)
    accessor = accessor_of(changed)
    if accessor.object_name(changed) != accessor.object_name(obj):
        raise ValueError(f"{accessor.key(obj)} was renamed {accessor.key(changed)}: an object keeps its name")
    return changed
