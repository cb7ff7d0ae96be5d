"""Errors: what the server's Status becomes."""

from __future__ import annotations

import errno

import aiohttp
import msgspec
import pytest

from kinformer.client import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    ConnectionLost,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotSupported,
    NotAcceptable,
    NotFound,
    RequestEntityTooLarge,
    ServerTimeout,
    ServerUnreachable,
    ServiceUnavailable,
    Status,
    StatusCause,
    StatusDetails,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
    error_from_response,
    error_from_status,
    has_status_cause,
    is_connection_refused,
    is_expired,
    is_probable_eof,
    is_too_large_resource_version,
    suggested_delay,
)
from kinformer.client.causes import cause_of
from kinformer.client.status import About, decode_status
from kinformer.meta import GroupResource

REASONS = [
    (400, "BadRequest", BadRequest),
    (401, "Unauthorized", Unauthorized),
    (403, "Forbidden", Forbidden),
    (404, "NotFound", NotFound),
    (405, "MethodNotAllowed", MethodNotSupported),
    (406, "NotAcceptable", NotAcceptable),
    (409, "AlreadyExists", AlreadyExists),
    (409, "Conflict", Conflict),
    (410, "Gone", Gone),
    (410, "Expired", Expired),
    (413, "RequestEntityTooLarge", RequestEntityTooLarge),
    (415, "UnsupportedMediaType", UnsupportedMediaType),
    (422, "Invalid", Invalid),
    (429, "TooManyRequests", TooManyRequests),
    (500, "InternalError", InternalError),
    (500, "ServerTimeout", ServerTimeout),
    (503, "ServiceUnavailable", ServiceUnavailable),
    (504, "Timeout", Timeout),
]


@pytest.mark.parametrize(("code", "reason", "kind"), REASONS)
def test_a_known_reason_decides_the_type(code: int, reason: str, kind: type[ApiError]) -> None:
    error = error_from_status(Status(status="Failure", code=code, reason=reason, message="why"))

    assert type(error) is kind
    assert (error.code, error.reason, error.message, str(error)[-3:]) == (code, reason, "why", "why")


@pytest.mark.parametrize(("code", "kind"), [(404, NotFound), (409, Conflict), (410, Gone), (500, InternalError)])
def test_without_a_reason_the_code_decides(code: int, kind: type[ApiError]) -> None:
    assert type(error_from_status(Status(code=code))) is kind
    assert type(error_from_status(Status(code=code, reason="SomethingNew"))) is kind


def test_a_reason_outweighs_the_code_but_for_429_and_413() -> None:
    assert type(error_from_status(Status(code=500, reason="NotFound"))) is NotFound
    assert type(error_from_status(Status(code=429, reason="Forbidden"))) is TooManyRequests
    assert type(error_from_status(Status(code=413, reason="Invalid"))) is RequestEntityTooLarge
    assert type(error_from_status(Status(code=500, reason="StorageReadError"))) is ApiError


def test_an_object_that_exists_is_no_conflict_that_trying_again_would_solve() -> None:
    assert not isinstance(error_from_status(Status(code=409, reason="AlreadyExists")), Conflict)


def test_invalid_names_each_field_that_is_wrong() -> None:
    body = b"""{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"Pod is invalid",
        "reason":"Invalid","code":422,"details":{"name":"p","kind":"Pod","causes":[
        {"reason":"FieldValueRequired","message":"Required value","field":"spec.containers"}]}}"""

    error = error_from_response(422, body)

    assert isinstance(error, Invalid)
    assert error.causes == (StatusCause("FieldValueRequired", "Required value", "spec.containers"),)
    assert error.details.kind == "Pod"


def test_expired_tells_where_an_inconsistent_list_may_go_on() -> None:
    body = b'{"kind":"Status","code":410,"reason":"Expired","metadata":{"continue":"token"},"status":"Failure"}'

    error = error_from_response(410, body)

    assert isinstance(error, Expired)
    assert error.continue_token == "token"
    assert Expired(Status()).continue_token == ""
    assert is_expired(error)
    assert is_expired(Gone(Status()))
    assert not is_expired(NotFound(Status()))


@pytest.mark.parametrize(
    ("code", "method", "kind", "message"),
    [
        (400, "GET", BadRequest, "the server rejected our request for an unknown reason (get pods x)"),
        (404, "GET", NotFound, "the server could not find the requested resource (get pods x)"),
        (403, "GET", Forbidden, "words (get pods x)"),
        (406, "GET", NotAcceptable, "words (get pods x)"),
        (409, "POST", AlreadyExists, "the server reported a conflict (post pods x)"),
        (409, "PUT", Conflict, "the server reported a conflict (put pods x)"),
        (502, "GET", InternalError, 'an error on the server ("words") has prevented the request from succeeding'),
        (302, "GET", ApiError, "the server responded with the status code 302 but did not return more information"),
    ],
)
def test_what_is_no_status_gets_the_words_for_its_code(
    code: int, method: str, kind: type[ApiError], message: str
) -> None:
    about = About(GroupResource("", "pods"), "x")

    error = error_from_response(code, b" words \n", content_type="text/plain", method=method, about=about)

    assert type(error) is kind
    assert error.message.startswith(message)
    assert has_status_cause(error, "UnexpectedServerResponse")
    assert error.causes[0].message == "words"


