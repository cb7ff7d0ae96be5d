"""The hash of a pod template. It is a part of a ReplicaSet's name and a label of a daemon pod.

It differs from Kubernetes' hash, which is computed from the text that Go prints for the template. No other program can
print that text. The difference does no harm: objects that kube-controller-manager made are found by their template, and
keep the hash that they have.
"""

from __future__ import annotations

from typing import Any

from kinformer_controllers.shared.history.hashing import canonical_json, fnv32a, safe_encode

__all__ = ("template_hash",)


def template_hash(template: Any, collision_count: int | None = None) -> str:
    """
    Return the hash of a pod template.

    :param template: as plain JSON. If the same template can be written in two ways, the caller must normalize it first
    :param collision_count: how often a name was taken by another template; None if it never was
    """
    probe = b"" if collision_count is None else str(collision_count).encode()
    # Always ten letters: a short hash could look like a word that somebody has chosen.
    return safe_encode(fnv32a(canonical_json(template), probe), 10)
