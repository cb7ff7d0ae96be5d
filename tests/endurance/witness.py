"""A witness: a controller that looks on in a manager with all others, and notes what the process has.

``--controllers builtin,tests.endurance.witness:make_witness`` adds it. Every few seconds it appends a line of JSON to
the file in ``ENDURANCE_WITNESS``: memory, tasks, open files, connections, and what its handlers were told that cannot
be (:class:`PossibleHistory`). If there is a file ``compare`` beside it, all caches are compared with the server.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from kinformer.bench.measure import current_kib
from kinformer.cache import DeletedFinalStateUnknown
from kinformer.client.types import ListOptions
from kinformer.manager import ControllerContext
from kinformer.meta import accessor_for
from tests.endurance.member import now

__all__ = ("PossibleHistory", "Witness", "differences", "make_witness")

EVERY = 5.0
#: The most that are noted of what is wrong.
MOST = 20


class PossibleHistory:
    """
    A handler that checks that what it is told is a history that its objects can have had.

    An object is added once, before it is updated or deleted, and its versions never go back. The simulator's oracle of
    handlers says the same, but remembers what is deleted: in a long run it would grow itself.

    :ivar wrong: what cannot be
    """

    def __init__(self, informer: str, type_: type[Any]) -> None:
        self.wrong: list[str] = []
        self._informer, self._accessor = informer, accessor_for(type_)
        self._versions: dict[str, int] = {}

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        if (key := self._accessor.key(obj)) in self._versions:
            self._note(f"{key} is added, and was there")
        self._set(key, obj)

    def on_update(self, old: Any, new: Any) -> None:
        if (key := self._accessor.key(new)) not in self._versions:
            self._note(f"{key} is updated, and was not there")
        self._set(key, new)

    def on_delete(self, obj: Any) -> None:
        key = obj.key if isinstance(obj, DeletedFinalStateUnknown) else self._accessor.key(obj)
        if self._versions.pop(key, None) is None:
            self._note(f"{key} is deleted, and was not there")

    def _set(self, key: str, obj: Any) -> None:
        version, before = int(self._accessor.resource_version(obj)), self._versions.get(key, 0)
        if version < before:
            self._note(f"{key} goes back from version {before} to {version}")
        self._versions[key] = version

    def _note(self, text: str) -> None:
        if len(self.wrong) < MOST:
            self.wrong.append(f"{self._informer}: {text}")


def differences(name: str, held: Mapping[str, str], served: Mapping[str, str]) -> list[str]:
    """What a cache has otherwise than the server: versions by key."""
    return [
        f"{name}: {key} has version {held.get(key)} in the cache and {served.get(key)} on the server"
        for key in sorted(held.keys() | served.keys())
        if held.get(key) != served.get(key)
    ]


class Witness:
    """Looks on until it is cancelled."""

    def __init__(self, context: ControllerContext, file: Path) -> None:
        self._context, self._file = context, file
        self._histories: dict[Any, PossibleHistory] = {}

    async def run(self) -> None:
        while True:
            for gvr, informer in self._context.informers.informers.items():
                if gvr not in self._histories:
                    self._histories[gvr] = history = PossibleHistory(str(gvr.group_resource), informer.type)
                    informer.add_event_handler(history)
            line = self._sample()
            if (self._file.parent / "compare").exists():
                line["different"] = await self._different()
            with self._file.open("a") as out:
                print(json.dumps(line), file=out)
            await anyio.sleep(EVERY)

    def _sample(self) -> dict[str, Any]:
        files = [str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
        return {
            "time": now(),
            "mib": current_kib() / 1024,
            "objects": len(gc.get_objects()),
            "tasks": len(asyncio.all_tasks()),
            "files": len(files),
            "connections": sum(name.startswith("socket:") for name in files),
            "wrong": [text for history in self._histories.values() for text in history.wrong],
        }

    async def _different(self) -> list[str]:
        """Compare each cache with the server. If something differs it is looked at again, as an event may come."""
        found: list[str] = []
        for gvr, informer in self._context.informers.informers.items():
            accessor = accessor_for(informer.type)
            for _ in range(10):
                held = {accessor.key(obj): accessor.resource_version(obj) for obj in informer.indexer.list()}
                resource = self._context.client.resource(dict, gvr)
                items = (await resource.list("", ListOptions())).items
                plain = accessor_for(dict)
                served = {plain.key(obj): plain.resource_version(obj) for obj in items}
                if not (different := differences(str(gvr.group_resource), held, served)):
                    break
                await anyio.sleep(1)
            found += different[:MOST]
        return found


def make_witness(context: ControllerContext) -> Witness:
    """A controller that looks on."""
    return Witness(context, Path(os.environ["ENDURANCE_WITNESS"]))
