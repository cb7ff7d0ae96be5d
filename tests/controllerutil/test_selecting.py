"""Selecting from a cache gives what looking at each object would give, and looks at fewer."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kinformer.cache import Indexer
from kinformer.controllerutil import selected_by
from kinformer.meta import Selector, parse_selector, selector_from_set
from kinformer.meta.selectors import Nothing
from kinformer.models import V1ObjectMeta, V1Pod
from tests.controllers.objects import FakeInformers


def pod(name: str, namespace: str = "ns", labels: dict[str, str] | None = None) -> V1Pod:
    return V1Pod(metadata=V1ObjectMeta(name=name, namespace=namespace, labels=labels))


def indexer_of(*pods: V1Pod) -> Indexer[V1Pod]:
    indexer: Indexer[V1Pod] = FakeInformers().informer_for(V1Pod).indexer
    for each in pods:
        indexer.add(each)
    return indexer


def looked_at(indexer: Indexer[V1Pod], selector: Selector) -> int:
    """How many objects a selection compares."""
    compared: list[object] = []
    counting = Selector(selector.requirements)

    def matches(labels: Mapping[str, str] | None) -> bool:
        compared.append(labels)
        return selector.matches(labels)

    counting.matches = matches
    selected_by(indexer, "ns", counting)
    return len(compared)


@pytest.mark.parametrize(
    "text", ["", "app=a", "app in (a),tier!=x", "app in (a,b)", "!app", "app=c", "tier=y,app=b", "app=", "app=a,app=b"]
)
def test_what_is_selected_is_what_each_object_says(text: str) -> None:
    pods = [pod(f"{app}{tier}", labels={"app": app, "tier": tier}) for app in ("a", "b", "") for tier in "xy"]
    indexer = indexer_of(*pods, pod("bare"), pod("other", "elsewhere", {"app": "a"}))
    selector = parse_selector(text)

    expected = [it for it in (*pods, pod("bare")) if selector.matches(it.metadata.labels)]
    assert selected_by(indexer, "ns", selector) == expected


def test_nothing_selects_nothing() -> None:
    assert selected_by(indexer_of(pod("p")), "ns", Nothing) == []


def test_pods_without_the_label_are_not_looked_at() -> None:
    indexer = indexer_of(*(pod(f"p-{index}", labels={"app": f"a-{index}"}) for index in range(1000)))

    assert looked_at(indexer, parse_selector("app=a-7,!old")) == 1


def test_the_rarest_label_is_used_if_the_first_is_common() -> None:
    labels = [{"app": "web", "name": f"a-{index}"} for index in range(1000)]
    indexer = indexer_of(*(pod(f"p-{index}", labels=each) for index, each in enumerate(labels)))

    assert looked_at(indexer, selector_from_set({"app": "web", "name": "a-7"})) == 1


def test_a_rare_label_needs_no_index_of_a_second_one() -> None:
    indexer = indexer_of(pod("p", labels={"app": "web", "name": "a"}))

    selected_by(indexer, "ns", selector_from_set({"app": "web", "name": "a"}))
    selected_by(indexer, "ns", selector_from_set({"name": "b", "app": "web"}))

    assert set(indexer.get_indexers()) == {"namespace", "label:app"}


def test_only_few_keys_of_labels_get_an_index() -> None:
    keys = [f"key-{index}" for index in range(20)]
    indexer = indexer_of(*(pod(key, labels={key: ""}) for key in keys))

    found = [selected_by(indexer, "ns", selector_from_set({key: ""})) for key in keys]

    assert [[each.metadata.name for each in selected] for selected in found] == [[key] for key in keys]
    assert sum(name.startswith("label:") for name in indexer.get_indexers()) == 8


def test_a_pod_whose_labels_change_is_found_by_the_new_ones() -> None:
    indexer = indexer_of(pod("p", labels={"app": "a"}))
    selected_by(indexer, "ns", selector_from_set({"app": "a"}))

    indexer.update(pod("p", labels={"app": "b"}))

    assert selected_by(indexer, "ns", selector_from_set({"app": "a"})) == []
    assert len(selected_by(indexer, "ns", selector_from_set({"app": "b"}))) == 1