def test_the_words_of_a_broken_server_are_quoted() -> None:
    error = error_from_response(500, b'Internal Server Error: "/api/v1/pods":\nboom')

    words = r'"Internal Server Error: \"/api/v1/pods\":\nboom"'
    assert error.message == f"an error on the server ({words}) has prevented the request from succeeding"


def test_a_body_that_is_no_text_is_not_shown() -> None:
    assert error_from_response(500, b"\x00\x01", content_type="application/x").causes[0].message == "unknown"
    assert "content type" in error_from_response(406, b"").message


def test_a_success_with_an_error_code_is_not_believed() -> None:
    assert type(error_from_response(500, b'{"kind":"Status","status":"Success","code":200}')) is InternalError


def test_the_header_says_when_to_come_back_if_the_status_does_not() -> None:
    header = error_from_response(429, b"Too many requests", retry_after=3)
    status = error_from_response(429, b'{"kind":"Status","details":{"retryAfterSeconds":7}}', retry_after=3)
    neither = error_from_response(404, b'{"kind":"Status"}')

    assert (header.retry_after, status.retry_after, neither.retry_after) == (3, 7, None)
    assert neither.code == 404


def test_who_is_refused_is_told_where() -> None:
    error = error_from_status(Status(code=401, reason="Unauthorized", message="Unauthorized"), "https://k:6443/api")

    assert str(error) == "the server refused the credentials for https://k:6443/api: Unauthorized"


def test_an_error_without_words_still_says_something() -> None:
    assert str(ApiError(Status())) == "the server answered with an error"
    assert str(ApiError(Status(code=418, reason="Teapot"))) == "the server answered 418 Teapot"


@pytest.mark.parametrize(
    "status",
    [
        Status(code=504, details=StatusDetails(causes=(StatusCause("ResourceVersionTooLarge", "too large"),))),
        Status(
            code=504, reason="Timeout", details=StatusDetails(causes=(StatusCause("", "Too large resource version"),))
        ),
        Status(code=504, reason="Timeout", message="Too large resource version: 9", details=StatusDetails()),
    ],
)
def test_a_version_from_the_future_is_recognised_in_three_forms(status: Status) -> None:
    assert is_too_large_resource_version(error_from_status(status))


def test_another_timeout_is_no_too_large_version() -> None:
    assert not is_too_large_resource_version(Timeout(Status(code=504, message="late", details=StatusDetails())))
    assert not is_too_large_resource_version(Timeout(Status(code=504, message="Too large resource version")))
    assert not is_too_large_resource_version(None)


def test_a_refused_connection_is_found_behind_what_wraps_it() -> None:
    refused = ServerUnreachable("http://h", OSError(errno.ECONNREFUSED, "refused"))
    outer = RuntimeError("outer")
    outer.__cause__ = refused

    assert is_connection_refused(outer)
    assert not is_connection_refused(ServerUnreachable("http://h", "no such host"))
    assert not is_connection_refused(None)


def test_a_lost_connection_is_a_probable_end_of_file() -> None:
    lost = ConnectionLost("http://h/api", "reset")

    assert is_probable_eof(lost)
    assert not is_probable_eof(NotFound(Status()))
    assert str(lost) == "lost the connection to http://h/api: reset"
    assert str(ConnectionLost("http://h", EOFError())) == "lost the connection to http://h: EOFError"


def test_the_server_may_suggest_a_delay() -> None:
    assert suggested_delay(ServerTimeout(Status(code=500, details=StatusDetails()))) == 0
    assert suggested_delay(TooManyRequests(Status(code=429, details=StatusDetails(retry_after_seconds=2)))) == 2
    assert suggested_delay(NotFound(Status(code=404))) is None
    assert suggested_delay(OSError()) is None


def test_an_error_event_without_a_status_says_so_without_quoting_it() -> None:
    assert decode_status(msgspec.Raw(b'{"kind":"Status","code":410,"reason":"Expired"}')).reason == "Expired"
    assert "holds something that is not a Status" in decode_status(msgspec.Raw(b"42")).message
    assert "42" not in decode_status(msgspec.Raw(b"42")).message
    assert decode_status(b"42").code == 500


def test_a_gateways_own_json_is_no_status() -> None:
    body = b'{"status":"Failure","code":404,"reason":"NotFound","message":"no route"}'

    error = error_from_response(502, body, content_type="application/json")

    assert (type(error), error.code) == (InternalError, 502)


@pytest.mark.parametrize(
    "words", ["Client sent an HTTP request to an HTTPS server.", "<p>The plain HTTP request was sent to HTTPS port</p>"]
)
def test_a_request_without_tls_to_a_port_with_tls_is_explained(words: str) -> None:
    error = error_from_response(400, words.encode(), method="GET", url="http://h:6443/api")

    assert str(error) == "the server at http://h:6443/api speaks TLS there: want https:// for http://"
    assert error.message == "the server rejected our request for an unknown reason"


def test_a_connection_without_an_answer_is_said_in_words() -> None:
    assert cause_of(aiohttp.ServerDisconnectedError()) == "it was closed without an answer"
