"""Which autoscalers select the same pods."""

from __future__ import annotations

from kinformer.meta import parse_selector
from kinformer.models import V1ObjectMeta, V1Pod
from kinformer_controllers.horizontalpodautoscaler.selectors import Labelled, TargetSelectors


def labelled(**labels: str) -> V1Pod:
    return V1Pod(metadata=V1ObjectMeta(name="p", namespace="ns", labels=labels))


def test_a_pod_is_selected_by_all_whose_selectors_match() -> None:
    selectors = TargetSelectors()
    for key, text in {"ns/a": "app=a", "ns/b": "tier in (x,y)", "ns/c": "app=a,!old", "other/a": "app=a"}.items():
        selectors.register(key)
        selectors.put(key, text)

    assert selectors.selecting("ns", [labelled(app="a", tier="x")]) == ["ns/a", "ns/b", "ns/c"]
    assert selectors.selecting("ns", [labelled(app="a", old=""), labelled(app="b")]) == ["ns/a"]
    assert selectors.selecting("other", [labelled(app="a")]) == ["other/a"]


def test_pods_are_found_by_a_label_as_by_looking_at_each() -> None:
    pods = [labelled(app=app, tier=tier) for app in "ab" for tier in "xy"] + [V1Pod(metadata=V1ObjectMeta(name="p"))]
    found = Labelled(pods, lambda pod: pod.metadata.labels)

    for text in ("app=a", "app in (a),tier!=x", "app in (a,b)", "!app", "app=c", "tier=y,app=b"):
        selector = parse_selector(text)
        assert found.selected(selector) == [pod for pod in pods if selector.matches(pod.metadata.labels)], text


def test_an_autoscaler_that_changes_or_goes_no_longer_selects() -> None:
    selectors = TargetSelectors()
    selectors.put("ns/a", "app=a")
    assert selectors.selecting("ns", [labelled(app="a")]) == []  # it is not known yet

    assert selectors.register("ns/a")
    assert not selectors.register("ns/a")
    selectors.put("ns/a", "app=a")
    selectors.put("ns/a", "app=b")
    assert selectors.selecting("ns", [labelled(app="a")]) == []
    assert selectors.selecting("ns", [labelled(app="b")]) == ["ns/a"]

    assert selectors.forget("ns/a")
    assert not selectors.forget("ns/a")
    assert selectors.selecting("ns", [labelled(app="b")]) == []
