"""Many writes of one sync, at the same time.

:func:`slow_start` makes many calls in batches that grow while the calls succeed. If a controller wants 500 pods in a
namespace whose quota is used up, it should be refused once, not 500 times. So the calls are made in batches of 1, 2, 4,
… Each batch starts only if all calls of the one before have succeeded.

:func:`write_children` creates and deletes many objects of an owner, with its expectations. It sets the expectations
before the first write, so that events that come during the writes are counted. It lowers them for each write that
failed. The items can be the objects themselves, or nodes, indexes or ordinals from which the caller makes the objects.

Both return errors, and do not raise them, because a controller writes its status before it raises an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import anyio

from kinformer.client.errors import NotFound
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import OwnerId
from kinformer.controllerutil.pod_control import is_namespace_terminating

__all__ = (
    "SLOW_START_INITIAL_BATCH_SIZE",
    "SlowStart",
    "Written",
    "slow_start",
    "write_children",
)

T = TypeVar("T")
C = TypeVar("C")
D = TypeVar("D")


#: The size of the first batch.
SLOW_START_INITIAL_BATCH_SIZE = 1


class SlowStart(NamedTuple):
    """
    The result of :func:`slow_start`.

    :param successes: the number of calls that succeeded
    :param error: the error of the first call that failed; None if all succeeded
    """

    successes: int
    error: Exception | None


async def slow_start(
    items: Sequence[T],
    call: Callable[[T], Awaitable[object]],
    initial: int = SLOW_START_INITIAL_BATCH_SIZE,
    *,
    most: int | None = None,
) -> SlowStart:
    """
    Await `call` with each item, in their order. The calls of one batch run at the same time.

    After a failure, the other calls of its batch are awaited, and no further batch is started. The error is returned,
    not raised, because the caller needs the number of successes, too.

    :param most: the largest batch; None for no limit
    """
    successes = 0
    errors: list[Exception] = []

    async def one_call(item: T) -> None:
        nonlocal successes
        try:
            await call(item)
        except Exception as error:  # of any type: it is returned to the caller
            errors.append(error)
        else:
            successes += 1

    start, size = 0, initial
    while start < len(items) and not errors:
        batch = items[start : start + size]
        first, *others = batch
        if others:
            async with anyio.create_task_group() as tasks:
                for item in others:
                    tasks.start_soon(one_call, item)
                await one_call(first)  # which needs no task of its own
        else:
            await one_call(first)
        start += size
        size = 2 * size if most is None else min(2 * size, most)
    return SlowStart(successes, errors[0] if errors else None)


class Written(NamedTuple):
    """
    The result of :func:`write_children`.

    :param created: the number of created objects
    :param deleted: the number of deleted objects, including those that were already gone
    :param errors: the errors of the other writes; those of creations come first
    """

    created: int = 0
    deleted: int = 0
    errors: tuple[Exception, ...] = ()

    @property
    def error(self) -> Exception | None:
        """The first error; None if all writes succeeded."""
        return self.errors[0] if self.errors else None


async def write_children(
    expectations: Expectations,
    owner: OwnerId,
    *,
    creations: Sequence[C] = (),
    create: Callable[[C], Awaitable[object]] | None = None,
    deletions: Sequence[D] = (),
    delete: Callable[[D], Awaitable[object]] | None = None,
    key_of: Callable[[D], str] | None = None,
) -> Written:
    """
    Create all of `creations`, in batches that grow while they succeed. Then delete all of `deletions` at the same time.

    A creation that fails because the namespace is being deleted is not an error: the owner will be deleted, too. A
    deletion of an object that is already gone is not an error either.

    :param create: creates one object; raises an error if the server refuses
    :param delete: deletes one object
    :param key_of: returns the key of a deletion's item; then deletions are expected by key. None to count them
    """
    keys = None if key_of is None else [key_of(it) for it in deletions]
    expectations.expect(owner, creations=len(creations), deletions=len(deletions) if keys is None else keys)
    errors: list[Exception] = []
    created = deleted = 0

    async def create_one(item: C) -> None:
        assert create is not None
        try:
            await create(item)
        except Exception as error:
            if not is_namespace_terminating(error):
                raise

    async def delete_one(index: int) -> None:
        nonlocal deleted
        assert delete is not None
        try:
            await delete(deletions[index])
        except Exception as error:  # of any type: it is returned to the caller
            expectations.deletion_observed(owner, "" if keys is None else keys[index])
            if not isinstance(error, NotFound):
                errors.append(error)
                return
        deleted += 1

    if creations:
        created, error = await slow_start(creations, create_one)
        # An object that was not created will not be seen.
        expectations.lower(owner, creations=len(creations) - created)
        if error is not None:
            errors.append(error)
    if deletions:
        async with anyio.create_task_group() as tasks:
            for index in range(len(deletions)):
                tasks.start_soon(delete_one, index)
    return Written(created, deleted, tuple(errors))
