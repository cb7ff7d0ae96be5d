"""Deleting the content of a namespace, kind by kind: pods first, and other kinds when the pods are gone.

A kind without objects costs one request. A kind whose objects cannot be listed or deleted does not stop the others. Its
error is reported, and the namespace stays until its objects are deleted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import msgspec

from kinformer.client import Client, DeleteOptions, MethodNotSupported, NotFound, Resource, Served
from kinformer.client.discovery import ApiResource
from kinformer.client.errors import ClientError
from kinformer.clock import Clock
from kinformer.deletion.emptying import PODS, stages
from kinformer.deletion.heads import Head
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.workqueue import parallelize_until
from kinformer_controllers.namespace.conditions import Findings
from kinformer_controllers.shared.kinds import kinds_with

__all__ = ("Emptied", "Emptier")

log = get_logger(__name__)

#: Nothing is orphaned, because everything in the namespace is deleted.
_BACKGROUND: Final = DeleteOptions(propagation_policy="Background")

#: The estimate for the work of finalizers, in seconds.
_FOR_FINALIZERS: Final = 15

#: How many objects are deleted at the same time, if a kind does not support deleting a collection.
_AT_ONCE: Final = 10


@dataclass(slots=True)
class Emptied:
    """
    The result of emptying a namespace.

    :ivar seconds: how long the deletion of the remaining objects may take; 0 if nothing is left
    :ivar errors: the errors; if there are any, the namespace is not empty
    """

    seconds: int = 0
    errors: list[str] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)


class _Left(msgspec.Struct):
    """The remaining objects of a kind."""

    seconds: int = 0
    number: int = 0
    finalizers: Counter[str] = msgspec.field(default_factory=Counter)


class _PodSpec(msgspec.Struct, rename="camel"):
    termination_grace_period_seconds: int | None = None


class _PodStatus(msgspec.Struct):
    phase: str | None = None


class _Pod(msgspec.Struct):
    """The fields of a pod that say how long it may take to end."""

    metadata: dict[str, Any]
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class StillThere(Exception):
    """Objects without finalizers still exist after they were deleted."""


def _emptiable_kinds(served: Served) -> list[ApiResource]:
    """Return the namespaced kinds whose objects can be deleted."""
    return [kind for kind in kinds_with(served, {"delete"}).values() if kind.namespaced]


class Emptier:
    """Empties namespaces."""

    def __init__(self, client: Client, *, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def empty(self, namespace: str, deleted_at: datetime) -> Emptied:
        """
        Delete the objects in a namespace, as far as possible now.

        :param deleted_at: the namespace's deletion time
        """
        emptied = Emptied()
        kinds = await self._discover(emptied)
        found = emptied.findings
        for stage in stages(kinds, lambda kind: kind.gvr.group_resource):
            left_over: dict[GroupResource, _Left] = {}
            for kind in stage:
                try:
                    left = await self._empty_kind(kind, namespace, deleted_at)
                except (ClientError, StillThere) as error:
                    is_pods = kind.gvr.group_resource == PODS
                    text = f"failed to delete pods for namespace: {namespace}, err: {error}" if is_pods else str(error)
                    emptied.errors.append(text)
                    found.failures.append(str(error))
                    left = error.left if isinstance(error, _Unexpected) else _Left()
                emptied.seconds = max(emptied.seconds, left.seconds)
                if left.number:
                    left_over[kind.gvr.group_resource] = left
            if PODS in left_over:
                # The remaining objects are reported only when all kinds have been checked, as in Kubernetes.
                log.debug("pods_still_there", namespace=namespace, pods=left_over[PODS].number)
                break
            for resource, left in left_over.items():
                found.remaining[resource] = left.number
                found.finalizers.update(left.finalizers)
        return emptied

    async def _discover(self, emptied: Emptied) -> list[ApiResource]:
        try:
            served = await self._client.discovery.served(refresh=True)
        except ClientError as error:
            emptied.findings.discovery = str(error)
            emptied.errors.append(str(error))
            return []
        if served.failed:
            groups = ", ".join(sorted(f"{version}: {why}" for version, why in served.failed.items()))
            text = f"unable to retrieve the complete list of server APIs: {groups}"
            emptied.errors.append(text)
            number = len(served.failed)
            emptied.findings.discovery = f"Discovery failed for some groups, {number} failing: {text}"
        return _emptiable_kinds(served)

    async def _empty_kind(self, kind: ApiResource, namespace: str, deleted_at: datetime) -> _Left:
        """
        Delete the objects of one kind.

        :raises ClientError: if its objects could not be listed or deleted
        :raises StillThere: if objects without finalizers still exist
        """
        resource = self._client.resource(Head, kind.gvr, namespaced=True, metadata_only=True)
        can_list = "list" in kind.verbs
        if can_list:
            try:
                if not (await resource.list(namespace, limit=1)).items:
                    return _Left()
            except (MethodNotSupported, NotFound):
                can_list = False
        seconds = 0
        if kind.gvr.group_resource == PODS:
            seconds = await self._grace(kind, namespace, deleted_at)
        if not await self._delete_collection(kind, resource, namespace) and can_list:
            await self._delete_each(resource, namespace)
        if not can_list:
            return _Left(seconds)
        left = _Left()
        async for page in resource.pages(namespace):
            left.number += len(page.items)
            for head in page.items:
                left.finalizers.update(head.metadata.finalizers or ())
        if not left.number:
            return left
        left.seconds = seconds or (_FOR_FINALIZERS if left.finalizers else 0)
        if not left.seconds:
            raise _Unexpected(namespace, kind, left)
        return left

    async def _grace(self, kind: ApiResource, namespace: str, deleted_at: datetime) -> int:
        """Return the longest grace period of the pods in seconds; 0 if it is over."""
        pods = self._client.resource(_Pod, kind.gvr, namespaced=True)
        longest = 0
        async for page in pods.pages(namespace):
            for pod in page.items:
                if pod.status.phase not in ("Succeeded", "Failed"):
                    longest = max(longest, pod.spec.termination_grace_period_seconds or 0)
        return longest if (self._clock.now() - deleted_at).total_seconds() < longest else 0

    @staticmethod
    async def _delete_collection(kind: ApiResource, resource: Resource[Head], namespace: str) -> bool:
        """Delete all objects with one request. Returns whether the server supports this."""
        if "deletecollection" not in kind.verbs:
            return False
        try:
            await resource.delete_collection(namespace, _BACKGROUND)
        except (MethodNotSupported, NotFound):
            return False
        return True

    @staticmethod
    async def _delete_each(resource: Resource[Head], namespace: str) -> None:
        names = [head.metadata.name async for page in resource.pages(namespace) for head in page.items]
        errors: list[ClientError] = []

        async def delete(number: int) -> None:
            try:
                await resource.delete(names[number], namespace, _BACKGROUND)
            except (MethodNotSupported, NotFound):
                pass
            except ClientError as error:
                errors.append(error)

        await parallelize_until(_AT_ONCE, len(names), delete)
        if errors:
            raise errors[0]


class _Unexpected(StillThere):
    def __init__(self, namespace: str, kind: ApiResource, left: _Left) -> None:
        gvr = f"{kind.gvr.group}/{kind.gvr.version}, Resource={kind.gvr.resource}"
        super().__init__(f"unexpected items still remain in namespace: {namespace} for gvr: {gvr}")
        self.left = left
