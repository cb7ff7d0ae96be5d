"""Creating and deleting many objects of an owner, with its expectations.

:func:`write_children` sets the expectations before the first write, so that events that come during the writes are
counted. It lowers them for each write that failed. The items can be the objects themselves, or nodes, indexes or
ordinals from which the caller makes the objects. Errors are returned, not raised, because a controller writes its
status
before it raises an error.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, TypeVar

import anyio

from kinformer.client.errors import NotFound
from kinformer_controllers.shared.owning.identity import OwnerId
from kinformer_controllers.shared.waiting.expectations import Expectations
from kinformer_controllers.shared.writing.pods import is_namespace_terminating
from kinformer_controllers.shared.writing.slow_start import slow_start

__all__ = ("Written", "write_children")

C = TypeVar("C")
D = TypeVar("D")


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
