"""The registry: the evaluator of each resource; and the usage of all objects of a namespace, measured with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import GroupResource
from kinformer.meta.resourcelist import ResourceList, add, mask
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
from kinformer_controllers.shared.quota.counting import (
    CLAIMS,
    DEVICE_CLAIMS,
    LEGACY_NAMES,
    SERVICES,
    claim_evaluator,
    device_claim_evaluator,
    object_count_evaluator,
    service_evaluator,
)
from kinformer_controllers.shared.quota.evaluator import Evaluator, UsageStatsOptions
from kinformer_controllers.shared.quota.limits import ScopeRequirement
from kinformer_controllers.shared.quota.pods import PODS, PodEvaluator
from kinformer_controllers.shared.quota.sources import ClientSource, NoSource, ObjectSource

__all__ = (
    "ALWAYS_THERE",
    "IGNORED_RESOURCES",
    "MODELS",
    "WHOLE",
    "Registry",
    "SourceOf",
    "Usage",
    "calculate_usage",
    "client_sources",
    "core_registry",
)

log = get_logger(__name__)

#: No quota limits these: resources that are not stored, and Events.
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

#: The models of the resources that :func:`core_registry` measures.
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

#: Every server has these. Others are measured from informers once discovery has found them.
ALWAYS_THERE: Final = frozenset(MODELS) - {DEVICE_CLAIMS}

#: Of those, the resources whose metadata is not enough for measuring.
WHOLE: Final = frozenset({PODS, SERVICES, CLAIMS})

#: Returns the source of a resource's objects.
SourceOf = Callable[[GroupResource], ObjectSource]


class Registry:
    """Evaluators by resource. A resource has one evaluator; adding another replaces it."""

    def __init__(self, evaluators: Iterable[Evaluator] = ()) -> None:
        self._evaluators = {evaluator.group_resource: evaluator for evaluator in evaluators}

    def get(self, resource: GroupResource) -> Evaluator | None:
        """Return the evaluator of a resource; None if there is none."""
        return self._evaluators.get(resource)

    def get_or_count(self, resource: GroupResource) -> Evaluator:
        """Return the evaluator of a resource. If there is none, add one that counts its objects."""
        evaluator = self._evaluators.get(resource)
        if evaluator is None:
            evaluator = self._evaluators[resource] = object_count_evaluator(resource)
            log.info("quota_evaluator_added", resource=str(resource))
        return evaluator

    def list(self) -> list[Evaluator]:
        """Return all evaluators."""
        return list(self._evaluators.values())

    def add(self, evaluator: Evaluator) -> None:
        """Add the evaluator of a resource."""
        self._evaluators[evaluator.group_resource] = evaluator

    def remove(self, resource: GroupResource) -> None:
        """Remove the evaluator of a resource, if there is one."""
        self._evaluators.pop(resource, None)


def _no_source(resource: GroupResource) -> ObjectSource:
    return NoSource()


def core_registry(source_of: SourceOf = _no_source, *, clock: Clock | None = None) -> Registry:
    """
    Make the evaluators of Kubernetes' core: pods, services, claims, resource claims, and the kinds whose number has a
    short name.

    :param source_of: returns the source of each resource's objects. Without it, the evaluators cannot list, and are for
        admission only
    """
    return Registry(
        [
            PodEvaluator(source_of(PODS), clock),
            service_evaluator(source_of(SERVICES)),
            claim_evaluator(source_of(CLAIMS)),
            device_claim_evaluator(source_of(DEVICE_CLAIMS)),
            *(object_count_evaluator(resource, source_of(resource)) for resource in LEGACY_NAMES),
        ]
    )


def client_sources(client: Client) -> SourceOf:
    """Return the function that makes sources which list from the server: only the metadata, if that is enough."""

    def source_of(resource: GroupResource) -> ObjectSource:
        model = MODELS[resource]
        if resource in WHOLE or resource == DEVICE_CLAIMS:
            return ClientSource(client.resource(model))
        return ClientSource(client.resource(PartialObjectMetadata, resource_for(model).gvr, metadata_only=True))

    return source_of


@dataclass(slots=True)
class Usage:
    """
    The usage of a namespace's objects.

    :ivar used: the amounts; those that could not be computed are left out
    :ivar errors: the errors of the evaluators that failed
    :ivar versions: for each amount a resource version; the counted objects are at least as new. Empty if not known
    """

    used: ResourceList = field(default_factory=dict)
    errors: list[Exception] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


async def calculate_usage(
    namespace: str, scopes: tuple[ScopeRequirement, ...], hard: Collection[str], registry: Registry
) -> Usage:
    """
    Compute the usage of a namespace's objects.

    Only evaluators that measure an amount in `hard` are used. If an evaluator fails, only the amounts that it measures
    are left out.

    :param hard: the names of the limited amounts
    """
    asked = [(evaluator, names) for evaluator in registry.list() if (names := evaluator.matching_resources(hard))]
    matched = {name for _, names in asked for name in names}
    usage = Usage()
    for evaluator, names in asked:
        try:
            stats = await evaluator.usage_stats(UsageStatsOptions(namespace, scopes, names))
        except Exception as error:  # of any type: the amounts of other evaluators must not be lost
            matched.difference_update(names)
            error.add_note(f"counting {evaluator.group_resource} in {namespace}")
            usage.errors.append(error)
            continue
        usage.used = add(usage.used, stats.used)
        usage.versions.update(dict.fromkeys(names, stats.version))
    usage.used = mask(usage.used, matched)
    return usage
