"""The desired number of pods, from the scale of the pods' controllers.

A percentage (``minAvailable: 50%``) is of the number of pods that the controllers want, not of the existing pods.
Controllers of Kubernetes' own kinds are read from caches. For any other kind the scale subresource is read, so budgets
work for custom resources, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from kinformer.cache import Indexer
from kinformer.client import Client
from kinformer.client.errors import NotFound
from kinformer.controllerutil.owning import controller_of
from kinformer.meta import GroupVersion, GroupVersionKind
from kinformer.models import (
    V1Deployment,
    V1OwnerReference,
    V1Pod,
    V1ReplicaSet,
    V1ReplicationController,
    V1StatefulSet,
)

__all__ = ("ExpectedScale", "ScaleError", "ScaleFinder", "expected_scale")

_APPS: Final = ("apps", "extensions")


class ScaleError(Exception):
    """The scale of a pod's controller cannot be found."""


class ExpectedScale(NamedTuple):
    """
    The result of :func:`expected_scale`.

    :ivar total: the sum of the scales of the pods' controllers
    :ivar unmanaged: the names of pods without a controller; they do not count
    """

    total: int
    unmanaged: list[str]


class _Found(NamedTuple):
    uid: str
    scale: int


class Scales(Protocol):
    """Finds the scale of a controller."""

    async def find(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        """Return the controller that decides the number of pods, and its scale; None if it is gone."""


async def expected_scale(pods: Iterable[V1Pod], scales: Scales) -> ExpectedScale:
    """
    Return the sum of the scales of the pods' controllers. Each controller counts once.

    :raises ScaleError: if the controller of a pod is gone, or its kind has no scale
    :raises ClientError: if the server could not be read
    """
    wanted: dict[str, int] = {}
    unmanaged = []
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged.append(pod.metadata.name)
        elif reference.uid not in wanted:
            found = await scales.find(reference, pod.metadata.namespace)
            if found is None:
                raise ScaleError(f'found no controllers for pod "{pod.metadata.name}"')
            wanted[found.uid] = found.scale
    return ExpectedScale(sum(wanted.values()), unmanaged)


class ScaleFinder:
    """
    Finds controllers and their scales. Those of Kubernetes' own kinds are found in caches.

    :param client: reads the scale of other kinds
    """

    def __init__(
        self,
        client: Client,
        replication_controllers: Indexer[V1ReplicationController],
        replica_sets: Indexer[V1ReplicaSet],
        deployments: Indexer[V1Deployment],
        stateful_sets: Indexer[V1StatefulSet],
    ) -> None:
        self._client = client
        self._replication_controllers = replication_controllers
        self._replica_sets = replica_sets
        self._deployments = deployments
        self._stateful_sets = stateful_sets

    async def find(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        """
        See :meth:`Scales.find`. If a Deployment controls the ReplicaSet, the result is the Deployment's.

        :raises ScaleError: if the kind is not served, or has no scale
        :raises ClientError: if the server could not be read
        """
        found = self._find_cached(reference, namespace)
        return found if found is not None else await self._ask(reference, namespace)

    def _find_cached(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        group, kind = _group_of(reference), reference.kind
        if (group, kind) == ("", "ReplicationController"):
            return _found(_get(self._replication_controllers, reference, namespace))
        if kind == "ReplicaSet" and group in _APPS:
            return self._of_replica_set(reference, namespace)
        if (group, kind) == ("apps", "StatefulSet"):
            return _found(_get(self._stateful_sets, reference, namespace))
        return None

    def _of_replica_set(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        replica_set = _get(self._replica_sets, reference, namespace)
        if replica_set is None:
            return None
        owner = controller_of(replica_set)
        if owner is None or owner.kind != "Deployment":
            return _found(replica_set)
        return _found(_get(self._deployments, owner, namespace)) if _group_of(owner) in _APPS else None

    async def _ask(self, reference: V1OwnerReference, namespace: str) -> _Found | None:
        served = await self._client.discovery.resource_for_kind(
            GroupVersionKind(*GroupVersion.parse(reference.api_version), reference.kind)
        )
        resource = self._client.resource(dict[str, Any], served.gvr, namespaced=served.namespaced)
        try:
            scale = await resource.get_scale(reference.name, namespace)
        except NotFound:
            # The server's answer is the same if the object is gone and if its kind has no scale.
            if "scale" not in served.subresources:
                raise ScaleError(f"{served.gvr.group_resource} does not implement the scale subresource") from None
            return None
        if scale.metadata is None or scale.metadata.uid != reference.uid:
            return None
        return _Found(reference.uid, (scale.spec.replicas or 0) if scale.spec is not None else 0)


def _group_of(reference: V1OwnerReference) -> str:
    try:
        return GroupVersion.parse(reference.api_version).group
    except ValueError as error:
        raise ScaleError(f"the owner reference to {reference.kind} {reference.name}: {error}") from error


def _get(owners: Indexer[Any], reference: V1OwnerReference, namespace: str) -> Any:
    """Return the object that a reference names; None if it is gone, or another object has its name."""
    owner = owners.get_by_key(f"{namespace}/{reference.name}")
    return owner if owner is not None and owner.metadata.uid == reference.uid else None


def _found(owner: Any) -> _Found | None:
    if owner is None:
        return None
    replicas = owner.spec.replicas
    return _Found(owner.metadata.uid, 1 if replicas is None else replicas)
