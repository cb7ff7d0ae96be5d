"""Patches: compute the new object of a PATCH request from the stored one."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import msgspec

from kinformer.envtest import status
from kinformer.envtest.apply import (
    Managed,
    NotMergeable,
    apply_configuration,
    check_mergeable,
    scope_of,
)
from kinformer.envtest.causes import forbidden, invalid, required
from kinformer.envtest.handlers.bodies import finish_object, media_type, not_registered, read_json, read_yaml
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.handlers.yaml_bodies import lines_of
from kinformer.envtest.jsontext import duplicate_fields, is_too_deep
from kinformer.envtest.operations import Operations
from kinformer.envtest.registry.schema import json_type
from kinformer.envtest.strategy.base import Obj
from kinformer.meta.names import GroupKind, GroupVersionKind
from kinformer.meta.patch import (
    MAX_OPERATIONS,
    MalformedPatchError,
    PatchError,
    apply_json_patch,
    go_text,
    merge_patch,
    strategic_merge_patch,
)

__all__ = (
    "patch_function",
    "read_patch",
    "refusal_of",
)

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_CUSTOM_TYPES = f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY_PATCH}"


class Patcher:
    """
    Computes the new object from the stored one.

    :param apply: computes the new object. Both objects have kind and apiVersion
    :param creates: whether the request creates the object if it does not exist
    :param sees_managed: whether `apply` gets the managed fields
    """

    def __init__(
        self,
        operations: Operations,
        call: Call,
        apply: Callable[[Obj], Any],
        creates: bool = False,
        sees_managed: bool = False,
    ):
        self._operations = operations
        self._strategy = operations.strategy(call.target.resource)
        self._call = call
        self._apply = apply
        self._sees_managed = sees_managed
        self.creates = creates
        #: The fields that the last patch did not change.
        self.untouched: set[str] = set()

    def __call__(self, old: Obj | None) -> Obj:
        resource = self._call.target.resource
        if old is None:
            old = {"metadata": {}}
        elif self._strategy.is_converted:
            old = self._strategy.shown(old)
        whole: Obj = {"kind": resource.kind, "apiVersion": resource.api_version, **old}
        if self._sees_managed and (managed := _live_managed(self._operations, self._call)) is not None:
            whole["metadata"]["managedFields"] = managed.to_list()
        patched = self._apply(whole)
        if not isinstance(patched, dict):
            raise status.unprocessable_patch()
        refuse = refusal_of(self._call, patched)
        self._check_kind(patched, refuse)
        if self._strategy.is_converted:
            return finish_object(self._call, self._strategy, patched, tell=self._tell, refuse=refuse)
        # A field that the patch has not changed is still the stored value. It was checked when it was stored.
        settled = {}
        for name, value in whole.items():
            if patched.get(name, self) is value and name != "kind" and name != "apiVersion":
                settled[name] = patched.pop(name)
        self.untouched.clear()
        self.untouched.update(settled)
        before, after = whole["metadata"], patched.get("metadata")
        if type(after) is dict:
            # Usually a patch changes one field of the metadata. The dict belongs to the patch, so it may be changed.
            kept = {name: value for name, value in before.items() if after.get(name) is value}
            patched["metadata"] = {name: value for name, value in after.items() if name not in kept}
            settled["metadata"] = kept
        return finish_object(self._call, self._strategy, patched, settled, tell=self._tell, refuse=refuse)

    def _tell(self, unknown: list[str]) -> list[str]:
        """
        The texts about the patch's own fields come first. The texts about fields that the object does not have follow.
        """
        if media_type(self._call.content_type) == APPLY_PATCH:
            return unknown
        return repeated_in_patch(self._call) + sorted(unknown)

    def _check_kind(self, patched: Obj, refuse: Callable[[str], status.StatusError]) -> None:
        # A strategic merge patch changes an object of a Go type, so its kind cannot change.
        if media_type(self._call.content_type) == STRATEGIC_PATCH or self._call.target.resource.is_custom:
            return
        resource = self._call.target.resource
        kind, version = patched.get("kind") or resource.kind, patched.get("apiVersion") or resource.api_version
        if (kind, version) != (resource.kind, resource.api_version):
            raise refuse(not_registered(str(kind), str(version)))


def repeated_in_patch(call: Call) -> list[str]:
    """The texts about a patch's duplicate fields."""
    told = duplicate_fields(call.body, read_json(call.body, ""))
    return [f"json patch {text}" for text in told] if media_type(call.content_type) == JSON_PATCH else told


