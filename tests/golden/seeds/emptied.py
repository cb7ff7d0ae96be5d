"""Namespaces that are deleted, with finalizers on them and on what is in them."""

from __future__ import annotations

from typing import Any

from tests.golden.seeds.parts import Draw, Operation, Step, delete

__all__ = ("Emptied",)


class Emptied:
    """A second namespace, whose name ends with ``-x``."""

    looks = ("Namespace", "ConfigMap@-x", "Secret@-x", "ServiceAccount@-x")
    controllers = ("root-ca-cert-publisher",)
    settle = 1.5
    #: A deletion begins after five seconds, takes a request or two for each kind, and looks again after eight seconds.
    settled = 14.0
    length = (5, 8)

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def begin(self) -> list[Step]:
        return self.make_namespace()[1]

    def make_namespace(self) -> Operation:
        draw = self._draw
        metadata: dict[str, Any] = {"name": "${ns}-x", "labels": {"set": "${ns}"}}
        if draw.chance(0.2):
            metadata["finalizers"] = ["example.com/held"]
        made: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}]
        for kind in ("ConfigMap", "Secret", "ServiceAccount"):
            for name in ("k", "l"):
                if draw.chance(0.4):
                    held = {"finalizers": draw.one([["example.com/a"], ["example.com/a", "example.com/b"]])}
                    of = {"namespace": "${ns}-x", "name": name} | (held if draw.chance(0.5) else {})
                    made.append({"apiVersion": "v1", "kind": kind, "metadata": of})
        return "make a namespace", [{"create": made}, {"settle": self.settle}]

    def delete_namespace(self) -> Operation:
        return "delete the namespace", [delete("Namespace", "${ns}-x")]

    def free(self) -> Operation:
        kind, name = self._draw.one(["ConfigMap", "Secret", "ServiceAccount"]), self._draw.one("kl")
        left = self._draw.one([[], ["example.com/b"]])
        where = {"kind": kind, "name": name, "namespace": "${ns}-x", "finalizers": left}
        return f"finalizers of {kind} {name} there: {left}", [{"hold": where}]

    def free_namespace(self) -> Operation:
        return "free the namespace", [{"hold": {"kind": "Namespace", "name": "${ns}-x", "finalizers": []}}]

    def operations(self) -> list[tuple[Any, int]]:
        return [(self.make_namespace, 1), (self.delete_namespace, 3), (self.free, 5), (self.free_namespace, 1)]
