"""Errors: the refusals of the server as exception types, and the failures to get a response.

A refusal of the server comes with a Status object, or is given one here. :func:`error_from_status` makes it the
exception type of its reason, by the rules of Kubernetes' own apierrors: a known reason decides, without one the HTTP
code does. So ``except NotFound`` is what ``apierrors.IsNotFound(err)`` is in Go.

The message of an error is the server's own. The rest of the Status is on ``.status``.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from kinformer.client.reachability import Reachability
from kinformer.client.status import (
    CAUSE_UNEXPECTED_RESPONSE,
    MAX_TEXT,
    About,
    Status,
    StatusCause,
    StatusDetails,
    generic_status,
    status_in,
)

__all__ = (
    "AlreadyExists",
    "MAX_RETRY_AFTER",
    "AnswerTooLarge",
    "ApiError",
    "BadRequest",
    "ClientError",
    "ConfigError",
    "Conflict",
    "ConnectionLost",
    "DecodeError",
    "EndlessList",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotSupported",
    "NoKindMatch",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServerTimeout",
    "ServerUnreachable",
    "ServiceUnavailable",
    "Status",
    "StatusCause",
    "StatusDetails",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
    "WatchStalled",
    "error_from_response",
    "error_from_status",
    "has_status_cause",
    "is_connection_refused",
    "is_expired",
    "is_probable_eof",
    "is_too_large_resource_version",
    "suggested_delay",
)

#: The most seconds that are waited because a server asks for it. After them, the server may ask again.
MAX_RETRY_AFTER: Final = 60

CAUSE_RESOURCE_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"


class ClientError(Exception):
    """Base class of all errors that a client raises."""


class ConfigError(ClientError):
    """The configuration is missing or invalid: no cluster is configured, or a kubeconfig cannot be used."""


class ServerUnreachable(ClientError):
    """
    No connection to the server could be made.

    :param url: the server's URL
    :param cause: why the connection failed
    :ivar reachability: the record that knows when the server is back, if a client raised this error
    """

    reachability: Reachability | None = None

    def __init__(self, url: str, cause: BaseException | str):
        super().__init__(f"cannot reach the server at {url}: {str(cause) or type(cause).__name__}")
        self.url = url
        self.cause = cause


class ConnectionLost(ClientError):
    """
    The connection broke before the response was complete. A write may or may not have happened.

    :param url: the URL of the request
    :param cause: why the connection broke
    """

    def __init__(self, url: str, cause: BaseException | str):
        super().__init__(f"lost the connection to {url}: {str(cause) or type(cause).__name__}")
        self.url = url
        self.cause = cause


class WatchStalled(ConnectionLost):
    """A watch was open, but its connection was dead: half-open, with nothing at the other end."""


class DecodeError(ClientError):
    """The server's response does not fit the requested type."""


class AnswerTooLarge(DecodeError):
    """
    The server's response is larger than the limit.

    :param limit: the limit in bytes
    """

    def __init__(self, url: str, limit: int):
        super().__init__(
            f"the answer from {url} is larger than {limit} bytes: ask for pages, or connect() with a larger max_answer"
        )
        self.url = url
        self.limit = limit


class EndlessList(ClientError):
    """A list has no end: its pages form a circle, or it has more objects than a server can hold."""

    def __init__(self, why: str):
        super().__init__(f"the list has no end: {why}")


class NoKindMatch(ClientError):
    """The server serves no such kind, or no such resource (client-go's NoKindMatchError, with its text)."""


class ApiError(ClientError):
    """
    The server refused a request.

    :param status: the Status that the server sent
    :param url: the URL of the request, if it is known
    """

    def __init__(self, status: Status, url: str = ""):
        super().__init__(status, url)
        self.status = status
        self.url = url

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, ``""`` where the server gave none."""
        return self.status.reason

    @property
    def message(self) -> str:
        """The server's own message."""
        return self.status.message

    @property
    def details(self) -> StatusDetails:
        return self.status.details or _NO_DETAILS

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        return self.details.causes

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server asks for another try, a minute at most; None if it does not ask."""
        return _bounded(self.details.retry_after_seconds) or None

    def __str__(self) -> str:
        return self.message or f"the server answered {self.code or 'with an error'} {self.reason}".rstrip()


_NO_DETAILS: Final = StatusDetails()


class BadRequest(ApiError):
    """400: the server could not understand the request."""

    def __str__(self) -> str:
        # Servers in Go and nginx answer a request without TLS at a port with TLS, in words that name HTTPS.
        told = "".join(cause.message for cause in self.causes if cause.reason == CAUSE_UNEXPECTED_RESPONSE)
        if self.url.startswith("http://") and "HTTPS" in told:
            return f"the server at {self.url} speaks TLS there: want https:// for http://"
        return super().__str__()


class Unauthorized(ApiError):
    """401: the server does not accept the credentials."""

    def __str__(self) -> str:
        at = f" for {self.url}" if self.url else ""
        return f"the server refused the credentials{at}: {self.message or 'Unauthorized'}"


class Forbidden(ApiError):
    """403: the user may not do this, or a quota or an admission plug-in refuses it."""


class NotFound(ApiError):
    """404: there is no such object, or no such resource."""


class MethodNotSupported(ApiError):
    """405: the resource does not support this verb."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in a format that the client accepts."""


class AlreadyExists(ApiError):
    """409: there is already an object with that name. This is not a :exc:`Conflict`: trying again does not help."""


class Conflict(ApiError):
    """409: the object has changed since it was read, a precondition failed, or another manager owns the field."""


