"""An operator for notice boards, with planted bugs in how it treats the fields of its kind."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1ObjectMeta
from kinformer.operator import CustomResource, Fields, Reconciler

__all__ = ("HOME", "Board", "make_boards", "make_unread")


class Look(Fields):
    color: str = "red"


class BoardSpec(Fields):
    text: str
    look: Look = msgspec.field(default_factory=Look)
    lines: int = 1
    footer: str | None = None
    motto: str = ""
    theme: Annotated[str, Meta(description="The old name of the color.\n\nDeprecated: use look.")] = ""


class Board(CustomResource[BoardSpec, None], group="example.com", version="v1", plural="boards"):
    """A notice board: a ConfigMap with its text."""


class Boards(Reconciler[Board]):
    """
    Writes the ConfigMaps.

    The planted bugs: ``creation`` reads the color only when it creates the ConfigMap. ``leftover`` does not remove a
    footer. ``unread`` never reads the motto. ``restless`` writes again and again if there is no line. ``strict`` fails
    if there is no line.
    """

    name = "boards"
    owns = (V1ConfigMap,)
    bug = ""

    async def reconcile(self, obj: Board) -> float | None:
        spec, maps = obj.spec, self.context.informers.informer_for(V1ConfigMap).indexer
        found = maps.get_by_key(f"{obj.metadata.namespace}/{obj.metadata.name}")
        old = (found.data or {}) if found is not None else {}
        data = {"text": spec.text * spec.lines, "color": spec.look.color, "motto": spec.motto}
        if self.bug == "creation":
            data["color"] = old.get("color", data["color"])
        if self.bug == "unread":
            del data["motto"]
        if self.bug == "strict" and not spec.lines:
            raise RuntimeError("a board has lines")
        footer = spec.footer or (old.get("footer") if self.bug == "leftover" else None)
        if footer:
            data["footer"] = footer
        if self.bug == "restless" and not spec.lines:
            data["turn"] = str(int(old.get("turn", "0")) + 1)
        metadata = V1ObjectMeta(name=obj.metadata.name, namespace=obj.metadata.namespace)
        await self.applier.ensure_owned(obj, V1ConfigMap(metadata=metadata, data=data))
        return 1.0 if self.bug == "restless" else None


HOME = Board(metadata=V1ObjectMeta(name="home", namespace="default"), spec=BoardSpec(text="hello"))


def make_boards(context: ControllerContext, bug: str = "") -> Controller:
    boards = Boards(context)
    boards.bug = bug
    return boards.controller()


def make_unread(context: ControllerContext) -> Controller:
    return make_boards(context, "unread")
