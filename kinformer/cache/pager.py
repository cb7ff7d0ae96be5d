"""Lists in pages, put together as one: client-go's ``tools/pager``.

A server gives a list of thousands in pages if it is asked to, each with a token for the next. The pages are of one
moment, which the server may have forgotten before the last of them is asked for; then everything is asked for at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kinformer.cache.listwatch import ListerWatcher, list_accepting
from kinformer.client.errors import ClientError, EndlessList, Expired
from kinformer.client.types import ListOptions, Undecodable

__all__ = ("DEFAULT_MAX_OBJECTS", "DEFAULT_PAGE_SIZE", "PagedList", "list_in_pages")

T = TypeVar("T")

#: Objects a page, where a list is read in pages.
DEFAULT_PAGE_SIZE = 500

#: Objects of one list. No API server has room for as many: a list of more has no end.
DEFAULT_MAX_OBJECTS = 10_000_000


@dataclass(slots=True)
class PagedList(Generic[T]):
    """
    Everything there is.

    :param resource_version: the version of the server's state that it is, or is at least
    :param paginated: whether the server gave it in more than one page
    :param left_out: what does not decode
    """

    items: list[T]
    resource_version: str
    paginated: bool
    left_out: list[Undecodable] = field(default_factory=list)


async def list_in_pages(
    lister_watcher: ListerWatcher[T],
    resource_version: str,
    page_size: int,
    accept: Callable[[T], bool],
    max_objects: int = DEFAULT_MAX_OBJECTS,
) -> PagedList[T]:
    """
    List everything.

    :param resource_version: the version that the list is to be of, as :class:`~kinformer.client.types.ListOptions` say
    :param page_size: how many objects to ask for at once; 0 for all
    :param accept: is given each object as soon as it is there; what it says False to is left out
    :param max_objects: a list of more is an error
    :raises EndlessList: if there are more, or a page refers to itself
    :raises ClientError: if the server refuses or cannot be reached
    """
    items: list[T] = []
    left_out: list[Undecodable] = []
    version = token = ""
    while True:
        # The token stands for the version as well; the server refuses both together.
        options = ListOptions(resource_version="" if token else resource_version, limit=page_size, continue_token=token)
        try:
            page = await list_accepting(lister_watcher, options, accept)
        except ClientError as error:
            if not (token and isinstance(error, Expired)):
                raise
            whole = await list_accepting(lister_watcher, ListOptions(resource_version=resource_version), accept)
            return PagedList(whole.items, whole.resource_version, paginated=True, left_out=whole.left_out)
        items.extend(page.items)
        left_out.extend(page.left_out)
        if len(items) > max_objects:
            raise EndlessList(f"more than {max_objects} objects came")
        # The first page's: a server that goes on with what is there now has no older state in a later page.
        version = version or page.resource_version
        if not page.continue_token:
            return PagedList(items, version, paginated=bool(token), left_out=left_out)
        if page.continue_token == token:
            raise EndlessList("a page refers to itself as the next one")
        token = page.continue_token