class Gone(ApiError):
    """410: the object is no longer there."""


class Expired(Gone):
    """410: the resource version or the page is too old, because the server has forgotten that history. List again."""

    @property
    def continue_token(self) -> str:
        """A token with which the list may go on from the present state instead of the forgotten one; ``""`` if none."""
        return self.status.metadata.continue_token if self.status.metadata else ""


class RequestEntityTooLarge(ApiError):
    """413: the object is too large."""


class UnsupportedMediaType(ApiError):
    """415: the server does not accept a body, or a patch, of this media type."""


class Invalid(ApiError):
    """422: the object is invalid; ``.causes`` has one entry for each wrong field."""


class TooManyRequests(ApiError):
    """429: the server is overloaded, or a disruption budget does not allow an eviction."""


class InternalError(ApiError):
    """500: an error inside the server."""


class ServerTimeout(ApiError):
    """The server could not process the request in time and asks for another try. It has done nothing."""


class ServiceUnavailable(ApiError):
    """503: the server, or a server behind it, is not available at the moment."""


class Timeout(ApiError):
    """504: no response in time. The request may still take effect."""


_BY_REASON: Final[dict[str, type[ApiError]]] = {
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Gone": Gone,
    "Invalid": Invalid,
    "ServerTimeout": ServerTimeout,
    "StorageReadError": ApiError,
    "Timeout": Timeout,
    "TooManyRequests": TooManyRequests,
    "BadRequest": BadRequest,
    "MethodNotAllowed": MethodNotSupported,
    "NotAcceptable": NotAcceptable,
    "RequestEntityTooLarge": RequestEntityTooLarge,
    "UnsupportedMediaType": UnsupportedMediaType,
    "InternalError": InternalError,
    "Expired": Expired,
    "ServiceUnavailable": ServiceUnavailable,
}

_BY_CODE: Final[dict[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotSupported,
    406: NotAcceptable,
    409: Conflict,
    410: Gone,
    413: RequestEntityTooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
    500: InternalError,
    503: ServiceUnavailable,
    504: Timeout,
}


def error_from_status(status: Status, url: str = "") -> ApiError:
    """The error for a Status: of the type of its reason, or else of its code."""
    kind = _BY_REASON.get(status.reason)
    if kind is None or status.code in (413, 429):
        kind = _BY_CODE.get(status.code, kind or ApiError)
    return kind(status, url)


def error_from_response(
    code: int,
    body: bytes,
    *,
    content_type: str = "",
    retry_after: int = 0,
    method: str = "",
    url: str = "",
    about: About = About(),  # noqa: B008 - it cannot be changed
) -> ApiError:
    """
    The error for a response that is not a success.

    :param body: a Status, or what a proxy or a stopping server sent instead
    :param retry_after: the seconds of the Retry-After header, used if the Status has none
    """
    status = status_in(body)
    if status is None or status.status not in ("Failure", ""):
        is_text = not content_type or content_type.startswith("text/")
        text = body[:MAX_TEXT].decode(errors="replace").strip() if is_text else "unknown"
        status = generic_status(code, method, about, text, retry_after, urlsplit(url).path)
    if not status.code:
        status = msgspec.structs.replace(status, code=code)
    if retry_after and not (status.details and status.details.retry_after_seconds):
        details = msgspec.structs.replace(status.details or _NO_DETAILS, retry_after_seconds=retry_after)
        status = msgspec.structs.replace(status, details=details)
    return error_from_status(status, url)


def has_status_cause(error: BaseException | None, cause: str) -> bool:
    """Whether the error's Status names this cause."""
    return isinstance(error, ApiError) and any(found.reason == cause for found in error.causes)


def is_expired(error: BaseException | None) -> bool:
    """Whether a resource version or page is too old, so that only a new list helps. Servers up to 1.17 send Gone."""
    return isinstance(error, Gone)


def is_too_large_resource_version(error: BaseException | None) -> bool:
    """
    Whether the requested resource version is newer than the server's own state.

    :param error: newer servers name the cause; those of 1.17 to 1.18.5 have it in a cause's message, older ones in
        the error's message
    """
    if has_status_cause(error, CAUSE_RESOURCE_VERSION_TOO_LARGE):
        return True
    if not isinstance(error, Timeout) or error.status.details is None:
        return False
    text = "Too large resource version"
    return text in error.message or any(cause.message == text for cause in error.causes)


def is_connection_refused(error: BaseException | None) -> bool:
    """Whether the connection was refused: no process listens on the server's port, or not yet."""
    return any(isinstance(link, OSError) and link.errno == errno.ECONNREFUSED for link in _chain(error))


def is_probable_eof(error: BaseException | None) -> bool:
    """Whether a connection just ended. Servers and load balancers end every connection at some time."""
    return isinstance(error, ConnectionLost)


def suggested_delay(error: BaseException | None) -> float | None:
    """
    Seconds that the server asks to wait before the next try; None if it does not ask (SuggestsClientDelay).

    It is a minute at most, even if the server asks for more.
    """
    if isinstance(error, ServerTimeout):
        return _bounded(error.details.retry_after_seconds)
    return error.retry_after if isinstance(error, ApiError) else None


def _bounded(seconds: int) -> float:
    # In the API it has 32 bits. What is larger makes no sense and is ignored, as in a Retry-After header.
    return float(min(seconds, MAX_RETRY_AFTER)) if 0 < seconds < 2**31 else 0.0


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        link = waiting.pop()
        if not isinstance(link, BaseException) or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += (getattr(link, "cause", None), getattr(link, "os_error", None), link.__cause__, link.__context__)
