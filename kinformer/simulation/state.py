"""The state of a world: a read-only view of the server's storage, for invariants and oracles.

It can be read at any time, also in the middle of a write. Reading sends no request and takes no virtual time. The
objects that it returns are copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from kinformer.envtest import ApiServer
from kinformer.envtest.storage import Version
from kinformer.meta.names import GroupResource, GroupVersionResource
from kinformer.models import builtin_resources, decode, resource_for

__all__ = ("State",)


class State:
    """
    The objects that are stored now.

    ::

        world.assert_always(lambda state: len(state.list(V1Pod)) <= 4)
        world.assert_always(lambda state: state.get("configmaps/default/lock") is not None)

    A resource is given as a model, as an object with an attribute `gvr`, or as a text: ``pods``, ``deployments.apps``.
    For a model, the objects are models; otherwise they are dicts. A custom resource has no objects before its
    definition exists.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        #: Whether the objects of each resource belong to namespaces, as far as it was asked for.
        self._namespaced: dict[GroupResource, bool] = {}

    def list(self, resource: Any, namespace: str = "") -> list[Any]:
        """
        All objects of a resource, sorted by namespace and name.

        :param namespace: only objects of this namespace; empty for all
        :raises LookupError: if the server does not serve the resource, and no definition can add it
        """
        log = self._server.storage.log(self._served(resource)[0])
        return [_read(resource, version) for version in log.select(namespace)]

    def get(self, resource: Any, /, name: str = "", namespace: str = "") -> Any:
        """
        One object; None if it does not exist.

        :param resource: the resource; or, without a name, all in one text as in records: ``pods/default/web-0``
        :raises LookupError: if the server does not serve the resource, and no definition can add it
        :raises ValueError: if the resource belongs to a namespace and none is given, or the other way round
        """
        if not name:
            resource, _, key = resource.partition("/")
            namespace, _, name = key.rpartition("/")
        served, namespaced = self._served(resource)
        if namespaced is not None and namespaced is not bool(namespace):
            want = (
                "in a namespace: want RESOURCE/NAMESPACE/NAME" if namespaced else "in no namespace: want RESOURCE/NAME"
            )
            raise ValueError(f"{served} are {want}, not {served}/{f'{namespace}/' if namespace else ''}{name}")
        found = self._server.storage.get(served, namespace, name)
        return _read(resource, found) if found is not None else None

    def versions(self) -> Iterator[tuple[str, Version]]:
        """All objects as they are stored, each with its name as in records."""
        logs = {str(resource): log for resource, log in self._server.storage.logs()}
        for resource in sorted(logs):
            for version in logs[resource].select(""):
                yield f"{resource}/{version.key}", version

    def objects(self) -> dict[str, dict[str, Any]]:
        """All objects as dicts, by their names as in records."""
        return {name: version.decode() for name, version in self.versions()}

    def _served(self, resource: Any) -> tuple[GroupResource, bool | None]:
        """A resource, and whether its objects belong to namespaces; None if it has no definition yet."""
        asked = _resource(resource)
        if asked not in self._namespaced:
            self._namespaced = {each.group_resource: each.namespaced for each in self._server.registry}
        if asked not in self._namespaced and asked.group in _builtin_groups():
            raise LookupError(f"the server does not serve {asked}")
        return asked, self._namespaced.get(asked)


@cache
def _builtin_groups() -> frozenset[str]:
    return frozenset(each.gvr.group for each in builtin_resources().values())


def _resource(resource: Any) -> GroupResource:
    if isinstance(resource, str):
        plural, _, group = resource.partition(".")
        return GroupResource(group, plural)
    gvr: GroupVersionResource = getattr(resource, "gvr", None) or resource_for(resource).gvr
    return gvr.group_resource


def _read(resource: Any, version: Version) -> Any:
    return decode(resource, version.raw) if isinstance(resource, type) else version.decode()
