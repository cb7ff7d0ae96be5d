"""Eviction: deletes a pod if its disruption budgets allow it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kinformer.envtest import status
from kinformer.envtest.handlers.bodies import delete_options_of
from kinformer.envtest.handlers.call import Call
from kinformer.envtest.operations import DeleteOptions, Operations, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.strategy.base import Obj, has_condition
from kinformer.meta.selectors import label_selector_as_selector

__all__ = ("evict",)

_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "lastProbeTime": None,
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}
_BUDGETS = ("policy", "v1", "poddisruptionbudgets")


def evict(
    operations: Operations, pods: Resource, namespace: str, name: str, options: dict[str, Any], call: Call
) -> None:
    """
    Delete a pod if the budgets that cover it allow one more disruption.

    :raises StatusError: NotFound; TooManyRequests, if a budget does not allow it now
    """
    delete = delete_options_of(options)
    pod = operations.find(pods, namespace, name).decode()
    # The eviction itself was reviewed by webhooks. The delete that follows from it is not reviewed again.
    how = replace(call.write_options("DeleteOptions"), review=None)
    if options.get("dryRun"):
        how = replace(how, dry_run=True)
    if not _may_go_anyway(pod):
        _charge_budget(operations, namespace, name, pod, how.dry_run)
    if not how.dry_run:
        delete = _mark(operations, pods, namespace, name, delete, how)
    operations.delete(pods, namespace, name, delete, how)


def _mark(
    operations: Operations, pods: Resource, namespace: str, name: str, delete: DeleteOptions, how: WriteOptions
) -> DeleteOptions:
    """
    Add the condition DisruptionTarget to a pod that is about to be deleted. A Job's failure policy may ask for it.

    :return: the options for the delete. A precondition has the new version of the pod
    :raises StatusError: Conflict if a precondition fails
    """

    def change(pod: Obj | None) -> Obj:
        assert pod is not None
        operations.check_preconditions(pods, pod["metadata"], delete)
        conditions = pod.setdefault("status", {}).setdefault("conditions", [])
        old: Obj = next((one for one in conditions if one.get("type") == _EVICTED["type"]), {})
        since = old.get("lastTransitionTime") if old.get("status") == _EVICTED["status"] else operations.now()
        new = {**_EVICTED, "lastTransitionTime": since}
        if old:
            conditions[conditions.index(old)] = new
        else:
            conditions.append(new)
        return pod

    marked, _ = operations.update(pods, namespace, name, change, how, subresource="status", noted="-")
    return delete if delete.resource_version is None else replace(delete, resource_version=str(marked.number))


def _may_go_anyway(pod: Obj) -> bool:
    """Whether budgets ignore the pod: it is finished, pending, or being deleted already."""
    phase = pod.get("status", {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _charge_budget(operations: Operations, namespace: str, name: str, pod: Obj, dry_run: bool) -> None:
    resource = operations.registry.find(*_BUDGETS)
    assert resource is not None
    labels = pod["metadata"].get("labels") or {}
    covering = []
    for version in operations.storage.log(resource.storage).select(namespace):
        budget = version.decode()
        selector = label_selector_as_selector(budget.get("spec", {}).get("selector"))
        if selector.matches(labels):
            covering.append(budget)
    if not covering:
        return
    if len(covering) > 1:
        raise status.internal(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        )
    budget = covering[0]
    if not has_condition(pod.get("status"), "Ready") and _healthy_enough(budget):
        return
    _take_one(operations, resource, namespace, name, budget, dry_run)


def _healthy_enough(budget: Obj) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    state = budget.get("status", {})
    return bool(0 < state.get("desiredHealthy", 0) <= state.get("currentHealthy", 0))


def _take_one(
    operations: Operations, resource: Resource, namespace: str, pod_name: str, budget: Obj, dry_run: bool
) -> None:
    name = budget["metadata"]["name"]
    state = budget.get("status", {})
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise status.too_many_requests(message, 10, [status.Cause("", "DisruptionBudget", text)])
    allowed = state.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise status.forbidden(resource.group_resource, name, "pdb disruptions allowed is negative")
    if allowed == 0:
        text = _why_not(name, state)
        raise status.too_many_requests(message, 0, [status.Cause("", "DisruptionBudget", text)])

    def change(old: Obj | None) -> Obj:
        assert old is not None
        current = old.setdefault("status", {})
        current["disruptionsAllowed"] = allowed - 1
        current.setdefault("disruptedPods", {})[pod_name] = operations.now()
        return old

    operations.update(resource, namespace, name, change, WriteOptions(dry_run=dry_run), subresource="status")


def _why_not(name: str, state: Obj) -> str:
    """The reason why a budget allows no disruption."""
    budget = f"The disruption budget {name}"
    conditions = [one for one in state.get("conditions") or () if one.get("type") == "DisruptionAllowed"]
    failed = next((one for one in conditions if one.get("status") == "False" and one.get("message")), None)
    if failed is not None and failed.get("reason") == "SyncFailed":
        return f"{budget} does not allow evicting pods currently because it failed sync: {failed['message']}"
    desired, healthy = state.get("desiredHealthy", 0), state.get("currentHealthy", 0)
    if healthy <= desired:
        return f"{budget} needs {desired} healthy pods and has {healthy} currently"
    if failed is not None:
        return f"{budget} does not allow evicting pods currently ({failed.get('reason', '')}): {failed['message']}"
    return f"{budget} does not allow evicting pods currently"
