"""Patches: what a PATCH request makes of the object that is there."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.apply import apply_configuration, shape_of_resource
from kinformer.envtest.handlers.bodies import finish_object, json_complaint_of, media_type, read_json, read_yaml
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
        resource, converted = self._call.resource, self._strategy.is_converted
        if old is not None and converted:
            old = self._strategy.shown(old)
        whole: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, **(old or {"metadata": {}})}
        patched = self._apply(whole)
        if not isinstance(patched, dict):
            raise status.unprocessable_patch()
        # What a patch has not touched is still the very object that was stored, and needs no second look.
        settled = {
            name: patched.pop(name)
            for name in list(patched)
            if name != "kind" and patched[name] is whole.get(name) and not converted
        }
        settled.pop("apiVersion", None)
        return finish_object(self._call, self._strategy, patched, settled)


def read_patch(operations: Operations, call: Call) -> Patcher:
    """
    :raises StatusError: UnsupportedMediaType, BadRequest
    """
    if media_type(call.content_type) == APPLY_PATCH:
        return _applier(operations, call)
    if "force" in call.query:
        cause = status.Cause("force", "FieldValueForbidden", "Forbidden: may not be specified for non-apply patch")
        raise status.invalid_options("PatchOptions", cause)
    return Patcher(operations, call, patch_function(call))


def _applier(operations: Operations, call: Call) -> Patcher:
    if not call.manager:
        text = "Required value: is required for apply patch"
        raise status.invalid_options("PatchOptions", status.Cause("fieldManager", "FieldValueRequired", text))
    wanted = read_yaml(call)
    metadata = wanted.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise status.bad_request("error decoding YAML: metadata is not an object")
    if metadata.get("managedFields"):
        raise status.bad_request("metadata.managedFields must be nil")
    if call.namespace:
        metadata.setdefault("namespace", call.namespace)
    if metadata.setdefault("name", call.name) != call.name:
        raise status.bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({call.name})"
        )
    if metadata.get("namespace", call.namespace) != call.namespace:
        raise status.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    resource, shape, force = call.resource, shape_of_resource(call.resource), call.is_set("force")
    of_kind = {"kind": resource.kind, "apiVersion": resource.api_version}
    for name, value in of_kind.items():
        if wanted.setdefault(name, value) != value:
            raise status.bad_request(
                f"{name} of the applied configuration is {wanted[name]!r}, and the resource has {value!r}"
            )

    finish_object(call, operations.strategy(resource), copy.deepcopy(wanted))  # refuses what is of a wrong type

    def apply(whole: Obj) -> Obj:
        live = whole if whole["metadata"].get("uid") else None
        return apply_configuration(live, wanted, shape, call.manager, resource.api_version, operations.now(), force)

    return Patcher(operations, call, apply, creates=call.target.subresource is None)


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
