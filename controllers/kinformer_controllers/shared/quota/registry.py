"""The registry: which evaluator measures the objects of which resource."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupResource
from kinformer.models import (
    PartialObjectMetadata,
    ResourceV1ResourceClaim,
    V1ConfigMap,
    V1PersistentVolumeClaim,
    V1Pod,
    V1ReplicationController,
    V1ResourceQuota,
    V1Secret,
    V1Service,
    resource_for,
)
from kinformer_controllers.shared.quota.claims import CLAIMS, claim_evaluator
from kinformer_controllers.shared.quota.counts import LEGACY_NAMES, object_count_evaluator
from kinformer_controllers.shared.quota.device_claims import DEVICE_CLAIMS, device_claim_evaluator
from kinformer_controllers.shared.quota.evaluator import Evaluator
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.services import SERVICES, service_evaluator
from kinformer_controllers.shared.quota.sources import ClientSource, InformerSource, NoSource, ObjectSource

__all__ = (
    "ALWAYS_THERE",
    "IGNORED_RESOURCES",
    "MODELS",
    "WHOLE",
    "Registry",
    "SourceOf",
    "client_sources",
    "core_registry",
)

#: What no quota limits: what is not stored, and events, which never were limited.
IGNORED_RESOURCES: Final = frozenset(
    {
        GroupResource("", "bindings"),
        GroupResource("", "componentstatuses"),
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
    }
)

#: The models of what :func:`core_registry` measures.
MODELS: Final[dict[GroupResource, type[Any]]] = {
    PODS: V1Pod,
    SERVICES: V1Service,
    CLAIMS: V1PersistentVolumeClaim,
    DEVICE_CLAIMS: ResourceV1ResourceClaim,
    GroupResource("", "configmaps"): V1ConfigMap,
    GroupResource("", "replicationcontrollers"): V1ReplicationController,
    GroupResource("", "resourcequotas"): V1ResourceQuota,
    GroupResource("", "secrets"): V1Secret,
}

#: What every server has. All else is measured from informers once it is known to be there.
ALWAYS_THERE: Final = frozenset(MODELS) - {DEVICE_CLAIMS}

#: Of these, which every server has, the metadata is not enough.
WHOLE: Final = frozenset({PODS, SERVICES, CLAIMS})

#: Gives the source of a resource's objects.
SourceOf = Callable[[GroupResource], ObjectSource]


class Registry:
    """Evaluators by resource. What is added later replaces what was there for the same resource."""

    def __init__(self, evaluators: Iterable[Evaluator] = ()) -> None:
        self._evaluators = {evaluator.group_resource: evaluator for evaluator in evaluators}

    def get(self, resource: GroupResource) -> Evaluator | None:
        """The evaluator of a resource, None if there is none."""
        return self._evaluators.get(resource)

    def list(self) -> list[Evaluator]:
        """All evaluators."""
        return list(self._evaluators.values())

    def add(self, evaluator: Evaluator) -> None:
        """Measure one more resource."""
        self._evaluators[evaluator.group_resource] = evaluator

    def remove(self, resource: GroupResource) -> None:
        """Measure a resource no more; it need not have been measured."""
        self._evaluators.pop(resource, None)


def core_registry(
    client: Client | None = None,
    informers: SharedInformerFactory | None = None,
    *,
    source_of: SourceOf | None = None,
    clock: Clock | None = None,
) -> Registry:
    """
    The evaluators of Kubernetes' core: pods, services, claims, resource claims, and those kinds whose number has a name
    of its own.

    They list through informers if there are some (resource claims through the client, as not every server has them),
    else through the client, and not at all if there is neither: then they are for admission.

    :param source_of: where to list from instead
    """
    if source_of is None:
        source_of = client_sources(client) if client is not None else _no_source
        if informers is not None:
            source_of = _informer_sources(informers, source_of)
    return Registry(
        [
            PodEvaluator(source_of(PODS), clock),
            service_evaluator(source_of(SERVICES)),
            claim_evaluator(source_of(CLAIMS)),
            device_claim_evaluator(source_of(DEVICE_CLAIMS)),
            *(object_count_evaluator(resource, source_of(resource)) for resource in LEGACY_NAMES),
        ]
    )


def _informer_sources(informers: SharedInformerFactory, others: SourceOf) -> SourceOf:
    """Sources from a factory's informers, of whole objects; each is asked for as soon as its source is."""

    def source_of(resource: GroupResource) -> ObjectSource:
        return (
            InformerSource(informers.informer_for(MODELS[resource])) if resource in ALWAYS_THERE else others(resource)
        )

    return source_of


def client_sources(client: Client) -> SourceOf:
    """Sources that ask the server each time; for no more than metadata where that is enough."""

    def source_of(resource: GroupResource) -> ObjectSource:
        model = MODELS[resource]
        if resource in WHOLE or resource == DEVICE_CLAIMS:
            return ClientSource(client.resource(model))
        return ClientSource(client.resource(PartialObjectMetadata, resource_for(model).gvr, metadata_only=True))

    return source_of


def _no_source(resource: GroupResource) -> ObjectSource:
    return NoSource()
