"""Subresources that are not only a part of their object: scale, binding, eviction, finalize, tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.causes import NEGATIVE, invalid
from kinformer.envtest.handlers.bodies import check_foreign, decode_foreign, decode_object
from kinformer.envtest.handlers.call import Answer, Call, encode
from kinformer.envtest.handlers.patching import patch_function, refusal_of
from kinformer.envtest.handlers.reading import get
from kinformer.envtest.handlers.writing import own_name, own_namespace, patch, update
from kinformer.envtest.operations import Operations
from kinformer.envtest.plugins import topology_labels
from kinformer.envtest.registry import Resource
from kinformer.envtest.strategy.base import Obj, value_at, with_field
from kinformer.envtest.strategy.checks import check_token_lifetime
from kinformer.meta.names import GroupKind, GroupResource, GroupVersionKind
from kinformer.meta.selectors import label_selector_as_selector, selector_from_set

__all__ = ("bind_pod", "serve_subresource")

#: Stands for missing replicas. No valid count is this small.
_NO_REPLICAS = -(1 << 31)

Handler = Callable[[Operations, Call], Answer]


def serve_subresource(operations: Operations, call: Call) -> Answer:
    special = _HANDLERS.get((call.part, call.verb)) or _HANDLERS.get((call.part, ""))
    if special is not None:
        return special(operations, call)
    return {"get": get, "update": update, "patch": patch}[call.verb](operations, call)


# -- scale ----------------------------------------------------------------------------------------------------------


def _paths(call: Call) -> dict[str, str]:
    """The paths of the fields of a custom resource's scale."""
    return (call.target.resource.definition or {}).get("scale") or {}


def _scale_of(call: Call, obj: Obj) -> Obj:
    paths = _paths(call)
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    scale: Obj = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {},
        "status": {"replicas": value_at(obj, paths.get("statusReplicasPath", ".status.replicas")) or 0},
    }
    if replicas := value_at(obj, paths.get("specReplicasPath", ".spec.replicas")):
        scale["spec"]["replicas"] = replicas
    if call.target.resource.is_custom:
        selector = value_at(obj, paths["labelSelectorPath"]) if paths.get("labelSelectorPath") else None
    else:
        wanted = obj["spec"].get("selector")
        by_set = call.target.resource.plural == "replicationcontrollers"
        selector = str(selector_from_set(wanted or {}) if by_set else label_selector_as_selector(wanted))
    if selector:
        scale["status"]["selector"] = selector
    return scale


def _get_scale(operations: Operations, call: Call) -> Answer:
    obj = operations.find(call.target.resource, call.namespace, call.name).decode()
    path = _paths(call).get("specReplicasPath")
    if path and value_at(obj, path) is None:
        raise status.internal_error(f'the spec replicas field "{path}" does not exist')
    return Answer(encode(_scale_of(call, obj)))


def _write_scale(operations: Operations, call: Call) -> Answer:
    gvk = call.gvk
    if call.verb == "update":
        body = decode_foreign(call)
        make: Callable[[Obj], Any] = lambda _: body  # noqa: E731
    else:
        make = patch_function(call)
    path = _paths(call).get("specReplicasPath", ".spec.replicas")
    how = call.write_options("UpdateOptions")

    def change(old: Obj | None) -> Obj:
        assert old is not None
        present = _scale_of(call, old)
        is_open = call.target.resource.is_custom and value_at(old, path) is None
        if is_open:
            # A custom resource may have no replicas yet. A patch of its scale must then set them.
            present["spec"]["replicas"] = _NO_REPLICAS
        made = make(present)
        scale = check_foreign(call, gvk, made, refusal_of(call, made)) if call.verb == "patch" else made
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if is_open and replicas == _NO_REPLICAS:
            raise status.bad_request(f'the spec replicas field "{path}" cannot be empty')
        if replicas < 0 and call.target.resource.definition is None:
            # For a custom resource the schema checks the whole object, its replicas included.
            cause = invalid("spec.replicas", replicas, NEGATIVE)
            raise status.invalid(GroupKind("autoscaling", "Scale"), call.name, [cause])
        operations.review_part(
            call.target.resource, "scale", (call.namespace, call.name), gvk, scale, _scale_of(call, old), how
        )
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        own_name(call, scale)
        metadata = scale["metadata"]
        for name in ("resourceVersion", "uid"):
            if metadata.get(name):
                old["metadata"][name] = metadata[name]
            elif name == "resourceVersion" and call.target.resource.definition is None:
                # A scale without a version is stored without a version check. For a custom resource it has the current
                # version.
                old["metadata"].pop(name)
        target = old
        *parents, last = path.strip(".").split(".")
        for part in parents:
            target = target.setdefault(part, {})
        target[last] = replicas
        return old

    # Admission reviews the scale, and not the object of the scale.
    how_stored = replace(how, review=None)
    stored, _ = operations.update(call.target.resource, call.namespace, call.name, change, how_stored, noted="scale")
    return Answer(encode(_scale_of(call, stored.decode())))


# -- pods -----------------------------------------------------------------------------------------------------------


def _bind(operations: Operations, call: Call) -> Answer:
    body = decode_foreign(call)
    own_namespace(call, body)
    return bind_pod(operations, call, call.target.resource, call.namespace, call.name, body)


