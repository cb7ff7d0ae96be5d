"""What a request is about, from its method and path: enough to count it, and to name its object in a history."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ("UNCOUNTED", "WRITES", "About", "about")

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})

#: Resources that nothing depends on, or that are renewed all the time: nobody's n-th write is one of these.
UNCOUNTED: Final = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
#: What may follow a namespace's name that is not a resource in it.
_OF_NAMESPACE: Final = ("status", "finalize")


class About(NamedTuple):
    """
    :param verb: one of the API's verbs
    :param resource: plural and group: ``pods``, ``deployments.apps``; empty for what is not a resource
    :param namespace: empty where the path has none, and so is `name`
    """

    verb: str
    resource: str
    namespace: str
    name: str
    subresource: str

    @property
    def is_counted(self) -> bool:
        """Whether it is a write that somebody may depend on."""
        return self.verb in WRITES and bool(self.resource) and self.resource not in UNCOUNTED

    @property
    def object(self) -> str:
        """As records name it: ``pods/default/web-0``."""
        return "/".join(filter(None, (self.resource, self.namespace, self.name)))

    def __str__(self) -> str:
        return f"{self.verb} {self.subresource}" if self.subresource else self.verb


def about(method: str, path: str) -> About:
    """
    :param path: with the query
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
