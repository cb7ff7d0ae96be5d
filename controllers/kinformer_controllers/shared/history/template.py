"""The hash of a pod template, as names and labels have it: in a ReplicaSet's name, and on a daemon pod.

Kubernetes hashes how Go prints the template, which nobody else can do. But a hash is only compared with itself: objects
that kube-controller-manager made are found by their template, and keep the hash that they have.
"""

from __future__ import annotations

from kinformer.models import V1PodTemplateSpec, to_dict
from kinformer_controllers.shared.history.hashing import canonical_json, fnv32a, safe_encode

__all__ = ("template_hash",)


def template_hash(template: V1PodTemplateSpec, collision_count: int | None = None) -> str:
    """
    :param collision_count: how often a name was taken by another template; None if it never was
    """
    probe = b"" if collision_count is None else collision_count.to_bytes(8, "little")
    # Always ten letters: a short hash looks like a word that somebody has chosen.
    return safe_encode(fnv32a(canonical_json(to_dict(template)), probe), 10)
