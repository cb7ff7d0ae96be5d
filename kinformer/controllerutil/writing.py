"""Writes that depend on the current state: :func:`create_or_update`, the status, and :func:`retry_on_conflict`.

In: an object, and how it should be. Out: the object as the server has it then. Nothing is sent if nothing has changed,
and nothing is ever written to another object of the same name. For objects that only the operator writes, server-side
apply (:class:`~kinformer.controllerutil.applying.Applier`) is better.

A sync lets a :exc:`~kinformer.client.Conflict` leave it: the controller syncs the key again later.
:func:`retry_on_conflict` is for code without a controller: a script, a test, a webhook, a migration.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, TypeVar, get_args

import msgspec

from kinformer.arguments import want_plain_function
from kinformer.backoff import Backoff
from kinformer.client import Client, Conflict, DeleteOptions, NotFound, Preconditions, Resource
from kinformer.client.errors import ApiError
from kinformer.clock import Clock, RealClock
from kinformer.controllerutil.applying import Outcome, Written, changed_fields, equal
from kinformer.manager import SyncError
from kinformer.meta import accessor_of
from kinformer.models import Model, OpenStruct, misfits, unknown_fields

__all__ = (
    "ObjectReplaced",
    "create_or_update",
    "delete_same",
    "retry_on_conflict",
    "update_status_if_changed",
    "write_status",
)

T = TypeVar("T")
S = TypeVar("S")


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    tries: int = 5,
    initial: float = 0.01,
    factor: float = 1.0,
    jitter: float = 0.1,
    clock: Clock | None = None,
) -> T:
    """
    Call `attempt` until it does not raise a conflict, and return its result (client-go's ``RetryOnConflict``).

    Each call must read the object again, change it, and write it::

        async def scale() -> None:
            app = await apps.get("shop", "default")
            app.spec.replicas += 1
            await apps.update(app)

        await retry_on_conflict(scale)

    The defaults are those of client-go's ``DefaultRetry``.

    :param tries: how often `attempt` is called at most
    :param initial: seconds to wait before the second try
    :param factor: each wait is this many times as long as the one before
    :param jitter: the largest share of a wait that is added at random
    :raises Conflict: the last one, if all tries raised a conflict
    :raises ValueError: if `tries` is less than 1
    """
    if tries < 1:
        raise ValueError(f"tries is {tries}: want at least 1")
    clock = clock or RealClock()
    backoff = Backoff(initial, float("inf"), factor, jitter, reset_after=None, clock=clock)
    for _ in range(tries - 1):
        try:
            return await attempt()
        except Conflict:
            await clock.sleep(backoff.next())
    return await attempt()


async def create_or_update(client: Client, obj: T, mutate: Callable[[T], None]) -> Written[T]:
    """
    Create an object if it does not exist, or update it if `mutate` changes it.

    ::

        def set_data(found: V1ConfigMap) -> None:
            found.data = {**(found.data or {}), "host": "shop.example.com"}

        config = V1ConfigMap(metadata=V1ObjectMeta(name="shop", namespace="default"))
        written = await create_or_update(client, config, set_data)

    :param client: for the requests
    :param obj: has the name and namespace of the object. A new object is made from it. It is not changed
    :param mutate: gets a copy of the server's object, or of `obj` if there is none, and changes it in place. It must
        give the same result if it is called again
    :raises Conflict: if another client wrote the object in between. In a sync, let this exception propagate; elsewhere
        use :func:`retry_on_conflict`
    :raises AlreadyExists: if another client created the object in between
    :raises ValueError: if `mutate` changes the name or the namespace
    """
    want_plain_function(mutate, 1, "mutate", "a plain function that changes the object that it is given")
    resource: Resource[Any] = await client.resource_for_object(obj)
    accessor = accessor_of(obj)
    name = accessor.object_name(obj)
    try:
        found = await resource.get(name.name, name.namespace)
    except NotFound:
        return Written(await resource.create(_mutated(obj, mutate)), Outcome.CREATED)
    wanted = _mutated(found, mutate)
    if equal(wanted, found):
        return Written(found, Outcome.UNCHANGED)
    written = await resource.update(wanted)
    if accessor.resource_version(written) == accessor.resource_version(found):
        # The server did not store anything: it has normalised the change away.
        return Written(written, Outcome.UNCHANGED)
    return Written(written, Outcome.UPDATED, changed_fields(found, written))


def _mutated(obj: T, mutate: Callable[[T], None]) -> T:
    changed = copy.deepcopy(obj)
    mutate(changed)
    accessor = accessor_of(changed)
    if accessor.object_name(changed) != accessor.object_name(obj):
        raise ValueError(f"{accessor.key(obj)} was renamed {accessor.key(changed)}: an object keeps its name")
    return changed


async def delete_same(resource: Resource[T], obj: T, *, unchanged: bool = False) -> bool:
    """
    Delete an object, but not another one that has its name now.

    :param obj: the object, as it was read
    :param unchanged: delete it only if it has not changed since it was read
    :return: whether the server has accepted the deletion; False if the object is gone, or has changed
    :raises ClientError: if the server refuses the deletion for another reason
    """
    accessor = accessor_of(obj)
    version = accessor.resource_version(obj) if unchanged else None
    same = Preconditions(uid=accessor.uid(obj), resource_version=version)
    try:
        await resource.delete(accessor.name(obj), accessor.namespace(obj), DeleteOptions(preconditions=same))
    except (NotFound, Conflict):
        return False
    return True


class ObjectReplaced(SyncError):
    """The object is gone, and another object has its name."""


async def update_status_if_changed(client: Client, obj: T, status: Any) -> T:
    """
    Write a status if it differs from the object's status, and return the new object.

    If the status is the same, there is no request, so a sync can call this each time. If the object has changed in
    between and its status has not, the status is written all the same. A status that `obj` does not show is never
    overwritten, because the new one may follow from the old one: a count, or the conditions of another controller. The
    status is never written to another object of the same name.

    :param obj: a model or a custom resource from the cache; it is not changed
    :param status: the new status
    :raises Conflict: if the server has a status that `obj` does not show, or if others wrote in between twice. Let this
        exception leave the sync: the key is then synced again, with a newer object
    :raises ObjectReplaced: if another object has the name now
    :raises NotFound: if the object is gone
    :raises TypeError: if the type of the object has no status, or another type of status than this one
    """
    kind: Any = type(obj)
    _check_status(kind, status)
    resource = await client.resource_for_object(obj)
    try:
        return await write_status(resource, obj, status, retries=0)
    except Conflict:
        fresh: Any = await _fresh(resource, obj, accessor_of(obj).uid(obj))
        if not (equal(fresh.status, obj.status) or equal(fresh.status, status)):  # type: ignore[attr-defined]  # _check_status has seen it
            raise
    return await write_status(resource, fresh, status, retries=0)


def _check_status(type_: Any, status: Any) -> None:
    wanted = _status_type(type_)
    if wanted is type(None):
        raise TypeError(f"{type_.__qualname__} has no status: want CustomResource[Spec, Status] with a class for it")
    if isinstance(status, dict):
        if unknown := unknown_fields(type_, {"status": status}):
            raise TypeError(f"{type_.__qualname__} has no field {', '.join(unknown)}")
        if wrong := misfits(type_, {"status": status}):
            raise TypeError(f"{type_.__qualname__}: {'; '.join(map(str, wrong))}")
    elif wanted is not None and not isinstance(status, wanted):
        raise TypeError(
            f"the status of a {type_.__qualname__} is {type(status).__qualname__}: want {wanted.__qualname__}"
        )


@cache
def _status_type(type_: type[Any]) -> type[Any] | None:
    """The Struct of a kind's status; NoneType if it has no status; None if its type is not known here."""
    types = {field.name: field.type for field in msgspec.structs.fields(type_)}
    if issubclass(type_, Model) and "status" in types:
        return None
    found = types.get("status", type(None))
    options = [option for option in get_args(found) or (found,) if option is not type(None)]
    if not options:
        return type(None)
    (first, *others) = options
    return first if not others and isinstance(first, type) and issubclass(first, (msgspec.Struct, OpenStruct)) else None


async def write_status(
    resource: Resource[T],
    obj: T,
    status: S,
    *,
    same: Callable[[Any, S], bool] | None = None,
    rebase: Callable[[T, S], S] | None = None,
    retries: int = 1,
) -> T:
    """
    Write a status if it differs from the object's status, and return the new object.

    If the server refuses the write, the object is read again and the write is repeated.

    :param resource: for the requests
    :param obj: the object; it is not changed
    :param status: the new status
    :param same: whether the object's status (None if it has none) and the new one count as equal; None: if they are the
        same JSON
    :param rebase: computes the new status for the object that was read again; None: the status stays the same
    :param retries: how often the write is repeated at most
    :raises ObjectReplaced: if another object has the name now
    :raises ClientError: if the last write is refused, or the object cannot be read again (NotFound: it is gone)
    """
    current = obj.status  # type: ignore[attr-defined]  # callers pass kinds that have a status
    if (same or equal)(current, status):
        return obj
    uid = accessor_of(obj).uid(obj)
    for retries_left in range(retries, -1, -1):
        written = copy.copy(obj)
        written.status = status  # type: ignore[attr-defined]  # callers pass kinds that have a status
        try:
            return await resource.update_status(written)
        except ApiError:
            if not retries_left:
                raise
        obj = await _fresh(resource, obj, uid)
        if rebase is not None:
            status = rebase(obj, status)
    raise AssertionError("the last try returns or raises")


async def _fresh(resource: Resource[T], obj: T, uid: str) -> T:
    accessor = accessor_of(obj)
    fresh = await resource.get(accessor.name(obj), accessor.namespace(obj))
    if (found := accessor.uid(fresh)) != uid:
        raise ObjectReplaced(f"{accessor.key(obj)} was deleted and created again: got uid {found}, want {uid}")
    return fresh
