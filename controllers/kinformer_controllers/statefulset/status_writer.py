"""Writing a StatefulSet's status, if it has changed."""

from __future__ import annotations

from collections.abc import Callable

from kinformer.client import Resource
from kinformer.controllerutil.writing import write_status
from kinformer.models import V1StatefulSet, V1StatefulSetStatus
from kinformer_controllers.statefulset.status import complete_rolling_update, needs_writing

__all__ = ("StatefulSetStatusWriter",)


class StatefulSetStatusWriter:
    """
    Writes the statuses of StatefulSets.

    :param wrote: called with each StatefulSet in the server's answer to a write
    """

    def __init__(self, server: Resource[V1StatefulSet], wrote: Callable[[V1StatefulSet], object]) -> None:
        self._server = server
        self._wrote = wrote

    async def write(self, statefulset: V1StatefulSet, status: V1StatefulSetStatus) -> None:
        """
        Write the status, if it has changed. If a rolling update has ended, it is completed in the status.

        :raises ClientError: if the server refuses the write
        """
        complete_rolling_update(statefulset, status)
        if needs_writing(statefulset, status):
            self._wrote(await write_status(self._server, statefulset, status, same=lambda *_: False))
