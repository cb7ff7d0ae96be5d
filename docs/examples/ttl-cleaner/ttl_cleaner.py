"""Deletes what has lived long enough: objects that are annotated ``example.com/ttl: 90m``.

For namespaces of pull requests, Deployments that somebody tries, ConfigMaps of a test. There is a controller for each
kind, named ``ttl-namespaces`` and so on. Nothing is polled: a sync returns the seconds until an object is due, and is
called again then, or earlier if the annotation changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from kinformer.client import Conflict, DeleteOptions, NotFound, Preconditions
from kinformer.manager import Controller, ControllerContext, TerminalError, annotations_changed
from kinformer.models import V1ConfigMap, V1Deployment, V1Namespace, resource_for
from kinformer.record import NORMAL, WARNING

TTL = "example.com/ttl"
KINDS = (V1Namespace, V1Deployment, V1ConfigMap)

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:\d+[smhd])+")


def parse_ttl(text: str) -> timedelta:
    """
    ``90m``, ``1h30m``, ``7d`` as a timedelta.

    :raises ValueError: if it is something else
    """
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{TTL} is {text!r}: want a duration such as 90m, 1h30m or 7d")
    return timedelta(seconds=sum(int(part[:-1]) * _UNITS[part[-1]] for part in re.findall(r"\d+[smhd]", text)))


def cleaner_of(type_: type[Any]) -> Callable[[ControllerContext], Controller]:
    """What makes the controller for one kind of objects."""
    name = f"ttl-{resource_for(type_).plural}"

    def make_controller(context: ControllerContext) -> Controller:
        objects = context.informers.informer_for(type_)
        client = context.client.resource(type_)
        recorder = context.recorder(name)

        async def sync(key: str) -> float | None:
            obj = objects.indexer.get_by_key(key)
            if obj is None or obj.metadata.deletion_timestamp:
                return None
            text = (obj.metadata.annotations or {}).get(TTL)
            if text is None:
                return None
            try:
                due = obj.metadata.creation_timestamp + parse_ttl(text)
            except ValueError as error:
                recorder.event(obj, WARNING, "BadTtl", str(error))
                raise TerminalError(str(error)) from error  # to try again is no use until somebody mends it
            left = float((due - context.clock.now()).total_seconds())
            if left > 0:
                return left
            recorder.event(obj, NORMAL, "Expired", f"it was to live for {text}")
            # The version sees to it that the server refuses where the annotation has changed and this is not yet known.
            version = Preconditions(uid=obj.metadata.uid, resource_version=obj.metadata.resource_version)
            options = DeleteOptions(preconditions=version)
            # It is gone, or its change is on the way to the cache and wakes this sync.
            with suppress(NotFound, Conflict):
                await client.delete(obj.metadata.name, obj.metadata.namespace or "", options)
            return None

        # What a restart brings is looked at without haste, and what somebody annotates now at once.
        return Controller(name, sync, clock=context.clock).watch(objects, annotations_changed)

    return make_controller


make_namespaces_controller, make_deployments_controller, make_configmaps_controller = map(cleaner_of, KINDS)
