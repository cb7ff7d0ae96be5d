"""Objects made and removed by the dozen, with what their owner then expects to see.

:func:`write_children` sets the expectations before the first write, so that whatever the watch shows meanwhile is
crossed off, and takes back what did not come about. Each object that is made may differ: what is passed for each is the
object itself, or a node, an index, an ordinal to make it from. Errors are returned: a controller has its status to
write before it raises.
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
    :param created: how many were made
    :param deleted: how many are gone, those that were gone already included
    :param errors: what kept others from it, creations first
    """

    created: int = 0
    deleted: int = 0
    errors: tuple[Exception, ...] = ()

    @property
    def error(self) -> Exception | None:
        """The first error, None if all went well."""
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
    Create all of `creations`, in batches that grow while they succeed, then delete all of `deletions`, all at once.

    That the namespace is on its way out is no error of a create: none will succeed any more, and the owner goes next.
    Nor is it one of a delete that what is to go has gone.

    :param create: creates one; raises what the server refused
    :param delete: deletes one
    :param key_of: what identifies what is deleted, so that its end is crossed off once though it is seen twice; if
        None, deletions are counted
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
        except Exception as error:  # whatever it is, it is the caller's answer
            expectations.deletion_observed(owner, "" if keys is None else keys[index])
            if not isinstance(error, NotFound):
                errors.append(error)
                return
        deleted += 1

    if creations:
        created, error = await slow_start(creations, create_one)
        # What was not made will not be seen either.
        expectations.lower(owner, creations=len(creations) - created)
        if error is not None:
            errors.append(error)
    if deletions:
        async with anyio.create_task_group() as tasks:
            for index in range(len(deletions)):
                tasks.start_soon(delete_one, index)
    return Written(created, deleted, tuple(errors))
