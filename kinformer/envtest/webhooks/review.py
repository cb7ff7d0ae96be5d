"""AdmissionReviews: make the request for a webhook, and check its response."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from kinformer.envtest.admission import Attributes
from kinformer.envtest.jsontext import BadJson, decode
from kinformer.envtest.policies.conditions import request_of
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import StatusError
from kinformer.envtest.webhooks.configuration import Hook

__all__ = ("CallFailed", "Verdict", "denial", "make_review", "read_review")

_KNOWN = ("v1", "v1beta1")


class CallFailed(Exception):
    """A webhook could not be called, or its response is invalid. The text says why."""


@dataclass(slots=True)
class Verdict:
    """
    The response of a webhook.

    :param patch: JSON patch operations
    :param status: the Status of a refusal, with the fields that the webhook has set
    """

    allowed: bool
    patch: Any = None
    status: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def make_review(hook: Hook, uid: str, attributes: Attributes, resource: Resource, object_: Any, old: Any) -> bytes:
    """
    :param resource: the resource, at the version that the webhook is sent
    :param object_: the object, with kind and apiVersion. None for a delete
    :param old: the stored object, with kind and apiVersion. None for a create
    :raises CallFailed: if the webhook accepts no version of AdmissionReview that this server knows
    """
    version = next((version for version in hook.versions if version in _KNOWN), None)
    if version is None:
        text = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
        raise CallFailed(f"could not create admission objects: {text}")
    request = {"uid": uid, **request_of(attributes, resource), "object": object_, "oldObject": old}
    review = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}", "request": request}
    return msgspec.json.encode(review)


def read_review(hook: Hook, uid: str, body: bytes, mutating: bool) -> Verdict:
    """
    :raises CallFailed: if the response is invalid
    """
    try:
        review = decode(body)
    except BadJson as error:
        raise CallFailed(f"failed to call webhook: couldn't get version/kind; json parse error: {error}") from None
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        raise _bad("webhook response was absent")
    asked_v1 = next(version for version in hook.versions if version in _KNOWN) == "v1"
    if asked_v1:
        if (got := response.get("uid", "")) != uid:
            raise _bad(f'expected response.uid="{uid}", got "{got}"')
        group, _, version = str(review.get("apiVersion", "")).rpartition("/")
        if (review.get("kind"), group, version) != ("AdmissionReview", "admission.k8s.io", "v1"):
            got = f"{group}/{version}, Kind={review.get('kind', '')}"
            raise _bad(f"expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {got}")
    result = response.get("status")
    warnings = response.get("warnings")
    verdict = Verdict(
        response.get("allowed") is True,
        status=result if isinstance(result, dict) else {},
        warnings=[str(one) for one in warnings] if isinstance(warnings, list) else [],
    )
    patch, patch_type = response.get("patch"), response.get("patchType")
    if mutating:
        verdict.patch = _read_patch(patch, patch_type if asked_v1 or not patch else "JSONPatch")
    elif patch:
        raise _bad("validating webhook may not return response.patch")
    elif patch_type is not None:
        raise _bad("validating webhook may not return response.patchType")
    return verdict


def _read_patch(patch: Any, patch_type: Any) -> Any:
    if patch and patch_type is None:
        raise _bad("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise _bad("webhook returned response.patchType but not response.patch")
    if not patch:
        return None
    if patch_type == "":
        raise _bad('webhook returned invalid response.patchType of ""')
    try:
        operations = decode(base64.b64decode(patch, validate=True))
    except (TypeError, ValueError) as error:
        raise CallFailed(f"received undecodable patch in webhook response: {error}") from None
    if operations and patch_type != "JSONPatch":
        raise CallFailed(f'unsupported patch type "{patch_type}"')
    return operations


def _bad(why: str) -> CallFailed:
    return CallFailed(f"received invalid webhook response: {why}")


def denial(hook: Hook, result: Mapping[str, Any]) -> StatusError:
    """The error for the client when a webhook refuses a request."""
    denied = f'admission webhook "{hook.name}" denied the request'
    code = result.get("code")
    reason, message = str(result.get("reason") or ""), str(result.get("message") or "")
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    details = result.get("details")
    return StatusError(
        code if isinstance(code, int) and 400 <= code <= 599 else 400,
        reason,
        text,
        details if isinstance(details, dict) else None,
    )
