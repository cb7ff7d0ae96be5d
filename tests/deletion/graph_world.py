"""A graph whose agenda is a list of what it was told."""

from __future__ import annotations

from kinformer.deletion.graph import Graph, Identity, Kind, Node, Phase, ReferenceLike
from kinformer.deletion.heads import Reference

__all__ = ("Noted", "Obj", "World", "ref")


class Noted:
    """Notes what a graph wants done: ``look uid``, ``later uid``, ``orphan uid``, ``misplaced uid owner``."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def look_at(self, node: Node, /) -> None:
        self.told.append(f"look {node.uid}")

    def look_later(self, node: Node, /) -> None:
        self.told.append(f"later {node.uid}")

    def orphan(self, node: Node, /) -> None:
        self.told.append(f"orphan {node.uid}")

    def misplaced(self, node: Node, owner: ReferenceLike, /) -> None:
        self.told.append(f"misplaced {node.uid} {owner.uid}")


class Obj:
    """An object to be seen; its uid is its name's unless another is given."""

    def __init__(self, kind: str, namespace: str, name: str, uid: str = "", api_version: str = "v1") -> None:
        self.kind = Kind(api_version, kind)
        self.namespace = namespace
        self.name = name
        self.uid = uid or name

    @property
    def identity(self) -> Identity:
        return Identity(*self.kind, self.namespace, self.name, self.uid)


def ref(owner: Obj, *, block: bool | None = None, api_version: str = "", name: str = "", kind: str = "") -> Reference:
    return Reference(
        api_version or owner.kind.api_version,
        kind or owner.kind.kind,
        name or owner.name,
        owner.uid,
        block_owner_deletion=block,
    )


class World:
    def __init__(self) -> None:
        self.agenda = Noted()
        self.graph = Graph(self.agenda)

    def see(self, obj: Obj, *owners: Reference, phase: Phase = Phase.LIVING) -> list[str]:
        """What the graph wants done when it sees an object."""
        self.graph.see(obj.kind, obj.namespace, obj.name, obj.uid, list(owners), phase)
        return self.told()

    def gone(self, obj: Obj) -> list[str]:
        self.graph.gone(obj.kind, obj.namespace, obj.name, obj.uid)
        return self.told()

    def absent(self, identity: Identity) -> list[str]:
        self.graph.absent(identity)
        return self.told()

    def told(self) -> list[str]:
        told, self.agenda.told = self.agenda.told, []
        return sorted(told)

    def dependents(self, obj: Obj) -> set[str]:
        return {node.uid for node in self.graph.nodes[obj.uid].dependents or ()}
