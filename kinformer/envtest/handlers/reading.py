"""Reads of one object, and lists with selectors, pages and resource versions."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.causes import forbidden, not_supported
from kinformer.envtest.handlers.call import Answer, Call
from kinformer.envtest.handlers.selecting import Selection, selection_of
from kinformer.envtest.handlers.views import choose_view, show
from kinformer.envtest.jsontext import BadJson, decode
from kinformer.envtest.operations import Operations
from kinformer.envtest.storage import Expired, Storage, Version
from kinformer.envtest.storage.store import object_key
from kinformer.meta.integers import read_unsigned

__all__ = ("ListOptions", "get", "list_objects", "list_options", "parse_version", "select")

_TOO_OLD = "The resourceVersion for the provided list is too old."
_TOO_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_LATEST = -1
_NODE = "spec.nodeName"


def get(operations: Operations, call: Call) -> Answer:
    asked = call.query.get("resourceVersion", "")
    if asked and asked != "0":
        _not_from_the_future(operations.storage, parse_version(asked, status.internal))
    if asked == "0" and call.behind is not None:
        found = _as_of(operations, call, call.behind)
        if found is None:
            raise status.not_found(call.target.resource.group_resource, call.name)
        return show(operations, call, found)
    return show(operations, call, operations.find(call.target.resource, call.namespace, call.name))


def _as_of(operations: Operations, call: Call, number: int) -> Version | None:
    key = object_key(call.namespace, call.name)
    try:
        versions = operations.storage.log(call.target.resource.storage).select_at(number, call.namespace, key)
    except Expired:
        return operations.find(call.target.resource, call.namespace, call.name)
    return versions[0] if versions and versions[0].key == key else None


@dataclass(frozen=True, slots=True)
class ListOptions:
    """
    The options of a list.

    :param match: ``Exact``, ``NotOlderThan``, or empty
    :param limit: the most objects of a page. 0 for no limit
    """

    selection: Selection
    version: str
    match: str
    limit: int
    token: str


def _causes(query: Mapping[str, str]) -> list[status.Cause]:
    field, match = "resourceVersionMatch", query.get("resourceVersionMatch")
    causes: list[status.Cause] = []
    if match:
        if not query.get("resourceVersion"):
            causes.append(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            causes.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            causes.append(not_supported(field, match, ("Exact", "NotOlderThan", "")))
        if match == "Exact" and query.get("resourceVersion") == "0":
            causes.append(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        causes.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def list_options(call: Call, operations: Operations) -> ListOptions:
    """
    The options in a request's query.

    :raises StatusError: BadRequest, Invalid
    """
    query = call.query
    call.number("timeoutSeconds")  # only to check that it is a number, since lists are answered at once
    return ListOptions(
        limit=max(call.number("limit") or 0, 0),
        selection=selection_of(call, operations.strategy(call.target.resource), _causes(query)),
        version=query.get("resourceVersion", ""),
        match=query.get("resourceVersionMatch", ""),
        token=query.get("continue", ""),
    )


def list_objects(operations: Operations, call: Call) -> Answer:
    view = choose_view(operations, call)
    versions, metadata = select(operations, call, list_options(call, operations))
    return Answer(view.many([version.raw for version in versions], metadata))


def select(operations: Operations, call: Call, options: ListOptions) -> tuple[list[Version], dict[str, Any]]:
    """
    The objects of a list, and the metadata of the list.

    :raises StatusError: BadRequest. Expired for an old version. Timeout for a version that does not exist yet
    """
    storage = operations.storage
    log = storage.log(call.target.resource.storage)
    start, number = _start(storage, options)
    if call.behind is not None and number is None and not options.token:
        number = _version_behind(storage, options.version, call.behind)
    selection = options.selection
    if number is None or number >= storage.version:
        number = storage.version
        if selection.name is not None and not options.token:
            found = _by_name(operations, call, selection)
        else:
            found = list(log.select(call.namespace, _key(call, start)))
    else:
        try:
            if number < storage.compacted:
                raise Expired
            found = log.select_at(number, call.namespace, _key(call, start))
        except Expired:
            if options.token:
                raise status.expired(_TOO_OLD_TOKEN, _token(_LATEST, start)) from None
            raise status.expired(_TOO_OLD) from None
    metadata: dict[str, Any] = {"resourceVersion": str(number)}
    # A list at version 0 comes from the server's cache. It is returned whole, without regard to the limit.
    limit = options.limit if options.version != "0" else 0
    page, more = _page(found, selection, limit)
    if more:
        last = page[-1].key
        relative = last[len(call.namespace) + 1 :] if call.namespace else last
        metadata["continue"] = _token(number, f"{relative}\0")
        if selection.is_everything:
            metadata["remainingItemCount"] = len(found) - len(page)
    if selection.shard is not None:
        metadata["shardInfo"] = {"selector": str(selection.shard)}
    return page, metadata


def _page(found: list[Version], selection: Selection, limit: int) -> tuple[list[Version], bool]:
    """
    The first objects that the selection matches, up to the limit.

    :return: these objects, and whether others follow. It is not checked whether the selection matches those
    """
    if selection.is_everything:
        return (found[:limit], len(found) > limit) if limit else (found, False)
    if (node := selection.node) is not None:
        found = [version for version in found if version.fields(selection.strategy.read_fields)[_NODE] == node]
    page: list[Version] = []
    for place, version in enumerate(found):
        if selection.matches(version):
            page.append(version)
            if len(page) == limit:
                return page, place + 1 < len(found)
    return page, False


def _by_name(operations: Operations, call: Call, selection: Selection) -> list[Version]:
    namespace = call.namespace or selection.namespace or ""
    if call.target.resource.namespaced and not namespace:
        return list(operations.storage.log(call.target.resource.storage).select(""))
    found = operations.storage.get(call.target.resource.storage, namespace, selection.name or "")
    return [found] if found is not None else []


def _key(call: Call, start: str) -> str:
    return f"{call.namespace}/{start}" if call.namespace and start else start


def _start(storage: Storage, options: ListOptions) -> tuple[str, int | None]:
    """The key after which a list begins, and the exact version to list. None for the current version."""
    if options.token:
        if options.version and options.version != "0":
            raise status.bad_request("specifying resource version is not allowed when using continue")
        number, start = _read_token(options.token)
        return start, None if number == _LATEST else number
    if not options.version or options.version == "0":
        return "", None
    asked = parse_version(options.version, lambda text: status.bad_request(f"invalid resource version: {text}"))
    number = _not_from_the_future(storage, asked)
    exact = options.match == "Exact" or (not options.match and options.limit > 0)
    return "", number if exact else None


def _version_behind(storage: Storage, asked: str, behind: int) -> int | None:
    """
    The version of a list on a server that is behind. None for the current version.

    :raises StatusError: Timeout, if the server has not reached the requested version
    """
    if not asked or behind < storage.compacted:
        return None
    if (least := int(asked)) and storage.meant(least) > behind:
        raise status.too_large_resource_version(least, behind)
    return behind


def _not_from_the_future(storage: Storage, asked: int) -> int:
    """
    The number in the storage of a requested version.

    :raises StatusError: Timeout, if the version does not exist yet
    """
    number = storage.meant(asked)
    if number > storage.version:
        raise status.too_large_resource_version(asked, storage.version)
    return number


def parse_version(text: str, refuse: Any) -> int:
    """
    Parse a resource version.

    :param refuse: makes the error from an error text
    """
    if (number := read_unsigned(text)) is not None:
        return number
    why = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    raise refuse(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}')


def _token(number: int, start: str) -> str:
    data = msgspec.json.encode({"v": "meta.k8s.io/v1", "rv": number, "start": start})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _read_token(token: str) -> tuple[int, str]:
    def refuse(why: str) -> status.StatusError:
        return status.bad_request(f"invalid continue token: continue key is not valid: {why}")

    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:
        bad = next((i for i, char in enumerate(token) if not (char.isalnum() or char in "-_")), len(token))
        raise refuse(f"illegal base64 data at input byte {bad}") from None
    try:
        fields = decode(data)
    except BadJson as error:
        raise refuse(str(error)) from None
    if not isinstance(fields, dict) or fields.get("v") != "meta.k8s.io/v1":
        raise refuse("server does not recognize this encoded version")
    number, start = fields.get("rv"), fields.get("start")
    if not isinstance(number, int) or number == 0:
        raise refuse("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not isinstance(start, str) or not start:
        raise refuse("encoded start key empty (version meta.k8s.io/v1)")
    if start.startswith("/") or ".." in start.split("/"):
        raise refuse("invalid key")
    return number, start
