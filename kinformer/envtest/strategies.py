"""Strategies: finds the strategy for each resource of one server, built in or custom.

A built-in kind without a strategy of its own has a plain one. Its settings are in ``kinds.yaml``, and its checks in the
table ``_CHECKS``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kinformer.clock import Clock
from kinformer.envtest.custom import CustomStrategy, Definitions, DefinitionStrategy
from kinformer.envtest.operations import timestamp
from kinformer.envtest.registry import Registry, Resource
from kinformer.envtest.storage import Storage
from kinformer.envtest.strategy import (
    core,
    devices,
    limits,
    networking,
    policies,
    rbac,
    service_checks,
    volumes,
    workloads,
)
from kinformer.envtest.strategy.autoscaling import AutoscalerStrategy, OldAutoscalerStrategy
from kinformer.envtest.strategy.base import Strategy
from kinformer.envtest.strategy.events import EventStrategy, NewEventStrategy
from kinformer.envtest.strategy.fields import Every, Fields
from kinformer.envtest.strategy.pods import PodStrategy
from kinformer.envtest.strategy.services import ServiceAddresses, ServiceStrategy
from kinformer.envtest.strategy.signing import SigningRequestStrategy, TrustBundleStrategy
from kinformer.envtest.strategy.webhooks import CHECK_WEBHOOKS

__all__ = ("Strategies",)


def _autoscaler(resource: Resource) -> Strategy:
    return OldAutoscalerStrategy(resource) if resource.version == "v1" else AutoscalerStrategy(resource)


_STRATEGIES: dict[tuple[str, str], Callable[[Resource], Strategy]] = {
    ("", "pods"): PodStrategy,
    ("", "namespaces"): core.NamespaceStrategy,
    ("", "nodes"): core.NodeStrategy,
    ("", "events"): EventStrategy,
    ("events.k8s.io", "events"): NewEventStrategy,
    ("", "configmaps"): core.ConfigMapStrategy,
    ("", "secrets"): core.SecretStrategy,
    ("", "persistentvolumes"): volumes.VolumeStrategy,
    ("", "persistentvolumeclaims"): volumes.ClaimStrategy,
    ("", "resourcequotas"): limits.ResourceQuotaStrategy,
    ("", "limitranges"): limits.LimitRangeStrategy,
    ("", "replicationcontrollers"): workloads.ReplicationControllerStrategy,
    ("apps", "controllerrevisions"): workloads.ControllerRevisionStrategy,
    ("apps", "daemonsets"): workloads.DaemonSetStrategy,
    ("apps", "statefulsets"): workloads.StatefulSetStrategy,
    ("batch", "jobs"): workloads.JobStrategy,
    ("certificates.k8s.io", "certificatesigningrequests"): SigningRequestStrategy,
    ("certificates.k8s.io", "clustertrustbundles"): TrustBundleStrategy,
    ("rbac.authorization.k8s.io", "roles"): rbac.RoleStrategy,
    ("rbac.authorization.k8s.io", "clusterroles"): rbac.RoleStrategy,
    ("rbac.authorization.k8s.io", "rolebindings"): rbac.BindingStrategy,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): rbac.BindingStrategy,
    ("networking.k8s.io", "ingresses"): networking.IngressStrategy,
    ("storage.k8s.io", "csidrivers"): volumes.DriverStrategy,
    ("autoscaling", "horizontalpodautoscalers"): _autoscaler,
    ("scheduling.k8s.io", "priorityclasses"): core.PriorityClassStrategy,
    ("resource.k8s.io", "resourceclaims"): devices.ClaimStrategy,
}
#: Kinds that differ only in their checks.
_CHECKS: dict[tuple[str, str], Fields | Every] = {
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): CHECK_WEBHOOKS,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): CHECK_WEBHOOKS,
    ("discovery.k8s.io", "endpointslices"): service_checks.CHECK_SLICE,
    ("networking.k8s.io", "ingressclasses"): networking.CHECK_CLASS,
    ("networking.k8s.io", "networkpolicies"): networking.CHECK_POLICY,
    ("apps", "deployments"): workloads.CHECK_DEPLOYMENT,
    ("apps", "replicasets"): workloads.CHECK_REPLICA_SET,
    ("policy", "poddisruptionbudgets"): workloads.CHECK_DISRUPTION_BUDGET,
    ("batch", "cronjobs"): workloads.CHECK_CRON_JOB,
    ("", "podtemplates"): workloads.CHECK_POD_TEMPLATE,
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"): policies.CHECK_BINDING,
    ("", "endpoints"): service_checks.CHECK_ENDPOINTS,
    ("node.k8s.io", "runtimeclasses"): core.CHECK_RUNTIME_CLASS,
    ("storage.k8s.io", "csinodes"): volumes.CHECK_NODE_DRIVERS,
    ("storage.k8s.io", "csistoragecapacities"): volumes.CHECK_CAPACITY,
    ("storage.k8s.io", "volumeattributesclasses"): volumes.CHECK_ATTRIBUTES_CLASS,
    ("storage.k8s.io", "volumeattachments"): volumes.CHECK_ATTACHMENT,
    ("storage.k8s.io", "storageclasses"): volumes.CHECK_CLASS,
    ("admissionregistration.k8s.io", "validatingadmissionpolicies"): policies.CHECK_POLICY,
}


class Strategies:
    """
    Makes strategies, with the parts of other objects that some of them need.

    :param coordinated: whether Leases keep the fields of coordinated leader election
    """

    def __init__(self, storage: Storage, registry: Registry, clock: Clock, *, coordinated: bool = False):
        self._storage = storage
        self._addresses = ServiceAddresses(storage)
        self.definitions = Definitions(storage, registry, clock)

        def now() -> str:
            return timestamp(clock.now())

        self._strategies = _STRATEGIES | {
            ("", "services"): partial(ServiceStrategy, addresses=self._addresses),
            ("apiextensions.k8s.io", "customresourcedefinitions"): partial(
                DefinitionStrategy, definitions=self.definitions
            ),
            ("coordination.k8s.io", "leases"): partial(core.LeaseStrategy, coordinated=coordinated),
            ("resource.k8s.io", "resourceslices"): partial(devices.SliceStrategy, now=now),
            ("resource.k8s.io", "devicetaintrules"): partial(devices.TaintRuleStrategy, now=now),
        }

    def load(self) -> None:
        """Note the objects of a storage that was loaded from a file."""
        self._addresses.load(self._storage)
        self.definitions.load()

    def __call__(self, resource: Resource) -> Strategy:
        if resource.is_custom:
            return CustomStrategy(resource)
        kind = (resource.group, resource.plural)
        make = self._strategies.get(kind)
        return make(resource) if make is not None else Strategy(resource, _CHECKS.get(kind))
