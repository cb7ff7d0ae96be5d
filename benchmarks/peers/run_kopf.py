"""kopf: a handler of events, without peering and without a cache."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import kopf
from protocol import Run

run = Run()
left = run.objects


@kopf.on.login()
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=run.url)


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.posting.enabled = False


# What is there at first is told as events of no type.
@kopf.on.event("pods")
async def told(type: str | None, meta: kopf.Meta, **_: Any) -> None:  # noqa: A002  # kopf's name
    global left
    if type == "MODIFIED":
        assert meta["resourceVersion"]
        run.count()
        return
    left -= 1
    if not left:
        run.begin()


logging.getLogger("kopf").setLevel(logging.WARNING)
asyncio.run(kopf.operator(standalone=True, clusterwide=True))
