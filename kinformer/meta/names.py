"""Names of objects, kinds and resources, in the API and in a cache.

A *kind* is the type that an object names (``v1, Pod``). A *resource* is where objects of a kind are served (``v1,
pods``). Within a resource, an object is identified by its namespace and name. As a string this is ``namespace/name``,
or just ``name`` for an object without a namespace (client-go's MetaNamespaceKeyFunc).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = (
    "GroupKind",
    "GroupResource",
    "GroupVersion",
    "GroupVersionKind",
    "GroupVersionResource",
    "ObjectName",
    "split_key",
)


class GroupVersion(NamedTuple):
    """An API group at one version; the core group is the empty string."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """
        Parse an object's ``apiVersion``: ``v1``, ``apps/v1``.

        :raises ValueError: if it has more than one slash
        """
        group, slash, version = api_version.rpartition("/")
        if "/" in group or (slash and not version):
            raise ValueError(f"{api_version!r} is not an apiVersion: want VERSION or GROUP/VERSION")
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GroupKind(NamedTuple):
    """A kind without a version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """A resource without a version. Errors and quotas name it by its text: ``pods``, ``deployments.apps``."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        return str(GroupVersion(self.group, self.version))

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)

    def __str__(self) -> str:
        return f"{self.api_version}, Resource={self.resource}"


class ObjectName(NamedTuple):
    """
    The name of one object within its resource.

    :param namespace: empty for objects without a namespace
    """

    namespace: str
    name: str

    @classmethod
    def parse(cls, key: str) -> ObjectName:
        """
        Parse a key.

        :raises ValueError: if it has more than one slash
        """
        namespace, _, name = key.rpartition("/")
        if "/" in namespace:
            raise ValueError(f"unexpected key format: {key!r}")
        return cls(namespace, name)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def split_key(key: str) -> ObjectName:
    """client-go's SplitMetaNamespaceKey; see :meth:`ObjectName.parse`."""
    return ObjectName.parse(key)
