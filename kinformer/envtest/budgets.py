"""Budgets: what a controller may cost, as a test that fails when a change makes it cost more.

A change that lets an operator list the pods of the whole cluster, or write at each sync, passes all tests of behaviour.
It does not pass this one::

    async def test_a_site_costs_little(kinformer_client: Client) -> None:
        budget = Budget()
        manager = Manager(budget.client(kinformer_client), known={"site-operator": make_controller})
        budget.watch(manager)
        async with running(manager):
            ...  # create sites, and wait for what is to come of them
        budget.check(requests=3, writes=3, objects={"sites": 2, "deployments": 2}, object_bytes={"sites": 2000})

With the fixture `kinformer_budget`, the limits stand in a mark, and the test fails at its end if they do not hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client
from kinformer.client.wrapping import WrappedTransport
from kinformer.models import encode

if TYPE_CHECKING:
    from kinformer.manager import Manager, Requeue, Sync

__all__ = ("Budget",)

_READS = frozenset({"GET", "HEAD", "OPTIONS"})

#: The requests of the sync that runs in this context, as "METHOD path".
_requests: ContextVar[list[str] | None] = ContextVar("kinformer_budget", default=None)


class Budget:
    """
    Measures what the controllers of one manager cost: the requests of each sync, and the objects in their caches.

    It counts nothing that depends on the machine, so its figures are the same everywhere. Requests outside syncs, such
    as those that record Events, are not counted.
    """

    def __init__(self) -> None:
        #: The sync with the most requests, in words, with its requests. Then the same of the sync with the most writes.
        self._most: tuple[str, list[str]] = ("", [])
        self._most_writes: tuple[str, list[str]] = ("", [])
        self._held: dict[str, _Held] = {}
        self._counts = self._watches = False

    def client(self, client: Client) -> Client:
        """The client for the manager. It counts the requests of syncs, and not those of informers."""
        self._counts = True
        return client.through(_Counted)

    def watch(self, manager: Manager) -> None:
        """Measure a manager that was made with :meth:`client`. Call this once, before the manager runs."""
        from kinformer.manager.checks import parts_of

        self._watches = True
        for runnable in manager.controllers.values():
            for controller in parts_of(runnable):
                controller.wrap_sync(partial(self._measured, controller.name))
        for informer in manager.inspector.informers.informers.values():
            self._held[informer.name] = held = _Held(informer)
            informer.add_event_handler(held)

    def check(
        self,
        *,
        requests: int | None = None,
        writes: int | None = None,
        objects: Mapping[str, int] | None = None,
        object_bytes: Mapping[str, int] | None = None,
    ) -> None:
        """
        Compare what was measured with what is allowed. None: there is no limit.

        :param requests: how many requests a sync may make
        :param writes: how many of them may change something
        :param objects: how many objects each informer may hold at a time, by its name, such as ``deployments``. An
            informer without a name here may hold none
        :param object_bytes: how many bytes an object of an informer may have on average, as JSON. It shows whether an
            informer holds whole objects, or only the parts that a transformer keeps, or only metadata
        :raises AssertionError: if something costs more; the message names all that does. Also if nothing was measured
        """
        assert self._watches, "nothing was measured: call budget.watch(manager) before the manager runs"
        assert self._counts, "no requests were counted: make the manager with budget.client(client)"
        told = []
        for limit, what, (sync, made) in (
            (requests, "requests", self._most),
            (writes, "writes", self._most_writes),
        ):
            if limit is not None and len(made) > limit:
                told.append(f"{sync} made {len(made)} {what}, the budget is {limit}: {_listed(made)}")
        for name, held in self._held.items():
            if objects is not None and held.most > objects.get(name, 0):
                told.append(f"the informer of {name} held {held.most} objects, the budget is {objects.get(name, 0)}")
            limit = (object_bytes or {}).get(name)
            if limit is not None and held.mean_bytes > limit:
                told.append(f"an object of {name} has {held.mean_bytes} bytes on average, the budget is {limit}")
        if unknown := sorted({*(objects or ()), *(object_bytes or ())} - {*self._held}):
            told.append(f"there is no informer of {', '.join(unknown)}: want one of {', '.join(sorted(self._held))}")
        assert not told, "\n".join(told)

    def _measured(self, controller: str, sync: Sync) -> Sync:
        async def measured(key: str) -> Requeue:
            made: list[str] = []
            token = _requests.set(made)
            try:
                return await sync(key)
            finally:
                _requests.reset(token)
                called = f"a sync of {key} by {controller}"
                written = [request for request in made if request.partition(" ")[0] not in _READS]
                self._most = max(self._most, (called, made), key=lambda found: len(found[1]))
                self._most_writes = max(self._most_writes, (called, written), key=lambda found: len(found[1]))

        return measured


def _listed(requests: list[str]) -> str:
    times = Counter(requests)
    return ", ".join(f"{request} ({count} times)" if count > 1 else request for request, count in times.items())


class _Counted(WrappedTransport):
    """A transport that notes the requests of syncs."""

    async def request(self, method: str, path: str, **request: Any) -> bytes:
        """See :meth:`Transport.request`."""
        if (made := _requests.get()) is not None:
            made.append(f"{method} {path}")
        return await self._transport.request(method, path, **request)


class _Held:
    """An event handler that measures what an informer holds."""

    def __init__(self, informer: SharedIndexInformer[Any]) -> None:
        self._informer = informer
        self._bytes = self._seen = 0
        self.most = 0

    def on_add(self, obj: Any, is_in_initial_list: bool, /) -> None:
        self._look(obj)

    def on_update(self, old: Any, new: Any, /) -> None:
        self._look(new)

    def on_delete(self, obj: Any, /) -> None:
        """Nothing is measured: fewer objects cost less."""

    def _look(self, obj: Any) -> None:
        self._bytes += len(encode(obj))
        self._seen += 1
        self.most = max(self.most, len(self._informer.indexer))

    @property
    def mean_bytes(self) -> int:
        """The mean size of the versions that it has held."""
        return round(self._bytes / self._seen) if self._seen else 0
