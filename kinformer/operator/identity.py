"""Which resource an object belongs to, by its type or, for dicts, by what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinformer.client import Client, Resource
from kinformer.models import resource_for

__all__ = ("resource_of",)


async def resource_of(client: Client, obj: Any) -> Resource[Any]:
    """
    The verbs for an object.

    :raises LookupError: if its type is served by no resource that is known
    :raises ValueError: if it is a dict that does not say what it is
    :raises NoKindMatch: if the server serves no such kind
    """
    if isinstance(obj, Mapping):
        return await client.resource_for_object(obj)
    resource_for(type(obj))
    return client.resource(type(obj))
