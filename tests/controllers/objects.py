"""Objects as controllers' tests need them, and stand-ins for what they write to."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from datetime import datetime
from typing import Any

from kinformer.cache import NAMESPACE_INDEX, SharedIndexInformer
from kinformer.client.errors import Status, StatusCause, StatusDetails, error_from_status
from kinformer.clock import Clock, RealClock
from kinformer.manager import ControllerContext
from kinformer.models import (
    V1LabelSelector,
    V1ObjectMeta,
    V1OwnerReference,
    V1Pod,
    V1PodCondition,
    V1PodSpec,
    V1PodStatus,
    V1PodTemplateSpec,
    V1ReplicaSet,
    V1ReplicaSetSpec,
    V1ReplicaSetStatus,
    V1ReplicationController,
    V1ReplicationControllerSpec,
    V1ReplicationControllerStatus,
    resource_for,
)
from kinformer.workqueue import Queue

__all__ = (
    "FakeContext",
    "FakeInformers",
    "FakePods",
    "FakeRecorder",
    "FakeServer",
    "already_exists",
    "conflict",
    "drained",
    "forbidden",
    "make_pod",
    "make_rc",
    "make_rs",
    "namespace_terminating",
    "not_found",
    "owned_by",
)

_versions = itertools.count(1)


def make_rc(
    replicas: int = 2, name: str = "web", *, uid: str = "", min_ready_seconds: int = 0
) -> V1ReplicationController:
    labels = {"app": name}
    return V1ReplicationController(
        metadata=V1ObjectMeta(
            name=name, namespace="ns", uid=uid or f"uid-{name}", generation=1, resource_version=str(next(_versions))
        ),
        spec=V1ReplicationControllerSpec(
            replicas=replicas,
            selector=labels,
            min_ready_seconds=min_ready_seconds or None,
            template=V1PodTemplateSpec(metadata=V1ObjectMeta(labels=labels), spec=V1PodSpec(containers=[])),
        ),
        status=V1ReplicationControllerStatus(replicas=0),
    )


def make_rs(replicas: int = 2, name: str = "web", *, uid: str = "", min_ready_seconds: int = 0) -> V1ReplicaSet:
    labels = {"app": name}
    return V1ReplicaSet(
        metadata=V1ObjectMeta(
            name=name, namespace="ns", uid=uid or f"uid-{name}", generation=1, resource_version=str(next(_versions))
        ),
        spec=V1ReplicaSetSpec(
            replicas=replicas,
            selector=V1LabelSelector(match_labels=labels),
            min_ready_seconds=min_ready_seconds or None,
            template=V1PodTemplateSpec(metadata=V1ObjectMeta(labels=labels), spec=V1PodSpec(containers=[])),
        ),
        status=V1ReplicaSetStatus(replicas=0),
    )


def owned_by(owner: Any) -> list[V1OwnerReference]:
    meta, info = owner.metadata, resource_for(type(owner))
    return [
        V1OwnerReference(
            api_version=info.api_version,
            kind=info.kind,
            name=meta.name,
            uid=meta.uid,
            controller=True,
            block_owner_deletion=True,
        )
    ]


def make_pod(
    name: str,
    owner: Any = None,
    *,
    app: str = "web",
    phase: str = "Running",
    ready_since: datetime | None = None,
    deleted_at: datetime | None = None,
) -> V1Pod:
    conditions = (
        [V1PodCondition(type="Ready", status="True", last_transition_time=ready_since)] if ready_since else None
    )
    return V1Pod(
        metadata=V1ObjectMeta(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            resource_version=str(next(_versions)),
            labels={"app": app},
            owner_references=owned_by(owner) if owner else None,
            deletion_timestamp=deleted_at,
        ),
        spec=V1PodSpec(containers=[], node_name="n1"),
        status=V1PodStatus(phase=phase, conditions=conditions),
    )


def not_found() -> Exception:
    return error_from_status(Status(code=404, reason="NotFound", message="not found"))


def conflict() -> Exception:
    return error_from_status(Status(code=409, reason="Conflict", message="the object has been modified"))


def already_exists() -> Exception:
    return error_from_status(Status(code=409, reason="AlreadyExists", message="it exists already"))


def namespace_terminating() -> Exception:
    details = StatusDetails(causes=(StatusCause(reason="NamespaceTerminating"),))
    return error_from_status(Status(code=403, reason="Forbidden", message="it is being terminated", details=details))


def forbidden(message: str = "exceeded quota") -> Exception:
    return error_from_status(Status(code=403, reason="Forbidden", message=message))


class FakeInformers:
    """A factory whose informers do not run: tests put objects into their indexers."""

    def __init__(self) -> None:
        self._informers: dict[type[Any], SharedIndexInformer[Any]] = {}
        #: The client of the informers, if a test needs it.
        self.client: Any = None

    def informer_for(
        self, type_: type[Any], *, indexers: Any = None, view: str = "", selection: Any = None
    ) -> SharedIndexInformer[Any]:
        if type_ not in self._informers:
            indexers = {NAMESPACE_INDEX: lambda obj: obj.metadata.namespace or ""} | (indexers or {})
            self._informers[type_] = FakeInformer(_NoServer(), type_, indexers=indexers)
        return self._informers[type_]


class FakeInformer(SharedIndexInformer[Any]):
    """An informer that does not run and says that it is current, until a test says otherwise."""

    is_current = True


class _NoServer:
    """What an informer that does not run asks: nothing."""

    list = watch = None


class FakePods:
    """
    Pod control that notes what it is told.

    :param on_create: called before each create; may raise
    """

    def __init__(self, on_create: Callable[[], object] = lambda: None) -> None:
        self.on_create = on_create
        self.on_delete: Callable[[str], object] = lambda _: None
        self.on_patch: Callable[[str], object] = lambda _: None
        self.created: list[V1Pod] = []
        self.deleted: list[str] = []
        self.patches: list[tuple[str, dict[str, Any]]] = []

    async def create(self, pod: V1Pod, owner: Any) -> V1Pod:
        self.on_create()
        self.created.append(pod)
        return pod

    async def delete(self, namespace: str, name: str, owner: Any) -> None:
        self.deleted.append(name)
        self.on_delete(name)

    async def patch(self, namespace: str, name: str, patch: dict[str, Any]) -> None:
        self.patches.append((name, patch["metadata"]))
        self.on_patch(name)


class FakeServer:
    """
    A client of which only one kind is asked for.

    :param fresh: what a get gives
    """

    def __init__(self, fresh: Any = None) -> None:
        self.fresh = fresh
        self.update_errors: list[Exception] = []
        #: The version that objects have once they are written; the one that they had if empty.
        self.answer_version = ""
        self.statuses: list[Any] = []
        self.updated: list[Any] = []

    def resource(self, type_: type[Any]) -> Any:
        return self

    async def get(self, name: str, namespace: str = "") -> Any:
        if self.fresh is None:
            raise not_found()
        return self.fresh

    async def update_status(self, rc: Any) -> Any:
        self.updated.append(rc)
        if self.update_errors:
            raise self.update_errors.pop(0)
        self.statuses.append(rc.status)
        if self.answer_version:
            rc = copy.copy(rc)
            rc.metadata = copy.copy(rc.metadata)
            rc.metadata.resource_version = self.answer_version
        return rc


def drained(queue: Queue[str]) -> list[str]:
    """Take out what is in a queue."""
    keys = []
    while len(queue):
        keys.append(queue.get_nowait())
        queue.done(keys[-1])
    return keys


class FakeRecorder:
    """Notes events as texts."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, obj: Any, type_: str, reason: str, message: str, annotations: Any = None) -> None:
        self.events.append(f"{type_} {reason} {obj.metadata.name}: {message}")


class FakeContext(ControllerContext):
    """
    The context of one controller whose Events a test reads.

    :param client: a client, or what has all of a client that the controller asks for
    :param informers: a factory, or what has all of a factory that the controller asks for
    :param recorder: takes the Events; None for one that nobody reads
    :param options: the values of flags; each other flag has its default
    """

    def __init__(
        self, client: Any, informers: Any, recorder: Any = None, *, clock: Clock | None = None, **options: Any
    ) -> None:
        super().__init__(client, informers, options, clock or RealClock())
        self._recorder = recorder or FakeRecorder()

    def recorder(self, component: str) -> Any:
        return self._recorder
