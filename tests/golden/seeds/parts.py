"""What random scenarios are made of: a seeded draw, templates of pods, and the steps that stand in for kubelets.

A draw decides only from its own numbers. It never sees the server. So a seed is the same list of steps everywhere. A
step that finds nothing to do, such as "end the pods that are being deleted", does nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = (
    "LONG_AGO",
    "NEVER",
    "Draw",
    "Operation",
    "Step",
    "delete",
    "labels",
    "patch",
    "pods",
    "template",
)

Step = dict[str, Any]
#: What it is called, and its steps.
Operation = tuple[str, list[Step]]
T = TypeVar("T")

#: A readiness of that time has lasted longer than any `minReadySeconds`.
LONG_AGO = "2026-01-01T00:00:00Z"
#: A readiness of that time never lasts long enough. Both are the same on every day on which a seed is played.
NEVER = "2200-01-01T00:00:00Z"

#: Parts of templates that writers of JSON, and comparisons of templates, get wrong.
_ODD: Sequence[dict[str, Any]] = (
    {"env": [{"name": "A", "value": '<a href="x">&amp;</a>'}]},
    {"env": [{"name": "B", "value": "grüße \u2028 \u2029 日本 \U0001f600"}]},
    {"resources": {"requests": {"cpu": "0.5", "memory": "128Mi"}, "limits": {"cpu": "1000m", "memory": "1e9"}}},
    {"resources": {"requests": {"cpu": "500m", "memory": "134217728"}, "limits": {"cpu": "1", "memory": "1000000k"}}},
    {"securityContext": {}},
    {"securityContext": {"capabilities": {}}},
    {"args": [], "command": []},
    {"env": [{"name": "C", "value": ""}, {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
    {"volumeMounts": []},
    {"ports": [{"name": "http", "containerPort": 8080}]},
)


class Draw:
    """The numbers of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def one(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def weighted(self, options: Sequence[tuple[T, int]]) -> T:
        return self._random.choices([each for each, _ in options], [weight for _, weight in options])[0]

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)


def labels(app: str) -> dict[str, str]:
    return {"app": app}


def template(draw: Draw, app: str, version: int, **spec: Any) -> dict[str, Any]:
    """A pod template. Its image tells its version; one in three has a part that is easily got wrong."""
    container: dict[str, Any] = {"name": "c", "image": f"img:{version}"}
    if draw.chance(0.35):
        container |= draw.one(_ODD)
    metadata: dict[str, Any] = {"labels": labels(app)}
    if draw.chance(0.15):
        metadata["annotations"] = {"note": draw.one(["<&>", "1000m", "", "ü"])}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def patch(kind: str, name: str, body: Any, type_: str = "merge", subresource: str = "") -> Step:
    return {"patch": {"kind": kind, "name": name, "type": type_, "body": body, "subresource": subresource}}


def delete(kind: str, name: str, policy: str = "Background") -> Step:
    return {"delete": {"kind": kind, "name": name, "options": {"propagationPolicy": policy}}}


def pods(verb: str, selector: str, count: int = 1, **how: Any) -> Step:
    """
    Do something to the first pods, one after the other, in an order that does not depend on generated names.

    :param verb: what :class:`tests.golden.seeds.play.SeedRun` does to each
    """
    return {"each_pod": {"do": verb, "selector": selector, "count": count, **how}}
