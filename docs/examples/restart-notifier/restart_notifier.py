"""Tells a chat when containers restart: which, how often by now, and why.

Where a pod stands when the notifier starts is no news. From then on each rise of a container's restart count is posted
once, as JSON with a ``text``, which Slack, Mattermost and Teams take. A post that fails is tried again; what restarts
meanwhile is told in the same message. The address is an option: ``--option notifier_url=https://…``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import aiohttp

from kinformer.cache import DeletedFinalStateUnknown, ResourceEventHandlerDetailedFuncs
from kinformer.manager import Controller, ControllerContext, SyncError
from kinformer.meta import meta_namespace_key
from kinformer.models import V1ContainerStatus, V1Pod
from kinformer.workqueue import ItemExponentialFailureRateLimiter, RateLimiter

Post = Callable[[str], Awaitable[None]]
#: How often each container of a pod has restarted.
Counts = dict[str, int]


class NotPosted(SyncError):
    """The chat does not answer, or does not want it."""


def statuses_of(pod: V1Pod) -> list[V1ContainerStatus]:
    status = pod.status
    return [] if status is None else [*(status.init_container_statuses or ()), *(status.container_statuses or ())]


def counts_of(pod: V1Pod) -> Counts:
    return {status.name: status.restart_count for status in statuses_of(pod)}


def told_of(pod: V1Pod, known: Counts) -> list[str]:
    """A line for each container that has restarted since its count was `known`."""
    return [
        f"{pod.metadata.namespace}/{pod.metadata.name}: {status.name} restarted, {status.restart_count} times by now"
        f" ({reason_of(status)})"
        for status in statuses_of(pod)
        if status.restart_count > known.get(status.name, 0)
    ]


def reason_of(status: V1ContainerStatus) -> str:
    ended = status.last_state.terminated if status.last_state is not None else None
    return "for an unknown reason" if ended is None else f"{ended.reason or 'Error'}, exit code {ended.exit_code}"


def post_to(url: str) -> Post:
    async def post(text: str) -> None:
        try:
            async with (
                aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
                session.post(url, json={"text": text}) as response,
            ):
                if response.status >= 300:
                    raise NotPosted(f"the chat answered {response.status}")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NotPosted(f"the chat cannot be reached: {error or type(error).__name__}") from error

    return post


def make_controller(context: ControllerContext, post: Post | None = None) -> Controller:
    """:param post: sends a message; by HTTP if None"""
    if post is None:
        post = post_to(context.option("notifier_url", "http://localhost:8065/hooks/restarts"))
    pods = context.informers.informer_for(V1Pod)
    #: What has been told of, by the uid of the pod: another pod of the name begins anew.
    known: dict[str, Counts] = {}

    async def sync(key: str) -> None:
        pod = pods.indexer.get_by_key(key)
        if pod is None:
            return
        lines = told_of(pod, known.get(pod.metadata.uid, {}))
        if lines:
            await post("\n".join(lines))
        # After the post, not before: what could not be sent is still to be told.
        known[pod.metadata.uid] = counts_of(pod)

    def added(pod: V1Pod, is_in_initial_list: bool) -> None:
        if is_in_initial_list:
            known[pod.metadata.uid] = counts_of(pod)
        else:
            controller.queue.add(meta_namespace_key(pod))

    def updated(old: V1Pod, new: V1Pod) -> None:
        if counts_of(old) != counts_of(new):
            controller.queue.add(meta_namespace_key(new))

    def deleted(obj: V1Pod | DeletedFinalStateUnknown[V1Pod]) -> None:
        pod = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        if pod is not None:
            known.pop(pod.metadata.uid, None)

    # A chat that is down is not asked every 5 ms, and a sync that hangs holds up no other pod's for long.
    limits: dict[type[BaseException], RateLimiter[str]] = {NotPosted: ItemExponentialFailureRateLimiter(1, 300)}
    controller = Controller("restart-notifier", sync, workers=4, sync_timeout=15, limits=limits, clock=context.clock)
    return controller.handle(pods, ResourceEventHandlerDetailedFuncs(added, updated, deleted))
