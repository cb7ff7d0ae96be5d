"""Related objects: objects that name the objects of a reconciler, objects that they name, and objects that they own.

A reconciler declares them as it declares what it owns::

    class Backups(Reconciler[Backup]):
        name = "backup-operator"
        jobs = Related(V1Job, lambda job: [(job.metadata.labels or {}).get("backup")])
        secrets = Referred(V1Secret, lambda backup: [backup.spec.secret_name], metadata=True)
        claims = Owned(V1PersistentVolumeClaim)

When a Job, a Secret or a claim changes, the Backups that belong to it are reconciled. ``self.jobs.of(backup)``,
``self.secrets.of(backup)`` and so on are the objects themselves, from the cache, by an index. The permissions to
follow them are among those of the reconciler.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar, overload

from kinformer.arguments import want_several
from kinformer.cache import SharedIndexInformer
from kinformer.manager import ControllerContext, KeysOf, owner_keys
from kinformer.meta import GroupKind, accessor_for, get_controller_of
from kinformer.models import PartialObjectMetadata, resource_for

__all__ = ("Found", "Owned", "Referred", "Related", "Relation")

S = TypeVar("S")

#: The names of objects that an object belongs to. Empty names and None are left out. A name without a namespace
#: (``NAME`` instead of ``NAMESPACE/NAME``) stands for the namespace of the object.
Names = Iterable[str | None]


@dataclass(frozen=True, slots=True)
class Found(Generic[S]):
    """
    The related objects of one reconciler.

    :param informer: their informer
    :param of: returns the related objects of one reconciled object, from the cache. Do not change them
    :param keys_of: returns the keys of the reconciled objects that one of them belongs to
    """

    informer: SharedIndexInformer[S]
    of: Callable[[Any], list[S]]
    keys_of: KeysOf


class Relation(ABC, Generic[S]):
    """
    The base of :class:`Related`, :class:`Referred` and :class:`Owned`.

    :param type_: the type of the objects: a model or a custom resource
    :param metadata: hold their metadata only, in objects of the type ``PartialObjectMetadata``
    """

    def __init__(self, type_: type[Any], names_of: Callable[[Any], Names], *, metadata: bool = False) -> None:
        self.type = type_
        self._names_of = names_of
        self._metadata = metadata
        self._name = self._index_name = ""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name, self._index_name = name, f"{owner.__qualname__}.{name}"

    @overload
    def __get__(self, reconciler: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, reconciler: object, owner: type[Any]) -> Found[S]: ...
    def __get__(self, reconciler: Any, owner: type[Any]) -> Any:
        return self if reconciler is None else reconciler.related[self._name]

    def found(self, context: ControllerContext, objects: SharedIndexInformer[Any], type_: type[Any]) -> Found[S]:
        """
        Set up the informer and the index.

        :param objects: the informer of the reconciled objects
        :param type_: their type
        """
        informers = context.informers
        informer: Any = (
            informers.metadata_informer_for(self.type) if self._metadata else informers.informer_for(self.type)
        )
        return self._indexed(informer, objects, type_)

    @abstractmethod
    def _indexed(
        self, informer: SharedIndexInformer[S], objects: SharedIndexInformer[Any], type_: type[Any]
    ) -> Found[S]: ...

    def _keys(self, obj: Any, namespaced: bool) -> Iterator[str]:
        """The keys of what an object names."""
        namespace = accessor_for(type(obj)).namespace(obj) if namespaced else ""
        names = self._names_of(obj)
        want_several(
            names, f"what {self._index_name} returns", "a list of names, as in lambda job: [job.metadata.name]"
        )
        for name in names:
            if name:
                yield f"{namespace}/{name}" if namespace and "/" not in name else name

    def _index(self, informer: SharedIndexInformer[Any], namespaced: bool) -> str:
        informer.indexer.add_indexers({self._index_name: lambda obj: list(self._keys(obj, namespaced))})
        return self._index_name


class Related(Relation[S]):
    """
    Objects that name the reconciled objects, in a label or a field: ``Related(V1Job, lambda job: […])``.

    :param type_: the type of the objects: a model or a custom resource
    :param names_of: returns the names of the reconciled objects that one of them belongs to: ``NAME``, in the same
        namespace, or ``NAMESPACE/NAME``. Empty names and None are left out
    :param metadata: hold their metadata only
    """

    @overload
    def __init__(
        self: Related[PartialObjectMetadata],
        type_: type[Any],
        names_of: Callable[[PartialObjectMetadata], Names],
        *,
        metadata: Literal[True],
    ) -> None: ...
    @overload
    def __init__(self, type_: type[S], names_of: Callable[[S], Names], *, metadata: Literal[False] = ...) -> None: ...
    def __init__(self, type_: type[Any], names_of: Callable[[Any], Names], *, metadata: bool = False) -> None:
        super().__init__(type_, names_of, metadata=metadata)

    def _indexed(
        self, informer: SharedIndexInformer[S], objects: SharedIndexInformer[Any], type_: type[Any]
    ) -> Found[S]:
        namespaced = resource_for(type_).namespaced
        index, indexer = self._index(informer, namespaced), informer.indexer
        return Found(
            informer,
            lambda obj: indexer.by_index(index, accessor_for(type_).key(obj)),
            lambda other: list(self._keys(other, namespaced)),
        )


class Referred(Relation[S]):
    """
    Objects that the reconciled objects name, such as a Secret: ``Referred(V1Secret, lambda backup: […])``.

    :param type_: the type of the objects: a model or a custom resource
    :param names_of: returns the names that a reconciled object has for them: ``NAME``, in the same namespace, or
        ``NAMESPACE/NAME``. Empty names and None are left out
    :param metadata: hold their metadata only
    """

    @overload
    def __init__(
        self: Referred[PartialObjectMetadata],
        type_: type[Any],
        names_of: Callable[[Any], Names],
        *,
        metadata: Literal[True],
    ) -> None: ...
    @overload
    def __init__(self, type_: type[S], names_of: Callable[[Any], Names], *, metadata: Literal[False] = ...) -> None: ...
    def __init__(self, type_: type[Any], names_of: Callable[[Any], Names], *, metadata: bool = False) -> None:
        super().__init__(type_, names_of, metadata=metadata)

    def _indexed(
        self, informer: SharedIndexInformer[S], objects: SharedIndexInformer[Any], type_: type[Any]
    ) -> Found[S]:
        namespaced = resource_for(self.type).namespaced
        index, indexer = self._index(objects, namespaced), informer.indexer

        def of(obj: Any) -> list[S]:
            found = (indexer.get_by_key(key) for key in self._keys(obj, namespaced))
            return [one for one in found if one is not None]

        return Found(
            informer, of, lambda other: objects.indexer.index_keys(index, accessor_for(type(other)).key(other))
        )


class Owned(Relation[S]):
    """
    Objects whose controller is a reconciled object: ``Owned(V1Job)``. It is found by its uid: an object that was made
    anew under a name has none of its predecessor's.

    To make them with ``Applier.ensure_owned``, also name their type in ``owns``, for the permissions to apply them. To
    make or delete them otherwise, declare that in ``needs``.

    :param type_: the type of the objects: a model or a custom resource
    :param metadata: hold their metadata only
    """

    @overload
    def __init__(self: Owned[PartialObjectMetadata], type_: type[Any], *, metadata: Literal[True]) -> None: ...
    @overload
    def __init__(self, type_: type[S], *, metadata: Literal[False] = ...) -> None: ...
    def __init__(self, type_: type[Any], *, metadata: bool = False) -> None:
        super().__init__(type_, _controller_uid, metadata=metadata)

    def _indexed(
        self, informer: SharedIndexInformer[S], objects: SharedIndexInformer[Any], type_: type[Any]
    ) -> Found[S]:
        owner = resource_for(type_)
        index, indexer = self._index(informer, namespaced=False), informer.indexer
        return Found(
            informer,
            lambda obj: indexer.by_index(index, accessor_for(type_).uid(obj)),
            owner_keys(GroupKind(owner.group, owner.kind), namespaced=owner.namespaced),
        )


def _controller_uid(obj: Any) -> Names:
    reference = get_controller_of(obj)
    return [reference.uid] if reference is not None else []
