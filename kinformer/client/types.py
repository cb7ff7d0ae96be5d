"""Types of requests and responses besides the objects themselves: options, lists, watch events.

Everything here is a plain value. Option classes know how they are written into a query string or a body; nothing else
here depends on HTTP. Names are those of the API in Python's spelling (``continue`` is ``continue_token``, because the
word is a keyword of Python).
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

import msgspec

from kinformer.arguments import want_text
from kinformer.meta import SelectorError, accessor_of, parse_selector
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
    "ends_initial_events",
    "write_params",
)

T = TypeVar("T")

#: The types of events that a reader of a watch gets. Decoding gives these very strings, so ``is`` compares them too.
EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
#: Has only a resource version: everything up to it has been sent.
BOOKMARK: Final = "BOOKMARK"
#: A reader of a watch never gets it: the error that it holds is raised instead.
ERROR: Final = "ERROR"

#: The annotation on the bookmark that ends the initial events of a streaming list.
INITIAL_EVENTS_ANNOTATION: Final = "k8s.io/initial-events-end"

ResourceVersionMatch = Literal["NotOlderThan", "Exact"]
DeletionPropagation = Literal["Orphan", "Background", "Foreground"]
FieldValidation = Literal["Ignore", "Warn", "Strict"]


class PatchType(enum.Enum):
    """The format of a patch; the value is its media type."""

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
    :param resource_version: ``""`` asks for the most recent state, ``"0"`` for any state that the server has cached
    :param limit: the most objects in one response; 0 for all
    :param continue_token: the token of the previous page, to read the next one
    :param timeout_seconds: seconds after which the server ends the list or watch
    :param allow_watch_bookmarks: ask for BOOKMARK events; a server may still send none
    :param send_initial_events: ask for a streaming list: the watch begins with all objects. None leaves it out
    :param shard_selector: only a share of the objects, one of :func:`~kinformer.meta.shard_selectors` (KEP-5866, alpha
        in Kubernetes 1.36). A server that does not support it sends all objects; :attr:`ObjectList.shard_selector` says
        which it sent
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
        # Checked here, because an informer would send a wrong selector to the server again and again.
        if self.label_selector or self.field_selector:
            want_text(self.label_selector, "label_selector", "a text, as in 'app=web,tier in (a, b)'")
            want_text(self.field_selector, "field_selector", "a text, as in 'metadata.name=web'")
            _check_selectors(self.label_selector, self.field_selector)
        if self.shard_selector:
            _check_shard_selector(self.shard_selector)

    def params(self, *, watch: bool = False) -> dict[str, str]:
        """The options as parameters of a query. Empty ones are left out."""
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
    Options of a create, update or patch, as keyword arguments of these verbs.

    ``dry_run``: do everything, but store nothing. ``field_manager``: the name of the writer for managedFields; apply
    requires it. ``field_validation``: how to treat fields that the server does not know; the server's default is
    ``Warn``. ``force``: for apply only; take over fields that others manage.
    """

    dry_run: bool
    field_manager: str
    field_validation: FieldValidation
    force: bool


def write_params(options: WriteOptions) -> dict[str, str]:
    """The options as parameters of a query. Empty ones are left out."""
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
    """Conditions for a deletion: if the object has another uid or version, the server answers Conflict."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """
    Options of a deletion.

    :param grace_period_seconds: 0 to delete at once, None for the object's own
    :param propagation_policy: what happens to dependents; None for the resource's default
    """

    grace_period_seconds: int | None = None
    preconditions: Preconditions | None = None
    propagation_policy: DeletionPropagation | None = None
    dry_run: bool = False

    def body(self) -> dict[str, Any] | None:
        """The options as the body of the request; None if there are none."""
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
    """The object of a bookmark, if the requested type cannot be made from a bookmark."""

    metadata: PartialMeta = msgspec.field(default_factory=PartialMeta)
    api_version: str = ""
    kind: str = ""


class Undecodable(msgspec.Struct):
    """
    What is known of an object of a list or watch that does not fit the requested type.

    :param metadata: the object's name, namespace and version, as far as they can be read
    :param error: names the object and says why it does not decode; it does not quote the object
    """

    metadata: PartialMeta
    kind: str
    error: ObjectDecodeError

    @property
    def key(self) -> str:
        """The object's key in an informer's store: ``namespace/name``, or ``name`` if there is no namespace."""
        namespace, name = self.metadata.namespace, self.metadata.name
        return f"{namespace}/{name}" if namespace else name


@dataclass(slots=True)
class ObjectList(Generic[T]):
    """
    One response to a list: the whole list or a page.

    :param resource_version: the version of the list; a watch that starts from it misses nothing
    :param continue_token: the token for the next page; ``""`` if this is the last
    :param remaining_item_count: the number of objects on later pages, if the server knows it
    :param left_out: the objects that do not fit the type, if they were to be left out
    :param shard_selector: the share of the objects that this is; ``""``: all of them, whatever was requested
    """

    items: list[T] = field(default_factory=list)
    resource_version: str = ""
    continue_token: str = ""
    remaining_item_count: int | None = None
    left_out: list[Undecodable] = field(default_factory=list)
    shard_selector: str = ""


class WatchEvent(msgspec.Struct, Generic[T], gc=False):
    """
    One event of a watch.

    It is not tracked by the cycle collector, because one is made for every change in the cluster. So never make an
    object that refers back to its event.

    :param object: the object after the change, or as it last was for DELETED; only metadata for BOOKMARK
    """

    type: EventType
    object: T


def ends_initial_events(event: WatchEvent[Any]) -> bool:
    """
    Whether an event is the bookmark that ends the initial events of a streaming list.

    :raises TypeError: if it is a bookmark whose object has no metadata
    """
    if event.type != BOOKMARK:
        return False
    # A bookmark's object need not be of the requested type.
    annotations = accessor_of(event.object).annotations(event.object)
    return annotations.get(INITIAL_EVENTS_ANNOTATION) == "true"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
