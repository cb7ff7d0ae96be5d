from __future__ import annotations

import pytest

from kinformer.cache import SharedIndexInformer
from kinformer.controllerutil.owning import (
    POD_NODE_INDEX,
    add_controller_index,
    add_pod_node_index,
    owned_by,
)
from kinformer.models import V1Pod
from tests.controllers.objects import FakeInformers, make_pod, make_rc


@pytest.fixture
def informer() -> SharedIndexInformer[V1Pod]:
    return FakeInformers().informer_for(V1Pod)


def test_pods_are_found_by_controller_with_or_without_orphans(
    informer: SharedIndexInformer[V1Pod],
) -> None:
    add_controller_index(informer)
    add_controller_index(informer)
    rc, anew = make_rc(), make_rc(uid="made-anew")
    for pod in (make_pod("a", rc), make_pod("b", anew), make_pod("orphan")):
        informer.indexer.add(pod)

    def found(*, orphans: bool) -> list[str]:
        return [pod.metadata.name for pod in owned_by(informer.indexer, rc, "ReplicationController", orphans=orphans)]

    assert found(orphans=False) == ["a"]
    assert found(orphans=True) == ["a", "orphan"]


def test_pods_are_found_by_their_node_once_they_have_one(informer: SharedIndexInformer[V1Pod]) -> None:
    add_pod_node_index(informer)
    add_pod_node_index(informer)
    unbound, without_spec = make_pod("b"), make_pod("c")
    unbound.spec.node_name = None
    without_spec.spec = None
    for pod in (make_pod("a"), unbound, without_spec):
        informer.indexer.add(pod)

    assert [pod.metadata.name for pod in informer.indexer.by_index(POD_NODE_INDEX, "n1")] == ["a"]
    assert informer.indexer.list_index_func_values(POD_NODE_INDEX) == ["n1"]
