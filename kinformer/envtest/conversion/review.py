"""ConversionReviews: make the request for a webhook, and check its response."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kinformer.envtest.jsontext import BadJson, decode
from kinformer.envtest.strategy.metadata import validate_annotations, validate_labels
from kinformer.meta.names import GroupVersionKind

__all__ = ("ConversionFailed", "make_review", "read_review")

Obj = dict[str, Any]

_KNOWN = ("v1", "v1beta1")
_GROUP = "apiextensions.k8s.io"


class ConversionFailed(Exception):
    """A webhook could not convert an object, or its response is invalid. The text is kube-apiserver's."""


def make_review(versions: Sequence[str], uid: str, objects: Sequence[Obj], wanted: str) -> bytes:
    """
    :param versions: the versions of ConversionReview that the webhook accepts
    :param wanted: the apiVersion to convert the objects to
    :raises ConversionFailed: if this server knows none of the versions
    """
    version = next((one for one in versions if one in _KNOWN), None)
    if version is None:
        raise ConversionFailed("no supported conversion review versions")
    request = {"uid": uid, "desiredAPIVersion": wanted, "objects": list(objects)}
    review = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}
    return msgspec.json.encode(review)


def read_review(
    versions: Sequence[str], uid: str, body: bytes, objects: Sequence[Obj], wanted: GroupVersionKind
) -> list[Obj]:
    """
    The converted objects, with their original metadata. Only labels and annotations may have changed in it.

    :raises ConversionFailed: if the webhook reports a failure, or the response is invalid
    """
    try:
        converted = _answered(versions, uid, body)
        if len(converted) != len(objects):
            raise ConversionFailed(f"returned {len(converted)} objects, expected {len(objects)}")
        return [_checked(original, one, wanted) for original, one in zip(objects, converted, strict=True)]
    except ConversionFailed as error:
        group, _, version = str(objects[0].get("apiVersion", "")).rpartition("/")
        shown = f"{group}/{version}, Kind={objects[0].get('kind', '')}"
        raise ConversionFailed(f"conversion webhook for {shown} {error}") from None


def _answered(versions: Sequence[str], uid: str, body: bytes) -> list[Any]:
    try:
        review = decode(body)
    except BadJson as error:
        raise ConversionFailed(f"failed: couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        review = {}
    asked_v1 = next(version for version in versions if version in _KNOWN) == "v1"
    said = (review.get("apiVersion", ""), review.get("kind", ""))
    if asked_v1 and said != (f"{_GROUP}/v1", "ConversionReview"):
        wanted = f"{_GROUP}/v1, Kind=ConversionReview"
        raise ConversionFailed(f"failed: expected webhook response of {wanted}, got {said[0]}, Kind={said[1]}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise ConversionFailed("failed: no response provided")
    if asked_v1 and (got := response.get("uid", "")) != uid:
        raise ConversionFailed(f'failed: expected response.uid="{uid}", got "{got}"')
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        why = result.get("message") or f"response.result.status was '{result.get('status', '')}', not 'Success'"
        raise ConversionFailed(f"failed: {why}")
    converted = response.get("convertedObjects")
    return converted if isinstance(converted, list) else []


def _checked(original: Obj, converted: Any, wanted: GroupVersionKind) -> Obj:
    """A converted object with its original metadata, if it is of the right kind and still the same object."""
    if not isinstance(converted, dict):
        raise ConversionFailed("failed, unexpected type at index 0")
    version, kind = converted.get("apiVersion", ""), converted.get("kind", "")
    invalid = "returned invalid object at index 0: invalid"
    if version != wanted.api_version:
        raise ConversionFailed(f"{invalid} groupVersion (expected {wanted.api_version}, received {version})")
    if kind != wanted.kind:
        raise ConversionFailed(f"{invalid} kind (expected {wanted.kind}, received {kind})")
    before, after = (one.get("metadata") for one in (original, converted))
    if not isinstance(after, dict):
        raise ConversionFailed("returned invalid metadata: missing metadata in converted object")
    for name, said in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, now = (before or {}).get(name, ""), after.get(name, "")
        if was != now:
            raise ConversionFailed(f"returned invalid object: must have the same {said}: {was} != {now}")
    return {**converted, "metadata": _restored(before or {}, after)}


def _restored(before: Obj, after: Obj) -> Obj:
    """The original metadata, except that the webhook may change labels and annotations."""
    metadata: Obj = copy.deepcopy(before)
    for name, check in (("labels", validate_labels), ("annotations", validate_annotations)):
        given = after.get(name)
        if given is None:
            metadata.pop(name, None)
            continue
        wrong, where = "returned invalid metadata:", "in converted object"
        if not isinstance(given, Mapping):
            raise ConversionFailed(f"{wrong} invalid metadata.{name} of type {type(given).__name__} {where}")
        for key, value in given.items():
            if not isinstance(value, str):
                said = f"metadata.{name}[{key}] must be a string, but is {type(value).__name__}"
                raise ConversionFailed(f"{wrong} {said} {where}")
        if given != metadata.get(name) and (causes := list(check(given, f"metadata.{name}"))):
            raise ConversionFailed(f"{wrong} {', '.join(f'{cause.field}: {cause.message}' for cause in causes)}")
        metadata[name] = dict(given)
    return metadata
