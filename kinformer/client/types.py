"""What goes into a request and comes out of it, besides the objects themselves: options, lists, watch events.

Everything here is a plain value. Option classes know how they are written into a query string or a body; nothing
else here knows of HTTP. Names are those of the API in Python's spelling (``continue`` is ``continue_token``: the word
is Python's).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

import msgspec

from kinformer.meta import SelectorError, parse_selector
from kinformer.meta.fields import parse_field_selector
from kinformer.meta.shards import ShardSelectorError, parse_shard_selector
from kinformer.models import ObjectDecodeError

__all__ = (
    "ADDED",
    "BOOKMARK",
    "DELETED",
    "ERROR",
    "INITIAL_EVENTS_ANNOTATION",
    "MODIFIED",
    "DeleteOptions",
    "DeletionPropagation",
    "EventType",
    "FieldValidation",
    "ListOptions",
    "ListParams",
    "ObjectList",
    "PartialMeta",
    "PartialObject",
    "PatchType",
    "Preconditions",
    "ResourceVersionMatch",
    "Undecodable",
    "WatchEvent",
    "WriteOptions",
    "write_params",
)

T = TypeVar("T")

#: What a reader of a watch may see. Decoding gives these very strings, so ``is`` compares them too.
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
#: Carries nothing but a resource version: everything up to it has been sent.
BOOKMARK: Final = "BOOKMARK"
#: Never reaches a reader of a watch: it is raised as the error that it holds.
ERROR: Final = "ERROR"

#: On the bookmark that ends the initial events of a streaming list.
INITIAL_EVENTS_ANNOTATION: Final = "k8s.io/initial-events-end"

ResourceVersionMatch = Literal["NotOlderThan", "Exact"]
DeletionPropagation = Literal["Orphan", "Background", "Foreground"]
FieldValidation = Literal["Ignore", "Warn", "Strict"]


class PatchType(enum.Enum):
    """How a patch is to be read; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """
    Which objects to list or watch, and how.

    :param label_selector: such as ``app=web,tier in (a, b)``
    :param field_selector: such as ``metadata.name=web``
    :param resource_version: ``""`` asks for the most recent state, ``"0"`` for any that the server has at hand
    :param limit: at most so many objects in one answer; 0 for all
    :param continue_token: where the previous page ended
    :param timeout_seconds: the server ends the list or watch after so long
    :param allow_watch_bookmarks: ask for BOOKMARK events; a server may send none all the same
    :param send_initial_events: a streaming list: the watch begins with everything there is. None leaves it out
    :param shard_selector: only a share of the objects, one of :func:`~kinformer.meta.shard_selectors` (KEP-5866, alpha
        in Kubernetes 1.36). A server that does not know it gives all objects; :attr:`ObjectList.shard_selector` tells
    :raises ValueError: if a selector cannot be parsed
    """

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: ResourceVersionMatch | Literal[""] = ""
    limit: int = 0
    continue_token: str = ""
    timeout_seconds: int | None = None
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    shard_selector: str = ""

    def __post_init__(self) -> None:
        # Here, since a server that is asked by an informer is asked again and again.
        if self.label_selector or self.field_selector:
            _check_selectors(self.label_selector, self.field_selector)
        if self.shard_selector:
            _check_shard_selector(self.shard_selector)

    def params(self, *, watch: bool = False) -> dict[str, str]:
        """As a query string has them, what is empty left out."""
        params = {name: _text(value) for name, value in self._set() if watch or name != "allowWatchBookmarks"}
        if watch:
            params["watch"] = "true"
        return params

    def _set(self) -> Iterator[tuple[str, Any]]:
        for option in fields(self):
            value = getattr(self, option.name)
            if value is not None and value != option.default:
                yield _LIST_PARAMS[option.name], value


class ListParams(TypedDict, total=False):
    """:class:`ListOptions` as keyword arguments of the verbs that read several objects."""

    label_selector: str
    field_selector: str
    resource_version: str
    resource_version_match: ResourceVersionMatch | Literal[""]
    limit: int
    continue_token: str
    timeout_seconds: int | None
    allow_watch_bookmarks: bool
    send_initial_events: bool | None
    shard_selector: str


@functools.lru_cache(256)
def _check_selectors(label_selector: str, field_selector: str) -> None:
    for name, text, parse in (
        ("label_selector", label_selector, parse_selector),
        ("field_selector", field_selector, parse_field_selector),
    ):
        try:
            parse(text)
        except SelectorError as error:
            raise SelectorError(f"{name} {text!r} cannot be parsed: {error}") from None


