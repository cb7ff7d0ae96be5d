"""The scales of targets: a target may be of any kind that has the subresource ``scale``.

In: the reference of an autoscaler to its target. Out: the scale as the server has it now, and writes of it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kinformer.client import ApiResource, Client, Resource
from kinformer.client.errors import ClientError, Conflict
from kinformer.clock import Clock
from kinformer.controllerutil.writing import retry_on_conflict
from kinformer.meta import GroupKind, GroupResource, GroupVersion
from kinformer.models import V1Scale, V2CrossVersionObjectReference
from kinformer_controllers.shared.scale_selector import UnreadableScale, read_scale_selector

__all__ = ("Scale", "Scales")


class Scale:
    """
    The scale of one target.

    :param name: the target's
    :ivar selector: the canonical text of the selector of its pods; empty if there is none
    :ivar replicas: in the spec
    :ivar observed: in the status
    :raises UnreadableScale: if its selector cannot be read
    """

    def __init__(self, resource: Resource[Any], name: str, namespace: str, read: V1Scale) -> None:
        self._resource, self._name, self._namespace = resource, name, namespace
        self._latest = read
        self.selector = read_scale_selector((read.status.selector if read.status is not None else None) or "")
        self.replicas = (read.spec.replicas if read.spec is not None else None) or 0
        self.observed = (read.status.replicas if read.status is not None else None) or 0

    async def write(self, replicas: int, clock: Clock) -> None:
        """
        Write another number of pods. After a conflict, the scale is read again.

        :raises ClientError: if it cannot be written
        """

        async def write() -> None:
            assert self._latest.spec is not None
            self._latest.spec.replicas = replicas
            try:
                await self._resource.update_scale(self._name, self._latest, self._namespace)
            except Conflict:
                with suppress(ClientError):
                    self._latest = await self._resource.get_scale(self._name, self._namespace)
                raise

        await retry_on_conflict(write, clock=clock)


class Scales:
    """Reads scales."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._resources: dict[ApiResource, Resource[Any]] = {}

    async def read(self, about: V2CrossVersionObjectReference, namespace: str) -> Scale:
        """
        The scale of a target, from the server.

        A kind may be served as several resources. Then each is tried, and the first error counts, as in Kubernetes.

        :raises ValueError: if the reference's apiVersion is not one
        :raises ClientError: if the kind is not served, or the scale is refused
        :raises UnreadableScale: if the selector of the scale cannot be read
        """
        group = GroupVersion.parse(about.api_version or "").group
        served = await self._client.discovery.resources_for_kind(GroupKind(group, about.kind))
        tried: set[GroupResource] = set()
        first: ClientError | UnreadableScale | None = None
        for one in served:
            if one.gvr.group_resource in tried:
                continue  # another version of it, with the same scale
            tried.add(one.gvr.group_resource)
            resource = self._resources.get(one)
            if resource is None:
                resource = self._resources[one] = self._client.resource(dict, one.gvr, namespaced=one.namespaced)
            try:
                return Scale(resource, about.name, namespace, await resource.get_scale(about.name, namespace))
            except (ClientError, UnreadableScale) as error:
                first = first or error
        assert first is not None
        raise first
