"""The messages of the controller's Events, as kube-controller-manager writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from kinformer.models import V1Pod

__all__ = ("attached", "multi_attach", "multi_attach_without_pods", "not_attachable", "not_attached")


def attached(name: str) -> str:
    """
    :param name: of the PersistentVolume, as in all messages
    """
    return _about("AttachVolume.Attach succeeded", name)


def not_attached(name: str, why: object) -> str:
    return _about("AttachVolume.Attach failed", name, f": {why}")


def not_attachable(name: str) -> str:
    return _about("AttachVolume.FindAttachablePluginBySpec failed", name)


def multi_attach_without_pods(name: str) -> str:
    """What a pod is told if the volume is attached to another node on which no pod needs it."""
    why = "Volume is already exclusively attached to one node and can't be attached to another"
    return _about("Multi-Attach error", name, why)


def multi_attach(name: str, pod: V1Pod, others: Iterable[V1Pod]) -> str:
    """
    What a pod is told if pods on other nodes use the volume. It learns no names of pods in other namespaces.

    :param others: at least one
    """
    others = list(others)
    near = [other.metadata.name for other in others if other.metadata.namespace == pod.metadata.namespace]
    far = len(others) - len(near)
    used = [f"pod(s) {', '.join(near)}"] if near else []
    used += [f"{far} pod(s) in different namespaces"] if far else []
    return _about("Multi-Attach error", name, f"Volume is already used by {' and '.join(used)}")


def _about(what: str, name: str, more: str = "") -> str:
    # The space after the name stands also if nothing follows.
    return f"{what} for volume {json.dumps(name, ensure_ascii=False)} {more}"
