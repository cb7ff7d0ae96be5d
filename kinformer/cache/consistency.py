"""Consistency check: compares each streaming list with a plain one. It is meant for tests of servers.

The check runs if the environment variable ``KUBE_WATCHLIST_INCONSISTENCY_DETECTOR`` is ``true``. After each streaming
list, the reflector then lists at exactly the same version. Both lists must hold the same objects. The check costs one
more list each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from kinformer.cache.listwatch import ListerWatcher, beside
from kinformer.cache.switches import is_switched_on
from kinformer.client.errors import ClientError
from kinformer.client.types import ListOptions
from kinformer.clock import Clock
from kinformer.logs import get_logger
from kinformer.meta import Accessor

__all__ = ("InconsistentList", "check_consistency", "consistency_is_checked")

T = TypeVar("T")

log = get_logger(__name__)

_ENABLED_BY = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"
_RETRY = 1.0


class InconsistentList(RuntimeError):
    """
    A streaming list and a plain list of the same version hold different objects.

    :ivar keys: the keys of objects that only one of the lists holds, or that differ between the lists
    """

    def __init__(self, name: str, keys: Sequence[str]):
        super().__init__(f"data inconsistency detected for {name}: {', '.join(keys)}")
        self.keys = tuple(keys)


def consistency_is_checked() -> bool:
    """Whether the environment variable ``KUBE_WATCHLIST_INCONSISTENCY_DETECTOR`` is true."""
    return is_switched_on(_ENABLED_BY)


async def check_consistency(
    name: str,
    lister_watcher: ListerWatcher[T],
    accessor: Accessor[T],
    streamed: Sequence[T],
    resource_version: str,
    accept: Callable[[T], T | None],
    clock: Clock,
) -> None:
    """
    List at exactly the version of a streaming list, and compare the two. A list that fails is tried again every second.

    :param streamed: the objects of the streaming list, as they were accepted
    :param resource_version: the version of the streaming list; nothing is checked if it is empty or ``0``
    :param accept: what each streamed object has been through: gives the object as it is kept, or None to leave it out
    :raises InconsistentList: if the plain list holds other objects
    """
    if resource_version in ("", "0"):
        return
    log.warning("checking_consistency", reflector=name, resource_version=resource_version)
    options = ListOptions(resource_version=resource_version, resource_version_match="Exact")
    while True:
        try:
            listed = await beside(lister_watcher).list(options)
            break
        except ClientError as error:
            log.warning("consistency_list_failed", reflector=name, error=str(error))
            await clock.sleep(_RETRY)
    want = {accessor.key(kept): kept for obj in listed.items if (kept := accept(obj)) is not None}
    got = {accessor.key(obj): obj for obj in streamed}
    if differing := sorted(key for key in want.keys() | got.keys() if want.get(key) != got.get(key)):
        raise InconsistentList(name, differing)
