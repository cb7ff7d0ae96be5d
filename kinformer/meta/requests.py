"""What a request is about, read from its method and path: for counting it, and for its object's name in a history."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ("UNCOUNTED", "WRITES", "About", "about")

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})

#: Resources whose writes are not counted: nothing depends on them, or they are renewed all the time.
UNCOUNTED: Final = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
#: The subresources of a namespace. They may follow its name in a path, and are not resources in the namespace.
_OF_NAMESPACE: Final = ("status", "finalize")


class About(NamedTuple):
    """
    What a request is about.

    :param verb: one of the API's verbs
    :param resource: plural and group: ``pods``, ``deployments.apps``; empty if the path is not that of a resource
    :param namespace: the namespace, empty if the path has none
    :param name: the object's name, empty if the path has none; for a path without a resource, the path
    :param subresource: the subresource, empty if the path has none
    """

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str

    @property
    def is_counted(self) -> bool:
        """Whether it is a write, and of a resource whose writes are counted."""
        return self.verb in WRITES and bool(self.resource) and self.resource not in UNCOUNTED

    @property
    def object(self) -> str:
        """The object's name as in records: ``pods/default/web-0``."""
        return "/".join(filter(None, (self.resource, self.namespace, self.name)))

    def __str__(self) -> str:
        return f"{self.verb} {self.subresource}" if self.subresource else self.verb


def about(method: str, path: str) -> About:
    """
    Find out what a request is about.

    :param method: the HTTP method
    :param path: the path with its query
    """
    path, _, query = path.partition("?")
    segments = path.strip("/").split("/")
    if segments[0] == "api" and len(segments) > 2:
        group, rest = "", segments[2:]
    elif segments[0] == "apis" and len(segments) > 3:
        group, rest = segments[1], segments[3:]
    else:
        return About("get", "", "", path.strip("/"), "")
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _OF_NAMESPACE:
        namespace, rest = rest[1], rest[2:]
    resource = f"{rest[0]}.{group}" if group else rest[0]
    name = rest[1] if len(rest) > 1 else ""
    return About(_verb(method, name, query), resource, namespace, name, "/".join(rest[2:]))


def _verb(method: str, name: str, query: str) -> str:
    if method == "DELETE":
        return "delete" if name else "deletecollection"
    if method in _VERBS:
        return _VERBS[method]
    if "watch=true" in query or "watch=1" in query:
        return "watch"
    return "get" if name else "list"
