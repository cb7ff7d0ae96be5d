"""A disruption controller whose caches the test fills, and whose writes go back into them."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import msgspec

from kinformer.client.discovery import ApiResource
from kinformer.client.errors import NoKindMatch
from kinformer.clock import FakeClock
from kinformer.meta import GroupVersionResource
from kinformer.models import (
    V1Deployment,
    V1Pod,
    V1PodDisruptionBudget,
    V1PodDisruptionBudgetStatus,
    V1ReplicaSet,
    V1ReplicationController,
    V1Scale,
    V1StatefulSet,
)
from kinformer_controllers.disruption.controller import DisruptionController
from tests.controllers.objects import FakeContext, FakeInformers, FakeRecorder, not_found

__all__ = ("NOW", "World", "reference", "webapps")

NOW = FakeClock().now()
_versions = itertools.count(1)

_KINDS = {
    "ReplicationController": (V1ReplicationController, "v1"),
    "ReplicaSet": (V1ReplicaSet, "apps/v1"),
    "Deployment": (V1Deployment, "apps/v1"),
    "StatefulSet": (V1StatefulSet, "apps/v1"),
}


def reference(owner: Any) -> dict[str, Any]:
    """A controller reference to a model, as JSON."""
    meta = owner.metadata
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
    }


def webapps(*, subresources: tuple[str, ...] = ("scale",)) -> ApiResource:
    """A custom kind as discovery shows it."""
    gvr = GroupVersionResource("example.com", "v1", "webapps")
    return ApiResource(gvr, "WebApp", namespaced=True, subresources=subresources)


class World:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.informers = FakeInformers()
        self.recorder = FakeRecorder()
        #: What discovery shows besides the built-in kinds, and the scales of those objects, by name.
        self.served: list[ApiResource] = []
        self.scales: dict[str, dict[str, Any]] = {}
        #: Raised by the next writes of a status.
        self.write_errors: list[Exception] = []
        #: Raised when discovery is asked next.
        self.discovery_errors: list[Exception] = []
        self.writes = 0
        client = SimpleNamespace(resource=self._resource, discovery=SimpleNamespace(resource_for_kind=self._discover))
        self.disruption = DisruptionController(FakeContext(client, self.informers, self.recorder, clock=self.clock))

    # Objects

    def budget(self, *, selector: Any = "app", status: dict[str, Any] | None = None, **spec: Any) -> None:
        """The budget ns/b, of the pods with label app=web unless another selector is given."""
        if selector == "app":
            selector = {"matchLabels": {"app": "web"}}
        metadata = {"name": "b", "namespace": "ns", "uid": "b", "generation": 1}
        self.put(V1PodDisruptionBudget, metadata=metadata, spec={"selector": selector, **spec}, status=status)

    def owner(self, kind: str, name: str, replicas: int | None, *, owner: Any = None) -> Any:
        model, api_version = _KINDS[kind]
        metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}"}
        if owner is not None:
            metadata["ownerReferences"] = [reference(owner)]
        spec = {"selector": {}, "template": {}, "serviceName": name} | ({"replicas": replicas} if replicas else {})
        return self.put(model, apiVersion=api_version, kind=kind, metadata=metadata, spec=spec)

    def pod(self, name: str, owner: Any = None, *, ready: bool = True, labels: Any = None, **metadata: Any) -> V1Pod:
        conditions = [{"type": "Ready", "status": "True"}] if ready else []
        references = [] if owner is None else [owner if isinstance(owner, dict) else reference(owner)]
        metadata = {
            "name": name,
            "namespace": "ns",
            "labels": labels or {"app": "web"},
            "ownerReferences": references,
            **metadata,
        }
        status = {"phase": "Running", "conditions": conditions}
        pod: V1Pod = self.put(V1Pod, metadata=metadata, spec={"containers": []}, status=status)
        return pod

    def put(self, model: type[Any], **fields: Any) -> Any:
        """Store an object as an informer would, at a new version."""
        fields["metadata"]["resourceVersion"] = str(next(_versions))
        obj = msgspec.json.decode(msgspec.json.encode({k: v for k, v in fields.items() if v is not None}), type=model)
        self.informers.informer_for(model).indexer.add(obj)
        return obj

    # What a test looks at

    async def sync(self) -> float | None:
        return await self.disruption.sync("ns/b")

    @property
    def status(self) -> V1PodDisruptionBudgetStatus:
        status: V1PodDisruptionBudgetStatus = self.cache(V1PodDisruptionBudget).get_by_key("ns/b").status
        return status

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Disruptions allowed, healthy, desired and expected pods."""
        it = self.status
        return it.disruptions_allowed, it.current_healthy, it.desired_healthy, it.expected_pods

    # The server

    def cache(self, model: type[Any]) -> Any:
        return self.informers.informer_for(model).indexer

    def _resource(self, model: type[Any], *_: Any, **__: Any) -> Any:
        async def update_status(obj: Any) -> Any:
            self.writes += 1
            if self.write_errors:
                raise self.write_errors.pop(0)
            self.cache(model).update(obj)
            return obj

        async def get_scale(name: str, namespace: str) -> V1Scale:
            if name not in self.scales:
                raise not_found()
            return msgspec.json.decode(msgspec.json.encode(self.scales[name]), type=V1Scale)

        return SimpleNamespace(update_status=update_status, get_scale=get_scale)

    async def _discover(self, kind: Any) -> ApiResource:
        if self.discovery_errors:
            raise self.discovery_errors.pop(0)
        for one in self.served:
            if one.kind == kind.kind and one.gvr.group == kind.group:
                return one
        raise NoKindMatch(f'no matches for kind "{kind.kind}" in version "{kind.group}/{kind.version}"')
