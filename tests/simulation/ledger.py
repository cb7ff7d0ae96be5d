"""A ledger: a controller of which each mistake of the frame shows, whoever makes it.

Its objects are ConfigMaps with two numbers: ``todo``, which the user sets, and ``done``, which the controller counts up
to it, one by one, about once a second. It writes what its cache says plus one, without a version, after some time in
which it makes up its mind. So ``done`` goes back if two processes write at once, if one writes that leads no more, and
if one begins with a cache that does not show what the last one wrote. :meth:`Ledger.check` says so.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from kinformer.cache.division import OwnUid
from kinformer.client import ClientError
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap
from kinformer.simulation import Checks, World
from kinformer.simulation.loop import OWNER
from kinformer.simulation.oracles import State

__all__ = ("CHECKS", "Ledger", "make_ledger")

#: Who has counted how far when it ends depends on what went wrong before.
CHECKS = Checks(may_differ=("configmaps/*:data.by",))

#: Seconds between two writes of one object, and how many of them it takes to make up one's mind.
PERIOD = 1.0
DECIDING = 0.6


def make_ledger(context: ControllerContext) -> Controller:
    maps = context.informers.informer_for(V1ConfigMap)
    resource = context.client.resource(V1ConfigMap)
    written: dict[str, int] = {}

    async def sync(key: str) -> float | None:
        found = maps.indexer.get_by_key(key)
        if found is None or "todo" not in (found.data or {}):
            return None
        done = int(found.data.get("done", 0))
        if done >= int(found.data["todo"]):
            return None
        if done >= written.get(key, 0):
            await context.clock.sleep(random.random() * DECIDING)
            owner = OWNER.get()
            assert owner is not None
            data = {"done": str(done + 1), "by": owner.name}
            await resource.patch(found.metadata.name, {"data": data}, found.metadata.namespace)
            written[key] = done + 1
        return PERIOD - DECIDING / 2

    controller = Controller("ledger", sync, workers=2, shard_by_owner=OwnUid(maps), clock=context.clock)
    return controller.watch(maps, _asks_for_more)


def _asks_for_more(old: V1ConfigMap | None, new: V1ConfigMap | None) -> bool:
    """Whether the user has asked for something; what is counted is counted because time passes."""
    return old is None or new is None or (old.data or {}).get("todo") != (new.data or {}).get("todo")


@dataclass(eq=False)
class Ledger:
    """
    The objects of a world, and what has been written into them.

    :param objects: by namespace and name
    :ivar writes: when, and which life of which process
    """

    world: World
    objects: tuple[str, ...] = ("default/one", "default/two")
    writes: list[tuple[float, str]] = field(default_factory=list)
    _done: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world.assert_always(self.check)

    def check(self, state: State) -> None:
        """Nothing is counted back, and no life of a process writes once another one has begun to after it."""
        for name in self.objects:
            found: Any = state.get(f"configmaps/{name}")
            data = (found or {}).get("data") or {}
            done, before = int(data.get("done", 0)), self._done.get(name, 0)
            if done != before:
                self.writes.append((self.world.loop.now, data["by"]))
                self._done[name] = done
            assert done >= before, f"{name} goes back from {before} to {done}, by {data['by']}"

    @property
    def terms(self) -> list[str]:
        """Who wrote, one after the other."""
        return [who for who, _ in groupby(who for _, who in self.writes)]

    def since(self, time: float) -> set[str]:
        """Who has written after some time."""
        return {who for at, who in self.writes if at > time}

    async def open(self, todo: int = 10_000) -> None:
        """Make the objects."""
        for name in self.objects:
            namespace, _, name = name.partition("/")
            if namespace != "default":
                await self._apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            metadata = {"namespace": namespace, "name": name}
            await self._apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
        await self.ask_for(todo)

    async def ask_for(self, todo: int) -> None:
        """Have it counted so far, and no farther."""
        for name in self.objects:
            namespace, _, name = name.partition("/")
            metadata = {"namespace": namespace, "name": name}
            data = {"todo": str(todo)}
            await self._apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})

    async def _apply(self, manifest: dict[str, Any]) -> None:
        """As a user does whose connection may be cut when the server starts again."""
        while True:
            try:
                await self.world.apply(manifest)
            except ClientError:
                await self.world.sleep(1)
            else:
                return