@functools.lru_cache(256)
def _check_shard_selector(text: str) -> None:
    try:
        parse_shard_selector(text)
    except ShardSelectorError as error:
        raise ShardSelectorError(f"shard_selector {text!r} cannot be parsed: {error}") from None


_LIST_PARAMS: Final = {
    "label_selector": "labelSelector",
    "field_selector": "fieldSelector",
    "resource_version": "resourceVersion",
    "resource_version_match": "resourceVersionMatch",
    "limit": "limit",
    "continue_token": "continue",
    "timeout_seconds": "timeoutSeconds",
    "allow_watch_bookmarks": "allowWatchBookmarks",
    "send_initial_events": "sendInitialEvents",
    "shard_selector": "shardSelector",
}


class WriteOptions(TypedDict, total=False):
    """
    What may be said along with a create, update or patch, as keyword arguments of these verbs.

    ``dry_run``: do everything but keep nothing. ``field_manager``: who writes, for managedFields; apply requires it.
    ``field_validation``: what becomes of fields that the server does not know; its own default is ``Warn``.
    ``force``: apply only; take over fields that others manage.
    """

    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    force: bool


def write_params(options: WriteOptions) -> dict[str, str]:
    """As a query string has them, what is empty left out."""
    params: dict[str, str] = {}
    if options.get("dry_run"):
        params["dryRun"] = "All"
    if manager := options.get("field_manager"):
        params["fieldManager"] = manager
    if validation := options.get("field_validation"):
        params["fieldValidation"] = validation
    if (force := options.get("force")) is not None:
        params["force"] = _text(force)
    return params


class Preconditions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What must be true of an object for its deletion to go ahead; a Conflict otherwise."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """
    How to delete.

    :param grace_period_seconds: 0 at once, None as the object says
    :param propagation_policy: what becomes of dependents; None as the resource has it
    """

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    propagation_policy: DeletionPropagation | None = None
    dry_run: bool = False

    def body(self) -> dict[str, Any] | None:
        """As the request's body has them, None when there is nothing to say."""
        if self == DeleteOptions():
            return None
        said: dict[str, Any] = msgspec.to_builtins(self)
        if self.dry_run:
            said["dryRun"] = ["All"]
        return {"apiVersion": "v1", "kind": "DeleteOptions", **said}


class PartialMeta(msgspec.Struct, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class PartialObject(msgspec.Struct, rename="camel", omit_defaults=True):
    """What a bookmark holds where the type that was asked for cannot be made from so little."""

    metadata: PartialMeta = msgspec.field(default_factory=PartialMeta)
    api_version: str = ""
    kind: str = ""


class Undecodable(msgspec.Struct):
    """
    An object of a list or watch that does not fit the type that was asked for: what is known of it.

    :param metadata: its name, namespace and version, as far as they can be told
    :param error: says what it is, and why it does not decode; it quotes nothing of it
    """

    metadata: PartialMeta
    kind: str
    error: ObjectDecodeError

    @property
    def key(self) -> str:
        """As an informer's store has it: ``namespace/name``, or ``name`` where there is no namespace."""
        namespace, name = self.metadata.namespace, self.metadata.name
        return f"{namespace}/{name}" if namespace else name


@dataclass(slots=True)
class ObjectList(Generic[T]):
    """
    One answer to a list, whole or a page.

    :param resource_version: the state that was listed; a watch from here misses nothing
    :param continue_token: where the next page begins, ``""`` when this was the last
    :param remaining_item_count: how many are still to come, where the server knows
    :param left_out: what does not fit the type, if that was to be left out
    :param shard_selector: which share of the objects this is; ``""``: all of them, whatever was asked for
    """

    items: list[T] = field(default_factory=list)
    resource_version: str = ""
    continue_token: str = ""
    remaining_item_count: int | None = None
    left_out: list[Undecodable] = field(default_factory=list)
    shard_selector: str = ""


class WatchEvent(msgspec.Struct, Generic[T], gc=False):
    """
    One change, as a watch delivers it.

    It is not tracked by the cycle collector (one is made for every change in the cluster); never make an object
    that refers back to its event.

    :param object: the object after the change, or as it last was for DELETED; only metadata for BOOKMARK
    """

    type: EventType
    object: T


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
