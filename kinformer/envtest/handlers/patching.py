"""Patches: what a PATCH request makes of the object that is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.handlers.bodies import finish_object, json_complaint_of, media_type, read_json
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.operations import Operations
from kinformer.envtest.strategy.base import Obj
from kinformer.meta.names import GroupVersionKind
from kinformer.meta.patch import (
    MAX_OPERATIONS,
    MalformedPatchError,
    PatchError,
    apply_json_patch,
    merge_patch,
    strategic_merge_patch,
)

__all__ = ("Patcher", "patch_function", "read_patch")

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_CUSTOM_TYPES = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"


class Patcher:
    """
    Makes the next object out of the present one.

    :param apply: does so with whole objects, with kind and apiVersion
    :param creates: whether an object that is not there is created
    """

    def __init__(self, operations: Operations, call: Call, apply: Callable[[Obj], Any], creates: bool = False):
        self._strategy = operations.strategy(call.resource)
        self._call = call
        self._apply = apply
        self.creates = creates

    def __call__(self, old: Obj | None) -> Obj:
        resource = self._call.resource
        whole: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, **(old or {"metadata": {}})}
        patched = self._apply(whole)
        if not isinstance(patched, dict):
            raise status.unprocessable_patch()
        return finish_object(self._call, self._strategy, patched)


def read_patch(operations: Operations, call: Call) -> Patcher:
    """
    :raises StatusError: UnsupportedMediaType, BadRequest
    """
    if media_type(call.content_type) == APPLY_PATCH:
        raise status.unsupported_patch_type()
    return Patcher(operations, call, patch_function(call))


def patch_function(call: Call) -> Callable[[Obj], Any]:
    """
    What the request's patch does to an object; it raises a StatusError where it does not fit.

    :raises StatusError: UnsupportedMediaType, BadRequest
    """
    type_ = media_type(call.content_type)
    if type_ == MERGE_PATCH:
        return _function(call, merge_patch)
    if type_ == JSON_PATCH:
        return _function(call, apply_json_patch)
    if type_ == STRATEGIC_PATCH and not call.resource.is_custom:
        sub = call.target.subresource
        foreign = sub is not None and sub.foreign
        kind = (
            sub.gvk
            if sub is not None and foreign
            else GroupVersionKind(call.resource.group, call.resource.version, call.resource.kind)
        )
        return _function(call, lambda old, patch: strategic_merge_patch(old, patch, kind))
    if call.resource.is_custom:
        raise status.unsupported_media_type(_CUSTOM_TYPES)
    raise status.unsupported_patch_type()


def _function(call: Call, apply: Callable[[Obj, Any], Any]) -> Callable[[Obj], Any]:
    complaint = json_complaint_of(call.body)
    if complaint is not None:
        raise status.bad_request(f"error decoding patch: {complaint}")
    patch = read_json(call.body, "")
    if isinstance(patch, list) and len(patch) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise status.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}", {})

    def change(old: Obj) -> Any:
        try:
            return apply(old, patch)
        except MalformedPatchError as error:
            raise status.bad_request(f"error decoding patch: {error}") from None
        except PatchError:
            raise status.unprocessable_patch() from None

    return change
