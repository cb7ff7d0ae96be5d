"""The zone of a node, by its labels: what fails together, and is counted together."""

from __future__ import annotations

from typing import Final

from kinformer.models import V1Node

__all__ = ("zone_key",)

#: The older labels count first, as in Kubernetes.
_OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"


def zone_key(node: V1Node) -> str:
    """
    The zone and the region of a node in one text; ``""`` if its labels name neither.

    The text is that of Kubernetes' metrics: the null character keeps two names that have a colon in them apart.
    """
    labels = node.metadata.labels
    if not labels:
        return ""
    zone = labels[_OLD_ZONE] if _OLD_ZONE in labels else labels.get(_ZONE, "")
    region = labels[_OLD_REGION] if _OLD_REGION in labels else labels.get(_REGION, "")
    return f"{region}:\x00:{zone}" if zone or region else ""
