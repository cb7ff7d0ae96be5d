"""Why: what is known about one key, and which keys there are.

People type keys, and make mistakes. If nothing is known about a key, the answer has similar keys.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from typing import Final

from kinformer.manager.controller import Controller
from kinformer.manager.history import Run, Trigger
from kinformer.manager.inspection.inspector import Inspected, Inspector, text_of
from kinformer.manager.inspection.views import Answer, RunView, Stored, TaskView, TriggerView, Why

__all__ = ("MATCHES", "explain", "search")

#: How many keys a search returns at most.
MATCHES: Final = 20
#: How many similar keys are shown.
_NEAREST: Final = 5
#: How many keys are compared to find similar ones. Comparing is slow.
_COMPARED: Final = 500


def explain(inspected: Inspected, key: str, controller: str = "") -> Answer:
    """
    Collect all that is known about a key.

    :param key: ``namespace/name``. In a fleet: ``cluster/namespace/name``; without the cluster, all clusters are asked
    :param controller: the name of the only controller to ask; if empty, all are asked
    """
    controllers, objects, asked = [], [], _asked(inspected, key)
    for cluster, inspector, inner in asked:
        for it in inspector.controllers:
            name = _named(cluster, it.name)
            if controller in ("", it.name, name) and (found := _why(inspector, it, inner, name)) is not None:
                controllers.append(found)
        for informer in inspector.informers.informers.values():
            obj = informer.indexer.get_by_key(inner)
            if obj is not None:
                version = informer.accessor.resource_version(obj)
                objects.append(Stored(informer=_named(cluster, informer.name), version=version))
    known = bool(controllers or objects)
    similar = (_named(cluster, it) for cluster, inspector, inner in asked for it in _nearest(inspector, inner))
    return Answer(
        key=key,
        at=text_of(inspected.clock.now()),
        controllers=controllers,
        objects=objects,
        nearest=[] if known else list(islice(similar, _NEAREST)),
        replay=next((_replay(it.recording, inner) for _, it, inner in asked if it.recording), ""),
    )


def search(inspected: Inspected, text: str, limit: int = MATCHES) -> list[str]:
    """Find keys that contain a text: first the keys that controllers remember, then those of objects in caches."""
    text = text.lower()
    keys = (_named(cluster, key) for cluster, it in inspected.inspectors().items() for key in _keys(it))
    matching = (key for key in keys if text in key.lower())
    return list(islice(dict.fromkeys(matching), limit)) if limit else []


def _asked(inspected: Inspected, key: str) -> list[tuple[str, Inspector, str]]:
    """The clusters to ask, each with its inspector and the key in it."""
    inspectors = inspected.inspectors()
    # The longest first: a cluster "prod" may be there beside a cluster "prod/eu".
    for cluster in sorted(filter(None, inspectors), key=len, reverse=True):
        if key.startswith(f"{cluster}/"):
            return [(cluster, inspectors[cluster], key.removeprefix(f"{cluster}/"))]
    return [(cluster, it, key) for cluster, it in inspectors.items()]


def _replay(file: str, key: str) -> str:
    """The command that replays a recording, and shows what is about a key."""
    return shlex.join(["kinformer", "simulate", "replay", file, "--key", key])


def _named(cluster: str, name: str) -> str:
    return f"{cluster}/{name}" if cluster else name


def _keys(inspector: Inspector) -> Iterator[str]:
    for controller in inspector.controllers:
        yield from map(str, controller.history.keys())
    for informer in inspector.informers.informers.values():
        yield from informer.indexer.list_keys()


def _nearest(inspector: Inspector, key: str) -> list[str]:
    """Keys that contain the same name, or else keys of the same namespace with a similar spelling."""
    namespace, _, name = key.rpartition("/")
    if name and (found := search(inspector, name, _NEAREST)):
        return found
    beside = (it for it in _keys(inspector) if it.rpartition("/")[0] == namespace)
    return get_close_matches(key, list(dict.fromkeys(islice(beside, _COMPARED))), _NEAREST)


def _why(inspector: Inspector, controller: Controller, key: str, name: str) -> Why | None:
    history, queue = controller.history, controller.queue
    queued, running, runs = history.queued(key), history.running(key), history.runs(key)
    due, daemon = queue.due_in(key), _daemon(inspector, controller, key)
    if queued is None and running is None and due is None and daemon is None and not runs:
        return None
    trigger = running[0] if running is not None else queued
    state = (
        "running" if running is not None else "queued" if queued is not None else "idle" if due is None else "delayed"
    )
    return Why(
        controller=name,
        state=state,
        trigger=None if trigger is None else _trigger(inspector, trigger),
        running_seconds=None if running is None else running[1],
        is_queued=queued is not None,
        due_seconds=due,
        failures=queue.num_requeues(key),
        runs=[_run(inspector, run) for run in runs],
        daemon=daemon,
    )


def _daemon(inspector: Inspector, controller: Controller, key: str) -> TaskView | None:
    task = next((it.tasks[key] for it in controller.activities if key in it.tasks), None)
    if task is None:
        return None
    now = inspector.clock.monotonic()
    due = None if task.due is None else max(task.due - now, 0.0)
    return TaskView(state=task.state, seconds=now - task.since, error=task.error, due_seconds=due)


def _trigger(inspector: Inspector, trigger: Trigger) -> TriggerView:
    return TriggerView(
        at=inspector.time_of(trigger.at),
        ago_seconds=inspector.clock.monotonic() - trigger.at,
        event=trigger.event,
        informer=trigger.informer,
        object=f"{trigger.namespace}/{trigger.name}" if trigger.namespace else trigger.name,
        version=trigger.version or "",
    )


def _run(inspector: Inspector, run: Run) -> RunView:
    return RunView(
        trigger=_trigger(inspector, run.trigger),
        began=inspector.time_of(run.began),
        ago_seconds=inspector.clock.monotonic() - run.began,
        waited_seconds=run.began - run.trigger.at,
        seconds=run.seconds,
        error=run.error,
    )
