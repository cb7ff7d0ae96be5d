"""The hash of a pod template, as names and labels have it: in a ReplicaSet's name, and on a daemon pod.

Kubernetes hashes how Go prints the template, which nobody else can do. But a hash is only compared with itself: objects
that kube-controller-manager made are found by their template, and keep the hash that they have.
"""

from __future__ import annotations

from typing import Any

from kinformer_controllers.shared.history.hashing import canonical_json, fnv32a, safe_encode

__all__ = ("template_hash",)


def template_hash(template: Any, collision_count: int | None = None) -> str:
    """
    :param template: as plain JSON; where two ways to write the same are to have one hash, the caller chooses one
    :param collision_count: how often a name was taken by another template; None if it never was
    """
    probe = b"" if collision_count is None else str(collision_count).encode()
    # Always ten letters: a short hash looks like a word that somebody has chosen.
    return safe_encode(fnv32a(canonical_json(template), probe), 10)
