"""The API's errors.

Code that refuses a request raises a :class:`StatusError`. The HTTP side turns it into the ``Status`` object and the
HTTP status that kube-apiserver sends. Each function here makes one error, with the text that apimachinery has for it.
Nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from kinformer.meta.names import GroupKind, GroupResource
from kinformer.meta.validation import quoted

__all__ = (
    "MEDIA_TYPES",
    "Cause",
    "StatusError",
    "already_exists",
    "apply_conflict",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "internal",
    "internal_error",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "modified",
    "no_kubelet",
    "not_acceptable",
    "not_found",
    "success",
    "too_large_resource_version",
    "too_many_requests",
    "unauthorized",
    "unknown_resource",
    "unprocessable_patch",
    "unsupported_media_type",
    "unsupported_patch_type",
)

_MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
MEDIA_TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


class Cause(NamedTuple):
    """One cause in a Status: the field, the reason (e.g. ``FieldValueInvalid``) and the text."""

    field: str
    reason: str
    message: str


class StatusError(Exception):
    """
    A request is refused. The error has everything that the answer contains.

    :param code: the HTTP status
    :param reason: the machine-readable reason. ``""`` if the API has none
    :param details: the Status's details. None leaves them out
    :param metadata: the Status's metadata, e.g. a continue token
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ):
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.metadata = metadata or {}

    def to_dict(self) -> dict[str, Any]:
        """The Status object as JSON data."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = dict(self.details)
        body["code"] = self.code
        return body

    def encode(self) -> bytes:
        return msgspec.json.encode(self.to_dict()) + b"\n"

    @property
    def retry_after(self) -> int | None:
        """Seconds for the Retry-After header, if this error has one."""
        return (self.details or {}).get("retryAfterSeconds")


def success(details: Mapping[str, Any] | None = None, code: int | None = None) -> dict[str, Any]:
    """The Status of a request that succeeded and returns no object."""
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if details is not None:
        body["details"] = dict(details)
    if code is not None:
        body["code"] = code
    return body


def _details(name: str, group: str, kind: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    details = {"name": name, "group": group, "kind": kind, "causes": [_cause(cause) for cause in causes]}
    return {key: value for key, value in details.items() if value}


def _cause(cause: Cause) -> dict[str, str]:
    parts = {"reason": cause.reason, "message": cause.message, "field": cause.field}
    return {key: value for key, value in parts.items() if value}


def not_found(resource: GroupResource, name: str) -> StatusError:
    return StatusError(
        404, "NotFound", f"{resource} {quoted(name)} not found", _details(name, resource.group, resource.resource)
    )


def already_exists(resource: GroupResource, name: str, *, deleting: bool = False) -> StatusError:
    """
    :param deleting: whether the one that exists is on its way out, which the message then says
    """
    text = f"{'object is being deleted: ' if deleting else ''}{resource} {quoted(name)} already exists"
    return StatusError(409, "AlreadyExists", text, _details(name, resource.group, resource.resource))


def conflict(resource: GroupResource, name: str, why: str) -> StatusError:
    text = f"Operation cannot be fulfilled on {resource} {quoted(name)}: {why}"
    return StatusError(409, "Conflict", text, _details(name, resource.group, resource.resource))


def modified(resource: GroupResource, name: str) -> StatusError:
    """Optimistic locking: the object was written after the client had read it."""
    return conflict(resource, name, _MODIFIED)


def apply_conflict(message: str, causes: Sequence[Cause]) -> StatusError:
    """An applied configuration has fields that other managers own, with other values."""
    return StatusError(409, "Conflict", message, _details("", "", "", causes))


def bad_request(message: str) -> StatusError:
    return StatusError(400, "BadRequest", message)


def unauthorized() -> StatusError:
    return StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(resource: GroupResource, name: str, why: str, causes: Sequence[Cause] = ()) -> StatusError:
    what = f"{resource} {quoted(name)}" if name else str(resource)
    details = _details(name, resource.group, resource.resource, causes)
    return StatusError(403, "Forbidden", f"{what} is forbidden: {why}", details)


def invalid(kind: GroupKind, name: str, causes: Sequence[Cause]) -> StatusError:
    """An object fails validation. The message has each different text once. The causes have all of them."""
    texts = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    said = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f"{kind} {quoted(name)} is invalid" + (f": {said}" if texts else "")
    return StatusError(422, "Invalid", message, _details(name, kind.group, kind.kind, causes))


def invalid_options(kind: str, *causes: Cause) -> StatusError:
    """Options of a request (ListOptions, DeleteOptions and so on) are invalid."""
    return invalid(GroupKind("meta.k8s.io", kind), "", causes)


def unknown_resource() -> StatusError:
    return StatusError(404, "NotFound", "the server could not find the requested resource", {})


def method_not_allowed() -> StatusError:
    text = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", text, {})


def no_kubelet(what: str, plural: str, more: str = "") -> StatusError:
    """A subresource that a kubelet answers. This is no server error (5xx): the server is well, and no retry helps."""
    text = f"{what} is not supported on {plural}: this server has no kubelets{more}"
    return StatusError(405, "MethodNotAllowed", text, {})


def not_acceptable(why: str = "") -> StatusError:
    text = f"406: Not Acceptable\n\nAvailable representations: {MEDIA_TYPES}"
    return StatusError(406, "NotAcceptable", why or text, None if why else {})


def unsupported_media_type(accepted: str = MEDIA_TYPES) -> StatusError:
    text = f"the body of the request was in an unknown format - accepted media types include: {accepted}"
    return StatusError(415, "UnsupportedMediaType", text)


def unsupported_patch_type() -> StatusError:
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def unprocessable_patch() -> StatusError:
    """A JSON patch is well formed, but cannot be applied to the object."""
    return StatusError(422, "Invalid", "the server rejected our request due to an error in our request", {})


def expired(message: str, continue_token: str = "") -> StatusError:
    return StatusError(410, "Expired", message, None, {"continue": continue_token} if continue_token else None)


def too_large_resource_version(asked: int, current: int) -> StatusError:
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    text = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", text, {"causes": [cause], "retryAfterSeconds": 1})


def too_many_requests(message: str, retry_after: int, causes: Sequence[Cause] = ()) -> StatusError:
    details = {**_details("", "", "", causes), **({"retryAfterSeconds": retry_after} if retry_after else {})}
    return StatusError(429, "TooManyRequests", message, details)


def internal(message: str) -> StatusError:
    """An error without a reason: apimachinery's answer to an error of another type than its own."""
    return StatusError(500, "", message)


def internal_error(message: str) -> StatusError:
    """The same, with the reason and the words that apimachinery has for errors within the server."""
    details = {"causes": [{"message": message}]}
    return StatusError(500, "InternalError", f"Internal error occurred: {message}", details)


def too_large_to_store() -> StatusError:
    """etcd's refusal of an object, as kube-apiserver passes it on."""
    return internal("etcdserver: request is too large")
