from __future__ import annotations

from functools import partial
from typing import Any

from kinformer.manager import EnqueueKeys
from kinformer.workqueue import LOW_PRIORITY, PriorityQueue


def obj(name: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": version}}


def name_of(found: dict[str, Any]) -> tuple[str]:
    return (found["metadata"]["name"],)


def test_first_lists_and_resyncs_wait_behind_changes_in_priority_queues() -> None:
    queue: PriorityQueue[str] = PriorityQueue()
    handler = EnqueueKeys(queue.add, name_of, later=partial(queue.add_with_options, priority=LOW_PRIORITY))

    handler.on_add(obj("listed"), True)
    handler.on_update(obj("resynced"), obj("resynced"))
    handler.on_add(obj("listed and changed"), True)
    handler.on_add(obj("new"), False)
    handler.on_update(obj("listed and changed"), obj("listed and changed", "2"))
    handler.on_delete(obj("gone"))

    assert [queue.get_nowait() for _ in range(len(queue))] == [
        "new",
        "listed and changed",
        "gone",
        "listed",
        "resynced",
    ]


def test_without_another_queue_for_them_they_are_added_like_all_others() -> None:
    keys: list[str] = []
    handler = EnqueueKeys(keys.append, name_of)

    handler.on_add(obj("listed"), True)
    handler.on_update(obj("resynced"), obj("resynced"))

    assert keys == ["listed", "resynced"]
