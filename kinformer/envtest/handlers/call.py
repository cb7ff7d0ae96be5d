"""A request to the API, understood: which verb on which resource, and how it may be answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import msgspec

from kinformer.envtest import status
from kinformer.envtest.access import Action
from kinformer.envtest.admission import Review, User
from kinformer.envtest.operations import WriteOptions
from kinformer.envtest.registry import Registry, Resource, Subresource
from kinformer.meta.fields import parse_field_selector
from kinformer.meta.integers import read_integer
from kinformer.meta.names import GroupVersionKind

__all__ = ("Answer", "Call", "Target", "find_target")

_COLLECTION_VERBS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_COLLECTIONS = ("list", "watch", "deletecollection")
_is_number = re.compile(r"[+-]?[0-9]+").fullmatch
_SUBRESOURCE_VERBS = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}


@dataclass(slots=True)
class Answer:
    """What goes back: a status, bytes, and warnings for the Warning header."""

    body: bytes
    code: int = 200
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Target:
    """What an URL's path names."""

    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: Subresource | None = None


@dataclass(slots=True)
class Call:
    """
    One request.

    :param query: the first value of each parameter, as in Go
    :param behind: the resource version at which a read of any version is answered, if it is not the current one
    :param time: when the request arrived
    :param warnings: warnings for the client. Handlers append to it
    :param review: calls the admission webhooks for writes
    :param authorize: refuses an action that the user may not do. It is for actions that are known only late, e.g. that
        an update creates the object
    """

    method: str
    target: Target
    verb: str
    query: Mapping[str, str]
    content_type: str
    accept: str
    body: bytes
    user: User
    agent: str = ""
    behind: int | None = None
    time: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    warnings: list[str] = field(default_factory=list)
    review: Review | None = None
    authorize: Callable[[Action], None] = lambda _: None

    @property
    def resource(self) -> str:
        """The resource, written as in kubectl: ``deployments.apps``."""
        return str(self.target.resource.group_resource)

    @property
    def namespace(self) -> str:
        return self.target.namespace

    @property
    def name(self) -> str:
        return self.target.name

    @property
    def part(self) -> str:
        """The name of the subresource. Empty for the object itself."""
        return self.target.subresource.name if self.target.subresource is not None else ""

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind of the request's body."""
        return self.target.subresource.gvk if self.target.subresource is not None else self.target.resource.gvk

    @property
    def action(self) -> Action:
        """The action to authorize."""
        resource = self.target.resource
        name = self.name or (self._only_name() if self.verb in _OF_COLLECTIONS else "")
        return Action(self.verb, resource.group, resource.plural, self.part, self.namespace, name)

    def _only_name(self) -> str:
        """The only name that a request for several objects can match, if its field selector has one."""
        if not (text := self.query.get("fieldSelector")):
            return ""
        try:
            return parse_field_selector(text).required_value("metadata.name") or ""
        except ValueError:
            return ""  # the user must be authorized before the selector's error is returned

    @property
    def is_dry_run(self) -> bool:
        return bool(self.query.get("dryRun"))

    @property
    def manager(self) -> str:
        """The field manager that the request names. Empty if it names none."""
        return self.query.get("fieldManager", "")

    def is_set(self, parameter: str) -> bool:
        """
        Whether a boolean parameter is true. As in Go, all values except false and 0 are true. A missing one is false.
        """
        return self.query.get(parameter, "false").lower() not in ("false", "0")

    def number(self, parameter: str) -> int | None:
        """
        The value of a parameter. None if it is not set.

        :raises StatusError: BadRequest if it is not a number
        """
        text = self.query.get(parameter)
        if text is None:
            return None
        wrong = "invalid syntax"
        if _is_number(text):
            if (value := read_integer(text)) is not None:
                return value
            wrong = "value out of range"
        raise status.bad_request(f'strconv.ParseInt: parsing "{text}": {wrong}')

    def write_options(self, kind: str) -> WriteOptions:
        """The options of a write, for admission."""
        options: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if self.is_dry_run:
            options["dryRun"] = ["All"]
        for name in ("fieldManager", "fieldValidation"):
            if value := self.query.get(name):
                options[name] = value
        # Without a field manager, the manager is the program's name: the beginning of the User-Agent.
        manager = self.manager or _printable(self.agent.partition("/")[0])
        return WriteOptions(self.user, self.is_dry_run, options, manager, self.review, self.warnings)


def _printable(text: str) -> str:
    """A text as a manager's name: without unprintable characters, and at most 128 bytes long."""
    if text.isascii() and text.isprintable() and len(text) <= 128:
        return text
    shown = "".join(char for char in text if char.isprintable())
    return shown.encode()[:128].decode(errors="ignore")


def parse_query(text: str) -> dict[str, str]:
    # If a parameter is given more than once, the first value is used, as in Go.
    if "%" in text or "+" in text:
        return {key: values[0] for key, values in parse_qs(text, keep_blank_values=True).items()}
    found: dict[str, str] = {}
    for part in text.split("&"):
        if part:
            key, _, value = part.partition("=")
            found.setdefault(key, value)
    return found


def find_target(registry: Registry, segments: list[str]) -> Target | None:
    """
    The resource that a path below ``/api`` or ``/apis`` names.

    :param segments: the parts of the path: ``api``, ``v1``, …
    :return: None if the group and version do not exist
    :raises StatusError: NotFound if the group and version exist, and have no such resource
    """
    group, version = ("", segments[1]) if segments[0] == "api" else (segments[1], segments[2])
    rest = segments[2:] if segments[0] == "api" else segments[3:]
    if not registry.has_group_version(group, version):
        if all(group != one.group or one.is_custom for one in registry):
            return None
        raise status.unknown_resource()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    elif rest[0] == "watch":  # the deprecated form, /api/v1/watch/…
        rest = rest[1:]
    resource = registry.find(group, version, rest[0]) if rest else None
    if resource is None or len(rest) > 3 or (namespace and not resource.namespaced) or "" in rest:
        raise status.unknown_resource()
    if len(rest) == 1:
        return Target(resource, namespace)
    if resource.namespaced and not namespace:
        raise status.unknown_resource()
    if len(rest) == 2:
        return Target(resource, namespace, rest[1])
    subresource = resource.subresources.get(rest[2])
    if subresource is None:
        raise status.unknown_resource()
    return Target(resource, namespace, rest[1], subresource)


def verb_for(method: str, target: Target, query: Mapping[str, str]) -> str:
    """
    The verb of a request.

    :raises StatusError: MethodNotAllowed
    """
    resource = target.resource
    if target.subresource is not None:
        verb, served = _SUBRESOURCE_VERBS.get(method), target.subresource.verbs
    elif target.name:
        verb, served = _OBJECT_VERBS.get(method), resource.verbs
    else:
        verb, served = _COLLECTION_VERBS.get(method), resource.verbs
        if verb != "list" and resource.namespaced and not target.namespace:
            verb = None  # across all namespaces, objects can only be read
        if verb == "list" and query.get("watch", "false").lower() not in ("false", "0"):
            verb = "watch"
    if verb is None or verb not in served:
        raise status.method_not_allowed()
    return verb


def encode(body: Any) -> bytes:
    """Encode an answer. Like Go's encoder, it ends with a newline."""
    return msgspec.json.encode(body) + b"\n"
