"""Status: the server's description of a refusal, and the one that is made for responses without it.

Proxies, load balancers and stopping servers answer with a bare code and some text. These become the same Status as in
client-go, so that callers have only one kind of error to handle.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from kinformer.meta import GroupResource
from kinformer.models import DECODE_ERRORS

__all__ = (
    "CAUSE_UNEXPECTED_RESPONSE",
    "MAX_TEXT",
    "About",
    "Status",
    "StatusCause",
    "StatusDetails",
    "decode_status",
    "generic_status",
    "reason_of",
    "status_in",
)

CAUSE_UNEXPECTED_RESPONSE: Final = "UnexpectedServerResponse"


class StatusCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    One cause of a refusal.

    :param reason: the type of the cause, such as ``FieldValueInvalid``
    :param field: the field that is wrong, such as ``spec.containers[0].image``
    """

    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """
    The object that a Status is about, and the causes.

    :param kind: the kind, or the resource, of the object
    """

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after_seconds: int = 0


class StatusMeta(msgspec.Struct, frozen=True, omit_defaults=True, rename={"continue_token": "continue"}):
    """
    :param continue_token: for an Expired page: a token with which an inconsistent list may go on
    """

    continue_token: str = ""


class Status(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", tag_field="kind", tag="Status"):
    """The API's Status: what the server sends instead of an object."""

    api_version: str = "v1"
    metadata: StatusMeta | None = None
    status: str = ""
    message: str = ""
    reason: str = ""
    details: StatusDetails | None = None
    code: int = 0


class About(NamedTuple):
    """The resource and name of a request, for responses that do not name them."""

    resource: GroupResource | None = None
    name: str = ""


# The reason and message for a bare code, sent by a server or proxy without a Status.
_GENERIC: Final[dict[int, tuple[str, str]]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: (
        "Timeout",
        "the server was unable to return a response in the time allotted, but may still be processing the request",
    ),
}

# Codes whose message is the server's own text: it says which permission or format is missing.
_OWN_WORDS: Final = {403: "Forbidden", 406: "NotAcceptable", 415: "UnsupportedMediaType"}

#: Bytes of such a text that are kept.
MAX_TEXT: Final = 2048


class _OfKind(msgspec.Struct):
    kind: str = ""


_kind_decoder: Final = msgspec.json.Decoder(_OfKind)
_status_decoder: Final = msgspec.json.Decoder(Status)


def decode_status(data: bytes | msgspec.Raw) -> Status:
    """
    The Status in an ERROR event of a watch. If the event holds something else, a Status that says so.

    client-go reports such an event with code 500.
    """
    status = status_in(data)
    if status is None:
        # The content is not quoted: it may be an object with secrets in it.
        status = generic_status(
            500, "GET", About(), "the ERROR event of a watch holds something that is not a Status", 0
        )
    return status


def status_in(data: bytes | msgspec.Raw) -> Status | None:
    """
    Decode these bytes as a Status; None if they are not one.

    The kind must be there. A gateway's own JSON may have a `code` of its own, which says nothing about an object.
    """
    try:
        return _status_decoder.decode(data) if _kind_decoder.decode(data).kind == "Status" else None
    except DECODE_ERRORS:
        return None


def reason_of(code: int) -> str:
    """The reason that an API server gives with an HTTP status; empty if it has none for it."""
    if code in _GENERIC:
        return _GENERIC[code][0]
    return _OWN_WORDS.get(code, "InternalError" if code >= 500 else "")


def generic_status(code: int, method: str, about: About, text: str, retry_after: int, path: str = "") -> Status:
    """
    The Status for a response without one, as client-go makes it (NewGenericServerResponse).

    :param path: names what was not found, if `about` does not
    """
    silent = f"the server responded with the status code {code} but did not return more information"
    reason, message = _GENERIC.get(code, (reason_of(code), silent))
    if code in _OWN_WORDS:
        message = text
        if code == 406 and text in ("", "unknown"):
            message = "the server was unable to respond with a content type that the client supports"
    elif code == 409 and method == "POST":
        reason = "AlreadyExists"
    elif code not in _GENERIC and code >= 500:
        quoted = msgspec.json.encode(text).decode()
        message = f"an error on the server ({quoted}) has prevented the request from succeeding"
    resource, name = about
    if resource is not None:
        message = f"{message} ({' '.join(filter(None, (method.lower(), str(resource), name)))})"
    elif code == 404 and path:
        message = f"{message} ({method.lower()} {path})"
    return Status(
        status="Failure",
        code=code,
        reason=reason,
        message=message,
        details=StatusDetails(
            group=resource.group if resource else "",
            kind=resource.resource if resource else "",
            name=name,
            causes=(StatusCause(reason=CAUSE_UNEXPECTED_RESPONSE, message=text),),
            retry_after_seconds=retry_after,
        ),
    )
