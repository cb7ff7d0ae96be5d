"""Carrying out the plan for one DaemonSet: creates and deletes pods, and records Events.

In: a DaemonSet, its pods, and the hash of its template. Out: the writes. The DaemonSet's expectations are set for each
of them, so that it acts again only when the cache shows them. A pod that failed is replaced after a backoff, which
grows each time that a pod fails on the same node: without it, a kubelet that refuses the pod would be given a new one
at once, without end.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from kinformer.cache import Indexer
from kinformer.clock import Clock
from kinformer.controllerutil.batches import write_children
from kinformer.controllerutil.expectations import Expectations
from kinformer.controllerutil.owning import owner_id
from kinformer.controllerutil.pod_control import PodControl, pod_from_template
from kinformer.meta import meta_namespace_key, new_controller_ref
from kinformer.models import V1DaemonSet, V1Node, V1Pod
from kinformer.record import NORMAL, WARNING, EventRecorder
from kinformer_controllers.daemonset.placement import Placements
from kinformer_controllers.daemonset.plan import FAILED_DAEMON_POD, Plan, plan_nodes, pods_by_node
from kinformer_controllers.daemonset.rolling_update import plan_update
from kinformer_controllers.daemonset.template import KIND, daemon_template, template_for_node

__all__ = (
    "DaemonPods",
    "FailedPodsBackoff",
)

#: The largest number of pods that one sync creates, and that it deletes.
_BURST = 250

_INITIAL: Final = 1.0
_MAX: Final = 15 * 60.0
#: After this many seconds without a failure, the delay starts again from the first.
_FORGET_AFTER: Final = 2 * _MAX
#: The number of entries at which old ones are removed.
_SWEEP_AT: Final = 1024


@dataclass(eq=False)
class DaemonPods:
    """
    Plans and writes the pods of DaemonSets.

    :param nodes: the cache of nodes
    :param placements: the placements of DaemonSets on nodes
    """

    pods: PodControl
    nodes: Indexer[V1Node]
    placements: Placements
    expectations: Expectations
    recorder: EventRecorder
    clock: Clock

    def __post_init__(self) -> None:
        self._backoff = FailedPodsBackoff(self.clock)

    async def update(
        self, daemonset: V1DaemonSet, pods: Callable[[], Awaitable[Sequence[V1Pod]]], hash_: str
    ) -> float | None:
        """
        Create and delete pods, so that each node that should run a pod has one. Then replace old pods.

        :param pods: returns the DaemonSet's pods from the cache
        :param hash_: the hash of the current template
        :return: seconds after which a failed pod may be replaced; None if there is none
        :raises ExceptionGroup: if several writes of pods failed; a single error is raised as it is
        """
        nodes = self.placements.of(daemonset, self.nodes.list())
        observed = (daemonset.status.observed_generation if daemonset.status is not None else None) or 0

        def backoff(pod: V1Pod, node: str) -> float | None:
            return self._backoff.failed((daemonset.metadata.uid, observed, node))

        plan = plan_nodes(daemonset, nodes, pods_by_node(await pods()), hash_, backoff, self.clock.now())
        self._tell(daemonset, plan)
        await self._write(daemonset, plan.create, plan.delete, hash_)
        strategy = daemonset.spec.update_strategy
        is_rolling = strategy is not None and strategy.type == "RollingUpdate"
        if is_rolling and self.expectations.satisfied(owner_id(daemonset)):
            update = plan_update(daemonset, nodes, pods_by_node(await pods()), hash_, self.clock.now())
            await self._write(daemonset, update.create, update.delete, hash_)
        return plan.look_again

    def _tell(self, daemonset: V1DaemonSet, plan: Plan) -> None:
        """Record Events about the pods that have ended."""
        for reason, pod, node in plan.ended:
            where = f"{pod.metadata.namespace}/{pod.metadata.name} on node {node}"
            if reason == FAILED_DAEMON_POD:
                message = f"Found failed daemon pod {where}, will try to kill it"
                self.recorder.event(daemonset, WARNING, reason, message)
            else:
                message = f"Found succeeded daemon pod {where}, will try to delete it"
                self.recorder.event(daemonset, NORMAL, reason, message)

    async def _write(self, daemonset: V1DaemonSet, create: Sequence[str], delete: Sequence[V1Pod], hash_: str) -> None:
        template = daemon_template(daemonset, hash_)
        reference = new_controller_ref(daemonset, KIND)
        meta = daemonset.metadata

        async def create_on(node: str) -> None:
            pod = pod_from_template(template_for_node(template, node), meta.namespace, meta.name, reference)
            await self.pods.create(pod, daemonset)

        async def remove(pod: V1Pod) -> None:
            await self.pods.delete(pod.metadata.namespace, pod.metadata.name, daemonset)

        written = await write_children(
            self.expectations,
            owner_id(daemonset),
            creations=create[:_BURST],
            create=create_on,
            deletions=delete[:_BURST],
            delete=remove,
            key_of=meta_namespace_key,
        )
        if len(written.errors) > 1:
            raise ExceptionGroup(f"DaemonSet {meta.name} could not write all its pods", list(written.errors))
        if written.error is not None:
            raise written.error


@dataclass(slots=True)
class _Entry:
    seconds: float
    since: float


class FailedPodsBackoff:
    """
    The delays of failed pods, by the rule of client-go's ``flowcontrol.Backoff``.

    A delay starts with 1 second, is doubled up to 15 minutes, and is forgotten after 30 minutes without a failure. A
    key is a DaemonSet's uid, the generation of its spec, and a node's name.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[tuple[str, int, str], _Entry] = {}
        self._sweep_at = _SWEEP_AT

    def __len__(self) -> int:
        return len(self._entries)

    def failed(self, key: tuple[str, int, str]) -> float | None:
        """
        Decide about a failed pod.

        :return: None if it may be replaced now; then the delay for the next failure starts. Otherwise the seconds after
            which to check it again
        """
        now = self._clock.monotonic()
        entry = self._entries.get(key)
        if entry is None or now - entry.since > _FORGET_AFTER:
            self._sweep(now)
            self._entries[key] = _Entry(_INITIAL, now)
            return None
        if now - entry.since < entry.seconds:
            return entry.seconds
        entry.seconds = min(entry.seconds * 2, _MAX)
        entry.since = now
        return None

    def _sweep(self, now: float) -> None:
        if len(self._entries) < self._sweep_at:
            return
        self._entries = {key: one for key, one in self._entries.items() if now - one.since <= _FORGET_AFTER}
        self._sweep_at = max(2 * len(self._entries), _SWEEP_AT)
