from __future__ import annotations

import copy

import pytest

from kinformer.client import Client, PatchType
from kinformer.informers import SharedInformerFactory
from kinformer.manager import Controller
from kinformer.meta import new_controller_ref
from kinformer.models import ObjectDecodeError, V1ConfigMap, V1ObjectMeta, decode, encode, from_dict, resource_for
from kinformer.operator import CustomResource, Fields
from kinformer.record.recorder import reference_to
from tests.operator.web_apps import WebApp, WebAppSpec, WebAppStatus, web_app


def test_the_class_says_where_its_objects_are_served() -> None:
    assert resource_for(WebApp) == ("example.com", "v1", "WebApp", "webapps", True)


def test_an_object_names_its_kind_when_made_and_when_written() -> None:
    assert (web_app().api_version, web_app().kind) == ("example.com/v1", "WebApp")
    assert encode(web_app()).startswith(b'{"apiVersion":"example.com/v1","kind":"WebApp",')


def test_what_is_written_can_be_read_again() -> None:
    app = web_app(replicas=3)
    app.status = WebAppStatus(ready_replicas=2)

    assert decode(WebApp, encode(app)) == app
    assert copy.deepcopy(app) == app


def test_fields_have_the_names_of_the_api_in_json() -> None:
    app = from_dict(WebApp, {"metadata": {}, "spec": {"image": "i"}, "status": {"readyReplicas": 2}})

    assert app.status == WebAppStatus(ready_replicas=2)


def test_what_does_not_fit_is_an_error_that_names_the_path() -> None:
    with pytest.raises(ObjectDecodeError, match=r"spec\.image"):
        from_dict(WebApp, {"metadata": {}, "spec": {"image": 5}})


def test_a_class_may_call_its_kind_otherwise_and_belong_to_no_namespace() -> None:
    class Zone(
        CustomResource[WebAppSpec, None], group="ex.io", version="v2", plural="zones", kind="DnsZone", namespaced=False
    ):
        pass

    assert resource_for(Zone) == ("ex.io", "v2", "DnsZone", "zones", False)
    assert Zone(metadata=V1ObjectMeta(), spec=WebAppSpec(image="i")).kind == "DnsZone"


def test_a_class_statement_that_says_half_of_it_is_refused() -> None:
    with pytest.raises(TypeError, match="the custom resource Half lacks version and plural"):

        class Half(CustomResource[Fields, Fields], group="example.com"):
            pass


def test_a_base_without_a_resource_is_served_nowhere() -> None:
    class Base(CustomResource[WebAppSpec, WebAppStatus]):
        pass

    with pytest.raises(LookupError, match="Base has no known resource"):
        resource_for(Base)


def test_references_and_events_need_not_be_told_the_kind() -> None:
    app = web_app()
    app.metadata.uid = "u"

    reference = new_controller_ref(app)
    assert (reference.api_version, reference.kind, reference.uid) == ("example.com/v1", "WebApp", "u")
    assert reference_to(app).kind == "WebApp"


async def test_a_client_an_informer_and_owners_need_not_be_told_the_resource(client: Client) -> None:
    created = await client.resource(WebApp).create(web_app())

    async with SharedInformerFactory(client) as informers:
        apps, maps = informers.informer_for(WebApp), informers.informer_for(V1ConfigMap)
        controller = Controller("web-app", _nothing).watch_owned(maps, WebApp).wait_for(apps)
        informers.start()
        await informers.wait_for_cache_sync()
        cached = apps.indexer.get_by_key("default/shop")
        assert cached is not None
        assert (cached.kind, cached.metadata.uid, cached.spec) == ("WebApp", created.metadata.uid, created.spec)
        reference = new_controller_ref(created)
        owned = V1ConfigMap(metadata=V1ObjectMeta(name="m", namespace="default", owner_references=[reference]))
        await client.resource(V1ConfigMap).create(owned)
        assert await controller.queue.get() == "default/shop"


async def test_a_patch_is_a_merge_patch_and_never_strategic(client: Client) -> None:
    apps = client.resource(WebApp)
    await apps.create(web_app())

    assert (await apps.patch("shop", {"spec": {"replicas": 7}}, "default")).spec.replicas == 7
    with pytest.raises(ValueError, match=r"webapps\.example\.com is a custom resource, which takes no strategic"):
        await apps.patch("shop", {"spec": {"replicas": 8}}, "default", patch_type=PatchType.STRATEGIC)


async def _nothing(key: str) -> None:
    pass
