"""Pager: reads a list page by page and joins the pages, as client-go's ``tools/pager`` does.

A server can give a long list in pages. Each page has a token to ask for the next one. All pages show the same version
of the list. If the server has forgotten that version before the last page is read, everything is listed in one request.
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

#: Number of objects in a page.
DEFAULT_PAGE_SIZE = 500

#: The greatest number of objects in one list. No API server has room for more, so a longer list has no end.
DEFAULT_MAX_OBJECTS = 10_000_000


@dataclass(slots=True)
class PagedList(Generic[T]):
    """
    A complete list.

    :param resource_version: the version of the list; the server may have answered from a newer state
    :param paginated: whether the server gave it in more than one page
    :param left_out: the objects that do not decode
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
    *,
    begin: Callable[[], object],
) -> PagedList[T]:
    """
    List everything.

    :param resource_version: the version to list at, as in :class:`~kinformer.client.types.ListOptions`
    :param page_size: how many objects to ask for at once; 0 for all
    :param accept: called with each object as soon as it arrives; objects for which it returns False are left out
    :param max_objects: the greatest number of objects in a list
    :param begin: called at the start, and when the list starts again: what `accept` has had before is not in it then
    :raises EndlessList: if there are more objects, or a page refers to itself as the next one
    :raises ClientError: if the server refuses or cannot be reached
    """
    items: list[T] = []
    left_out: list[Undecodable] = []
    version = token = ""
    begin()
    while True:
        # The token stands for the version as well; the server refuses both together.
        options = ListOptions(resource_version="" if token else resource_version, limit=page_size, continue_token=token)
        try:
            page = await list_accepting(lister_watcher, options, accept)
        except ClientError as error:
            if not (token and isinstance(error, Expired)):
                raise
            begin()
            whole = await list_accepting(lister_watcher, ListOptions(resource_version=resource_version), accept)
            return PagedList(whole.items, whole.resource_version, paginated=True, left_out=whole.left_out)
        items.extend(page.items)
        left_out.extend(page.left_out)
        if len(items) > max_objects:
            raise EndlessList(f"the list has more than {max_objects} objects")
        # The version of the first page counts. A server may answer a later page from a newer state, not from an older.
        version = version or page.resource_version
        if not page.continue_token:
            return PagedList(items, version, paginated=bool(token), left_out=left_out)
        if page.continue_token == token:
            raise EndlessList("a page refers to itself as the next one")
        token = page.continue_token
