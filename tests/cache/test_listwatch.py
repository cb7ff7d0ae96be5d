from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

from kinformer.cache import ListWatch
from kinformer.client.types import ListOptions, ObjectList
from kinformer.meta import shard_selectors


class Resource:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ListOptions]] = []

    async def list(
        self, namespace: str = "", options: ListOptions | None = None, *, leave_out: bool = False
    ) -> ObjectList[Any]:
        assert options is not None
        assert leave_out
        self.asked.append((namespace, options))
        return ObjectList([], "1")

    @asynccontextmanager
    async def watch(
        self,
        namespace: str = "",
        options: ListOptions | None = None,
        *,
        idle_timeout: float | None = None,
        leave_out: bool = False,
        wanted: Any = None,
    ) -> Any:
        assert options is not None
        assert leave_out
        self.asked.append((namespace, options))
        yield iter(())


async def test_everything_that_is_asked_for_is_narrowed_to_what_it_is_about() -> None:
    resource: Any = Resource()
    narrowed: ListWatch[Any] = ListWatch(resource, "ns", label_selector="a=b", field_selector="spec.nodeName=n")
    await narrowed.list(ListOptions(resource_version="0", limit=500))
    async with narrowed.watch(ListOptions(resource_version="1", allow_watch_bookmarks=True)):
        pass

    selectors: Any = {"label_selector": "a=b", "field_selector": "spec.nodeName=n"}
    assert resource.asked == [
        ("ns", ListOptions(resource_version="0", limit=500, **selectors)),
        ("ns", ListOptions(resource_version="1", allow_watch_bookmarks=True, **selectors)),
    ]


async def test_a_share_of_the_objects_is_asked_for_in_lists_and_watches() -> None:
    resource: Any = Resource()
    shard = shard_selectors(2)[0]
    narrowed: ListWatch[Any] = ListWatch(resource, shard_selector=shard)
    await narrowed.list(ListOptions())
    async with narrowed.watch(ListOptions()):
        pass

    assert [options.params()["shardSelector"] for _, options in resource.asked] == [shard, shard]


def test_streaming_lists_are_not_asked_of_a_client_that_has_lists_compressed() -> None:
    resource: Any = Resource()
    resource.compression = True

    assert not ListWatch(resource).supports_watch_list


def test_a_client_supports_streaming_lists_unless_it_is_said_not_to() -> None:
    resource: Any = Resource()

    assert ListWatch(resource).supports_watch_list
    assert not ListWatch(resource, supports_watch_list=False).supports_watch_list
