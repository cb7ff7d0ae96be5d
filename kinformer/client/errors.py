"""Errors: what the server said no to, as types; and what kept us from hearing it at all.

Whatever the server refuses comes with a Status object (or is given one), and :func:`error_from_status` turns that into
the type for its reason, by the rules of Kubernetes' own apierrors: a known reason decides; without one the HTTP code
does. So ``except NotFound`` is what ``apierrors.IsNotFound(err)`` is in Go.

The message of an error is the server's own; the rest of the Status is on ``.status``.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kinformer.client.status import MAX_TEXT, About, Status, StatusCause, StatusDetails, generic_status, status_in

if TYPE_CHECKING:
    from kinformer.client.reachability import Reachability

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

#: Seconds that a server may ask us to wait: one that asks for more is asked again then, and can say it again.
MAX_RETRY_AFTER: Final = 60

CAUSE_RESOURCE_VERSION_TOO_LARGE: Final = "ResourceVersionTooLarge"


class ClientError(Exception):
    """Whatever a client raises."""


class ConfigError(ClientError):
    """How to reach a cluster could not be found out: the kubeconfig is missing or broken, or there is no cluster."""


class ServerUnreachable(ClientError):
    """
    No connection to the server came about.

    :param url: where the server should be
    :param cause: what the attempt ended with
    :ivar reachability: what knows when the server is back, where a client raised this
    """

    reachability: Reachability | None = None

    def __init__(self, url: str, cause: BaseException | str):
        super().__init__(f"cannot reach the server at {url}: {str(cause) or type(cause).__name__}")
        self.url = url
        self.cause = cause


class ConnectionLost(ClientError):
    """
    The connection broke while the server was answering, or before it did: a write may or may not have happened.

    :param url: what was asked for
    :param cause: how it broke
    """

    def __init__(self, url: str, cause: BaseException | str):
        super().__init__(f"lost the connection to {url}: {str(cause) or type(cause).__name__}")
        self.url = url
        self.cause = cause


class WatchStalled(ConnectionLost):
    """A watch was still open although nothing can be at its other end: the connection had gone half-open."""


class DecodeError(ClientError):
    """The server's answer is not what the type that was asked for can be made from."""


class AnswerTooLarge(DecodeError):
    """
    The server's answer is larger than what is taken.

    :param limit: the bytes that are
    """

    def __init__(self, url: str, limit: int):
        super().__init__(
            f"the answer from {url} is larger than {limit} bytes: ask for pages, or connect() with a larger max_answer"
        )
        self.url = url
        self.limit = limit


class EndlessList(ClientError):
    """A list does not come to its end: its pages go in a circle, or there are more objects than there can be."""

    def __init__(self, why: str):
        super().__init__(f"the list has no end: {why}")


class NoKindMatch(ClientError):
    """The server serves no such kind, or no such resource (client-go's NoKindMatchError)."""


