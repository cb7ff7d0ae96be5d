"""A whole SharedIndexInformer, told by a script what the server does, on a clock that is turned.

The calls it makes, what one handler is told, the store and the versions after each step are compared. Between objects
the order of notifications counts only for steps of events: there, nothing was listed, so such a step makes no call.
"""

from __future__ import annotations

import itertools
from typing import Any

import anyio

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandlerDetailedFuncs, SharedIndexInformer
from kinformer.client.types import WatchEvent
from kinformer.clock import FakeClock
from tests.cache.scripted import ScriptedListerWatcher, obj, settle, status_error

__all__ = ("answer", "same")


async def answer(case: Any) -> Any:
    clock = FakeClock()
    server = ScriptedListerWatcher()
    informer = SharedIndexInformer(server, dict, clock=clock)
    notifications: list[Any] = []
    informer.add_event_handler(
        ResourceEventHandlerDetailedFuncs(
            add=lambda new, initial: notifications.append({"on": "add", "obj": shown(new), "isInInitialList": initial}),
            update=lambda old, new: notifications.append({"on": "update", "old": shown(old), "obj": shown(new)}),
            delete=lambda old: notifications.append({"on": "delete", "obj": shown(old)}),
        )
    )
    results = []
    async with anyio.create_task_group() as tasks:
        for step in case["steps"] or ():
            if step["step"] == "start":
                tasks.start_soon(informer.run)
            await do(step, server, clock)
            await settle(clock)
            results.append(
                {
                    "calls": [call(*c) for c in server.calls],
                    "notifications": list(notifications),
                    "store": sorted(
                        f"{o['metadata']['name']}@{o['metadata']['resourceVersion']}" for o in informer.indexer.list()
                    ),
                    "lastSyncResourceVersion": informer.last_sync_resource_version,
                    "hasSynced": informer.has_synced,
                }
            )
            server.calls.clear()
            notifications.clear()
        tasks.cancel_scope.cancel()
    return results


def same(got: Any, want: Any) -> bool:
    want = want or []
    return len(got) == len(want) and all(
        {**one, "notifications": grouped(one)} == {**other, "notifications": grouped(other)}
        for one, other in zip(got, want, strict=True)
    )


def grouped(step: Any) -> Any:
    """The notifications, in an order that counts for nothing where nothing was promised."""
    if not step["calls"]:
        return step["notifications"]
    by_name = sorted(step["notifications"], key=name_of)
    return {name: list(of_one) for name, of_one in itertools.groupby(by_name, key=name_of)}


def name_of(notification: Any) -> str:
    about = notification["obj"]
    return str(about.get("tombstone", f"ns/{about.get('name')}"))


async def do(step: Any, server: ScriptedListerWatcher, clock: FakeClock) -> None:
    if "list" in step:
        server.will_list(*map(made, step["list"]["items"] or ()), rv=step["list"]["resourceVersion"])
    match step["step"]:
        case "events":
            server.send(*(WatchEvent(e["type"], made(e["object"])) for e in step["events"] or ()))
        case "end_of_stream":
            clock.turn(step["openForMs"] / 1000)
            server.end_watch()
        case "gone":
            server.fail_watch(status_error(410, "Expired"))
        case "error":
            server.fail_watch(status_error(step["status"]["code"], step["status"]["reason"]))


def made(short: Any) -> Any:
    if "name" not in short:  # of a bookmark
        return {"metadata": {"resourceVersion": short["rv"]}}
    return obj(short["name"], short["rv"], v=short["v"])


def shown(thing: Any) -> Any:
    if isinstance(thing, DeletedFinalStateUnknown):
        return {"tombstone": thing.key, "rv": thing.obj["metadata"]["resourceVersion"]}
    return {"name": thing["metadata"]["name"], "rv": thing["metadata"]["resourceVersion"], "v": thing["v"]}


def call(verb: str, options: Any) -> Any:
    made_call = {"call": verb, "resourceVersion": options.resource_version}
    return made_call | {"allowWatchBookmarks": True} if options.allow_watch_bookmarks else made_call
