"""Reads an object, changes it and writes it back: controller-runtime's ``CreateOrUpdate``.

For objects that only the operator writes, server-side apply (:class:`kinformer.operator.Applier`) is better. Use this
for objects that others write as well, if the change depends on the current state.
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
    Create an object if it does not exist, or update it if `mutate` changes it.

    ::

        def set_data(found: V1ConfigMap) -> None:
            found.data = {**(found.data or {}), "host": "shop.example.com"}

        config = V1ConfigMap(metadata=V1ObjectMeta(name="shop", namespace="default"))
        written = await create_or_update(client, config, set_data)

    :param client: for the requests
    :param obj: has the name and namespace of the object. A new object is made from it. It is not changed
    :param mutate: gets a copy of the server's object, or of `obj` if there is none, and changes it in place. It must
        give the same result if it is called again
    :raises Conflict: if another client wrote the object in between. In a sync, let this exception propagate; elsewhere
        use :func:`retry_on_conflict`
    :raises AlreadyExists: if another client created the object in between
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
        # The server did not store anything: it has normalised the change away.
        return Written(written, Outcome.UNCHANGED)
    return Written(written, Outcome.UPDATED, changed_fields(found, written))


def _mutated(obj: T, mutate: Callable[[T], None]) -> T:
    changed = copy.deepcopy(obj)
    mutate(changed)
    accessor = accessor_of(changed)
    if accessor.object_name(changed) != accessor.object_name(obj):
        raise ValueError(f"{accessor.key(obj)} was renamed {accessor.key(changed)}: an object keeps its name")
    return changed
