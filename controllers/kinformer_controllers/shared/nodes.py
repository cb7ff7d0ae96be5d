"""What controllers of nodes share: the zone of a node, Events about nodes, and the cluster's networks.

Nodes of one zone are likely to fail together; a zone's name is made from labels. Events about nodes are in the
namespace ``default``, because a node has no namespace. The flags that name the networks of a cluster's pods and
Services are declared with the functions of :mod:`kinformer_controllers.shared.options`, and read here: by the
controller that assigns a pod network to each node, and by the one that creates the routes to it.

The index of pods by their node is in :mod:`kinformer.controllerutil.owning`.
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final, TypeAlias

from kinformer.models import V1Node, V1ObjectReference
from kinformer.options import OptionError
from kinformer.record import NORMAL, EventRecorder

__all__ = (
    "NODE_CONTROLLER",
    "ZONE_LABEL",
    "Network",
    "parse_cidr",
    "parse_cluster_cidrs",
    "record_node_event",
    "record_status_change",
    "zone_key",
)

#: The older labels are read first, as in Kubernetes.
_OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"

#: The source component of these Events.
NODE_CONTROLLER: Final = "node-controller"

Network: TypeAlias = IPv4Network | IPv6Network


def zone_key(node: V1Node) -> str:
    """
    Return the region and the zone of a node in one text; ``""`` if its labels name neither.

    Kubernetes' metrics have the same text. The null character keeps keys distinct when names have colons in them.
    """
    labels = node.metadata.labels
    if not labels:
        return ""
    zone = labels[_OLD_ZONE] if _OLD_ZONE in labels else labels.get(ZONE_LABEL, "")
    region = labels[_OLD_REGION] if _OLD_REGION in labels else labels.get(_REGION, "")
    return f"{region}:\x00:{zone}" if zone or region else ""


def record_node_event(recorder: EventRecorder, node: V1Node, reason: str, event: str) -> None:
    """
    Record an Event about something that happened to a node.

    :param event: a sentence for the message; the node's name is put before it
    """
    recorder.event(_reference(node), NORMAL, reason, f"Node {node.metadata.name} event: {event}")


def record_status_change(recorder: EventRecorder, node: V1Node, status: str) -> None:
    """
    Record an Event about a node's new status.

    :param status: one word such as ``NodeNotReady``. It is the Event's reason, too
    """
    recorder.event(_reference(node), NORMAL, status, f"Node {node.metadata.name} status is now: {status}")


def _reference(node: V1Node) -> V1ObjectReference:
    return V1ObjectReference(
        api_version="v1", kind="Node", name=node.metadata.name, uid=node.metadata.uid, namespace=None
    )


def parse_cidr(text: str) -> Network:
    """
    Parse a network such as ``10.0.0.0/8``. Bits of the address outside the mask are ignored.

    :raises ValueError: if the text is not a network
    """
    if "/" not in text:
        raise ValueError(f"{text!r} has no mask: want a network such as 10.0.0.0/8")
    return ip_network(text.strip(), strict=False)


def parse_cluster_cidrs(text: str) -> list[Network]:
    """
    Parse the networks that ``--cluster-cidr`` names: one, or one of IPv4 and one of IPv6.

    :raises OptionError: if it names none, more than two or two of one family, or if one of them is not a network
    """
    try:
        networks = [parse_cidr(each) for each in text.strip().split(",")]
    except ValueError as error:
        raise OptionError(f"--cluster-cidr is {text!r}: {error}") from None
    if len(networks) > 2:
        raise OptionError(f"--cluster-cidr names {len(networks)} networks: want at most two")
    if len({network.version for network in networks}) < len(networks):
        raise OptionError("--cluster-cidr names two networks of one family: want one of IPv4 and one of IPv6")
    return networks