def bind_pod(operations: Operations, call: Call, pods: Resource, namespace: str, pod_name: str, body: Obj) -> Answer:
    """
    Assign a pod to a node.

    :param body: the Binding
    :raises StatusError: Invalid. NotFound without the pod. Conflict if the pod has a node already
    """
    target = body.get("target") or {}
    node: str = target.get("name") or ""
    if body["metadata"].get("name") != pod_name:
        raise status.bad_request("name in URL does not match name in Binding object")
    wrong = []
    if target.get("kind") not in (None, "", "Node"):
        wrong.append(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not node:
        wrong.append("target.name: Required value")
    if wrong:
        # The real server answers these with an internal error, and not with Invalid like others.
        raise status.internal(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    what = GroupResource("", "pods/binding")

    def change(old: Obj | None) -> Obj:
        assert old is not None
        metadata, spec = old["metadata"], old["spec"]
        for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
            said = body["metadata"].get(field)
            if said and said != metadata.get(field):
                why = f"Precondition failed: {label} in precondition: {said}, {label} in object meta: {metadata[field]}"
                raise status.conflict(what, pod_name, why)
        if "deletionTimestamp" in metadata:
            raise status.conflict(what, pod_name, f"pod {pod_name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            why = f'pod {pod_name} is already assigned to node "{spec["nodeName"]}"'
            raise status.conflict(what, pod_name, why)
        if spec.get("schedulingGates"):
            raise status.conflict(what, pod_name, f"pod {pod_name} has non-empty .spec.schedulingGates")
        spec["nodeName"] = node
        for part in ("annotations", "labels"):
            if added := body["metadata"].get(part):
                metadata[part] = {**(metadata.get(part) or {}), **added}
        _set_condition(old.setdefault("status", {}), "PodScheduled", operations.now())
        return old

    how = call.write_options("CreateOptions")
    gvk = GroupVersionKind("", "v1", "Binding")
    if target.get("kind") == "Node" and (labels := topology_labels(operations.storage, node)):
        body["metadata"]["labels"] = {**(body["metadata"].get("labels") or {}), **labels}
    operations.review_part(pods, "binding", (namespace, pod_name), gvk, body, None, how)
    how = replace(how, review=None)
    operations.update(pods, namespace, pod_name, change, how, subresource="binding", noted="-")
    return Answer(encode(status.success(code=201)), 201)


def _set_condition(pod_status: Obj, type_: str, now: str) -> None:
    conditions = [one for one in pod_status.get("conditions") or () if one.get("type") != type_]
    conditions.append({"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": now})
    pod_status["conditions"] = conditions


def _evict(operations: Operations, call: Call) -> Answer:
    from kinformer.envtest.eviction import evict

    body = decode_foreign(call)
    if body["metadata"].get("name") != call.name:
        raise status.bad_request("name in URL does not match name in Eviction object")
    own_namespace(call, body)
    how = call.write_options("CreateOptions")
    operations.review_part(call.target.resource, "eviction", (call.namespace, call.name), call.gvk, body, None, how)
    evict(operations, call.target.resource, call.namespace, call.name, body.get("deleteOptions") or {}, call)
    return Answer(encode(status.success(code=201)), 201)


def _no_kubelet(operations: Operations, call: Call) -> Answer:
    operations.find(call.target.resource, call.namespace, call.name)
    raise status.no_kubelet(call.part, call.target.resource.plural)


# -- namespaces, service accounts ----------------------------------------------------------------------------------


def _finalize(operations: Operations, call: Call) -> Answer:
    obj = decode_object(call, operations.strategy(call.target.resource))
    wanted = obj.get("spec", {}).get("finalizers") or []

    def change(old: Obj | None) -> Obj:
        assert old is not None
        spec = {**old.get("spec", {})}
        with_field(spec, "finalizers", wanted or None)
        return {**old, "metadata": obj["metadata"], "spec": spec}

    stored, _ = operations.update(
        call.target.resource, "", call.name, change, call.write_options("UpdateOptions"), subresource="finalize"
    )
    return Answer(call.target.resource.prefix + stored.raw[1:] + b"\n")


def _token(operations: Operations, call: Call) -> Answer:
    body, gvk = decode_foreign(call), call.gvk
    asked = {name: value for name, value in (body.get("spec") or {}).items() if value not in (None, [])}
    how = call.write_options("CreateOptions")
    operations.review_part(call.target.resource, "token", (call.namespace, call.name), gvk, body, None, how)
    account = operations.find(call.target.resource, call.namespace, call.name)
    seconds = asked.get("expirationSeconds", 3600)
    if wrong := list(check_token_lifetime(seconds, "spec.expirationSeconds")):
        raise status.invalid(GroupKind(gvk.group, gvk.kind), "", wrong)
    uid = account.decode()["metadata"]["uid"]
    spec = {"audiences": ["https://kubernetes.default.svc.cluster.local"], "expirationSeconds": seconds}
    expires = operations.expiry(seconds)
    body |= {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": call.name, "namespace": call.namespace, "creationTimestamp": operations.now()},
        "spec": {**spec, **asked, "boundObjectRef": None},
        "status": {
            "token": operations.issue_token(call.namespace, call.name, uid, seconds),
            "expirationTimestamp": expires,
        },
    }
    return Answer(encode(body), 201)


_HANDLERS: dict[tuple[str, str], Handler] = {
    ("scale", "get"): _get_scale,
    ("scale", "update"): _write_scale,
    ("scale", "patch"): _write_scale,
    ("binding", "create"): _bind,
    ("eviction", "create"): _evict,
    ("finalize", "update"): _finalize,
    ("token", "create"): _token,
    ("proxy", ""): _no_kubelet,
}
