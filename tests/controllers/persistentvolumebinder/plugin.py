"""A volume plug-in that does what a test tells it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kinformer.models import V1HostPathVolumeSource, V1ObjectMeta, V1PersistentVolume, V1PersistentVolumeSpec
from kinformer_controllers.shared.volumes.plugins import ProvisionRequest

__all__ = ("Plugin",)


class Plugin:
    """
    :param meanwhile: called while it works
    """

    supports_mount_options = False
    requires_file_system_expansion = False

    def __init__(self, name: str = "example.com/x", *, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.name = name
        self.meanwhile = meanwhile
        self.done: list[str] = []
        self.requests: list[ProvisionRequest] = []
        #: Raised in place of what is asked, the first one first.
        self.errors: list[Exception] = []

    def supports(self, volume: Any) -> bool:
        return volume.spec.host_path is not None

    async def provision(self, request: ProvisionRequest) -> V1PersistentVolume:
        self._do(f"provision {request.name}")
        self.requests.append(request)
        spec = V1PersistentVolumeSpec(
            capacity={"storage": "5Gi"},
            access_modes=request.claim.spec.access_modes,
            host_path=V1HostPathVolumeSource(path="/x"),
            persistent_volume_reclaim_policy=request.reclaim_policy,
        )
        return V1PersistentVolume(metadata=V1ObjectMeta(name=request.name), spec=spec)

    async def delete(self, volume: Any) -> None:
        self._do(f"delete {volume.metadata.name}")

    async def recycle(self, volume: Any) -> None:
        self._do(f"recycle {volume.metadata.name}")

    def _do(self, what: str) -> None:
        self.done.append(what)
        self.meanwhile()
        if self.errors:
            raise self.errors.pop(0)
