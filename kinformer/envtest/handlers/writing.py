"""Writes: create, replace, patch and delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kinformer.clock import RealClock
from kinformer.envtest import status
from kinformer.envtest.causes import invalid, not_supported, too_long
from kinformer.envtest.handlers.bodies import decode_delete_options, decode_object
from kinformer.envtest.handlers.call import Answer, Call, encode
from kinformer.envtest.handlers.patching import read_patch
from kinformer.envtest.handlers.reading import list_options, select
from kinformer.envtest.handlers.views import View, choose_view, show
from kinformer.envtest.operations import Operations
from kinformer.envtest.storage import Version
from kinformer.envtest.strategy.base import Obj, Strategy
from kinformer.meta.names import GroupResource

__all__ = ("answer_delete", "create", "delete", "delete_collection", "own_name", "own_namespace", "patch", "update")

_PODS = GroupResource("", "pods")
#: The time of a write to etcd, in seconds.
_WRITE_TAKES = 0.005


def _check_options(call: Call, kind: str) -> None:
    """
    Check the options of a write.

    :raises status.StatusError: Invalid for unknown values
    """
    causes = []
    if (dry_run := call.query.get("dryRun")) and set(said := dry_run.split(",")) != {"All"}:
        causes.append(not_supported("dryRun", said, ("All",)))
    if (mode := call.query.get("fieldValidation")) and mode not in ("Ignore", "Warn", "Strict"):
        causes.append(not_supported("fieldValidation", mode, ("", "Ignore", "Strict", "Warn")))
    if len(call.manager) > 128:
        causes.append(too_long("fieldManager", 128))
    for place, char in enumerate(call.manager):
        if not char.isprintable():
            text = f"invalid character U+{ord(char):04X} (at position {place})"
            causes.append(invalid("fieldManager", call.manager, text))
    if causes:
        raise status.invalid_options(kind, *causes)


def create(operations: Operations, call: Call) -> Answer:
    view, strategy, obj = _begin(operations, call, "CreateOptions")
    stored = operations.create(call.target.resource, call.namespace, obj, call.write_options("CreateOptions"))
    call.warnings += strategy.warnings(obj)
    return Answer(view.one(stored.raw) + b"\n", 201)


def _begin(operations: Operations, call: Call, kind: str) -> tuple[View, Strategy, Obj]:
    """Check the options of a create or an update, and read its object."""
    _check_options(call, kind)
    view = choose_view(operations, call)
    strategy = operations.strategy(call.target.resource)
    obj = decode_object(call, strategy)
    own_namespace(call, obj)
    return view, strategy, obj


def own_namespace(call: Call, obj: Obj) -> None:
    """
    Set the namespace of the object to that of the URL.

    :raises status.StatusError: BadRequest if the object has another namespace
    """
    metadata = obj["metadata"]
    said = metadata.get("namespace") or ""
    if call.namespace:
        if said and said != call.namespace:
            raise status.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = call.namespace
    elif said:
        # The namespace of a cluster-scoped object is removed.
        del metadata["namespace"]


def update(operations: Operations, call: Call) -> Answer:
    view, strategy, obj = _begin(operations, call, "UpdateOptions")
    own_name(call, obj)

    def change(old: Obj | None) -> Obj:
        if old is None:
            call.authorize(call.action._replace(verb="create"))
        _check_uid(call, strategy, obj["metadata"].get("uid"), old["metadata"]["uid"] if old is not None else "")
        return obj

    how = call.write_options("UpdateOptions")
    stored, created = operations.update(
        call.target.resource, call.namespace, call.name, change, how, subresource=call.part
    )
    if created:
        call.warnings += strategy.warnings(obj)
    return Answer(view.one(stored.raw) + b"\n", 201 if created else 200)


def _check_uid(call: Call, strategy: Strategy, asked: str | None, uid: str) -> None:
    """
    Check that the object of an update is still the one that the client has read. A patch has no such precondition.

    :raises status.StatusError: Conflict
    """
    if asked and asked != uid:
        root = "" if call.is_dry_run else "/registry"
        key = "/".join((root, *filter(None, (strategy.folder, call.namespace, call.name))))
        why = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
        why += f"Precondition failed: UID in precondition: {asked}, UID in object meta: {uid}"
        raise status.conflict(call.target.resource.group_resource, call.name, why)


def own_name(call: Call, obj: Obj) -> None:
    """
    Check that the object has the name and the namespace of the URL.

    :raises status.StatusError: BadRequest
    """
    metadata = obj["metadata"]
    name, namespace = metadata.get("name") or "", metadata.get("namespace") or ""
    if not name:
        text = f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
        raise status.bad_request(text)
    if name != call.name:
        raise status.bad_request(f"the name of the object ({name}) does not match the name on the URL ({call.name})")
    if call.namespace and namespace and namespace != call.namespace:
        raise status.bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the request ({call.namespace})"
        )


def patch(operations: Operations, call: Call) -> Answer:
    view = choose_view(operations, call)
    patcher = read_patch(operations, call)
    _check_options(call, "PatchOptions")
    how = call.write_options("PatchOptions")

    def change(old: Obj | None) -> Obj:
        if old is None:
            # Only an apply creates objects. Other patches need an object, also for kinds that a PUT creates.
            if not patcher.creates:
                raise status.not_found(call.target.resource.group_resource, call.name)
            call.authorize(call.action._replace(verb="create"))
        obj = patcher(old)
        if old is None and (uid := obj["metadata"].get("uid")):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise status.conflict(call.target.resource.group_resource, call.name, why)
        own_namespace(call, obj)
        own_name(call, obj)
        return obj

    stored, created = operations.update(
        call.target.resource,
        call.namespace,
        call.name,
        change,
        how,
        subresource=call.part,
        create=patcher.creates,
        untouched=patcher.untouched,
    )
    return Answer(view.one(stored.raw) + b"\n", 201 if created else 200)


def delete(operations: Operations, call: Call) -> Answer:
    options = decode_delete_options(call)
    _check_options(call, "DeleteOptions")
    view = choose_view(operations, call)
    resource = call.target.resource
    said = options.propagation is not None or options.orphan_dependents is not None
    call.warnings += operations.strategy(resource).deletion_warnings(said)
    how = call.write_options("DeleteOptions")
    how.options.update(options.to_dict())
    stored, gone = operations.delete(resource, call.namespace, call.name, options, how)
    if not gone or operations.strategy(resource).returns_deleted:
        # The delete is not finished. Only clients that use the old option `orphanDependents` get the code 202 for this.
        accepted = not gone and options.orphan_dependents is False
        return Answer(view.one(stored.raw) + b"\n", 202 if accepted else 200)
    details: dict[str, Any] = {"name": call.name}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": stored.decode()["metadata"].get("uid", "")}
    return Answer(encode(status.success(details)))


def delete_collection(operations: Operations, call: Call) -> Answer:
    options = decode_delete_options(call)
    _check_options(call, "DeleteOptions")
    view = choose_view(operations, call)

    def selected() -> Any:
        return select(operations, call, list_options(call, operations))

    # When the request runs again, some of the objects are gone. They still belong to the answer.
    versions, metadata = selected() if call.review is None else call.review.once("selected", selected)
    how = call.write_options("DeleteOptions")
    how.options.update(options.to_dict())
    for version in versions:
        namespace, _, name = version.key.rpartition("/")
        try:
            operations.delete(call.target.resource, namespace, name, options, how)
        except status.StatusError as error:
            if error.code != 404:
                raise
    return Answer(view.many([version.raw for version in versions], metadata))


# -- the two writes that remove a pod at once ------------------------------------------------------------------------

# A pod that is deleted without a grace period is first marked as deleted, and then removed. For etcd these are two
# writes with some milliseconds between them, and controllers react to the first before they see the second. In memory
# both writes would take no time, so no watcher could see the first alone. So the server waits between them.


async def answer_delete(operations: Operations, call: Call, answer: Callable[[Call], Awaitable[Answer]]) -> Answer:
    """
    Answer a delete. A pod that it removes at once is marked as deleted first, and watchers get time to see that.

    Somebody who sees the mark may remove the pod in that time, as a kubelet does. The delete has succeeded then, and is
    answered with the pod as it was marked (kube-apiserver's ``ignoreNotFound``).
    """
    marked = _marked(operations, call)
    if marked is None:
        return await answer(call)
    await operations.clock.sleep(_WRITE_TAKES)
    try:
        return await answer(call)
    except status.StatusError as error:
        if error.code != 404:
            raise
        return show(operations, call, marked)


def _marked(operations: Operations, call: Call) -> Version | None:
    """
    Mark a pod that is removed at once.

    Nothing is written if the delete does not remove the pod at once, or may be refused. With a clock that tests turn
    there is no first write either, because such a clock does not move on its own during the wait.
    """
    if call.target.resource.group_resource != _PODS or call.target.subresource is not None:
        return None
    if not isinstance(operations.clock, RealClock):
        return None
    options = decode_delete_options(call)
    if call.is_dry_run:
        return None
    before = operations.storage.get(_PODS, call.namespace, call.name)
    if before is None or options.grace_period != 0 or options.uid is not None or options.resource_version is not None:
        return None
    if options.orphan_dependents or options.propagation in ("Orphan", "Foreground"):
        return None  # the pod gets a finalizer
    obj = before.decode()
    metadata = obj["metadata"]
    if "deletionTimestamp" in metadata or metadata.get("finalizers"):
        return None
    metadata["deletionTimestamp"] = operations.now()
    metadata["deletionGracePeriodSeconds"] = 0
    if metadata.get("generation"):
        metadata["generation"] += 1
    return operations.storage.update(call.target.resource.storage, before, obj)
