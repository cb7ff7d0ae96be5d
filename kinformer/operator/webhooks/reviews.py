"""Reviews: reads the requests of API servers to webhooks, and writes the answers.

The body of a request is an AdmissionReview or a ConversionReview. It is decoded to a request, or an error says what is
wrong with it. Objects in a request stay dicts here.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from kinformer.models import DECODE_ERRORS

__all__ = (
    "BadReview",
    "ConversionRequest",
    "RawRequest",
    "Refusal",
    "Resource",
    "UserInfo",
    "allowed",
    "converted",
    "denied",
    "not_converted",
    "read_admission",
    "read_conversion",
    "read_timeout",
    "status",
)

_ADMISSION: Final = ("AdmissionReview", "admission.k8s.io/v1")
_CONVERSION: Final = ("ConversionReview", "apiextensions.k8s.io/v1")

#: A duration in Go's format, which API servers use.
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

#: The greatest ``timeoutSeconds`` of a webhook that Kubernetes accepts.
_LONGEST: Final = 30.0


class BadReview(ValueError):
    """The body of a request is not a valid review."""


class Refusal(bytes):
    """An answer that refuses the user's request."""


class Resource(msgspec.Struct, frozen=True):
    """The group, version and plural of a resource."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Kind(msgspec.Struct, frozen=True):
    """The group, version and kind of an object."""

    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """The user who makes a request."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class RawRequest(msgspec.Struct, rename="camel"):
    """The request of an AdmissionReview, with objects as dicts."""

    uid: str
    operation: str
    resource: Resource = Resource()
    kind: Kind = Kind()
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    user_info: UserInfo = UserInfo()
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool | None = None
    options: dict[str, Any] | None = None


class ConversionRequest(msgspec.Struct):
    """The request of a ConversionReview: the objects to convert."""

    uid: str
    desired: str = msgspec.field(name="desiredAPIVersion")
    objects: list[dict[str, Any]] = []


class _AdmissionReview(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: RawRequest | None = None


class _ConversionReview(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: ConversionRequest | None = None


_read_admission = msgspec.json.Decoder(_AdmissionReview).decode
_read_conversion = msgspec.json.Decoder(_ConversionReview).decode
_encode = msgspec.json.Encoder().encode

R = TypeVar("R", RawRequest, ConversionRequest)


def read_admission(body: bytes) -> RawRequest:
    """
    Decode an AdmissionReview.

    :raises BadReview: if the body is not valid; the text says why
    """
    review: _AdmissionReview = _read(body, _read_admission, *_ADMISSION)
    return _asked(review.request, _ADMISSION[0])


def read_conversion(body: bytes) -> ConversionRequest:
    """
    Decode a ConversionReview.

    :raises BadReview: if the body is not valid; the text says why
    """
    review: _ConversionReview = _read(body, _read_conversion, *_CONVERSION)
    return _asked(review.request, _CONVERSION[0])


def _asked(request: R | None, kind: str) -> R:
    if request is None:
        raise BadReview(f"the {kind} has no request")
    return request


def _read(body: bytes, decode: Any, kind: str, api_version: str) -> Any:
    try:
        # The decoder does not check field names that it skips, so the whole body is checked for UTF-8 first.
        body.decode()
        review = decode(body)
    except msgspec.DecodeError as error:
        raise BadReview(f"not {_a(kind)}: {error}") from error
    except RecursionError as error:
        raise BadReview(f"not {_a(kind)} that can be read: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise BadReview(f"not {_a(kind)}: not UTF-8") from error
    except DECODE_ERRORS as error:
        raise BadReview(f"not {_a(kind)}: {error}") from error
    if review.kind != kind or review.api_version != api_version:
        what = f"{review.kind or 'nothing'} of {review.api_version or 'no apiVersion'}"
        raise BadReview(f"{what}: want {_a(kind)} of {api_version}")
    return review


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"


def read_timeout(text: str, default: float) -> float:
    """
    Read the seconds that an API server waits, from the parameter ``timeout`` of its request (``10s``, ``1m0s``).

    :param default: the result if there is no such parameter, or it is not valid
    :return: 30 at most, which is the longest timeout that Kubernetes accepts for a webhook
    """
    if not _DURATION.fullmatch(text):
        return default
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return min(seconds, _LONGEST) if seconds > 0 else default


def allowed(uid: str, patch: Sequence[Any] = (), warnings: Sequence[str] = ()) -> bytes:
    """
    The answer that allows a request.

    :param uid: the UID of the request
    :param patch: a JSON patch for the object
    :param warnings: warnings for the user, each one line
    """
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(_encode(patch)).decode()}
    return _admission(response, warnings)


def denied(uid: str, code: int, reason: str, message: str, warnings: Sequence[str] = (), retry_after: int = 0) -> bytes:
    """
    The answer that refuses a request.

    :param uid: the UID of the request
    :param code: the HTTP status for the user
    :param reason: the reason in the API's words
    :param message: the message for the user
    :param warnings: warnings for the user, each one line
    :param retry_after: seconds after which the client may repeat the request; 0: it is not told. The API server sends
        them as ``Retry-After``, and client-go then repeats the request
    """
    refusal: dict[str, Any] = {"status": "Failure", "code": code, "reason": reason, "message": message}
    if retry_after:
        refusal["details"] = {"retryAfterSeconds": retry_after}
    return Refusal(_admission({"uid": uid, "allowed": False, "status": refusal}, warnings))


def status(code: int, reason: str, message: str) -> bytes:
    """A Status, as the answer to a body that is not a review, or when a webhook has failed."""
    said = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return _encode({"apiVersion": "v1", "kind": "Status", **said})


def _admission(response: dict[str, Any], warnings: Sequence[str]) -> bytes:
    if warnings:
        response["warnings"] = list(warnings)
    return _encode({"apiVersion": _ADMISSION[1], "kind": _ADMISSION[0], "response": response})


def converted(uid: str, objects: Sequence[Any]) -> bytes:
    """The answer with the converted objects, in the order of the request."""
    return _conversion({"uid": uid, "convertedObjects": list(objects), "result": {"status": "Success"}})


def not_converted(uid: str, message: str) -> bytes:
    """The answer that the objects cannot be converted."""
    return Refusal(_conversion({"uid": uid, "result": {"status": "Failure", "message": message}}))


def _conversion(response: dict[str, Any]) -> bytes:
    return _encode({"apiVersion": _CONVERSION[1], "kind": _CONVERSION[0], "response": response})
