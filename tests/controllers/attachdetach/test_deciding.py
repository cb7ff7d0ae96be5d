"""The decision for one volume, from both states and a time."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.models import V1Node, V1Pod, from_dict
from kinformer_controllers.attachdetach.actual import ActualState
from kinformer_controllers.attachdetach.deciding import Attach, Detach, Plan, Refuse, plan_volume
from kinformer_controllers.attachdetach.desired import DesiredState
from kinformer_controllers.attachdetach.operations import multi_attach, multi_attach_without_pods
from kinformer_controllers.attachdetach.pending import ATTACH, DETACH, Key, PendingOperations
from kinformer_controllers.shared.volumes.specs import CSI, VolumeSpec

ONE, MANY = VolumeSpec("v", CSI, "d^v", exclusive=True), VolumeSpec("v", CSI, "d^v")
VOLUME = ONE.unique_name


def pod(name: str, node: str, namespace: str = "ns") -> V1Pod:
    metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
    return from_dict(V1Pod, {"metadata": metadata, "spec": {"nodeName": node, "containers": []}})


class World:
    """:param wanted: the nodes with a pod each, :param attached: those that have the volume, ``?`` if uncertain"""

    def __init__(self, spec: VolumeSpec, wanted: str = "", attached: str = "") -> None:
        self.desired, self.actual, self.pending = DesiredState(), ActualState(), PendingOperations()
        self.nodes: dict[str, V1Node] = {}
        for name in "abc":
            self.node(name)
        for name in wanted.split():
            self.desired.add_pod(pod(f"p-{name}", name), [spec])
        for name in attached.split():
            self.actual.mark(VOLUME, spec, name.strip("?"), confirmed="?" not in name)
            self.actual.set_in_use(name.strip("?"), ())

    def node(self, name: str, ready: str = "True", *taints: str) -> None:
        listed = [{"key": f"node.kubernetes.io/{it}", "effect": "NoSchedule"} for it in taints]
        status = {"conditions": [{"type": "Ready", "status": ready}]}
        node: dict[str, Any] = {"metadata": {"name": name}, "spec": {"taints": listed}, "status": status}
        self.nodes[name] = from_dict(V1Node, node)
        self.desired.add_node(name)

    def plan(self, now: float = 0.0, **options: Any) -> Plan:
        return plan_volume(VOLUME, self.desired, self.actual, self.pending, self.nodes.get, now, **options)


@pytest.mark.parametrize(
    ("spec", "wanted", "attached", "detaches", "attaches", "refusals"),
    [
        (ONE, "a", "", "", "a", ""),
        (ONE, "a", "a", "", "", ""),
        (ONE, "a", "a?", "", "a", ""),  # uncertain: it is attached once more
        (ONE, "", "a", "a", "", ""),
        (ONE, "", "a?", "a", "", ""),
        (ONE, "b", "a", "a", "", ""),  # one after the other
        (ONE, "a b", "a", "", "", "b"),
        (ONE, "a b", "a?", "", "a", ""),
        (ONE, "a b", "", "", "a", ""),
        (MANY, "a b", "", "", "a b", ""),
        (MANY, "b", "a", "a", "b", ""),
        (MANY, "a b", "a c?", "c", "b", ""),
    ],
)
def test_a_volume_goes_where_its_pods_are(
    spec: VolumeSpec, wanted: str, attached: str, detaches: str, attaches: str, refusals: str
) -> None:
    plan = World(spec, wanted, attached).plan()

    def key(node: str) -> Key:
        return Key(VOLUME) if spec.exclusive else Key(VOLUME, node)

    assert plan.detaches == [Detach(node, key(node)) for node in detaches.split()]
    assert plan.attaches == [Attach(node, key(node)) for node in attaches.split()]
    assert plan.refusals == [Refuse(node, ("a",)) for node in refusals.split()]


@pytest.mark.parametrize(
    ("ready", "taint", "after", "in_use", "want"),
    [
        ("True", "", 0, True, "stays"),
        ("True", "", 1000, True, "stays"),
        ("Unknown", "", 360, True, "stays"),
        ("Unknown", "", 361, True, "timeout"),
        ("", "", 361, True, "timeout"),  # there is no such node
        ("Unknown", "out-of-service", 0, True, "out-of-service"),
        ("True", "out-of-service", 0, True, "out-of-service"),
        ("Unknown", "out-of-service", 361, True, "timeout"),
        ("True", "", 0, False, "goes"),
        ("True", "", 361, False, "timeout"),
    ],
)
def test_a_volume_in_use_stays_unless_its_node_is_lost(
    ready: str, taint: str, after: float, in_use: bool, want: str
) -> None:
    world = World(ONE, "", "a")
    world.node("a", ready, *([taint] if taint else []))
    if not ready:
        del world.nodes["a"]
    world.actual.set_in_use("a", [VOLUME] if in_use else [])
    first = world.plan(10.0)
    assert first.unneeded == ["a"]
    there = world.actual.attachment(VOLUME, "a")
    assert there is not None
    there.detach_requested = 10.0

    plan = world.plan(10.0 + after)
    assert [it.forced for it in plan.detaches] == ([] if want == "stays" else ["" if want == "goes" else want])
    if want == "stays":
        assert plan.wait == (pytest.approx(360.1 - after) if after <= 360 else None)
    if want == "timeout":
        plan = world.plan(10.0 + after, force_on_timeout=False)
        left = [] if in_use and not taint else [taint]
        assert [it.forced for it in plan.detaches] == left


def test_an_operation_that_failed_waits_but_not_one_of_another_kind() -> None:
    world = World(ONE, "a")
    for n, delay in enumerate((0.5, 1.0, 2.0, 4.0)):
        world.pending.start(Key(VOLUME), ATTACH)
        assert world.plan(n * 10.0).attaches == []  # it runs
        world.pending.fail(Key(VOLUME), n * 10.0)
        assert world.plan(n * 10.0 + 0.1).attaches == []
        assert world.plan(n * 10.0 + 0.1).wait == pytest.approx(delay - 0.1)
        assert world.plan(n * 10.0 + delay).attaches
    world.actual.mark(VOLUME, ONE, "a", confirmed=False)
    world.actual.set_in_use("a", [])
    world.desired.remove_pod("ns-p-a")
    assert world.plan(30.0).detaches
    world.pending.start(Key(VOLUME), DETACH)
    world.pending.fail(Key(VOLUME), 31.0)
    assert world.plan(31.0).wait == 0.5
    world.pending.succeed(Key(VOLUME))
    assert world.plan(31.0).detaches


def test_the_operation_of_one_node_does_not_stop_that_of_another() -> None:
    world = World(MANY, "a b")
    world.pending.start(Key(VOLUME, "a"), ATTACH)
    assert [it.node for it in world.plan().attaches] == ["b"]
    world.pending.start(Key(VOLUME), ATTACH)
    assert world.plan().attaches == []


def test_a_volume_needed_again_is_kept_and_its_time_starts_anew() -> None:
    world = World(ONE, "a", "a")
    there = world.actual.attachment(VOLUME, "a")
    assert there is not None
    there.detach_requested = 5.0
    assert world.plan(10.0).kept == ["a"]


def test_pods_hear_of_another_node_once() -> None:
    world = World(ONE, "a b", "a")
    world.desired.on(VOLUME)["b"].reported = True
    assert world.plan().refusals == []


def test_a_deleted_node_is_managed_until_its_last_pod_is_gone() -> None:
    world = World(ONE, "a")
    world.desired.delete_node("a")
    assert world.desired.manages("a")
    assert world.desired.remove_pod("ns-p-a") == [VOLUME]
    assert not world.desired.manages("a")
    world.desired.delete_node("b")
    assert not world.desired.manages("b")


def test_pods_learn_no_names_of_pods_in_other_namespaces() -> None:
    near, far = [pod("x", "a"), pod("y", "a")], [pod("z", "a", "other")]
    me = pod("p", "b")
    said = 'Multi-Attach error for volume "v" Volume is already used by '
    assert multi_attach("v", me, near) == f"{said}pod(s) x, y"
    assert multi_attach("v", me, near + far) == f"{said}pod(s) x, y and 1 pod(s) in different namespaces"
    assert multi_attach("v", me, far) == f"{said}1 pod(s) in different namespaces"
    why = "Volume is already exclusively attached to one node and can't be attached to another"
    assert multi_attach_without_pods("v") == f'Multi-Attach error for volume "v" {why}'


def test_a_new_attachment_counts_as_in_use_until_its_node_says_more() -> None:
    world = World(ONE)
    world.actual.mark(VOLUME, ONE, "a", confirmed=True)
    assert world.plan().detaches == []
    assert world.actual.set_in_use("a", []) == [VOLUME]
    assert world.plan().detaches
