"""The zone of a node, from its labels. Nodes of one zone are likely to fail together."""

from __future__ import annotations

from typing import Final

from kinformer.models import V1Node

__all__ = ("zone_key",)

#: The older labels are read first, as in Kubernetes.
_OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"


def zone_key(node: V1Node) -> str:
    """
    Return the region and the zone of a node in one text; ``""`` if its labels name neither.

    Kubernetes' metrics have the same text. The null character keeps keys distinct when names have colons in them.
    """
    labels = node.metadata.labels
    if not labels:
        return ""
    zone = labels[_OLD_ZONE] if _OLD_ZONE in labels else labels.get(_ZONE, "")
    region = labels[_OLD_REGION] if _OLD_REGION in labels else labels.get(_REGION, "")
    return f"{region}:\x00:{zone}" if zone or region else ""
