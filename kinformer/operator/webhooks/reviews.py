"""Reviews: what an API server asks a webhook, and what it is answered.

Bytes of an AdmissionReview or a ConversionReview come in; the request in them goes out, or one error that says what is
wrong with the body. The answers are bytes again. Objects stay as JSON has them here: who decides gives them a type.
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

#: How API servers write a time, as Go does.
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)(h|ms|m|s)")
_DURATION: Final = re.compile(rf"(?:{_PART.pattern})+")
_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

#: Of webhooks' timeoutSeconds, as Kubernetes checks it.
_LONGEST: Final = 30.0


class BadReview(ValueError):
    """A body is not a review that can be answered."""


class Resource(msgspec.Struct, frozen=True):
    """Group, version and plural of what is written."""

    group: str = ""
    version: str = ""
    resource: str = ""


class Kind(msgspec.Struct, frozen=True):
    """Group, version and kind of what is written."""

    group: str = ""
    version: str = ""
    kind: str = ""


class UserInfo(msgspec.Struct, frozen=True):
    """Who asks."""

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class RawRequest(msgspec.Struct, rename="camel"):
    """What is to be decided about, with objects as JSON has them."""

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
    """What is to be converted."""

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
    :raises BadReview: says what is wrong with it
    """
    review: _AdmissionReview = _read(body, _read_admission, *_ADMISSION)
    return _asked(review.request, _ADMISSION[0])


def read_conversion(body: bytes) -> ConversionRequest:
    """
    :raises BadReview: says what is wrong with it
    """
    review: _ConversionReview = _read(body, _read_conversion, *_CONVERSION)
    return _asked(review.request, _CONVERSION[0])


def _asked(request: R | None, kind: str) -> R:
    if request is None:
        raise BadReview(f"the {kind} has no request")
    return request


def _read(body: bytes, decode: Any, kind: str, api_version: str) -> Any:
    try:
        # The decoder looks only at what it keeps: a name of a field that is no text would be one that nobody asked for.
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
    The seconds that an API server says it waits (``10s``, ``1m0s``); `default` if it does not, or nobody can read it.

    More than an API server may be told to wait, 30 seconds, is not believed.
    """
    if not _DURATION.fullmatch(text):
        return default
    seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    return min(seconds, _LONGEST) if seconds > 0 else default


def allowed(uid: str, patch: Sequence[Any] = (), warnings: Sequence[str] = ()) -> bytes:
    """
    Yes.

    :param patch: a JSON patch of the object
    :param warnings: for the user, a line each
    """
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(_encode(patch)).decode()}
    return _admission(response, warnings)


def denied(uid: str, code: int, reason: str, message: str, warnings: Sequence[str] = (), retry_after: int = 0) -> bytes:
    """
    No, and why.

    :param retry_after: seconds after which the request may be made again. An API server passes them on as Retry-After,
        and client-go then makes it again
    """
    refusal: dict[str, Any] = {"status": "Failure", "code": code, "reason": reason, "message": message}
    if retry_after:
        refusal["details"] = {"retryAfterSeconds": retry_after}
    return _admission({"uid": uid, "allowed": False, "status": refusal}, warnings)


def status(code: int, reason: str, message: str) -> bytes:
    """A Status, for what is no review, and for a webhook that has failed."""
    said = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return _encode({"apiVersion": "v1", "kind": "Status", **said})


def _admission(response: dict[str, Any], warnings: Sequence[str]) -> bytes:
    if warnings:
        response["warnings"] = list(warnings)
    return _encode({"apiVersion": _ADMISSION[1], "kind": _ADMISSION[0], "response": response})


def converted(uid: str, objects: Sequence[Any]) -> bytes:
    """The objects at the version that was asked for, in the order in which they came."""
    return _conversion({"uid": uid, "convertedObjects": list(objects), "result": {"status": "Success"}})


def not_converted(uid: str, message: str) -> bytes:
    """No object is converted, and why."""
    return _conversion({"uid": uid, "result": {"status": "Failure", "message": message}})


def _conversion(response: dict[str, Any]) -> bytes:
    return _encode({"apiVersion": _CONVERSION[1], "kind": _CONVERSION[0], "response": response})
