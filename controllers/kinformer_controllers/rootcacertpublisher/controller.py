"""The root CA publisher: keeps the ConfigMap ``kube-root-ca.crt`` in every namespace.

In: Namespaces and ConfigMaps. Out: one ConfigMap in each namespace, with the certificates that verify the API server.
Promised: a deleted ConfigMap is created again, and a changed one is corrected.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from prometheus_client import Counter, Histogram

from kinformer.cache import ResourceEventHandlerFuncs, deletion_handling_object_name
from kinformer.client.errors import NotFound
from kinformer.controllerutil.pod_control import is_namespace_terminating
from kinformer.logs import get_logger
from kinformer.manager import Controller, ControllerContext
from kinformer.models import V1ConfigMap, V1Namespace, V1ObjectMeta
from kinformer_controllers.rootcacertpublisher.spec import RootCAOptions
from kinformer_controllers.shared.identity import counted, root_ca

__all__ = ("RootCAPublisher",)

log = get_logger(__name__)

_SYNCS: Final = Counter(
    "root_ca_cert_publisher_sync_total",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
)
_SYNC_SECONDS: Final = Histogram(
    "root_ca_cert_publisher_sync_duration_seconds",
    "Number of namespace syncs happened in root ca cert publisher.",
    ["code"],
    buckets=[0.001 * 2**power for power in range(15)],
)

NAME: Final = "kube-root-ca.crt"
DESCRIPTION_ANNOTATION: Final = "kubernetes.io/description"
#: Exactly Kubernetes' text. With another text, this controller and Kubernetes' could overwrite each other.
DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class RootCAPublisher:
    """Syncs the ConfigMaps."""

    def __init__(self, context: ControllerContext) -> None:
        authorities = root_ca(context.client, context.read(RootCAOptions).root_ca_file)
        if not authorities:
            log.warning("no_root_ca", publishing="an empty ca.crt", hint="name the file with --root-ca-file")
        informers = context.informers
        self._clock = context.clock
        self._data = {"ca.crt": authorities.decode()}
        self._server = context.client.resource(V1ConfigMap)
        config_maps, namespaces = informers.informer_for(V1ConfigMap), informers.informer_for(V1Namespace)
        self._cached = config_maps.indexer
        self.controller = Controller(
            "root-ca-cert-publisher", self.sync, queue_name="root_ca_cert_publisher", clock=self._clock
        )
        self.controller.watch(namespaces, _is_active)
        self.controller.handle(
            config_maps, ResourceEventHandlerFuncs(update=lambda _, new: self._changed(new), delete=self._changed)
        )

    async def sync(self, namespace: str) -> None:
        """
        Create a namespace's ConfigMap, or correct it.

        :raises ClientError: if the server refuses the write
        """
        with counted(self._clock, _SYNCS, _SYNC_SECONDS):
            await self._publish(namespace)

    async def _publish(self, namespace: str) -> None:
        current = self._cached.get_by_key(f"{namespace}/{NAME}")
        if current is None:
            await self._create(namespace)
            return
        annotations = current.metadata.annotations or {}
        # A different description is kept: it may be that of a later version of Kubernetes.
        if (current.data or {}) == self._data and annotations.get(DESCRIPTION_ANNOTATION):
            return
        wanted = copy.copy(current)
        wanted.metadata = copy.copy(current.metadata)
        wanted.metadata.annotations = annotations | {DESCRIPTION_ANNOTATION: DESCRIPTION}
        wanted.data = dict(self._data)
        await self._server.update(wanted)

    async def _create(self, namespace: str) -> None:
        meta = V1ObjectMeta(name=NAME, namespace=namespace, annotations={DESCRIPTION_ANNOTATION: DESCRIPTION})
        try:
            await self._server.create(V1ConfigMap(metadata=meta, data=dict(self._data)))
        except NotFound:
            log.debug("namespace_gone", namespace=namespace)
        except Exception as error:
            if not is_namespace_terminating(error):
                raise

    def _changed(self, config_map: Any) -> None:
        namespace, name = deletion_handling_object_name(config_map)
        if name == NAME:
            self.controller.queue.add(namespace)


def _is_active(old: Any, new: Any) -> bool:
    """Whether a namespace is new, or has changed and is active. When a namespace is deleted, so is its ConfigMap."""
    return new is not None and (old is None or (new.status is not None and new.status.phase == "Active"))
