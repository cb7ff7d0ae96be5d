"""Has every namespace of every cluster of a fleet deny incoming traffic that nothing else allows.

The clusters are those whose kubeconfigs are in Secrets of one cluster, the hub, with the label ``fleet: member``. The
controller is written as for one cluster. It runs once for each, with informers, a queue and limits of its own. So a
cluster that dies, or whose Secret is broken, does not hold up the others. Two replicas run, and each cluster's Lease
decides which of them writes there. See :func:`main`.
"""

from __future__ import annotations

import anyio

from kinformer.client import Client, ClientOptions, connect
from kinformer.clock import Clock
from kinformer.logs import configure_logging
from kinformer.manager import Controller, ControllerContext, Fleet, KubeconfigSecrets, LeaderElection
from kinformer.models import V1LabelSelector, V1Namespace, V1NetworkPolicy, V1NetworkPolicySpec, V1ObjectMeta
from kinformer.operator import Applier

NAMESPACE = "fleet-policy"
NAME = "default-deny"
#: Namespaces that the cluster itself needs.
LEFT_ALONE = ("kube-system", "kube-public", "kube-node-lease", NAMESPACE)


def policy_of(namespace: V1Namespace) -> V1NetworkPolicy:
    """A policy that denies all connections to the pods of a namespace, except those that another policy allows."""
    metadata = V1ObjectMeta(name=NAME, namespace=namespace.metadata.name)
    spec = V1NetworkPolicySpec(pod_selector=V1LabelSelector(), policy_types=["Ingress"])
    return V1NetworkPolicy(metadata=metadata, spec=spec)


def make_controller(context: ControllerContext) -> Controller:
    namespaces = context.informers.informer_for(V1Namespace)
    policies = context.informers.informer_for(V1NetworkPolicy)
    applier = Applier(context.client, "fleet-policy", context.informers)

    async def sync(key: str) -> None:
        namespace = namespaces.indexer.get_by_key(key)
        if namespace is None or namespace.metadata.deletion_timestamp or key in LEFT_ALONE:
            return
        await applier.apply(policy_of(namespace))

    def namespace_of(policy: V1NetworkPolicy) -> list[str]:
        return [policy.metadata.namespace] if policy.metadata.name == NAME else []

    controller = Controller("fleet-policy", sync, clock=context.clock)
    return controller.watch(namespaces).watch_mapped(policies, namespace_of)


def fleet_of(hub: Client, identity: str = "", *, port: int = 8080, clock: Clock | None = None) -> Fleet:
    """One replica. Each cluster gets at most 20 requests a second, after 50 at once."""
    return Fleet(
        KubeconfigSecrets(hub, NAMESPACE, label_selector="fleet=member"),
        known={"fleet-policy": make_controller},
        leader_election=LeaderElection(name="fleet-policy", namespace=NAMESPACE, identity=identity),
        client_options=ClientOptions(qps=20, burst=50),
        endpoint=("0.0.0.0", port),
        clock=clock,
    )


async def main() -> None:
    configure_logging(logging_format="json")
    async with connect() as hub:
        await fleet_of(hub).run()


if __name__ == "__main__":
    anyio.run(main)
