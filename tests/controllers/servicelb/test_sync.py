"""A Service that asks for a load balancer gets one, and nothing is left behind when it goes."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.manager import ControllerContext, ControllerDisabled, SyncError
from kinformer.models import V1Node, V1Service, from_dict
from kinformer.options import OptionError
from kinformer_controllers.servicelb.controller import ServiceLBController, make_controller
from kinformer_controllers.shared.cloud.interface import ImplementedElsewhere, RetryLater
from kinformer_controllers.shared.cloud.loading import FakeCloud
from tests.controllers.cluster import Cluster
from tests.controllers.objects import FakeContext, FakeRecorder, forbidden, not_found
from tests.turning import turn

FINALIZER = "service.kubernetes.io/load-balancer-cleanup"
STATUS = {"ingress": [{"ip": "192.0.2.7"}]}


def service(
    name: str = "s",
    type_: str = "LoadBalancer",
    *,
    finalizer: bool = False,
    deleting: bool = False,
    status: dict[str, Any] | None = None,
    uid: str = "",
    **spec: Any,
) -> V1Service:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": uid or f"uid-{name}"}
    if finalizer:
        metadata["finalizers"] = [FINALIZER]
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"type": type_, "ports": [{"port": 80}], **spec}
    fields = {"metadata": metadata, "spec": spec, "status": {"loadBalancer": status or {}}}
    return from_dict(V1Service, fields)


def node(name: str = "n", *, provider: str = "", **more: Any) -> V1Node:
    spec: dict[str, Any] = {"taints": more.pop("taints", None), "providerID": provider or None}
    metadata = {"name": name, **more}
    return from_dict(V1Node, {"metadata": metadata, "spec": spec})


class World(Cluster):
    def __init__(self, *nodes: V1Node, **options: Any) -> None:
        super().__init__()
        self.cloud, self.recorder = FakeCloud(self.clock), FakeRecorder()
        options |= {"clock": self.clock, "cluster_name": "test"}
        self.lb = ServiceLBController(FakeContext(self.client, self.informers, self.recorder, **options), self.cloud)
        for each in nodes:
            self.put(each)

    async def sync(self, name: str = "s") -> float | None:
        return await self.lb.sync(f"ns/{name}")

    @property
    def patches(self) -> list[Any]:
        return [sent for request, sent in zip(self.requests, self.sent, strict=True) if request.startswith("patch")]

    @property
    def reasons(self) -> list[str]:
        return [event.split()[1] for event in self.recorder.events]


async def test_a_service_gets_finalizer_load_balancer_and_address_in_order() -> None:
    world = World(node())
    world.put(service())

    await world.sync()

    assert world.cloud.balancers == {"ns/s": ["n"]}
    assert world.patches == [
        {"metadata": {"uid": "uid-s", "finalizers": [FINALIZER]}},
        {"metadata": {"uid": "uid-s"}, "status": {"loadBalancer": STATUS}},
    ]
    assert world.recorder.events == [
        "Normal EnsuringLoadBalancer s: Ensuring load balancer",
        "Normal EnsuredLoadBalancer s: Ensured load balancer",
    ]


async def test_a_service_that_has_all_of_it_is_written_no_more() -> None:
    world = World(node())
    world.put(service(finalizer=True, status=STATUS))

    await world.sync()

    assert world.cloud.calls["ensure_load_balancer"] == 1
    assert not world.patches


async def test_without_nodes_the_user_is_told() -> None:
    world = World()
    world.put(service())

    await world.sync()

    assert "Warning UnAvailableLoadBalancer s: There are no available nodes for LoadBalancer" in world.recorder.events
    assert world.cloud.balancers == {"ns/s": []}


@pytest.mark.parametrize(
    "gone",
    [service(type_="ClusterIP", finalizer=True, status=STATUS), service(deleting=True, finalizer=True, status=STATUS)],
    ids=["another type", "being deleted"],
)
async def test_an_unwanted_load_balancer_goes_and_the_finalizer_last(gone: V1Service) -> None:
    world = World(node())
    world.put(service())
    await world.sync()
    world.requests.clear()
    world.sent.clear()
    world.recorder.events.clear()
    world.put(gone)

    await world.sync()

    assert not world.cloud.balancers
    assert world.patches == [
        {"metadata": {"uid": "uid-s"}, "status": {"loadBalancer": {"ingress": None}}},
        {"metadata": {"uid": "uid-s", "$deleteFromPrimitiveList/finalizers": [FINALIZER]}},
    ]
    assert world.reasons == ["DeletingLoadBalancer", "DeletedLoadBalancer"]
    assert not world.lb.known


async def test_a_load_balancer_that_is_gone_already_is_not_deleted() -> None:
    world = World()
    world.put(service(type_="ClusterIP", finalizer=True))

    await world.sync()

    assert world.cloud.calls == {"get_load_balancer": 1}
    assert len(world.patches) == 1


async def test_a_service_that_goes_without_its_finalizer_has_its_load_balancer_deleted() -> None:
    world = World(node())
    put = world.put(service())
    await world.sync()
    world.uncache(put)

    await world.sync()

    assert not world.cloud.balancers
    assert not world.lb.known


async def test_a_recreated_services_old_load_balancer_is_deleted_first() -> None:
    world = World(node())
    world.put(service())
    await world.sync()
    world.put(service(uid="uid-of-the-next-s"))

    await world.sync()

    assert world.cloud.calls["ensure_load_balancer_deleted"] == 1
    assert world.cloud.balancers == {"ns/s": ["n"]}


async def test_a_service_that_nobody_knows_is_no_error() -> None:
    world = World()

    assert await world.sync() is None
    assert not world.cloud.calls


@pytest.mark.parametrize(
    ("method", "there", "text"),
    [
        ("ensure_load_balancer", service(), "failed to ensure load balancer: no quota"),
        (
            *("get_load_balancer", service(type_="ClusterIP", finalizer=True)),
            "failed to check if load balancer exists before cleanup: no quota",
        ),
        (
            *("ensure_load_balancer_deleted", service(type_="ClusterIP", finalizer=True)),
            "failed to delete load balancer: no quota",
        ),
    ],
)
async def test_what_the_cloud_cannot_do_is_told_and_tried_again(method: str, there: V1Service, text: str) -> None:
    world = World(node())
    world.cloud.balancers["ns/s"] = []
    world.cloud.errors[method] = [OSError("no quota")]
    world.put(there)

    with pytest.raises(SyncError, match=text):
        await world.sync()

    assert world.recorder.events[-1] == f"Warning SyncLoadBalancerFailed s: Error syncing load balancer: {text}"
    assert not any("$deleteFromPrimitiveList/finalizers" in patch["metadata"] for patch in world.patches)
    await world.sync()


async def test_a_failed_deletion_for_a_missing_service_is_retried() -> None:
    world = World(node())
    put = world.put(service())
    await world.sync()
    world.uncache(put)
    world.cloud.errors["ensure_load_balancer_deleted"] = [OSError("no quota")]

    with pytest.raises(SyncError, match="no quota"):
        await world.sync()
    await world.sync()

    assert "DeleteLoadBalancerFailed" in world.reasons
    assert not world.cloud.balancers


async def test_a_cloud_that_names_a_time_is_asked_again_then() -> None:
    world = World(node())
    world.put(service())
    world.cloud.errors["ensure_load_balancer"] = [RetryLater("busy", 42.0)]

    assert await world.sync() == 42.0


async def test_a_cloud_names_a_time_also_for_a_service_that_is_gone() -> None:
    world = World(node())
    put = world.put(service())
    await world.sync()
    world.uncache(put)
    world.cloud.errors["ensure_load_balancer_deleted"] = [RetryLater("busy", 42.0)]

    assert await world.sync() == 42.0
    assert world.reasons[-1] == "DeleteLoadBalancerFailed"
    assert await world.sync() is None
    assert not world.cloud.balancers


async def test_a_load_balancer_that_somebody_else_makes_is_left_to_them() -> None:
    world = World(node())
    world.put(service(finalizer=True))
    world.cloud.errors["ensure_load_balancer"] = [ImplementedElsewhere()]
    await world.sync()
    assert not world.patches
    world.cloud.balancers["ns/s"] = []
    world.cloud.errors["ensure_load_balancer_deleted"] = [ImplementedElsewhere()]
    world.put(service(type_="ClusterIP", finalizer=True))
    await world.sync()
    assert world.patches


@pytest.mark.parametrize("error", [forbidden(), not_found()])
async def test_without_the_finalizer_no_load_balancer_is_made(error: Exception) -> None:
    world = World(node())
    world.put(service())
    world.errors["patch Service"] = [error]

    with pytest.raises(SyncError, match="failed to add load balancer cleanup finalizer"):
        await world.sync()

    assert not world.cloud.balancers


@pytest.mark.parametrize("there", [service(finalizer=True), service(type_="ClusterIP", finalizer=True, status=STATUS)])
async def test_a_gone_service_needs_no_address_and_no_removal_of_its_finalizer(there: V1Service) -> None:
    world = World(node())
    world.put(there)
    world.errors["patch Service"] = [not_found(), not_found()]

    await world.sync()

    assert "SyncLoadBalancerFailed" not in world.reasons


@pytest.mark.parametrize(
    ("there", "text"),
    [
        (service(), "failed to add load balancer cleanup finalizer"),
        (service(finalizer=True), "failed to update load balancer status"),
        (service(type_="ClusterIP", finalizer=True), "failed to remove load balancer cleanup finalizer"),
    ],
    ids=["add", "status", "remove"],
)
async def test_the_event_says_which_write_was_refused(there: V1Service, text: str) -> None:
    """The texts are those of syncLoadBalancerIfNeeded() in k8s.io/cloud-provider."""
    world = World(node())
    world.put(there)
    world.errors["patch Service"] = [forbidden()]

    with pytest.raises(SyncError, match=text):
        await world.sync()

    assert world.recorder.events[-1].startswith(
        f"Warning SyncLoadBalancerFailed s: Error syncing load balancer: {text}: "
    )


def test_failures_wait_for_five_seconds_and_up_to_five_minutes() -> None:
    queue = World().lb.services.queue
    limiter: Any = queue._limiter

    waits = [limiter.when("ns/s") for _ in range(8)]

    assert waits == [5, 10, 20, 40, 80, 160, 300, 300]


# Nodes


async def test_load_balancers_are_told_of_nodes_that_come_and_go() -> None:
    world = World(node("a"))
    world.put(service())
    world.put(service("t"))
    await world.sync()
    await world.sync("t")

    world.put(node("b"))
    await world.lb.sync_nodes("nodes")
    assert world.cloud.balancers == {"ns/s": ["a", "b"], "ns/t": ["a", "b"]}
    world.uncache(node("a"))
    world.uncache(node("b"))
    await world.lb.sync_nodes("nodes")

    assert world.cloud.balancers == {"ns/s": [], "ns/t": []}
    assert world.reasons.count("UpdatedLoadBalancer") == 2
    assert world.reasons[-1] == "UnAvailableLoadBalancer"


async def test_load_balancers_whose_nodes_are_the_same_are_left_alone() -> None:
    world = World(node("a", provider="x"))
    world.put(service())
    await world.sync()

    await world.lb.sync_nodes("nodes")
    world.put(node("a", provider="x", labels={"new": "label"}))
    await world.lb.sync_nodes("nodes")
    assert not world.cloud.calls["update_load_balancer"]
    world.put(node("a", provider="another machine"))
    await world.lb.sync_nodes("nodes")
    assert world.cloud.calls["update_load_balancer"] == 1


async def test_an_unreadable_load_balancer_is_synced_and_blocks_no_other() -> None:
    world = World(node("a"))
    for name in ("s", "t"):
        world.put(service(name))
        await world.sync(name)
    world.put(node("b"))
    world.cloud.errors["update_load_balancer"] = [OSError("no quota")]

    await world.lb.sync_nodes("nodes")

    (failed,) = [key for key, nodes in world.cloud.balancers.items() if nodes == ["a"]]
    assert world.lb.services.queue.get_nowait() == failed
    assert any("new hosts [a b] [node names limited, total number of nodes: 2]" in it for it in world.recorder.events)


async def test_one_that_is_not_there_or_is_somebody_elses_is_no_failure() -> None:
    for error, there in ((OSError("gone"), False), (ImplementedElsewhere(), True)):
        world = World(node("a"))
        world.put(service())
        await world.sync()
        world.put(node("b"))
        world.cloud.errors["update_load_balancer"] = [error]
        if not there:
            world.cloud.forget()

        await world.lb.sync_nodes("nodes")

        assert not len(world.lb.services.queue)
        assert "UpdateLoadBalancerFailed" not in world.reasons


async def test_names_of_many_nodes_are_cut() -> None:
    world = World()
    world.put(service())
    await world.sync()
    for number in range(25):
        world.put(node(f"n{number:02}"))
    world.cloud.errors["update_load_balancer"] = [OSError("no quota")]

    await world.lb.sync_nodes("nodes")

    assert "n19 <5 more>] [node names limited, total number of nodes: 25]" in world.recorder.events[-1]


@pytest.mark.parametrize(("options", "done"), [({}, 1), ({"concurrent_service_syncs": 3}, 3)])
async def test_a_slow_cloud_is_asked_for_as_many_as_the_flag_says(options: Any, done: int) -> None:
    world = World(node("a"), **options)
    for number in range(4):
        world.put(service(f"s{number}"))
        await world.sync(f"s{number}")
    world.put(node("b"))
    world.cloud.seconds = 5.0

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(world.lb.sync_nodes, "nodes")
        await turn(world.clock, 5.0)
        assert [nodes for nodes in world.cloud.balancers.values() if len(nodes) == 2] == [["a", "b"]] * done
        tasks.cancel_scope.cancel()


# Options


@pytest.mark.parametrize(
    ("options", "error"), [({}, ControllerDisabled), ({"cloud_provider": "unheard-of"}, OptionError)]
)
def test_without_a_cloud_it_does_not_run(options: dict[str, Any], error: type[Exception]) -> None:
    world = Cluster()

    with pytest.raises(error, match="--cloud-provider"):
        make_controller(ControllerContext(world.client, world.informers, options))
