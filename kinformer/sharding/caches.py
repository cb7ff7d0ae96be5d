"""InformerCaches: makes every informer of a factory hold the objects of this member's ranges, and no others.

An object in a namespace is in the range of its namespace. Objects without a namespace, such as Nodes, are held by every
member, because the controllers of Pods and DaemonSets need all of them. Kinds whose objects are independent can be
divided by their uid.

Where objects are divided by their owner, so that a namespace can be divided, the text that is hashed is:

- the object's own uid, if it is of a type that owns others and that a controller syncs: a ReplicaSet, a Job;
- otherwise the uid of its controller: a Pod is in the range of its ReplicaSet;
- nothing, if it has none: every member holds it, because any owner may adopt it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, TypeVar

import anyio

from kinformer.cache.division import DividedInformer, Division
from kinformer.cache.listwatch import ListerWatcher, ListWatch
from kinformer.client.heads import Wanted
from kinformer.client.types import Undecodable
from kinformer.meta import accessor_for, get_controller_of
from kinformer.sharding.gate import RangeGate
from kinformer.sharding.hashing import Ranges, text_of_key
from kinformer.sharding.narrowing import RangesListWatch
from kinformer.sharding.others import Others

__all__ = ("InformerCaches",)

T = TypeVar("T")


class InformerCaches(Division):
    """
    :param by_uid: the types of objects that are divided by uid. The keys of their controllers must begin with the uid.
    """

    def __init__(self, ranges: Ranges, by_uid: Collection[type[Any]] = ()) -> None:
        self._ranges = ranges
        self._by_uid = frozenset(by_uid)
        #: The types of objects that own others and that a controller syncs; used where objects are divided by owner.
        self.owners: frozenset[type[Any]] = frozenset()
        self._held: frozenset[int] = frozenset()
        self._gate: RangeGate | None = None
        self._parts: list[RangesListWatch[Any]] = []
        self._informers: dict[RangesListWatch[Any], DividedInformer] = {}
        #: What their watches decode. They remember answers, which are others after each change of the ranges.
        self._wanted: list[Wanted] = []
        #: Those of them whose objects are divided.
        self._divided: set[RangesListWatch[Any]] = set()
        self._shrunk = False
        self._stored = anyio.Event()

    # --- called by the factory

    @property
    def gate(self) -> RangeGate:
        assert self._gate is not None, "a member sets it before informers are made"
        return self._gate

    @gate.setter
    def gate(self, gate: RangeGate) -> None:
        self._gate = gate

    def narrowed(self, lister_watcher: ListerWatcher[T], type_: type[T], *, namespaced: bool) -> ListerWatcher[T]:
        divided = namespaced or type_ in self._by_uid
        moves = namespaced and self._ranges.by_owner and type_ not in self._by_uid
        moving = accessor_for(type_).uid if moves else None
        part = RangesListWatch(lister_watcher, self._is_ours_of(type_, namespaced), self._on_stored, moving)
        if divided and isinstance(lister_watcher, ListWatch) and lister_watcher.wanted is None:
            wanted = self._wanted_of(type_, part.passed)
            self._wanted.append(wanted)
            part.inner = replace(lister_watcher, wanted=wanted)
            if wanted.by_namespace is not None and not lister_watcher.namespace:
                of = self._ranges.of
                part.others = Others(lambda namespace: of(namespace) in self._held, wanted.left_out)
        self._parts.append(part)
        if divided:
            self._divided.add(part)
        if self._held:
            part.changed(added=True)
        return part

    def add_informer(self, informer: DividedInformer) -> None:
        for part in informer.lister_watchers:
            assert isinstance(part, RangesListWatch)
            self._informers[part] = informer

    def _wanted_of(self, type_: type[Any], passed: set[str] | None) -> Wanted:
        of = self._ranges.of
        if type_ in self._by_uid:
            return Wanted(lambda namespace, uid, owner: of(uid) in self._held)
        if passed is None:
            return Wanted(lambda namespace, uid, owner: of(namespace) in self._held, by_namespace=True)

        def accepts(namespace: str, uid: str, owner: str) -> bool:
            if type_ in self.owners:
                return of(uid) in self._held
            if not owner or of(owner) in self._held:
                # Noted here, too: many lines are looked at before the first of their events is.
                passed.add(uid)
                return True
            return uid in passed

        return Wanted(accepts, by_owner=True)

    def _is_ours_of(self, type_: type[T], namespaced: bool) -> Callable[[T | Undecodable], bool]:
        accessor, of = accessor_for(type_), self._ranges.of
        text: Callable[[T], str] = accessor.namespace
        if type_ in self._by_uid:
            text = accessor.uid
        elif not namespaced:
            return lambda _: True
        elif self._ranges.by_owner:
            return self._is_our_owners_of(type_)

        def is_ours(obj: T | Undecodable) -> bool:
            found = text_of_key(obj.key) if isinstance(obj, Undecodable) else text(obj)
            return of(found) in self._held

        return is_ours

    def _is_our_owners_of(self, type_: type[T]) -> Callable[[T | Undecodable], bool]:
        uid_of, of = accessor_for(type_).uid, self._ranges.of

        def is_ours(obj: T | Undecodable) -> bool:
            if isinstance(obj, Undecodable):
                return True  # whose it is cannot be told
            if type_ in self.owners:
                return of(uid_of(obj)) in self._held
            controller = get_controller_of(obj)
            return controller is None or of(controller.uid) in self._held

        return is_ours

    # --- called by the member

    @property
    def objects(self) -> int:
        divided = {informer for part, informer in self._informers.items() if part in self._divided}
        return sum(len(informer.indexer) for informer in divided)

    def hold(self, numbers: frozenset[int]) -> None:
        added = not numbers <= self._held
        self._shrunk = self._shrunk or not numbers >= self._held
        self._held = numbers
        for wanted in self._wanted:
            wanted.forget()
        for part in self._parts:
            part.changed(added=added)
        self._on_stored()

    async def wait_filled(self) -> None:
        while True:
            stored = self._stored
            if self._shrunk:
                self._shrunk = False
                await self._forget()
            if all(part.is_complete for part, informer in self._informers.items() if _runs(informer)):
                return
            await stored.wait()

    async def _forget(self) -> None:
        for part, informer in tuple(self._informers.items()):
            is_ours = part.is_ours
            await informer.forget(lambda obj, is_ours=is_ours: not is_ours(obj))  # type: ignore[misc]  # mypy infers no types for a lambda with a default

    def _on_stored(self) -> None:
        stored, self._stored = self._stored, anyio.Event()
        stored.set()


def _runs(informer: DividedInformer) -> bool:
    # An informer that starts later lists what is held by then, and its controllers wait for that.
    return informer.is_started and not informer.is_stopped
