"""Discovery: what a server serves, told in two ways."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from kinformer.client import Client, DecodeError, Discovery, NoKindMatch
from kinformer.meta import GroupKind, GroupVersion, GroupVersionKind, GroupVersionResource
from tests.client.conftest import ScriptedServer

CORE: dict[str, Any] = {
    "groupVersion": "v1",
    "kind": "APIResourceList",
    "resources": [
        {
            "name": "pods",
            "kind": "Pod",
            "namespaced": True,
            "singularName": "pod",
            "shortNames": ["po"],
            "verbs": ["get", "list"],
        },
        {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        {"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["get"]},
    ],
}
WIDGETS = {"resources": [{"name": "widgets", "kind": "Widget", "namespaced": True, "verbs": ["get"]}]}


def groups(*names: str) -> dict[str, Any]:
    return {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": name,
                "versions": [{"groupVersion": f"{name}/v1beta1", "version": "v1beta1"}, {"version": "v1"}],
                "preferredVersion": {"version": "v1"},
            }
            for name in names
        ],
    }


def script(server: ScriptedServer, *names: str) -> None:
    server.answer({"kind": "APIVersions", "versions": ["v1"]})
    server.answer(CORE)
    server.answer(groups(*names))
    server.answer(WIDGETS, times=2 * len(names))


def aggregated(name: str, *resources: dict[str, Any], freshness: str = "Current") -> dict[str, Any]:
    versions = [{"version": "v1", "resources": list(resources), "freshness": freshness}]
    return {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": name}, "versions": versions}]}


async def test_without_aggregated_discovery_each_group_is_asked(server: ScriptedServer, client: Client) -> None:
    script(server, "example.com")

    found = await client.server_resources()

    assert [str(one.gvr) for one in found] == [
        "v1, Resource=pods",
        "v1, Resource=nodes",
        "example.com/v1, Resource=widgets",
        "example.com/v1beta1, Resource=widgets",
    ]
    pods = found[0]
    assert (pods.kind, pods.namespaced, pods.verbs, pods.short_names) == ("Pod", True, ("get", "list"), ("po",))
    assert pods.subresources == ("status",)
    assert str(pods.gvk) == "v1, Kind=Pod"
    assert [request.path for request in server.requests] == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/example.com/v1",
        "/apis/example.com/v1beta1",
    ]
    assert await client.discovery.groups() == {"": ["v1"], "example.com": ["v1", "v1beta1"]}


async def test_newer_servers_tell_all_in_two_answers(server: ScriptedServer, client: Client) -> None:
    pods = {
        "resource": "pods",
        "responseKind": {"kind": "Pod"},
        "scope": "Namespaced",
        "singularResource": "pod",
        "verbs": ["get"],
        "subresources": [{"subresource": "status"}],
    }
    widgets = {"resource": "widgets", "responseKind": {"kind": "Widget"}, "scope": "Cluster"}
    server.answer(aggregated("", pods))
    server.answer(aggregated("example.com", widgets))

    found = await client.server_resources()

    assert [(str(one.gvr), one.kind, one.namespaced, one.subresources) for one in found] == [
        ("v1, Resource=pods", "Pod", True, ("status",)),
        ("example.com/v1, Resource=widgets", "Widget", False, ()),
    ]
    assert len(server.requests) == 2
    assert "as=APIGroupDiscoveryList" in server.requests[0].headers["accept"]


async def test_what_is_stale_is_left_out_and_the_next_version_preferred(server: ScriptedServer, client: Client) -> None:
    widgets = {"resource": "widgets", "responseKind": {"kind": "Widget"}, "scope": "Cluster"}
    stale = aggregated("example.com", widgets, freshness="Stale")
    stale["items"][0]["versions"].append({"version": "v1beta1", "resources": [widgets], "freshness": "Current"})
    server.answer(aggregated(""))
    server.answer(stale)

    with capture_logs() as logs:
        found = await client.discovery.resource_for_kind(GroupKind("example.com", "Widget"))

    assert str(found.gvr) == "example.com/v1beta1, Resource=widgets"
    assert logs[0]["event"] == "discovery_failed"
    failed = (await client.discovery.served()).failed
    assert failed == {GroupVersion("example.com", "v1"): "stale GroupVersion discovery: example.com/v1"}
    assert await client.discovery.groups() == {"": ["v1"], "example.com": ["v1beta1"]}


async def test_a_version_that_stays_away_is_logged_once(server: ScriptedServer, client: Client) -> None:
    for freshness in ("Stale", "Stale", "Current", "Stale"):
        server.answer(aggregated(""))
        server.answer(aggregated("example.com", freshness=freshness))

    with capture_logs() as logs:
        lines = []
        for _ in range(4):
            await client.discovery.resources(refresh=True)
            lines.append(len(logs))

    assert lines == [1, 1, 1, 2]


async def test_what_has_no_kind_is_no_resource(server: ScriptedServer, client: Client) -> None:
    # A server of metrics lists pods/cpu. The aggregator makes a resource without a kind for it.
    cpu = {"subresource": "cpu", "responseKind": {"kind": "MetricValueList"}}
    pods = {"resource": "pods", "responseKind": {}, "scope": "Namespaced", "subresources": [cpu]}
    server.answer(aggregated(""))
    server.answer(aggregated("custom.metrics.k8s.io", pods, {"resource": "nodes", "scope": "Cluster"}))

    assert await client.server_resources() == []


async def test_a_kind_is_found_by_its_name_in_lower_case(server: ScriptedServer, client: Client) -> None:
    script(server, "example.com")
    discovery = client.discovery

    found = await discovery.resource_for_kind(GroupVersionKind("example.com", "v1beta1", "widget"))

    assert (str(found.gvr), found.kind) == ("example.com/v1beta1, Resource=widgets", "Widget")
    assert (await discovery.resource_for_kind(GroupKind("", "pod"))).kind == "Pod"
    script(server)
    with pytest.raises(NoKindMatch):
        await discovery.resource_for_kind(GroupKind("", "POD"))


async def test_a_server_without_the_core_group_is_asked_for_others(server: ScriptedServer, client: Client) -> None:
    server.answer(b"not found", 404)
    server.answer(groups("example.com"))
    server.answer(WIDGETS, times=2)

    assert [one.kind for one in await client.server_resources()] == ["Widget", "Widget"]


@pytest.mark.parametrize(("body", "code"), [(b"down", 503), (b"<html>", 200)], ids=["refusal", "page"])
async def test_a_group_whose_server_is_down_does_not_hide_the_others(
    server: ScriptedServer, client: Client, body: bytes, code: int
) -> None:
    server.answer({"kind": "APIVersions", "versions": ["v1"]})
    server.answer(CORE)
    server.answer(groups("example.com"))
    server.answer(body, code)
    server.answer(WIDGETS)

    with capture_logs() as logs:
        found = await client.server_resources()

    assert [str(one.gvr) for one in found][2:] == ["example.com/v1beta1, Resource=widgets"]
    assert logs[0]["group_version"] == "example.com/v1"
    assert list((await client.discovery.served()).failed) == [GroupVersion("example.com", "v1")]


async def test_a_kind_is_found_and_what_is_known_is_not_asked_again(server: ScriptedServer, client: Client) -> None:
    script(server, "example.com")
    discovery = client.discovery

    found = await discovery.resource_for_kind(GroupVersionKind("example.com", "v1beta1", "Widget"))
    preferred = await discovery.resource_for_kind(GroupKind("example.com", "Widget"))
    versions = [one.gvr.version for one in await discovery.resources_for_kind(GroupKind("example.com", "Widget"))]
    there = await discovery.resource_for(GroupVersionResource("", "v1", "nodes"))

    assert found.gvr.version == "v1beta1"
    assert preferred.gvr.version == "v1"
    assert versions == ["v1", "v1beta1"]
    assert there.kind == "Node"
    assert len(server.requests) == 5


async def test_what_is_not_known_is_asked_for_once_more(server: ScriptedServer, client: Client) -> None:
    script(server)
    script(server, "example.com")
    await client.server_resources()

    found = await client.discovery.resource_for_kind(GroupVersionKind("example.com", "v1", "Widget"))

    assert found.namespaced


@pytest.mark.parametrize("old", [False, True])
async def test_a_group_without_resources_is_a_group(server: ScriptedServer, client: Client, old: bool) -> None:
    if old:
        server.answer({"kind": "APIVersions", "versions": ["v1"]})
        server.answer(CORE)
        server.answer(groups("custom.metrics.k8s.io"))
        server.answer({"resources": []}, times=2)
    else:
        server.answer(aggregated("", {"resource": "pods", "scope": "Namespaced"}))
        server.answer(aggregated("custom.metrics.k8s.io"))

    found = await client.discovery.groups()

    assert found["custom.metrics.k8s.io"] == (["v1", "v1beta1"] if old else ["v1"])


async def test_what_the_server_does_not_serve_is_named(server: ScriptedServer, client: Client) -> None:
    script(server)
    script(server)

    with pytest.raises(NoKindMatch, match=r'no matches for kind "Widget" in version "example\.com/v1"$'):
        await client.discovery.resource_for_kind(GroupVersionKind("example.com", "v1", "Widget"))
    assert len(server.requests) == 3
    with pytest.raises(NoKindMatch, match="the server serves no widgets in v1"):
        await client.discovery.resource_for(GroupVersionResource("", "v1", "widgets"))
    assert len(server.requests) == 6
    script(server)
    with pytest.raises(NoKindMatch, match=r'kind "Gadget" in group "example\.com"'):
        await client.discovery.resource_for_kind(GroupKind("example.com", "Gadget"))


async def test_what_was_told_can_be_forgotten(server: ScriptedServer, client: Client) -> None:
    script(server)
    script(server)
    await client.server_resources()
    client.discovery.invalidate()

    await client.server_resources()

    assert len(server.requests) == 6
    assert isinstance(client.discovery, Discovery)


async def test_the_version(server: ScriptedServer, client: Client) -> None:
    server.answer({"major": "1", "minor": "36", "gitVersion": "v1.36.2", "platform": "linux/amd64"})

    assert (await client.server_version()).git_version == "v1.36.2"


@pytest.mark.parametrize(
    ("major", "minor", "at_once"),
    [("1", "36", True), ("1", "34+", True), ("1", "33", False), ("2", "0", True), ("", "", False), ("1", "x", False)],
)
async def test_a_version_tells_whether_lists_are_cheap_at_once(
    server: ScriptedServer, client: Client, major: str, minor: str, at_once: bool
) -> None:
    server.answer({"major": major, "minor": minor, "gitVersion": "v0"})

    assert await client.discovery.lists_at_once() is at_once
    assert await client.discovery.lists_at_once() is at_once
    assert len(server.requests) == 1


async def test_the_verbs_for_a_manifest(server: ScriptedServer, client: Client) -> None:
    script(server, "example.com")

    pods = await client.resource_for_object({"apiVersion": "v1", "kind": "Pod"})
    assert server.requests == []
    widgets = await client.resource_for_object({"apiVersion": "example.com/v1", "kind": "Widget"})

    assert (pods.gvr.resource, pods.namespaced, pods.kind) == ("pods", True, "Pod")
    assert (widgets.gvr.resource, widgets.namespaced, widgets.kind) == ("widgets", True, "Widget")
    with pytest.raises(ValueError, match="does not say what it is"):
        await client.resource_for_object({"kind": "Pod"})


async def test_the_page_of_a_web_server_is_no_discovery(server: ScriptedServer, client: Client) -> None:
    server.answer(b"<html>nginx</html>")

    with pytest.raises(DecodeError, match=r"^the answer from /api is not one of an API server: JSON is malformed"):
        await client.discovery.resources()
