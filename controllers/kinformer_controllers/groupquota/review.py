"""AdmissionReviews: what an API server asks a webhook, and what it is answered."""

from __future__ import annotations

from typing import Any, Final

import click
import msgspec

from kinformer.cli.flags import duration

__all__ = ("AdmissionRequest", "BadReview", "answer", "read_review", "read_timeout", "status")

# Of webhooks' timeoutSeconds, as Kubernetes checks it.
_LONGEST: Final = 30.0

_VERSION: Final = "admission.k8s.io/v1"


class BadReview(ValueError):
    """A body is not an AdmissionReview that can be answered."""


class _Resource(msgspec.Struct):
    group: str = ""
    version: str = ""
    resource: str = ""


class AdmissionRequest(msgspec.Struct, rename="camel"):
    """What is to be decided about."""

    uid: str
    operation: str
    resource: _Resource
    sub_resource: str = ""
    name: str = ""
    namespace: str = ""
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None
    dry_run: bool | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    request: AdmissionRequest | None = None


_decode = msgspec.json.Decoder(_Review).decode
_encode = msgspec.json.Encoder().encode


def read_review(body: bytes) -> AdmissionRequest:
    """
    :raises BadReview: says what is wrong with it
    """
    try:
        # The decoder looks only at what it keeps: a name of a field that is no text would be one that nobody asked for.
        body.decode()
        review = _decode(body)
    except msgspec.DecodeError as error:
        raise BadReview(f"not an AdmissionReview: {error}") from error
    except RecursionError as error:
        raise BadReview("not an AdmissionReview that can be read: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise BadReview("not an AdmissionReview: not UTF-8") from error
    if review.kind != "AdmissionReview" or review.api_version != _VERSION:
        what = f"{review.kind or 'nothing'} of {review.api_version or 'no apiVersion'}"
        raise BadReview(f"{what}: want an AdmissionReview of {_VERSION}")
    if review.request is None:
        raise BadReview("the AdmissionReview has no request")
    return review.request


def read_timeout(text: str, default: float) -> float:
    """The seconds that an API server says it waits (``10s``); `default` if it does not, or nobody can read it."""
    try:
        seconds = duration(text) if text else default
    except click.BadParameter:
        return default
    # More than an API server may be told to wait is not believed.
    return min(seconds, _LONGEST) if seconds > 0 else default


def answer(uid: str, code: int = 200, reason: str = "", message: str = "", retry_after: int = 0) -> bytes:
    """
    Yes, or with a code that is not 200, no and why.

    :param retry_after: seconds after which the request may be made again. An API server passes them on as Retry-After,
        and client-go then makes it again
    """
    response: dict[str, Any] = {"uid": uid, "allowed": code == 200}
    if code != 200:
        refusal: dict[str, Any] = {"status": "Failure", "code": code, "reason": reason, "message": message}
        if retry_after:
            refusal["details"] = {"retryAfterSeconds": retry_after}
        response["status"] = refusal
    return _encode({"apiVersion": _VERSION, "kind": "AdmissionReview", "response": response})


def status(code: int, reason: str, message: str) -> bytes:
    """A Status, for what is no review."""
    return _encode(
        {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    )
