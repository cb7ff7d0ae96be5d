"""MutationDetector: detects code that changes objects of a cache, which are shared and must not be changed.

With ``KUBE_CACHE_MUTATION_DETECTOR=true`` in the environment, an informer keeps a deep copy of each object that it
hands out. It compares object and copy every second for two to four minutes, and once more when it stops. A difference
is a bug in a handler or in a user of a lister. :exc:`CacheMutatedError` names the object and the changed fields, and
ends the informer, because nothing that was read from the cache can be trusted any more. The detector doubles the memory
and takes much time. It is meant for tests and for the search for bugs, not for production.

Reading an object does not count as changing it. Some fields are decoded only when they are read: those of models and of
dicts, and :class:`msgspec.Raw` in a user's Structs. These are compared by their meaning.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from anyio.lowlevel import checkpoint

from kinformer.cache.keys import DeletedFinalStateUnknown, ObjectKeyError, meta_namespace_key_func
from kinformer.cache.switches import is_switched_on
from kinformer.clock import Clock, RealClock
from kinformer.logs import get_logger
from kinformer.models import LazyDict, Model, OpenStruct

__all__ = (
    "CacheMutatedError",
    "CacheMutationDetector",
    "Mutation",
    "MutationDetector",
    "NoMutationDetector",
    "differences",
    "new_mutation_detector",
)

log = get_logger(__name__)

_ENABLED_BY = "KUBE_CACHE_MUTATION_DETECTOR"

# Number of objects compared before the event loop has its turn: about 5 ms.
_SLICE = 200

_ABSENT = object()

_WITH_PARTS = (msgspec.Struct, OpenStruct, Mapping, list, tuple)


@dataclass(frozen=True, slots=True)
class Mutation:
    """
    An object of a cache that was changed.

    :param cache: the detector's name, which is the informer's
    :param key: the object's key
    :param obj: the object as it is now
    :param changes: the changed places, such as ``.metadata.labels["app"] was changed``. The values are left out: they
        may be secret, and this text goes into logs.
    """

    cache: str
    key: str
    obj: object
    changes: Sequence[str]

    def __str__(self) -> str:
        return f"cache {self.cache} modified: {type(self.obj).__name__} {self.key}: {'; '.join(self.changes)}"


class CacheMutatedError(RuntimeError):
    """
    Objects of a cache were changed.

    :ivar mutations: the changed objects and their changes
    """

    def __init__(self, mutations: Sequence[Mutation]):
        super().__init__("\n".join(map(str, mutations)))
        self.mutations = mutations


class MutationDetector(Protocol):
    """Watches objects for changes, for some time."""

    @property
    def enabled(self) -> bool:
        """Whether it watches at all. If not, there is no need to call it."""

    def add_object(self, obj: object) -> None:
        """Watch this object from now on. It must still be as the server sent it."""

    async def run(self) -> None:
        """Compare until cancelled."""


class NoMutationDetector:
    """A detector that watches nothing."""

    enabled = False

    def add_object(self, obj: object) -> None:
        """Do nothing."""

    async def run(self) -> None:
        """Return at once."""


def new_mutation_detector(
    name: str, *, on_mutation: Callable[[Mutation], object] | None = None, clock: Clock | None = None
) -> MutationDetector:
    """
    Make a detector if ``KUBE_CACHE_MUTATION_DETECTOR`` is true, else one that does nothing.

    :param name: the cache's name in errors
    :param on_mutation: called with each changed object; by default :meth:`CacheMutationDetector.run` raises
    """
    if not is_switched_on(_ENABLED_BY):
        return NoMutationDetector()
    log.warning("mutation_detector_enabled", cache=name, cost="keeps a copy of every object for minutes")
    return CacheMutationDetector(name, on_mutation=on_mutation, clock=clock)


@dataclass(eq=False, slots=True)
class _Watched:
    obj: object
    copied: object


class CacheMutationDetector:
    """
    Watches objects by comparing them with copies.

    :param name: the cache's name in errors
    :param on_mutation: called with each changed object, once for each change; by default :meth:`run` raises
    :param period: seconds between two comparisons
    :param retain: the least number of seconds for which an object is watched; the greatest is twice that
    """

    enabled = True

    def __init__(
        self,
        name: str,
        *,
        on_mutation: Callable[[Mutation], object] | None = None,
        period: float = 1.0,
        retain: float = 120.0,
        clock: Clock | None = None,
    ):
        self._name = name
        self._on_mutation = on_mutation
        self._period = period
        self._retain = retain
        self._clock = clock or RealClock()
        self._rotated = self._clock.monotonic()
        self._young: list[_Watched] = []
        self._old: list[_Watched] = []

    @property
    def watched(self) -> int:
        """Number of objects that are watched now."""
        return len(self._young) + len(self._old)

    def add_object(self, obj: object) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            return
        try:
            self._young.append(_Watched(obj, _copied(obj)))
        except RecursionError:
            # A dict may be nested too deeply for Python to copy. Handlers must be called for it all the same.
            log.warning("object_not_watched", cache=self._name, reason="it is nested too deeply to be copied")

    def compare_objects(self) -> None:
        """
        Compare all objects now.

        :raises CacheMutatedError: if objects were changed, and there is no `on_mutation`
        """
        self._report([found for watched in self._pairs() if (found := self._compare(watched))])

    async def run(self) -> None:
        """
        Compare until cancelled, and then once more.

        :raises CacheMutatedError: if objects were changed, and there is no `on_mutation`
        """
        try:
            while True:
                self._rotate()
                found = []
                for number, watched in enumerate(self._pairs()):
                    if number % _SLICE == _SLICE - 1:
                        await checkpoint()
                    if mutation := self._compare(watched):
                        found.append(mutation)
                self._report(found)
                await self._clock.sleep(self._period)
        finally:
            self.compare_objects()

    def _pairs(self) -> list[_Watched]:
        return self._old + self._young

    def _rotate(self) -> None:
        now = self._clock.monotonic()
        if now - self._rotated > self._retain:
            self._old, self._young = self._young, []
            self._rotated = now

    def _compare(self, watched: _Watched) -> Mutation | None:
        changes = list(differences(watched.copied, watched.obj))
        if not changes:
            return None
        try:
            key = meta_namespace_key_func(watched.copied)
        except ObjectKeyError:
            key = "without a key"
        watched.copied = _copied(watched.obj)
        return Mutation(self._name, key, watched.obj, changes)

    def _report(self, mutations: Sequence[Mutation]) -> None:
        if not mutations:
            return
        if self._on_mutation is None:
            raise CacheMutatedError(mutations)
        for mutation in mutations:
            self._on_mutation(mutation)


def differences(was: object, now: object, path: str = "") -> Iterator[str]:
    """The places where two objects differ, one line each: ``.spec.containers[0].image was changed``."""
    if isinstance(was, msgspec.Raw) != isinstance(now, msgspec.Raw):
        was, now = _read(was, now), _read(now, was)
    if type(was) is not type(now) or not isinstance(was, _WITH_PARTS):
        if was != now:
            verb = "added" if was is _ABSENT else "removed" if now is _ABSENT else "changed"
            yield f"{path or 'object'} was {verb}"
    elif isinstance(was, OpenStruct) and isinstance(now, OpenStruct):
        yield from differences(was._known, now._known, path)
        yield from differences(was.extra, now.extra, path)
    elif was is now or _surely_equal(was, now):
        return
    elif isinstance(was, msgspec.Struct):
        for name in was.__struct_fields__:
            yield from differences(getattr(was, name), getattr(now, name), f"{path}.{name}")
    elif isinstance(was, LazyDict) and isinstance(now, LazyDict):
        for key in dict.fromkeys([*was, *now]):
            yield from differences(was.look(key, _ABSENT), now.look(key, _ABSENT), f'{path}["{key}"]')
    elif isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in {**was, **now}:
            yield from differences(was.get(key, _ABSENT), now.get(key, _ABSENT), f'{path}["{key}"]')
    elif isinstance(was, Sequence) and isinstance(now, Sequence):
        for number in range(max(len(was), len(now))):
            yield from differences(_item(was, number), _item(now, number), f"{path}[{number}]")


def _copied(obj: object) -> object:
    return obj.twin() if isinstance(obj, LazyDict) else copy.deepcopy(obj)


def _surely_equal(was: object, now: object) -> bool:
    """Quick test for equality: True is certain, False says nothing. Models compare undecoded bytes as bytes."""
    # A user's Struct may define an __eq__ that ignores differences.
    own_eq = type(was).__eq__ is not msgspec.Struct.__eq__ and not isinstance(was, Model)
    return was == now and not (isinstance(was, msgspec.Struct) and own_eq)


def _read(value: object, like: object) -> object:
    """Decode a field that has not been read yet, as the type that the other object's field has."""
    if not isinstance(value, msgspec.Raw):
        return value
    return msgspec.json.decode(value, type=type(like) if isinstance(like, msgspec.Struct) else Any)


def _item(values: Sequence[object], number: int) -> object:
    return values[number] if number < len(values) else _ABSENT
