"""Notes: what one life of a simulated process sees and does, as records of the history.

These are the events that reach its handlers, and the beginning and end of each sync. A life that has ended appends no
more records.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kinformer.cache import ResourceEventHandler, SharedIndexInformer, last_state
from kinformer.client import Client
from kinformer.informers import SharedInformerFactory
from kinformer.simulation.history import What

__all__ = ("NotedInformers", "NotedLife", "Notes")


class NotedLife(Protocol):
    """The part of :class:`~kinformer.simulation.process.Life` that notes need."""

    is_cut_off: bool
    syncing: set[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Notes:
    """
    Appends records of one life to the history.

    :param life: the life
    :param tell: appends a record of its process, like :meth:`World.tell <kinformer.simulation.world.World.tell>`
        without the actor
    :param relative: counts a resourceVersion from the beginning of the run
    :param before_sync: called just before each sync, with the controller's name and the key
    """

    life: NotedLife
    tell: Callable[..., None]
    relative: Callable[[int | str | None], int]
    before_sync: Callable[[tuple[str, str]], None]

    def note(self, what: What, name: str, version: int = 0, detail: str = "") -> None:
        """Append a record to the history, unless the life has ended."""
        if not self.life.is_cut_off:
            self.tell(what, name, version, detail)

    def note_event(self, resource: str, obj: Any, detail: str) -> None:
        metadata = getattr(obj, "metadata", None)
        if metadata is None:
            metadata = obj["metadata"]
        if isinstance(metadata, Mapping):
            namespace, name, version = metadata.get("namespace"), metadata["name"], metadata.get("resourceVersion")
        else:
            namespace, name, version = metadata.namespace, metadata.name, metadata.resource_version
        key = f"{namespace}/{name}" if namespace else name
        self.note("event", f"{resource}/{key}", self.relative(version), detail)

    def noted(self, controller: str, sync: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """A sync function that also appends the beginning and end of each sync to the history."""

        async def noted(key: Any) -> Any:
            text = str(key)
            what = (controller, text)
            self.before_sync(what)
            self.note("sync", text, detail=controller)
            self.life.syncing.add(what)
            try:
                answer = await sync(key)
            except BaseException as error:
                self.note("synced", text, detail=f"{controller} {type(error).__name__}")
                raise
            finally:
                self.life.syncing.discard(what)
            self.note("synced", text, detail=controller)
            return answer

        return noted


class NotedInformers(SharedInformerFactory):
    """Makes informers whose handlers' calls are in the history."""

    def __init__(self, client: Client, notes: Notes, **options: Any) -> None:
        super().__init__(client, **options)
        self._notes = notes

    async def _keep(self) -> None:
        if not self._notes.life.is_cut_off:  # a process that was killed writes nothing
            await super()._keep()

    def _make(self, *args: Any) -> SharedIndexInformer[Any]:
        return self._noted(super()._make(*args), args[1])

    def _make_borrowed(self, *args: Any) -> SharedIndexInformer[Any]:
        return self._noted(super()._make_borrowed(*args), args[1])

    def _noted(self, informer: SharedIndexInformer[Any], gvr: Any) -> SharedIndexInformer[Any]:
        add, notes, resource = informer.add_event_handler, self._notes, str(gvr.group_resource)
        numbers = itertools.count(1)

        def add_event_handler(handler: ResourceEventHandler[Any], **options: Any) -> Any:
            return add(_NotedHandler(handler, notes, resource, f"{informer.name} {next(numbers)}"), **options)

        informer.add_event_handler = add_event_handler  # type: ignore[method-assign]  # of this informer only
        return informer


class _NotedHandler:
    """Appends each call to the history, and then calls the handler."""

    def __init__(self, handler: ResourceEventHandler[Any], notes: Notes, resource: str, name: str) -> None:
        self.__wrapped__ = handler
        self._name = name
        self._note = notes.note_event
        self._resource = resource

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> object:
        self._note(self._resource, obj, f"add {self._name}")
        return self.__wrapped__.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any, /) -> object:
        self._note(self._resource, new, f"update {self._name}")
        return self.__wrapped__.on_update(old, new)

    def on_delete(self, obj: Any, /) -> object:
        self._note(self._resource, last_state(obj), f"delete {self._name}")
        return self.__wrapped__.on_delete(obj)
