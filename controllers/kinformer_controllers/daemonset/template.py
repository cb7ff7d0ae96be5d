"""The template of a DaemonSet's pod on one node, with the tolerations, labels and affinity that the controller adds.

The controller does not bind a pod to its node. It sets an affinity that requires this node, and the scheduler binds the
pod. All functions are pure.
"""

from __future__ import annotations

import copy
from typing import Final

from kinformer.meta import GroupVersionKind
from kinformer.meta.integers import read_integer
from kinformer.models import (
    V1Affinity,
    V1DaemonSet,
    V1NodeAffinity,
    V1NodeSelector,
    V1NodeSelectorRequirement,
    V1NodeSelectorTerm,
    V1ObjectMeta,
    V1Pod,
    V1PodSpec,
    V1PodTemplateSpec,
    V1Toleration,
)

__all__ = (
    "HASH_LABEL",
    "KIND",
    "affinity_for",
    "daemon_template",
    "is_updated",
    "target_node",
    "template_for_node",
    "template_generation",
    "with_tolerations",
)

KIND: Final = GroupVersionKind("apps", "v1", "DaemonSet")

HASH_LABEL: Final = "controller-revision-hash"
_GENERATION_LABEL: Final = "pod-template-generation"
_GENERATION_ANNOTATION: Final = "deprecated.daemonset.template.generation"

_NODE_NAME: Final = "metadata.name"

#: The taints that every daemon pod tolerates: it stays on a node with problems.
_TOLERATED: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)
#: A pod in the node's network tolerates this taint, too.
_WITHOUT_NETWORK: Final = ("node.kubernetes.io/network-unavailable", "NoSchedule")


def template_generation(daemonset: V1DaemonSet) -> int | None:
    """Return the generation in a deprecated annotation; None if it is missing or not a number."""
    text = (daemonset.metadata.annotations or {}).get(_GENERATION_ANNOTATION)
    return read_integer(text) if text is not None else None


def with_tolerations(spec: V1PodSpec) -> list[V1Toleration]:
    """
    Return a pod's tolerations with those of daemon pods.

    An existing toleration with the same key, effect, operator and value is replaced.
    """
    tolerations = list(spec.tolerations or ())
    for key, effect in (*_TOLERATED, *((_WITHOUT_NETWORK,) if spec.host_network else ())):
        added = V1Toleration(key=key, operator="Exists", effect=effect)
        same = [_is_same(added, one) for one in tolerations]
        if any(same):
            tolerations = [added if it else one for it, one in zip(same, tolerations, strict=True)]
        else:
            tolerations.append(added)
    return tolerations


def daemon_template(daemonset: V1DaemonSet, hash_: str) -> V1PodTemplateSpec:
    """Return the DaemonSet's template with labels and tolerations. It is the same for every node."""
    template = daemonset.spec.template
    generation = template_generation(daemonset)
    meta = copy.copy(template.metadata) if template.metadata is not None else V1ObjectMeta()
    meta.labels = dict(meta.labels or {})
    if generation is not None:
        meta.labels[_GENERATION_LABEL] = str(generation)
    if hash_:
        meta.labels[HASH_LABEL] = hash_
    spec = copy.copy(template.spec)
    assert spec is not None
    spec.tolerations = with_tolerations(spec)
    return V1PodTemplateSpec(metadata=meta, spec=spec)


def template_for_node(template: V1PodTemplateSpec, node: str) -> V1PodTemplateSpec:
    """Return a daemon template with the affinity for one node."""
    spec = copy.copy(template.spec)
    assert spec is not None
    spec.affinity = affinity_for(spec.affinity, node)
    return V1PodTemplateSpec(metadata=template.metadata, spec=spec)


def affinity_for(affinity: V1Affinity | None, node: str) -> V1Affinity:
    """Return the affinity with this node as the only required one. Preferences and pod affinities stay."""
    required = V1NodeSelector(
        node_selector_terms=[
            V1NodeSelectorTerm(match_fields=[V1NodeSelectorRequirement(key=_NODE_NAME, operator="In", values=[node])])
        ]
    )
    changed = copy.copy(affinity) if affinity is not None else V1Affinity()
    there = changed.node_affinity
    changed.node_affinity = copy.copy(there) if there is not None else V1NodeAffinity()
    changed.node_affinity.required_during_scheduling_ignored_during_execution = required
    return changed


def target_node(pod: V1Pod) -> str | None:
    """Return the node that a pod is bound to or that its affinity requires; None if there is none."""
    spec = pod.spec
    if spec is None:
        return None
    if spec.node_name:
        return spec.node_name
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    for term in (required.node_selector_terms if required is not None else None) or ():
        for field in term.match_fields or ():
            if field.key == _NODE_NAME and field.operator == "In":
                values = field.values or []
                return values[0] if len(values) == 1 else None
    return None


def is_updated(pod: V1Pod, hash_: str, generation: int | None) -> bool:
    """Whether a pod has the current template, by its hash or by the deprecated generation."""
    labels = pod.metadata.labels or {}
    if generation is not None and labels.get(_GENERATION_LABEL) == str(generation):
        return True
    return bool(hash_) and labels.get(HASH_LABEL) == hash_


def _is_same(one: V1Toleration, other: V1Toleration) -> bool:
    """Whether two tolerations are the same, except for their seconds."""
    return (one.key or "", one.effect or "", one.operator or "", one.value or "") == (
        other.key or "",
        other.effect or "",
        other.operator or "",
        other.value or "",
    )