def refusal_of(call: Call, patched: Obj) -> Callable[[str], status.StatusError]:
    """Makes the error for a patch whose result is not an object of the kind."""
    type_ = media_type(call.content_type)
    if type_ == STRATEGIC_PATCH:
        return lambda why: _no_object(go_text(read_json(call.body, "")), why)
    if type_ == APPLY_PATCH:
        return status.internal
    shown = dict(patched)
    return lambda why: _no_object(msgspec.json.encode(shown, order="sorted").decode(), why)


def _live_managed(operations: Operations, call: Call) -> Managed | None:
    """The managed fields of the stored object. None if there is no object."""
    stored = operations.storage.get(call.target.resource.storage, call.namespace, call.name)
    return stored.managed if stored is not None else None


def read_patch(operations: Operations, call: Call) -> Patcher:
    """
    Read the patch of a request.

    :raises StatusError: UnsupportedMediaType, BadRequest. Invalid for an apply without a field manager
    """
    if media_type(call.content_type) == APPLY_PATCH:
        return _applier(operations, call)
    apply = patch_function(call)
    if "force" in call.query:
        raise status.invalid_options("PatchOptions", forbidden("force", "may not be specified for non-apply patch"))
    # A patch gets the managed fields only if it may concern them: it names them, or the whole metadata or object.
    body = call.body
    sees_managed = b"managedFields" in body or b'"/metadata"' in body or b'""' in body
    return Patcher(operations, call, apply, sees_managed=sees_managed)


def _applier(operations: Operations, call: Call) -> Patcher:
    if not call.manager:
        raise status.invalid_options("PatchOptions", required("fieldManager", "is required for apply patch"))
    wanted, twice = read_yaml(call)
    resource, force = call.target.resource, call.is_set("force")
    scope = scope_of(resource, call.part)

    def apply(whole: Obj) -> Obj:
        _check_configuration(wanted, resource.kind, resource.api_version)
        metadata = wanted.get("metadata") or {}
        try:
            check_mergeable({name: value for name, value in wanted.items() if name not in _OF_KIND}, scope.shape)
        except NotMergeable as error:
            raise _not_typed(error, metadata, resource.gvk) from None

        def refuse(why: str) -> status.StatusError:
            return _not_typed(why, metadata, resource.gvk)

        finish_object(call, operations.strategy(resource), copy.deepcopy(wanted), refuse=refuse)
        live = whole if whole["metadata"].get("uid") else None
        managed = _live_managed(operations, call)
        obj, applied = apply_configuration(live, managed, wanted, scope, call.manager, operations.now(), force)
        if twice:
            _tell_of_yaml(call, f"error converting YAML to JSON: {twice}")
        owned = applied if applied is not None else Managed(())
        metadata = {name: value for name, value in obj["metadata"].items() if name != "managedFields"}
        return {**obj, "metadata": {**metadata, "managedFields": owned}}

    return Patcher(operations, call, apply, creates=call.target.subresource is None)


def _tell_of_yaml(call: Call, text: str) -> None:
    mode = call.query.get("fieldValidation") or "Warn"
    if mode == "Strict":
        raise status.bad_request(f"error strict decoding YAML: {text}")
    if mode == "Warn":
        call.warnings += lines_of(text)


#: Errors of a strategic merge patch for which the real server has no status. It answers with a 500 and the error text.
_UNFORESEEN = re.compile(
    "does not contain declared merge key|^unknown patch type|^list element types are not identical"
)
_OF_KIND = ("kind", "apiVersion")


