from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kinformer.models import V1Node, V1ObjectMeta, V1Taint
from kinformer_controllers.shared.nodes.taints import (
    differing_taints,
    has_taint,
    no_execute_taints,
    with_taints,
    without_taints,
)
from kinformer_controllers.shared.nodes.zones import zone_key


def taint(key: str = "k", effect: str = "NoExecute", value: str | None = None) -> V1Taint:
    return V1Taint(key=key, effect=effect, value=value)


def test_a_taint_is_known_by_key_and_effect() -> None:
    assert has_taint([taint(value="other")], taint())
    assert not has_taint([taint(effect="NoSchedule")], taint())
    assert not has_taint([taint("other")], taint())
    assert not has_taint(None, taint())


def test_a_taint_takes_the_place_of_the_one_that_it_is_the_same_as() -> None:
    there = [taint("a"), taint("b", value="old"), taint("c")]

    assert with_taints(there, taint("b", value="new")) == [taint("a"), taint("b", value="new"), taint("c")]
    assert there[1].value == "old"


def test_a_new_taint_comes_last() -> None:
    assert with_taints(None, taint("a"), taint("b")) == [taint("a"), taint("b")]


def test_taints_of_the_same_key_with_other_effects_stay() -> None:
    there = [taint(effect="NoExecute"), taint(effect="NoSchedule")]

    assert without_taints(there, taint(effect="NoExecute")) == [taint(effect="NoSchedule")]
    assert without_taints(None, taint()) == []


@pytest.mark.parametrize(
    ("wanted", "there", "add", "remove"),
    [
        ([], None, [], []),
        (["a"], None, ["a"], []),
        ([], ["a"], [], ["a"]),
        (["a", "b"], ["b", "c"], ["a"], ["c"]),
        (["a"], ["a"], [], []),
    ],
)
def test_two_lists_differ_by_what_only_one_of_them_has(
    wanted: list[str], there: list[str] | None, add: list[str], remove: list[str]
) -> None:
    found = differing_taints([taint(key) for key in wanted], there and [taint(key) for key in there])

    assert found == ([taint(key) for key in add], [taint(key) for key in remove])


def test_only_no_execute_drives_off() -> None:
    since = V1Taint(key="b", effect="NoExecute", time_added=datetime(2026, 1, 1, tzinfo=UTC))

    assert no_execute_taints([taint("a", "NoSchedule"), since, taint("c", "PreferNoSchedule")]) == [since]


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        (None, ""),
        ({"other": "x"}, ""),
        ({"topology.kubernetes.io/zone": "z"}, ":\x00:z"),
        ({"topology.kubernetes.io/region": "r"}, "r:\x00:"),
        ({"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}, "r:\x00:z"),
        ({"topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "old"}, ":\x00:old"),
        ({"topology.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/region": ""}, ""),
    ],
)
def test_a_zone_is_named_by_zone_and_region_and_the_older_labels_count_first(
    labels: dict[str, str] | None, want: str
) -> None:
    assert zone_key(V1Node(metadata=V1ObjectMeta(name="n", labels=labels))) == want
