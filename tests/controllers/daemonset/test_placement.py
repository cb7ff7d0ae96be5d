"""What a changed node has to do with a DaemonSet. Where one runs is among the golden cases ``daemon_nodes``."""

from __future__ import annotations

from typing import Any

import pytest

from kinformer.controllerutil.owning import add_pod_node_index
from kinformer.models import V1Node, V1Pod, V1PodSpec
from kinformer.placement.affinity import matches_node
from kinformer_controllers.daemonset.handlers import concerned, is_news_of_node
from kinformer_controllers.daemonset.placement import Placement, Placements
from tests.controllers.daemonset.objects import make_daemonset, make_node, make_pod
from tests.controllers.objects import FakeInformers


def pods_on_nodes(*pods: V1Pod) -> Any:
    informers = FakeInformers()
    informer = informers.informer_for(V1Pod)
    add_pod_node_index(informer)
    for pod in pods:
        informer.indexer.add(pod)
    return informer.indexer


BLUE = make_daemonset(template={"nodeSelector": {"color": "blue"}})
MISSCHEDULED = make_daemonset(template={"nodeSelector": {"color": "blue"}}, status={"numberMisscheduled": 1})


@pytest.mark.parametrize(
    ("daemonset", "labels", "has_pod", "is_concerned"),
    [
        (BLUE, {"color": "blue"}, False, True),
        (BLUE, {"color": "blue"}, True, False),
        (BLUE, {}, False, False),
        (BLUE, {}, True, True),
        (MISSCHEDULED, {"color": "blue"}, True, True),
        (MISSCHEDULED, {}, False, False),
    ],
    ids=["lacks a pod", "has its pod", "wants none", "is to lose its pod", "may be right again", "has nothing to do"],
)
def test_a_node_concerns_those_that_have_something_to_do_there(
    daemonset: Any, labels: dict[str, str], has_pod: bool, is_concerned: bool
) -> None:
    pods = pods_on_nodes(*[make_pod("n1", owner=daemonset)] * has_pod)

    assert concerned(make_node("n1", labels), [daemonset], pods) == (["ns/agent"] if is_concerned else [])


def test_pods_of_others_on_the_node_are_nobodys() -> None:
    foreign = make_pod("n1", ownerReferences=[{"apiVersion": "v1", "kind": "Job", "name": "agent", "uid": "u"}])

    assert concerned(make_node("n1"), [make_daemonset()], pods_on_nodes(foreign)) == ["ns/agent"]


@pytest.mark.parametrize(
    ("new", "queued"),
    [
        (make_node("n1", {"a": "b"}), False),
        (make_node("n1", {"a": "c"}), True),
        (make_node("n1", {"a": "b"}, [("k", "NoSchedule")]), True),
        (make_node("n1", {"a": "b"}, podCIDR="10.0.0.0/24"), False),
    ],
    ids=["nothing", "labels", "taints", "something else"],
)
def test_only_labels_and_taints_of_a_node_matter(new: V1Node, queued: bool) -> None:
    assert is_news_of_node(make_node("n1", {"a": "b"}), new) is queued


def test_a_new_node_is_looked_at_and_a_deleted_one_is_not() -> None:
    assert is_news_of_node(None, make_node("n7"))
    assert not is_news_of_node(make_node("n7"), None)


def test_placements_are_computed_once_while_node_and_template_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def matches(spec: V1PodSpec, node: V1Node) -> bool:
        asked.append(node.metadata.name)
        return matches_node(spec, node)

    monkeypatch.setattr("kinformer_controllers.daemonset.placement.matches_node", matches)
    placements = Placements()
    red, blue = make_node("n1", {"color": "red"}), make_node("n2", {"color": "blue"})
    wants_red = {"nodeSelector": {"color": "red"}}
    runs, not_at_all = Placement(True, True), Placement(False, False)

    assert placements.of(make_daemonset(template=wants_red), [red, blue]) == {"n1": runs, "n2": not_at_all}
    # A DaemonSet whose status was written is another object, which asks for the same.
    assert placements.of(make_daemonset(template=wants_red), [red, blue]) == {"n1": runs, "n2": not_at_all}
    assert asked == ["n1", "n2"]

    assert placements.of(make_daemonset(template=wants_red), [red, make_node("n2", {"color": "red"})])["n2"] == runs
    assert asked == ["n1", "n2", "n2"]

    wants_blue = {"nodeSelector": {"color": "blue"}}
    assert placements.of(make_daemonset(template=wants_blue), [red]) == {"n1": not_at_all}
    assert placements.of(make_daemonset(name="other", template=wants_red), [red]) == {"n1": runs}
    assert len(placements) == 2
    placements.forget("ns/agent")
    assert len(placements) == 1