def _check_configuration(wanted: Obj, own_kind: str, own_version: str) -> None:
    """
    Check the configuration of an apply.

    :raises StatusError: BadRequest if it has another kind, or has managed fields
    """
    kind, version = wanted.get("kind") or "", str(wanted.get("apiVersion") or "")
    if (kind, version) != (own_kind, own_version):
        group, _, name = version.rpartition("/")
        raise status.bad_request(f"invalid object type: {group}/{name}, Kind={kind}")
    metadata = wanted.setdefault("metadata", {})
    if not isinstance(metadata, dict):
        raise status.bad_request("error decoding YAML: metadata is not an object")
    if metadata.get("managedFields") is not None:
        raise status.bad_request("metadata.managedFields must be nil")


def _not_typed(error: NotMergeable | str, metadata: Obj, gvk: GroupVersionKind) -> status.StatusError:
    what = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    kind = f"{gvk.group}/{gvk.version}, Kind={gvk.kind}"
    return status.internal(f"failed to create typed patch object ({what}; {kind}): {error}")


def patch_function(call: Call) -> Callable[[Obj], Any]:
    """
    A function that applies the request's patch to an object. It raises a StatusError if the patch cannot be applied.

    :raises StatusError: UnsupportedMediaType, BadRequest
    """
    type_ = media_type(call.content_type)
    if type_ == MERGE_PATCH:
        return _function(call, merge_patch, MERGE_PATCH)
    if type_ == JSON_PATCH:
        return _function(call, apply_json_patch, JSON_PATCH)
    if type_ == STRATEGIC_PATCH and not call.target.resource.is_custom:
        return _function(call, lambda old, patch: strategic_merge_patch(old, patch or {}, call.gvk), STRATEGIC_PATCH)
    if call.target.resource.is_custom:
        raise status.unsupported_media_type(_CUSTOM_TYPES)
    raise status.unsupported_patch_type()


def _function(call: Call, apply: Callable[[Obj, Any], Any], type_: str) -> Callable[[Obj], Any]:
    what = "" if type_ == STRATEGIC_PATCH else "error decoding patch: "
    patch = read_json(call.body, what)
    if (complaint := _body_complaint(patch, is_json_patch=type_ == JSON_PATCH)) is not None:
        raise status.bad_request(f"{what}{complaint}")
    if patch is None and type_ == MERGE_PATCH:
        raise status.bad_request("Invalid JSON Patch")
    if isinstance(patch, list) and len(patch) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(patch)}"
        raise status.StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {text}", {})

    def change(old: Obj) -> Any:
        try:
            patched = apply(old, patch)
            if type_ == JSON_PATCH and is_too_deep(patched):
                # Each operation may add a level to the result of the one before it.
                raise MalformedPatchError("exceeded max depth")
            return patched
        except MalformedPatchError as error:
            raise status.bad_request(f"{what}{error}") from None
        except PatchError as error:
            if type_ == STRATEGIC_PATCH and _UNFORESEEN.search(str(error)):
                raise status.internal(str(error)) from None
            raise status.unprocessable_patch() from None

    return change


# -- errors, in the words of Go's decoders -----------------------------------------------------------------------------


def _body_complaint(patch: Any, is_json_patch: bool) -> str | None:
    """The error text for a patch that is valid JSON and not a valid patch. None if it is valid."""
    if patch is None:
        return None
    if not is_json_patch:
        return None if isinstance(patch, dict) else _unmarshal(patch, "value of type map[string]interface {}")
    if not isinstance(patch, list):
        return _unmarshal(patch, "value of type []handlers.jsonPatchOp")
    for operation in patch:
        if operation is not None and not isinstance(operation, dict):
            return _unmarshal(operation, "value of type handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            value = (operation or {}).get(name)
            if value is not None and not isinstance(value, str):
                return _unmarshal(value, f"struct field jsonPatchOp.{name} of type string")
    return None


def _unmarshal(value: Any, into: str) -> str:
    return f"json: cannot unmarshal {json_type(value)} into Go {into}"


def _no_object(shown: str, why: str) -> status.StatusError:
    """
    The error for a patch that can be applied, and whose result is not an object of the kind.

    :param shown: the object or the patch, as the error shows it
    """
    return status.invalid(GroupKind("", ""), "", [invalid("patch", shown, why)])
