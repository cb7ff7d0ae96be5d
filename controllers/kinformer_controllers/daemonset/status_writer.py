"""Writing a DaemonSet's status, if it has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kinformer.cache import Indexer
from kinformer.client import Resource
from kinformer.clock import Clock
from kinformer.controllerutil.pods import next_availability_check
from kinformer.controllerutil.writing import write_status
from kinformer.models import V1DaemonSet, V1Node, V1Pod
from kinformer_controllers.daemonset.placement import Placements
from kinformer_controllers.daemonset.plan import pods_by_node
from kinformer_controllers.daemonset.status import count_nodes, rebased, same_counts

__all__ = ("DaemonSetStatusWriter",)


class DaemonSetStatusWriter:
    """
    Writes the statuses of DaemonSets.

    :param nodes: the cache of nodes
    :param placements: the placements of DaemonSets on nodes
    :param wrote: called with each DaemonSet in the server's answer to a write
    """

    def __init__(
        self,
        server: Resource[V1DaemonSet],
        nodes: Indexer[V1Node],
        placements: Placements,
        wrote: Callable[[V1DaemonSet], object],
        clock: Clock,
    ) -> None:
        self._server = server
        self._nodes = nodes
        self._placements = placements
        self._wrote = wrote
        self._clock = clock

    async def write(self, daemonset: V1DaemonSet, pods: Sequence[V1Pod], hash_: str, *, observed: bool) -> float | None:
        """
        Compute the status, and write it if it has changed.

        :param hash_: the hash of the current template
        :param observed: whether the sync acted on this generation of the spec
        :return: seconds until the next ready pod becomes available; None if there is none
        """
        there, now = pods_by_node(pods), self._clock.now()
        nodes = self._placements.of(daemonset, self._nodes.list())
        status = count_nodes(daemonset, nodes, there, hash_, now, observed=observed)
        if not same_counts(daemonset, status):
            self._wrote(await write_status(self._server, daemonset, status, same=lambda *_: False, rebase=rebased))
        min_ready_seconds = daemonset.spec.min_ready_seconds or 0
        if min_ready_seconds <= 0 or (status.number_ready or 0) == (status.number_available or 0):
            return None
        # kube-controller-manager waits for the full minReadySeconds after each sync.
        check = next_availability_check(pods, min_ready_seconds, now, self._clock)
        return check if check is not None else float(min_ready_seconds)
