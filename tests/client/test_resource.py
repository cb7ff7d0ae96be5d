"""The verbs: what each one sends, and what it makes of the answer."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import msgspec
import pytest

from kinformer.cache import ListWatch
from kinformer.client import (
    AlreadyExists,
    Client,
    ClientOptions,
    Conflict,
    DecodeError,
    DeleteOptions,
    EndlessList,
    Expired,
    Forbidden,
    ListOptions,
    NotFound,
    PatchType,
    Resource,
    Status,
    TooManyRequests,
    UnsupportedMediaType,
    connect,
)
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupVersionResource, shard_selectors
from kinformer.models import (
    ObjectDecodeError,
    V1ConfigMap,
    V1Namespace,
    V1Node,
    V1NodeCondition,
    V1ObjectMeta,
    V1Pod,
    V1Scale,
)
from tests.client.conftest import ScriptedServer

WIDGETS = GroupVersionResource("example.com", "v1", "widgets")


def config_map(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}, **more}


class Meta(msgspec.Struct):
    name: str = ""
    namespace: str = ""


class Widget(msgspec.Struct, rename="camel"):
    metadata: Meta
    size: int = 1
    api_version: str = ""
    kind: str = ""


class Frozen(msgspec.Struct, frozen=True):
    metadata: Meta
    kind: str = ""


class Renamed(msgspec.Struct):
    metadata: Meta
    what: str = msgspec.field(name="kind", default="")


@pytest.fixture
def config_maps(client: Client) -> Resource[V1ConfigMap]:
    return client.resource(V1ConfigMap)


async def test_get(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer(config_map(data={"k": "v"}))

    found = await config_maps.get("a", "ns", resource_version="0")

    assert (found.metadata.name, found.data) == ("a", {"k": "v"})
    assert server.requests[0].target == "/api/v1/namespaces/ns/configmaps/a?resourceVersion=0"


async def test_get_of_what_is_not_there(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer(b"", 404)

    with pytest.raises(NotFound) as caught:
        await config_maps.get("a", "ns")

    assert str(caught.value) == "the server could not find the requested resource (get configmaps a)"


async def test_an_answer_of_another_shape_names_the_type_and_the_place(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": 7})
    server.answer({"items": 7})
    server.answer(b"[")
    widgets = client.resource(Widget, WIDGETS)

    with pytest.raises(DecodeError, match=r"/apis/example.com/v1/namespaces/ns/widgets/a is not a Widget: .*metadata"):
        await widgets.get("a", "ns")
    with pytest.raises(DecodeError, match=r"is not a list of Widget: .*items"):
        await widgets.list("ns")
    with pytest.raises(DecodeError, match="is not an object"):
        await widgets.delete("a", "ns")


async def test_a_refusal_in_an_answer_of_success_is_an_error(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    refusal = b'{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}'
    server.answer(refusal, times=4)

    with pytest.raises(Forbidden):
        await config_maps.get("a", "ns")
    with pytest.raises(Forbidden):
        await config_maps.delete("a", "ns")
    with pytest.raises(Forbidden):
        await config_maps.list("ns")
    with pytest.raises(Forbidden):
        await config_maps.list("ns", accept=lambda _: True)


async def test_list_gives_the_items_the_type_that_the_server_leaves_out(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    meta = {"resourceVersion": "7", "continue": "next", "remainingItemCount": 3}
    server.answer({"kind": "ConfigMapList", "metadata": meta, "items": [{"metadata": {"name": "a"}}]})

    found = await config_maps.list("ns", ListOptions(label_selector="a in (b, c)", limit=1))

    assert (found.resource_version, found.continue_token, found.remaining_item_count) == ("7", "next", 3)
    assert [(item.kind, item.api_version, item.metadata.name) for item in found.items] == [("ConfigMap", "v1", "a")]
    assert server.requests[0].target == "/api/v1/namespaces/ns/configmaps?labelSelector=a+in+%28b%2C+c%29&limit=1"


@pytest.mark.parametrize(
    ("type_", "show"),
    [
        (dict, lambda item: (item["apiVersion"], item["kind"])),
        (Widget, lambda item: (item.api_version, item.kind)),
        (Frozen, lambda item: ("example.com/v1", item.kind or "Widget")),
        (Renamed, lambda item: ("example.com/v1", item.what)),
    ],
)
async def test_items_of_any_type_get_it_if_they_can_have_it(
    type_: type[Any], show: Any, server: ScriptedServer, client: Client
) -> None:
    server.answer({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": "a"}}]})

    found = await client.resource(type_, WIDGETS, kind="Widget").list()

    assert [show(item) for item in found.items] == [("example.com/v1", "Widget")]


async def test_gos_null_is_an_empty_list(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer({"metadata": {}, "items": None})

    assert (await config_maps.list()).items == []


async def test_pages_follow_the_token_and_drop_the_version(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.answer({"metadata": {"continue": "t1", "resourceVersion": "9"}, "items": [{"metadata": {"name": "a"}}]})
    server.answer({"metadata": {"resourceVersion": "9"}, "items": [{"metadata": {"name": "b"}}]})

    options = ListOptions(resource_version="5", resource_version_match="Exact")
    pages = [page async for page in config_maps.pages("ns", options)]

    assert [item.metadata.name for page in pages for item in page.items] == ["a", "b"]
    assert [request.query for request in server.requests] == [
        "resourceVersion=5&resourceVersionMatch=Exact&limit=500",
        "limit=500&continue=t1",
    ]


async def test_pages_that_expire_on_the_way_say_so(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer({"metadata": {"continue": "t1"}, "items": []})
    server.refuse(410, "Expired", "The provided continue parameter is too old")
    pages = config_maps.pages(options=ListOptions(limit=10))

    assert (await anext(pages)).items == []
    with pytest.raises(Expired, match="too old"):
        await anext(pages)


async def test_create_fills_in_what_the_body_does_not_say(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.answer(config_map(), 201)

    made = await config_maps.create(
        V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="ns"), data={"k": "v"}),
        dry_run=True,
        field_manager="me",
        field_validation="Strict",
    )

    assert made.metadata.name == "a"
    request = server.requests[0]
    assert request.target == "/api/v1/namespaces/ns/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict"
    assert request.json() == config_map(data={"k": "v"})


async def test_bodies_may_be_anything_that_is_an_object(server: ScriptedServer, config_maps: Resource[Any]) -> None:
    from kubernetes_asyncio import client as other

    meta = {"name": "a", "namespace": "ns"}
    bodies = [
        {"metadata": meta},
        {"kind": "ConfigMap", "metadata": meta},
        config_map(),
        other.V1ConfigMap(metadata=other.V1ObjectMeta(**meta)),
        other.V1ConfigMap(api_version="v1", kind="ConfigMap", metadata=other.V1ObjectMeta(**meta)),
        Widget(Meta(**meta)),
        msgspec.json.encode(config_map()),
    ]
    server.answer(config_map(), 201, times=len(bodies))

    for body in bodies:
        await config_maps.create(body, "ns")

    for request in server.requests:
        sent = request.json()
        assert (sent["apiVersion"], sent["kind"], sent["metadata"]) == ("v1", "ConfigMap", meta)
        assert request.target == "/api/v1/namespaces/ns/configmaps"


class Named(msgspec.Struct, rename="camel", omit_defaults=True):
    """Says what it is by defaults that are not written."""

    metadata: dict[str, str]
    api_version: str = "example.com/v1"
    kind: str = "WebApp"


class Silent(msgspec.Struct, rename="camel", omit_defaults=True):
    metadata: dict[str, str]
    api_version: str = ""
    kind: str = ""


@pytest.mark.parametrize(("body", "kind"), [(Named, "WebApp"), (Named, ""), (Silent, "WebApp"), (dict, "WebApp")])
async def test_a_struct_that_leaves_out_its_defaults_still_says_what_it_is(
    body: type[Any], kind: str, server: ScriptedServer, client: Client
) -> None:
    meta = {"name": "a", "namespace": "ns"}
    server.answer({"metadata": meta}, 201, times=2)
    apps = client.resource(body, ("example.com", "v1", "webapps"), kind=kind)

    made = body(metadata=meta)
    await apps.create(made, "ns")
    if body is Named:
        made.kind = "Other"
        await apps.create(made, "ns")
        assert server.requests[1].json()["kind"] == "Other"

    assert server.requests[0].json() == {"apiVersion": "example.com/v1", "kind": "WebApp", "metadata": meta}


async def test_an_empty_body_gets_its_type(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "x"}}, 201)

    await client.resource(V1Namespace).create({})

    assert server.requests[0].json() == {"apiVersion": "v1", "kind": "Namespace"}


async def test_create_of_what_exists(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.refuse(409, "AlreadyExists", 'configmaps "a" already exists')

    with pytest.raises(AlreadyExists, match="already exists"):
        await config_maps.create(config_map())


async def test_update_and_update_status(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    from kubernetes_asyncio import client as other

    server.answer(config_map(), times=3)

    await config_maps.update(config_map(), field_manager="me")
    await config_maps.update_status(V1ConfigMap(metadata=V1ObjectMeta(name="a", namespace="ns")))
    await config_maps.update(other.V1ConfigMap(metadata=other.V1ObjectMeta(name="a", namespace="ns")))

    assert [(request.method, request.target) for request in server.requests] == [
        ("PUT", "/api/v1/namespaces/ns/configmaps/a?fieldManager=me"),
        ("PUT", "/api/v1/namespaces/ns/configmaps/a/status"),
        ("PUT", "/api/v1/namespaces/ns/configmaps/a"),
    ]


async def test_update_of_what_has_changed(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.refuse(409, "Conflict", "the object has been modified")

    with pytest.raises(Conflict):
        await config_maps.update(config_map())


@pytest.mark.parametrize("patch_type", list(PatchType))
async def test_patches_of_every_kind(
    patch_type: PatchType, server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.answer(config_map(), times=2)
    body: Any = [{"op": "remove", "path": "/data"}] if patch_type is PatchType.JSON else {"data": None}

    await config_maps.patch("a", body, "ns", patch_type=patch_type, subresource="status", field_manager="me")
    await config_maps.patch("a", msgspec.json.encode(body), "ns", patch_type=patch_type)

    first, second = server.requests
    assert (first.method, first.target) == ("PATCH", "/api/v1/namespaces/ns/configmaps/a/status?fieldManager=me")
    assert first.headers["content-type"] == patch_type.value
    assert first.json() == second.json() == body


async def test_a_status_is_patched_where_no_field_is_misspelt(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "a", "namespace": "ns"}})
    pods, patch = client.resource(V1Pod), {"phase": "Running", "$setElementOrder/conditions": []}
    await pods.patch_status("a", patch, "ns")

    with pytest.raises(
        TypeError, match=r"V1Pod has no field status\.fase \(is it phase\?\), status\.conditions\[0\]\.state"
    ):
        await pods.patch_status("a", {"fase": "Running", "conditions": [{"state": "True"}]}, "ns")

    (request,) = server.requests
    assert (request.method, request.target) == ("PATCH", "/api/v1/namespaces/ns/pods/a/status")
    assert request.json() == {"status": patch}


async def test_a_status_is_patched_where_all_values_fit(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "a"}})
    nodes = client.resource(V1Node)
    patch = {"capacity": {"cpu": 2}, "conditions": [V1NodeCondition(type="Ready")], "phase": None, "volumesInUse": []}
    await nodes.patch_status("a", patch)

    with pytest.raises(TypeError) as caught:
        await nodes.patch_status("a", {"phase": 1, "conditions": [{"status": True}], "addresses": {}, "config": "x"})

    assert str(caught.value) == (
        "V1Node: status.phase: Expected `str | null`, got `int`; "
        "status.conditions[0].status: Expected `str | null`, got `bool`; "
        "status.addresses: Expected `array | null`, got `object`; status.config: Expected `object | null`, got `str`"
    )
    assert len(server.requests) == 1


async def test_apply_takes_its_name_from_the_object(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer(config_map(), times=2)

    await config_maps.apply({"metadata": {"name": "a", "namespace": "ns"}}, field_manager="me")
    await config_maps.apply(config_map(), field_manager="me", force=True, subresource="status", dry_run=True)

    first, second = server.requests
    assert first.target == "/api/v1/namespaces/ns/configmaps/a?fieldManager=me&force=false"
    assert first.headers["content-type"] == "application/apply-patch+yaml"
    assert first.json() == config_map()
    assert second.target == "/api/v1/namespaces/ns/configmaps/a/status?dryRun=All&fieldManager=me&force=true"


async def test_delete_returns_a_status_or_the_object_being_deleted(server: ScriptedServer, client: Client) -> None:
    pods = client.resource(V1Pod)
    server.answer({"kind": "Status", "status": "Success", "details": {"uid": "u"}})
    server.answer({"kind": "Pod", "metadata": {"name": "p", "deletionGracePeriodSeconds": 30}})

    gone = await pods.delete("p", "ns")
    going = await pods.delete("p", "ns", DeleteOptions(grace_period_seconds=30))

    assert isinstance(gone, Status)
    assert gone.status == "Success"
    assert isinstance(going, V1Pod)
    assert going.metadata.deletion_grace_period_seconds == 30
    assert server.requests[0].body == b""
    assert server.requests[1].json() == {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 30}


async def test_delete_collection(server: ScriptedServer, config_maps: Resource[V1ConfigMap]) -> None:
    server.answer({"kind": "ConfigMapList", "items": []}, times=2)

    await config_maps.delete_collection("ns")
    await config_maps.delete_collection(
        "ns", DeleteOptions(propagation_policy="Orphan"), ListOptions(label_selector="a=b")
    )

    first, second = server.requests
    assert (first.method, first.target) == ("DELETE", "/api/v1/namespaces/ns/configmaps")
    assert second.target == "/api/v1/namespaces/ns/configmaps?labelSelector=a%3Db"
    assert second.json()["propagationPolicy"] == "Orphan"


async def test_scale(server: ScriptedServer, client: Client) -> None:
    controllers = client.resource(dict, ("", "v1", "replicationcontrollers"))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "rc"}, "spec": {"replicas": 3}}
    server.answer(scale, times=3)

    found = await controllers.get_scale("rc", "ns")
    found.spec.replicas = 5
    await controllers.update_scale("rc", found, "ns", field_manager="me")
    await controllers.patch_scale("rc", {"spec": {"replicas": 1}}, "ns")

    assert isinstance(found, V1Scale)
    path = "/api/v1/namespaces/ns/replicationcontrollers/rc/scale"
    assert [request.target for request in server.requests] == [path, f"{path}?fieldManager=me", path]
    assert server.requests[1].json()["spec"] == {"replicas": 5}
    assert server.requests[2].headers["content-type"] == "application/merge-patch+json"


async def test_bind_and_evict(server: ScriptedServer, client: Client) -> None:
    pods = client.resource(V1Pod)
    server.answer({"kind": "Status", "status": "Success"}, 201, times=2)
    server.refuse(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")

    await pods.bind("p", "node-1", "ns")
    await pods.evict("p", "ns", DeleteOptions(grace_period_seconds=0))
    with pytest.raises(TooManyRequests, match="disruption budget"):
        await pods.evict("p", "ns")

    binding, eviction, _ = server.requests
    assert binding.target == "/api/v1/namespaces/ns/pods/p/binding"
    assert binding.json() == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "ns"},
        "target": {"kind": "Node", "name": "node-1"},
    }
    assert eviction.target == "/api/v1/namespaces/ns/pods/p/eviction"
    assert eviction.json()["apiVersion"] == "policy/v1"
    assert eviction.json()["deleteOptions"]["gracePeriodSeconds"] == 0


async def test_any_other_subresource(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "p"}}, times=2)
    containers = client.resource(V1Pod).subresource("ephemeralcontainers", V1Pod)

    await containers.get("p", "ns")
    await containers.patch("p", b"{}", "ns", patch_type=PatchType.STRATEGIC)

    assert {request.path for request in server.requests} == {"/api/v1/namespaces/ns/pods/p/ephemeralcontainers"}


async def test_metadata_alone(server: ScriptedServer, client: Client) -> None:
    partial = "application/json;as=PartialObjectMetadata{};g=meta.k8s.io;v=v1"
    server.answer({"metadata": {"name": "p"}})
    server.answer({"metadata": {}, "items": []})
    server.stream()
    metadata = client.resource(dict, ("", "v1", "pods"), metadata_only=True)

    await metadata.get("p", "ns")
    await metadata.list()
    async with metadata.watch():
        pass

    assert [request.headers["accept"] for request in server.requests] == [
        partial.format(""),
        partial.format("List"),
        partial.format(""),
    ]


async def test_managed_fields_are_dropped_by_who_knows_how_to(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "p"}})
    server.answer({"metadata": {}, "items": []})
    server.stream()
    server.answer({"metadata": {"name": "p"}})
    gvr = ("", "v1", "pods")
    pods = client.resource(dict, gvr, drop_managed_fields=True)
    assert pods is not client.resource(dict, gvr)

    await pods.get("p", "ns")
    await pods.list()
    async with pods.watch():
        pass
    await client.resource(dict, gvr, metadata_only=True, drop_managed_fields=True).get("p", "ns")

    assert [request.headers["accept"] for request in server.requests] == [
        *["application/json;drop=metadata.managedFields"] * 3,
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;drop=metadata.managedFields",
    ]


async def test_a_list_says_which_share_it_is(server: ScriptedServer, client: Client) -> None:
    shard = shard_selectors(2)[1]
    server.answer({"metadata": {"shardInfo": {"selector": shard}}, "items": []})
    server.answer({"metadata": {}, "items": []})
    pods = client.resource(V1Pod)

    listed = [await pods.list(shard_selector=shard) for _ in range(2)]

    assert [found.shard_selector for found in listed] == [shard, ""]
    assert parse_qs(server.requests[0].query) == {"shardSelector": [shard]}


async def test_deleting_a_shard_is_refused_because_a_server_might_delete_everything(
    server: ScriptedServer, client: Client
) -> None:
    with pytest.raises(ValueError, match="not deleted by shard_selector"):
        await client.resource(V1Pod).delete_collection("ns", shard_selector=shard_selectors(2)[0])

    assert not server.requests


def test_an_unreadable_shard_selector_is_refused_before_any_request() -> None:
    with pytest.raises(ValueError, match="shard_selector 'half' cannot be parsed"):
        ListOptions(shard_selector="half")


async def test_a_watch_is_not_compressed_where_lists_are(server: ScriptedServer) -> None:
    async with connect(url=server.url, options=ClientOptions(compression=True)) as client:
        server.answer({"metadata": {}, "items": []})
        server.stream()
        await client.resource(V1Pod).list()
        async with client.resource(V1Pod).watch():
            pass

    assert [request.headers["accept-encoding"] for request in server.requests] == ["gzip", "identity"]


async def test_a_kind_without_namespaces(server: ScriptedServer, client: Client) -> None:
    namespaces = client.resource(V1Namespace)
    server.answer({"metadata": {"name": "x"}}, times=2)

    await namespaces.get("x")
    await namespaces.create(V1Namespace(metadata=V1ObjectMeta(name="x", namespace="ignored")))

    assert [request.target for request in server.requests] == ["/api/v1/namespaces/x", "/api/v1/namespaces"]
    with pytest.raises(ValueError, match="namespaces belong to no namespace, but 'ns' was given"):
        await namespaces.get("x", "ns")


async def test_a_kind_of_unknown_scope_goes_by_the_call(server: ScriptedServer, client: Client) -> None:
    widgets = client.resource(dict, WIDGETS)
    server.answer({"metadata": {"name": "a"}}, times=3)

    await widgets.get("a")
    await widgets.get("a", "ns")
    await widgets.create({"kind": "Widget", "metadata": {"name": "a", "namespace": "ns"}})

    assert [request.target for request in server.requests] == [
        "/apis/example.com/v1/widgets/a",
        "/apis/example.com/v1/namespaces/ns/widgets/a",
        "/apis/example.com/v1/namespaces/ns/widgets",
    ]


async def test_names_that_cannot_be_are_refused_before_anything_is_sent(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    for name in ("", ".", "..", "a/b", "50%"):
        with pytest.raises(ValueError, match="name"):
            await config_maps.get(name, "ns")
    with pytest.raises(ValueError, match="configmaps belong to a namespace"):
        await config_maps.get("a")
    with pytest.raises(ValueError, match="configmaps belong to a namespace"):
        await config_maps.create({"metadata": {"name": "a"}})
    with pytest.raises(ValueError, match="the name is empty"):
        await config_maps.update({"metadata": {"namespace": "ns"}})

    assert server.requests == []
    assert config_maps.path("ns", "system:node é") == "/api/v1/namespaces/ns/configmaps/system%3Anode%20%C3%A9"


async def test_a_resource_shows_what_it_is(client: Client) -> None:
    assert repr(client.resource(dict, WIDGETS)) == "<Resource widgets.example.com v1 as dict>"


async def test_what_is_selected_may_be_said_in_place(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.answer({"metadata": {"resourceVersion": "1"}, "items": []}, times=3)
    stream = server.stream()

    await config_maps.list("ns", label_selector="app=web", limit=5)
    await config_maps.list("ns", ListOptions(resource_version="0", limit=5), limit=7, field_selector="metadata.name=a")
    _ = [page async for page in config_maps.pages("ns", label_selector="app=web")]
    async with config_maps.watch("ns", label_selector="app in (a, b)", resource_version="3"):
        await stream.opened.wait()
    server.answer({"kind": "Status", "status": "Success"})
    await config_maps.delete_collection("ns", label_selector="app=web")

    assert [request.query for request in server.requests] == [
        "labelSelector=app%3Dweb&limit=5",
        "fieldSelector=metadata.name%3Da&resourceVersion=0&limit=7",
        "labelSelector=app%3Dweb&limit=500",
        "labelSelector=app+in+%28a%2C+b%29&resourceVersion=3&watch=true",
        "labelSelector=app%3Dweb",
    ]


@pytest.mark.parametrize(
    ("selection", "complaint"),
    [
        ({"label_selector": "app in a,b"}, r"label_selector 'app in a,b' cannot be parsed: .*found 'a' expected: '\('"),
        ({"label_selector": "app=(x"}, r"label_selector 'app=\(x' cannot be parsed"),
        ({"field_selector": "metadata.name"}, "field_selector 'metadata.name' cannot be parsed"),
    ],
)
async def test_a_selector_that_cannot_be_parsed_is_refused_before_anything_is_sent(
    selection: Any, complaint: str, server: ScriptedServer, client: Client
) -> None:
    config_maps = client.resource(V1ConfigMap)
    with pytest.raises(ValueError, match=complaint):
        await config_maps.list("ns", **selection)
    with pytest.raises(ValueError, match=complaint):
        config_maps.watch("ns", **selection)
    with pytest.raises(ValueError, match=complaint):
        ListOptions(**selection)
    with pytest.raises(ValueError, match=complaint):
        ListWatch(config_maps, **selection)
    with pytest.raises(ValueError, match=complaint):
        SharedInformerFactory(client, **selection)

    assert server.requests == []


async def test_a_strategic_patch_that_is_not_taken_says_what_is(server: ScriptedServer, client: Client) -> None:
    server.refuse(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
    widgets = client.resource(dict, WIDGETS, namespaced=True)

    with pytest.raises(UnsupportedMediaType) as caught:
        await widgets.patch("w", {"spec": {}}, "ns", patch_type=PatchType.STRATEGIC)

    assert str(caught.value) == (
        "the body of the request was in an unknown format: widgets.example.com take no strategic merge patch, as "
        "custom resources do not; patch with patch_type=PatchType.MERGE"
    )


async def test_pages_that_go_in_a_circle_are_noticed(
    server: ScriptedServer, config_maps: Resource[V1ConfigMap]
) -> None:
    server.answer({"metadata": {"continue": "again"}, "items": [config_map()]}, times=100)

    with pytest.raises(EndlessList, match="a page refers to itself"):
        async for _ in config_maps.pages("ns"):
            pass

    assert len(server.requests) == 2


async def test_a_struct_may_be_asked_for_where_a_model_is_served(server: ScriptedServer, client: Client) -> None:
    server.answer({"metadata": {"name": "p", "namespace": "ns"}})

    pods = client.resource(Widget, V1Pod)

    assert (pods.gvr.resource, pods.namespaced, pods.kind) == ("pods", True, "Pod")
    assert pods is client.resource(Widget, V1Pod)
    assert (await pods.get("p", "ns")).metadata.name == "p"
    with pytest.raises(LookupError):
        client.resource(dict, Widget)


async def test_answers_may_stay_the_servers_bytes_until_they_are_read(server: ScriptedServer) -> None:
    server.answer({"metadata": {"name": "a"}, "spec": {"nodeName": 5}, "status": {"phase": "Pending"}}, times=3)
    async with connect(url=server.url, options=ClientOptions(lazy=True)) as client:
        pods = client.resource(V1Pod)
        ephemeral = pods.subresource("ephemeralcontainers", V1Pod)
        found = [await pods.get("a", "ns"), await pods.create({}, "ns"), await ephemeral.get("a", "ns")]

    for pod in found:
        assert (pod.metadata.name, pod.status.phase) == ("a", "Pending")
        with pytest.raises(ObjectDecodeError, match=r"Pod a.*spec\.nodeName"):
            _ = pod.spec