class ApiError(ClientError):
    """
    The server refused.

    :param status: what it said
    :param url: what was asked for, where that is known
    """

    def __init__(self, status: Status, url: str = ""):
        super().__init__(status, url)
        self.status = status
        self.url = url

    @property
    def code(self) -> int:
        """The HTTP status."""
        return self.status.code

    @property
    def reason(self) -> str:
        """The machine-readable reason, ``""`` where the server gave none."""
        return self.status.reason

    @property
    def message(self) -> str:
        """The server's own words."""
        return self.status.message

    @property
    def details(self) -> StatusDetails:
        return self.status.details or _NO_DETAILS

    @property
    def causes(self) -> tuple[StatusCause, ...]:
        return self.details.causes

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the server asks to be asked again, a minute at most; None where it does not."""
        return _bounded(self.details.retry_after_seconds) or None

    def __str__(self) -> str:
        return self.message or f"the server answered {self.code or 'with an error'} {self.reason}".rstrip()


_NO_DETAILS: Final = StatusDetails()


class BadRequest(ApiError):
    """400: the server could not make sense of the request."""


class Unauthorized(ApiError):
    """401: the server does not know who asks."""

    def __str__(self) -> str:
        at = f" for {self.url}" if self.url else ""
        return f"the server refused the credentials{at}: {self.message or 'Unauthorized'}"


class Forbidden(ApiError):
    """403: the server knows who asks, and they may not; or a quota or admission stands against it."""


class NotFound(ApiError):
    """404: there is no such object, or no such resource."""


class MethodNotSupported(ApiError):
    """405: this cannot be done with that resource."""


class NotAcceptable(ApiError):
    """406: the server cannot answer in a form that we take."""


class AlreadyExists(ApiError):
    """409: there is one of that name. Not a :exc:`Conflict`: trying again does not help."""


class Conflict(ApiError):
    """409: the object has changed since it was read, or a precondition or another manager stands against it."""


class Gone(ApiError):
    """410: it was there, and is no longer."""


class Expired(Gone):
    """410: the resource version, or the page, is too old: the history up to it is forgotten. List again."""

    @property
    def continue_token(self) -> str:
        """Where a list may go on, with what is there now instead of what was there when it began; ``""`` if nowhere."""
        return self.status.metadata.continue_token if self.status.metadata else ""


class RequestEntityTooLarge(ApiError):
    """413: the object is too large."""


class UnsupportedMediaType(ApiError):
    """415: the server does not take a body, or a patch, of that kind."""


class Invalid(ApiError):
    """422: the object is not valid; ``.causes`` has one entry for each field that is wrong."""


class TooManyRequests(ApiError):
    """429: the server has too much to do, or a disruption budget stands against an eviction."""


class InternalError(ApiError):
    """500: something went wrong in the server."""


class ServerTimeout(ApiError):
    """The server could not do it in time and asks to try again; nothing happened."""


class ServiceUnavailable(ApiError):
    """503: the server, or who stands behind it, is not there at the moment."""


class Timeout(ApiError):
    """504: no answer in time; what was asked for may still happen."""


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
    """The error for a Status: of the type that its reason names, or else of the one for its code."""
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
    The error for an answer that is not a success.

    :param body: a Status, or whatever a proxy or a dying server sent in its place
    :param retry_after: the seconds of the Retry-After header, for when the Status does not have them
    """
    status = status_in(body)
    if status is None or status.status not in ("Failure", ""):
        is_text = not content_type or content_type.startswith("text/")
        text = body[:MAX_TEXT].decode(errors="replace").strip() if is_text else "unknown"
        status = generic_status(code, method, about, text, retry_after)
    if not status.code:
        status = msgspec.structs.replace(status, code=code)
    if retry_after and not (status.details and status.details.retry_after_seconds):
        details = msgspec.structs.replace(status.details or _NO_DETAILS, retry_after_seconds=retry_after)
        status = msgspec.structs.replace(status, details=details)
    return error_from_status(status, url)


def has_status_cause(error: BaseException | None, cause: str) -> bool:
    """Whether the server named this cause among its reasons."""
    return isinstance(error, ApiError) and any(found.reason == cause for found in error.causes)


def is_expired(error: BaseException | None) -> bool:
    """Whether a resource version or page is too old and only a new list helps (Gone is what servers up to 1.17 say)."""
    return isinstance(error, Gone)


def is_too_large_resource_version(error: BaseException | None) -> bool:
    """
    Whether the server has not yet seen the resource version that was asked for.

    :param error: newer servers name the cause, 1.17 to 1.18.5 say it in a cause's message, older ones in the text
    """
    if has_status_cause(error, CAUSE_RESOURCE_VERSION_TOO_LARGE):
        return True
    if not isinstance(error, Timeout) or error.status.details is None:
        return False
    text = "Too large resource version"
    return text in error.message or any(cause.message == text for cause in error.causes)


def is_connection_refused(error: BaseException | None) -> bool:
    """Whether nobody listens where the server should be: it is down, or about to come up."""
    return any(isinstance(link, OSError) and link.errno == errno.ECONNREFUSED for link in _chain(error))


def is_probable_eof(error: BaseException | None) -> bool:
    """Whether a connection just ended: what a server or load balancer does to any connection at some time."""
    return isinstance(error, ConnectionLost)


def suggested_delay(error: BaseException | None) -> float | None:
    """
    Seconds that the server asks to wait before the next try, None if it does not ask (SuggestsClientDelay).

    A minute at most, whatever it asks for.
    """
    if isinstance(error, ServerTimeout):
        return _bounded(error.details.retry_after_seconds)
    return error.retry_after if isinstance(error, ApiError) else None


def _bounded(seconds: int) -> float:
    # Before it becomes a float, which a number of 400 digits cannot.
    return float(min(max(seconds, 0), MAX_RETRY_AFTER))


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
