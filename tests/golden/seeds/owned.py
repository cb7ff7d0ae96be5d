"""Objects that own each other: deleted in each way, with finalizers, with owners that are wrong or gone."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step

__all__ = ("Owned",)

_VERSIONS = {
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ConfigMap": "v1",
    "Lease": "coordination.k8s.io/v1",
    "ReplicaSet": "apps/v1",
    "Secret": "v1",
}
_HELD = "example.com/held"


class Owned:
    """Eight names, most of them ConfigMaps. One kind has no namespace, and one is known to other controllers."""

    looks = ("ConfigMap", "Secret", "Lease", "ReplicaSet", "ClusterRole", "Event")
    controllers = ("root-ca-cert-publisher",)
    settle = 1.5
    #: An object that waits for another one is looked at again later and later.
    settled = 4.0
    length = (8, 14)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._kinds = {letter: draw.weighted([("ConfigMap", 5), ("Secret", 2), ("Lease", 1)]) for letter in "abcdef"}
        self._kinds |= {"r": "ReplicaSet", "${ns}-c": "ClusterRole"}

    def begin(self) -> list[Step]:
        count = self._draw.number(2, 5)
        return [step for name in [*self._kinds][:count] for step in self._make(name, [])]

    def _name(self) -> str:
        return self._draw.weighted([(name, 3 if len(name) == 1 and name != "r" else 1) for name in self._kinds])

    def _object(self, name: str) -> dict[str, Any]:
        kind = self._kinds[name]
        metadata: dict[str, Any] = {"name": name, "labels": {"set": "${ns}"}}
        if self._draw.chance(0.12):
            metadata["finalizers"] = [_HELD]
        made: dict[str, Any] = {"apiVersion": _VERSIONS[kind], "kind": kind, "metadata": metadata}
        if kind == "ReplicaSet":
            pod = {"metadata": {"labels": {"app": "r"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            made["spec"] = {"replicas": 0, "selector": {"matchLabels": {"app": "r"}}, "template": pod}
        return made

    def _owners(self, name: str) -> list[dict[str, Any]]:
        count = self._draw.weighted([(0, 1), (1, 5), (2, 3), (3, 1)])
        chosen = list(dict.fromkeys(self._name() for _ in range(count)))
        if name == "r" or len(name) > 1:
            chosen = [each for each in chosen if each != name]
        return [self._owner(each) for each in chosen]

    def _owner(self, name: str) -> dict[str, Any]:
        draw, kind = self._draw, self._kinds[name]
        owner: dict[str, Any] = {"apiVersion": _VERSIONS[kind], "kind": kind, "name": name}
        if draw.chance(0.5):
            owner["blockOwnerDeletion"] = draw.chance(0.7)
        if draw.chance(0.06):
            owner["name"] = "other"
            owner["uid"] = "11111111-1111-4111-8111-111111111111"
        elif draw.chance(0.04):
            owner |= {"apiVersion": "example.com/v1", "kind": "Unknown", "uid": "22222222-2222-4222-8222-222222222222"}
        return owner

    def _make(self, name: str, owners: list[dict[str, Any]]) -> list[Step]:
        return [{"make": {"object": self._object(name), "owners": owners}}, {"settle": self.settle}]

    def make(self) -> Operation:
        name = self._name()
        owners = self._owners(name)
        return f"make {name} of {[each['name'] for each in owners]}", self._make(name, owners)

    def make_several(self) -> Operation:
        names = list(dict.fromkeys(self._name() for _ in range(4)))
        return f"make {names}", [step for name in names for step in self._make(name, self._owners(name))]

    def give(self) -> Operation:
        name = self._name()
        owners = self._owners(name)
        steps: list[Step] = [{"own": {"kind": self._kinds[name], "name": name, "owners": owners}}]
        return f"give {name} to {[each['name'] for each in owners]}", steps

    def delete(self) -> Operation:
        name, policy = self._name(), self._draw.one(["Background", "Foreground", "Foreground", "Orphan"])
        options = {"propagationPolicy": policy}
        return f"delete {name} ({policy})", [
            {"delete": {"kind": self._kinds[name], "name": name, "options": options}},
            {"settle": self.settle},
        ]

    def delete_twice(self) -> Operation:
        name, policies = self._name(), ["Background", "Foreground", "Orphan"]
        chosen = [self._draw.one(policies), self._draw.one(policies)]
        what = {"kind": self._kinds[name], "name": name}
        steps = [{"delete": {**what, "options": {"propagationPolicy": policy}}} for policy in chosen]
        return f"delete {name} ({chosen[0]}, {chosen[1]})", [steps[0], {"settle": self.settle}, steps[1]]

    def hold(self) -> Operation:
        name, finalizers = self._name(), self._draw.one([[], [], [_HELD], ["orphan"], ["foregroundDeletion"]])
        what = {"kind": self._kinds[name], "name": name, "finalizers": finalizers}
        return f"finalizers of {name}: {finalizers}", [{"hold": what}]

    def free(self) -> Operation:
        steps: list[Step] = [
            {"hold": {"kind": kind, "name": name, "finalizers": []}} for name, kind in self._kinds.items()
        ]
        return "no finalizers", steps

    def operations(self) -> list[tuple[Any, int]]:
        return [
            (self.make, 8),
            (self.make_several, 4),
            (self.give, 4),
            (self.delete, 8),
            (self.delete_twice, 1),
            (self.hold, 3),
            (self.free, 1),
        ]
