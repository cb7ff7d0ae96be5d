"""Finds the resource of an object: by its type or, for a dict, by its ``apiVersion`` and ``kind``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kinformer.client import Client, Resource
from kinformer.models import resource_for

__all__ = ("resource_of",)


async def resource_of(client: Client, obj: Any) -> Resource[Any]:
    """
    The client's resource for an object.

    :raises LookupError: if its type is not a known model or custom resource
    :raises ValueError: if it is a dict without ``apiVersion`` or ``kind``
    :raises NoKindMatch: if the server does not serve this kind
    """
    if isinstance(obj, Mapping):
        return await client.resource_for_object(obj)
    resource_for(type(obj))
    return client.resource(type(obj))
