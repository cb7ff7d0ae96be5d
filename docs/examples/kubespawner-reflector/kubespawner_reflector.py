"""The reflectors of jupyterhub-kubespawner, with an informer in place of their watch loop.

In ``jupyterhub_config.py``::

    c.JupyterHub.spawner_class = "kubespawner_reflector.InformerKubeSpawner"

``pod_reflector.pods``, ``event_reflector.events`` and `first_load_future` stay as they are. So do the options `labels`,
`fields` and `namespace`. The options of the loop have no effect: `request_timeout`, `timeout_seconds` and
`restart_seconds`. :func:`kinformer.client.connect` finds the cluster and its credentials.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import anyio
import traitlets
from kubespawner import KubeSpawner
from kubespawner.reflector import ResourceReflector

from kinformer.cache import InformerOptions, ListWatch, SharedIndexInformer
from kinformer.client import connect

__all__ = ("InformerKubeSpawner", "InformerReflector")

GROUPS = {"CoreV1Api": ("", "v1"), "NetworkingV1Api": ("networking.k8s.io", "v1")}


class InformerReflector(ResourceReflector):  # type: ignore[misc]  # kubespawner has no types
    """A reflector that never gives up. It lists again only when the server has forgotten its version (410)."""

    watch_task: asyncio.Task[None] | None
    resources = traitlets.Any(help="The objects by namespace/name. Any thread may read them.")
    informer_options = InformerOptions()

    async def start(self) -> None:
        """
        Return when the objects are there.

        :raises Exception: if they cannot be listed
        """
        if self.watch_task and not self.watch_task.done():
            raise RuntimeError(f"Task watching for {self.kind} is already running")
        self.watch_task = asyncio.create_task(self._follow())
        try:
            await self.first_load_future
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Return when nothing runs any more."""
        if self.watch_task:
            self.watch_task.cancel()
            await asyncio.wait([self.watch_task])
        self.watch_task = None

    async def _follow(self) -> None:
        try:
            async with connect() as client, anyio.create_task_group() as tasks:
                resource = client.resource(dict, (*GROUPS[self.api_group_name], self.kind), namespaced=True)
                namespace = "" if self.omit_namespace else self.namespace
                informer = SharedIndexInformer(
                    # After 30 silent seconds a second watch is opened. For a hub, old pods cost more than a request.
                    ListWatch(resource, namespace, self.label_selector, self.field_selector, idle_timeout=30),
                    dict,
                    name=self.kind,
                    options=replace(self.informer_options, watch_error_handler=self._failed),
                )
                self.resources = informer.indexer.objects
                tasks.start_soon(informer.run)
                await informer.wait_synced()
                if not self.first_load_future.done():
                    self.first_load_future.set_result(None)
        except Exception as exc:
            self._failed(self.kind, exc)
            if self.on_failure:
                self.on_failure()

    def _failed(self, name: str, error: Exception) -> None:
        self.log.warning("Cannot follow %s: %s", name, error)
        if not self.first_load_future.done():
            self.first_load_future.set_exception(error)


class InformerKubeSpawner(KubeSpawner):  # type: ignore[misc]  # kubespawner has no types
    """KubeSpawner with these reflectors."""

    async def _start_reflector(self, kind: str, reflector_class: type, replace: bool = False, **options: Any) -> Any:
        ours = type(reflector_class.__name__, (InformerReflector, reflector_class), {})
        return await super()._start_reflector(kind, ours, replace, **options)
