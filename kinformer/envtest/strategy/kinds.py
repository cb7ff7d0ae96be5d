"""Which strategy each kind has."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.envtest.registry import Resource
from kinformer.envtest.strategy import core, others, workloads
from kinformer.envtest.strategy.base import Strategy
from kinformer.envtest.strategy.events import EventStrategy, NewEventStrategy
from kinformer.envtest.strategy.pods import PodStrategy
from kinformer.envtest.strategy.services import ServiceAddresses, ServiceStrategy
from kinformer.envtest.strategy.webhooks import MutatingWebhookStrategy, WebhookStrategy

__all__ = ("strategy_for",)


class _Versioned(Strategy):
    """Kinds whose spec is counted and that have nothing else to them."""

    has_generation = True


class _Conditional(Strategy):
    """Kinds that are only replaced by who has read them."""

    returns_deleted = True
    allow_unconditional_update = False


_STRATEGIES: dict[tuple[str, str], Callable[[Resource], Strategy]] = {
    ("", "pods"): PodStrategy,
    ("", "namespaces"): core.NamespaceStrategy,
    ("", "nodes"): core.NodeStrategy,
    ("", "events"): EventStrategy,
    ("events.k8s.io", "events"): NewEventStrategy,
    ("", "configmaps"): core.ConfigMapStrategy,
    ("", "secrets"): core.SecretStrategy,
    ("", "endpoints"): others.EndpointsStrategy,
    ("", "persistentvolumes"): core.VolumeStrategy,
    ("", "persistentvolumeclaims"): core.VolumeClaimStrategy,
    ("", "resourcequotas"): core.ResourceQuotaStrategy,
    ("", "limitranges"): others.LimitRangeStrategy,
    ("", "podtemplates"): workloads.PodTemplateStrategy,
    ("", "serviceaccounts"): core.ServiceAccountStrategy,
    ("", "replicationcontrollers"): workloads.ReplicationControllerStrategy,
    ("apps", "replicasets"): workloads.ReplicaSetStrategy,
    ("apps", "deployments"): workloads.DeploymentStrategy,
    ("apps", "daemonsets"): workloads.DaemonSetStrategy,
    ("apps", "statefulsets"): workloads.StatefulSetStrategy,
    ("batch", "jobs"): workloads.JobStrategy,
    ("batch", "cronjobs"): workloads.CronJobStrategy,
    ("policy", "poddisruptionbudgets"): workloads.DisruptionBudgetStrategy,
    ("coordination.k8s.io", "leases"): core.LeaseStrategy,
    ("rbac.authorization.k8s.io", "roles"): core.RoleStrategy,
    ("rbac.authorization.k8s.io", "clusterroles"): core.RoleStrategy,
    ("rbac.authorization.k8s.io", "rolebindings"): core.RoleStrategy,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): core.RoleStrategy,
    ("node.k8s.io", "runtimeclasses"): core.LeaseStrategy,
    ("networking.k8s.io", "ingresses"): _Versioned,
    ("networking.k8s.io", "networkpolicies"): others.NetworkPolicyStrategy,
    ("networking.k8s.io", "ingressclasses"): others.IngressClassStrategy,
    ("discovery.k8s.io", "endpointslices"): others.EndpointSliceStrategy,
    ("storage.k8s.io", "csidrivers"): others.CsiDriverStrategy,
    ("storage.k8s.io", "csinodes"): _Conditional,
    ("storage.k8s.io", "csistoragecapacities"): _Conditional,
    ("storage.k8s.io", "volumeattachments"): _Conditional,
    ("storage.k8s.io", "storageclasses"): others.StorageClassStrategy,
    ("autoscaling", "horizontalpodautoscalers"): others.AutoscalerStrategy,
    ("scheduling.k8s.io", "priorityclasses"): core.PriorityClassStrategy,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): MutatingWebhookStrategy,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): WebhookStrategy,
}


def strategy_for(resource: Resource, addresses: ServiceAddresses) -> Strategy:
    """
    How objects of a built-in resource are written.

    :param addresses: the cluster's, for services
    """
    if (resource.group, resource.plural) == ("", "services"):
        return ServiceStrategy(resource, addresses)
    return _STRATEGIES.get((resource.group, resource.plural), Strategy)(resource)
