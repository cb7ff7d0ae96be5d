"""ConversionReviews: make the request for a webhook, and check its response."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from kinformer.envtest.depth import TooDeep, decode
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
    shown = _shown(objects[0])
    converted = _answered(versions, uid, body, shown)
    if len(converted) != len(objects):
        text = f"returned {len(converted)} objects, expected {len(objects)}"
        raise ConversionFailed(f"conversion webhook for {shown} {text}")
    result = []
    for original, one in zip(objects, converted, strict=True):
        if not isinstance(one, dict):
            raise ConversionFailed(f"conversion webhook for {shown} failed, unexpected type at index 0")
        group, _, version = str(one.get("apiVersion", "")).rpartition("/")
        if (group, version) != (wanted.group, wanted.version):
            text = f"invalid groupVersion (expected {wanted.api_version}, received {one.get('apiVersion', '')})"
            raise ConversionFailed(f"conversion webhook for {shown} returned invalid object at index 0: {text}")
        if (kind := one.get("kind", "")) != wanted.kind:
            text = f"invalid kind (expected {wanted.kind}, received {kind})"
            raise ConversionFailed(f"conversion webhook for {shown} returned invalid object at index 0: {text}")
        _check_identity(original, one, shown)
        result.append({**one, "metadata": _restored(original, one, shown)})
    return result


def _shown(obj: Obj) -> str:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return f"{group}/{version}, Kind={obj.get('kind', '')}"


def _answered(versions: Sequence[str], uid: str, body: bytes, shown: str) -> list[Any]:
    def failed(why: str) -> ConversionFailed:
        return ConversionFailed(f"conversion webhook for {shown} failed: {why}")

    try:
        review = decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, TooDeep) as error:
        raise failed(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(review, dict):
        review = {}
    asked_v1 = next(version for version in versions if version in _KNOWN) == "v1"
    said = (review.get("apiVersion", ""), review.get("kind", ""))
    if asked_v1 and said != (f"{_GROUP}/v1", "ConversionReview"):
        wanted = f"{_GROUP}/v1, Kind=ConversionReview"
        raise failed(f"expected webhook response of {wanted}, got {said[0]}, Kind={said[1]}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise failed("no response provided")
    if asked_v1 and (got := response.get("uid", "")) != uid:
        raise failed(f'expected response.uid="{uid}", got "{got}"')
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        raise failed(result.get("message") or f"response.result.status was '{result.get('status', '')}', not 'Success'")
    converted = response.get("convertedObjects")
    return converted if isinstance(converted, list) else []


def _check_identity(original: Obj, converted: Obj, shown: str) -> None:
    before, after = (one.get("metadata") for one in (original, converted))
    if not isinstance(after, dict):
        text = "missing metadata in converted object"
        raise ConversionFailed(f"conversion webhook for {shown} returned invalid metadata: {text}")
    for name, said in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        was, now = (before or {}).get(name, ""), after.get(name, "")
        if was != now:
            text = f"must have the same {said}: {was} != {now}"
            raise ConversionFailed(f"conversion webhook for {shown} returned invalid object: {text}")


def _restored(original: Obj, converted: Obj, shown: str) -> Obj:
    """The converted object with its original metadata, except that the webhook may change labels and annotations."""

    def wrong(why: str) -> ConversionFailed:
        return ConversionFailed(f"conversion webhook for {shown} returned invalid metadata: {why}")

    metadata: Obj = copy.deepcopy(original.get("metadata") or {})
    for name in ("labels", "annotations"):
        given = converted["metadata"].get(name)
        if given is None:
            metadata.pop(name, None)
            continue
        if not isinstance(given, Mapping):
            raise wrong(f"invalid metadata.{name} of type {type(given).__name__} in converted object")
        for key, value in given.items():
            if not isinstance(value, str):
                raise wrong(
                    f"metadata.{name}[{key}] must be a string, but is {type(value).__name__} in converted object"
                )
        if given != metadata.get(name):
            check = validate_labels if name == "labels" else validate_annotations
            causes = list(check(given, f"metadata.{name}"))
            if causes:
                raise wrong(", ".join(f"{cause.field}: {cause.message}" for cause in causes))
        metadata[name] = dict(given)
    return metadata
