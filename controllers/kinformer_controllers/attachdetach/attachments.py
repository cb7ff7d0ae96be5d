"""VolumeAttachments: how a CSI driver is told to attach or detach a volume, and how the answer is waited for.

To attach is to create a VolumeAttachment, and to wait until the driver's external-attacher says in its status that the
volume is attached. To detach is to delete it, and to wait until it is gone: the external-attacher holds it with a
finalizer until the volume is detached. The wait ends with an error of the driver, and after two minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import anyio

from kinformer.cache import SharedIndexInformer
from kinformer.client import Client, DeleteOptions, Preconditions
from kinformer.client.errors import AlreadyExists, ApiError, ClientError, NotFound
from kinformer.clock import Clock
from kinformer.models import (
    V1ObjectMeta,
    V1VolumeAttachment,
    V1VolumeAttachmentSource,
    V1VolumeAttachmentSpec,
)
from kinformer_controllers.attachdetach.volumes import attachment_name
from kinformer_controllers.shared.volumes.specs import CSI, VolumeSpec

__all__ = ("TIMEOUT", "OperationFailed", "VolumeAttachments")

#: For how many seconds a driver's answer is waited for.
TIMEOUT: Final = 120.0
#: For how many seconds an error is not believed: it may be of an earlier try, which the driver is about to clear.
_OLD_NEWS: Final = 0.5


class OperationFailed(Exception):
    """A volume could not be attached or detached. The message is for Events."""


class VolumeAttachments:
    """
    The VolumeAttachments of the cluster.

    :param informer: of VolumeAttachments, whose changes :meth:`changed` is called with
    """

    def __init__(self, client: Client, informer: SharedIndexInformer[V1VolumeAttachment], clock: Clock) -> None:
        self._server = client.resource(V1VolumeAttachment)
        self._cached = informer.indexer
        self._clock = clock
        self._changed: dict[str, anyio.Event] = {}

    def changed(self, old: Any, new: Any) -> None:
        """Wake what waits for an attachment."""
        if (changed := self._changed.get((new or old).metadata.name)) is not None:
            changed.set()

    async def attach(self, spec: VolumeSpec, node: str) -> None:
        """
        Attach a volume of a CSI driver.

        :raises OperationFailed: if the server refuses, the driver reports an error, or does not answer in time
        """
        name = attachment_name(spec.handle, node)
        if self._cached.get_by_key(name) is None:
            source = (
                V1VolumeAttachmentSource(persistent_volume_name=spec.persistent_volume)
                if spec.inline is None
                else V1VolumeAttachmentSource(inline_volume_spec=spec.inline)
            )
            try:
                await self._server.create(
                    V1VolumeAttachment(
                        metadata=V1ObjectMeta(name=name),
                        spec=V1VolumeAttachmentSpec(attacher=spec.driver, node_name=node, source=source),
                    )
                )
            except AlreadyExists:
                pass  # the cache does not show it yet
            except ClientError as error:
                raise OperationFailed(f"{CSI}: attacher.Attach failed: {_text(error)}") from error

        def is_attached() -> bool:
            found = self._cached.get_by_key(name)
            if found is None:
                return False
            if found.metadata.deletion_timestamp is not None:
                raise OperationFailed("volume attachment is being deleted")
            status = found.status
            if status is not None and not status.attached and status.attach_error is not None:
                raise OperationFailed(status.attach_error.message or "")
            return status is not None and status.attached

        await self._until(name, is_attached, spec.driver, f"attach volume {spec.handle.partition('^')[2]}")

    async def detach(self, handle: str, node: str) -> None:
        """
        Detach a volume of a CSI driver. It is no error if it is not attached.

        :param handle: ``DRIVER^HANDLE``
        :raises OperationFailed: as :meth:`attach` does
        """
        name, deleted = attachment_name(handle, node), False
        try:
            found = self._cached.get_by_key(name) or await self._server.get(name)
            same = Preconditions(uid=found.metadata.uid)
            await self._server.delete(name, options=DeleteOptions(preconditions=same))
        except NotFound:
            deleted = True  # until the cache shows it, a later attach would take it for one that is there
        except ClientError as error:
            text = f"{CSI}: detacher.Detach failed to delete VolumeAttachment [{name}]: {_text(error)}"
            raise OperationFailed(text) from error

        def is_gone() -> bool:
            found = self._cached.get_by_key(name)
            if found is None:
                return True
            if not deleted and found.status is not None and found.status.detach_error is not None:
                raise OperationFailed(found.status.detach_error.message or "")
            return False

        await self._until(name, is_gone, "unknown", f"detach volume {handle.partition('^')[2]}")

    async def is_attached(self, handle: str, node: str) -> bool | None:
        """
        Return whether a volume of a CSI driver is attached; None if that is not known.

        A VolumeAttachment that the cache does not have is looked for on the server.
        """
        found = self._cached.get_by_key(attachment_name(handle, node))
        if found is not None:
            return found.status is not None and found.status.attached
        try:
            return await self.has(handle, node)
        except ClientError:
            return None

    async def has(self, handle: str, node: str) -> bool:
        """
        Return whether the server says that a node has a volume of a CSI driver.

        :raises ClientError: if it does not say
        """
        try:
            found = await self._server.get(attachment_name(handle, node))
        except NotFound:
            return False
        return found.status is not None and found.status.attached

    async def _until(self, name: str, true: Callable[[], bool], driver: str, what: str) -> None:
        began = self._clock.monotonic()
        try:
            while True:
                changed = self._changed[name] = anyio.Event()
                waited = self._clock.monotonic() - began
                try:
                    if true():
                        return
                    left = TIMEOUT - waited
                except OperationFailed:
                    left = _OLD_NEWS - waited
                    if left <= 0:
                        raise
                if left <= 0:
                    raise OperationFailed(f"timed out waiting for external-attacher of {driver} CSI driver to {what}")
                timer = self._clock.call_later(left, changed.set)
                try:
                    await changed.wait()
                finally:
                    timer.cancel()
        finally:
            self._changed.pop(name, None)


def _text(error: ClientError) -> str:
    return error.message if isinstance(error, ApiError) else str(error)
