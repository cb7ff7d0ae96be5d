"""A node's list of taints, and writing taints and labels onto nodes that others write, too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from kinformer.client.errors import Conflict, NotFound
from kinformer.clock import FakeClock
from kinformer.models import V1Node, V1ObjectMeta, V1Taint, from_dict
from kinformer_controllers.shared.nodes import zone_key
from kinformer_controllers.shared.taints import (
    NodeWriter,
    differing_taints,
    has_taint,
    no_execute_taints,
    with_taints,
    without_taints,
)
from tests.controllers.objects import conflict, not_found


def taint(key: str = "k", effect: str = "NoExecute", **fields: Any) -> V1Taint:
    return V1Taint(key=key, effect=effect, **fields)


def test_a_taint_is_known_by_key_and_effect() -> None:
    assert has_taint([taint(value="other")], taint())
    assert not has_taint([taint(effect="NoSchedule")], taint())
    assert not has_taint([taint("other")], taint())
    assert not has_taint(None, taint())


def test_a_taint_replaces_the_one_it_equals() -> None:
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
def test_a_zone_is_named_by_zone_and_region_older_labels_first(labels: dict[str, str] | None, want: str) -> None:
    assert zone_key(V1Node(metadata=V1ObjectMeta(name="n", labels=labels))) == want


class Server:
    """One node, whose taints are read and patched. `before_patch` is called before each patch."""

    def __init__(self, *taints: dict[str, Any]) -> None:
        self.taints: list[dict[str, Any]] | None = list(taints) or None
        self.version = 1
        self.gone = False
        self.reads: list[str] = []
        self.patches: list[dict[str, Any]] = []
        self.before_patch: Callable[[], object] = lambda: None

    def resource(self, _: type[Any]) -> Any:
        return SimpleNamespace(get=self._get, patch=self._patch)

    def change(self, *taints: dict[str, Any]) -> None:
        """Somebody else writes."""
        self.version += 1
        self.taints = list(taints)

    async def _get(self, name: str, namespace: str = "", *, resource_version: str = "") -> V1Node:
        self.reads.append(resource_version)
        if self.gone:
            raise not_found()
        meta = {"name": name, "resourceVersion": str(self.version)}
        return from_dict(V1Node, {"metadata": meta, "spec": {"taints": self.taints}})

    async def _patch(self, name: str, body: dict[str, Any]) -> None:
        self.before_patch()
        self.patches.append(body)
        if body["metadata"].get("resourceVersion", str(self.version)) != str(self.version):
            raise conflict()
        if "spec" in body:
            self.taints = body["spec"]["taints"]
        self.version += 1


def writer(server: Server, clock: FakeClock) -> NodeWriter:
    return NodeWriter(server, clock)  # type: ignore[arg-type]  # it has all of a client that is used


class TurnedBySleep(FakeClock):
    """A clock that whoever sleeps turns."""

    async def sleep(self, seconds: float) -> None:
        self.turn(seconds)


@pytest.fixture
def clock() -> FakeClock:
    return TurnedBySleep()


async def test_taints_are_added_with_one_patch_of_the_version_that_was_read(clock: FakeClock) -> None:
    server = Server({"key": "a", "effect": "NoSchedule"})

    await writer(server, clock).add_taints("n", taint("b"), taint("c"))

    assert server.patches == [
        {
            "metadata": {"resourceVersion": "1"},
            "spec": {
                "taints": [
                    {"key": "a", "effect": "NoSchedule"},
                    {"key": "b", "effect": "NoExecute"},
                    {"key": "c", "effect": "NoExecute"},
                ]
            },
        }
    ]


async def test_a_taint_that_is_there_is_not_written_again(clock: FakeClock) -> None:
    server = Server({"key": "a", "effect": "NoExecute", "value": "v"})

    await writer(server, clock).add_taints("n", taint("a", value="v"))
    assert server.patches == []

    await writer(server, clock).add_taints("n", taint("a", value="other"))
    assert server.taints == [{"key": "a", "effect": "NoExecute", "value": "other"}]


async def test_the_last_taint_is_removed_by_a_null(clock: FakeClock) -> None:
    server = Server({"key": "a", "effect": "NoExecute"})

    await writer(server, clock).remove_taints("n", taint("a"))

    assert server.patches[0]["spec"] == {"taints": None}


async def test_the_server_is_not_asked_about_a_taint_missing_in_cache(clock: FakeClock) -> None:
    server = Server({"key": "a", "effect": "NoExecute"})
    cached = from_dict(V1Node, {"metadata": {"name": "n"}, "spec": {}})

    await writer(server, clock).remove_taints("n", taint("a"), cached=cached)
    await writer(server, clock).swap_taints(cached, [], [taint("a")])
    await writer(server, clock).remove_taints("n")
    await writer(server, clock).add_taints("n")

    assert server.reads == []


async def test_after_a_conflict_what_the_other_wrote_is_read_and_kept(clock: FakeClock) -> None:
    server = Server()
    others = iter([{"key": "other", "effect": "NoSchedule"}])
    server.before_patch = lambda: [server.change(one) for one in others]

    await writer(server, clock).add_taints("n", taint("a"))

    assert server.taints == [{"key": "other", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]
    assert server.reads == ["0", ""]
    assert 0.1 <= clock.monotonic() < 0.2


async def test_it_gives_up_after_five_conflicts(clock: FakeClock) -> None:
    server = Server()
    server.before_patch = lambda: server.change()

    with pytest.raises(Conflict):
        await writer(server, clock).add_taints("n", taint("a"))

    assert len(server.patches) == 5
    assert 0.4 <= clock.monotonic() < 0.8


async def test_a_node_that_is_gone_is_told(clock: FakeClock) -> None:
    server = Server()
    server.gone = True

    with pytest.raises(NotFound):
        await writer(server, clock).add_taints("n", taint("a"))


async def test_taints_are_swapped_in_one_write_with_the_time_of_now(clock: FakeClock) -> None:
    server = Server({"key": "old", "effect": "NoExecute"}, {"key": "stays", "effect": "NoSchedule"})
    node = from_dict(V1Node, {"metadata": {"name": "n"}, "spec": {}})

    await writer(server, clock).swap_taints(node, [taint("new")], [taint("old")])

    assert server.taints == [
        {"key": "stays", "effect": "NoSchedule"},
        {"key": "new", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"},
    ]
    assert len(server.patches) == 1


async def test_labels_are_set_without_a_version(clock: FakeClock) -> None:
    server = Server()

    await writer(server, clock).set_labels("n", {"a": "b"})
    await writer(server, clock).set_labels("n", {})

    assert server.patches == [{"metadata": {"labels": {"a": "b"}}}]
