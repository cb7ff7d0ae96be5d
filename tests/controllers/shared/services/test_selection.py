from __future__ import annotations

import random

from kinformer_controllers.shared.services.pod import EndpointPod, endpoint_pod
from kinformer_controllers.shared.services.selection import Selection
from tests.controllers.shared.services.world import make_pod


def pod(name: str, **labels: str) -> EndpointPod:
    return endpoint_pod(make_pod(name, labels=labels))


def names(pods: object) -> list[str]:
    return sorted(each.name for each in pods)  # type: ignore[attr-defined]  # a view of pods


def test_a_service_has_the_pods_that_came_before_it_and_those_that_come_after() -> None:
    selection = Selection()
    selection.set_pod(pod("a", app="web"))
    selection.set_service("ns/web", {"app": "web"})
    selection.set_pod(pod("b", app="web", tier="front"))
    selection.set_pod(pod("c", app="db"))

    assert names(selection.pods_of("ns/web", {"app": "web"})) == ["a", "b"]


def test_a_pod_that_changes_its_labels_moves() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web"})
    selection.set_service("ns/db", {"app": "db"})
    selection.set_pod(pod("a", app="web"))
    before = selection.set_pod(pod("a", app="db"))

    assert before is not None
    assert before.labels == {"app": "web"}
    assert names(selection.pods_of("ns/web", {"app": "web"})) == []
    assert names(selection.pods_of("ns/db", {"app": "db"})) == ["a"]


def test_pods_of_another_namespace_are_not_selected() -> None:
    selection = Selection()
    selection.set_service("other/web", {"app": "web"})
    selection.set_pod(pod("a", app="web"))

    assert names(selection.pods_of("other/web", {"app": "web"})) == []
    assert selection.services_of(pod("a", app="web")) == []


def test_nothing_is_said_of_a_service_whose_selector_is_not_the_one_that_was_told() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web"})

    assert selection.pods_of("ns/web", {"app": "db"}) is None
    assert selection.pods_of("ns/unheard-of", {"app": "web"}) is None


def test_a_service_without_a_selector_selects_nothing() -> None:
    selection = Selection()
    selection.set_pod(pod("a", app="web"))
    selection.set_service("ns/web", {"app": "web"})
    selection.set_service("ns/web", None)
    selection.set_service("ns/all", {})

    assert selection.services_of(pod("a", app="web")) == []


def test_nothing_is_left_when_all_have_gone() -> None:
    selection = Selection()
    selection.set_service("ns/web", {"app": "web", "tier": "front"})
    selection.set_pod(pod("a", app="web", tier="front"))
    selection.drop_service("ns/web")
    selection.drop_pod("ns/a")
    selection.drop_pod("ns/a")
    selection.drop_service("ns/web")

    assert vars(selection) == {"_namespaces": {}, "_selectors": {}}


def test_after_any_changes_it_says_what_going_through_all_of_them_would_say() -> None:
    rng = random.Random(8)
    selection = Selection()
    services: dict[str, dict[str, str]] = {}
    pods: dict[str, EndpointPod] = {}

    def some_labels(least: int) -> dict[str, str]:
        return {key: rng.choice("xyz") for key in rng.sample("abcd", rng.randint(least, 3))}

    for _ in range(3000):
        name = f"{rng.randint(0, 12)}"
        roll = rng.random()
        if roll < 0.35:
            pods[name] = pod(name, **some_labels(0))
            selection.set_pod(pods[name])
        elif roll < 0.55:
            pods.pop(name, None)
            selection.drop_pod(f"ns/{name}")
        elif roll < 0.8:
            services[name] = some_labels(1)
            selection.set_service(f"ns/{name}", services[name])
        else:
            services.pop(name, None)
            selection.drop_service(f"ns/{name}")
        for each, selector in services.items():
            want = sorted(pod.name for pod in pods.values() if selector.items() <= pod.labels.items())
            assert names(selection.pods_of(f"ns/{each}", selector)) == want
        for each_pod in pods.values():
            want = sorted(f"ns/{key}" for key, sel in services.items() if sel.items() <= each_pod.labels.items())
            assert sorted(selection.services_of(each_pod)) == want
