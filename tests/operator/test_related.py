"""What a reconciler declares in its class: related objects, options, and the permissions that follow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kinformer.client import Client
from kinformer.envtest import eventually, running
from kinformer.informers import SharedInformerFactory
from kinformer.manager import ControllerContext, Manager
from kinformer.models import V1ConfigMap, V1Namespace, V1ObjectMeta, V1Pod, V1Secret
from kinformer.operator import OptionsOf, Owned, Reconciler, Referred, Related, set_controller_reference
from kinformer.options import option
from kinformer.permissions import allow, permissions_of
from tests.operator.web_apps import WebApp, web_app


@dataclass(frozen=True)
class AppOptions:
    zone: str = option("west", "Where apps are.")


class Apps(Reconciler[WebApp]):
    """Notes what it finds, by the key of each app."""

    name = "apps"
    owns = (V1ConfigMap,)
    options = OptionsOf(AppOptions)
    needs = (allow("delete", "pods"),)
    pods = Related(V1Pod, lambda pod: (pod.metadata.labels or {}).get("apps", "").split("."))
    secrets = Referred(V1Secret, lambda app: [app.spec.image, "default/shared", None], metadata=True)
    zones = Referred(V1Namespace, lambda app: [app.metadata.namespace])

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.found: dict[str, tuple[list[str], list[str], list[str]]] = {}

    async def reconcile(self, obj: WebApp) -> None:
        found: list[list[Any]] = [self.pods.of(obj), self.secrets.of(obj), self.zones.of(obj)]
        pods, secrets, zones = (sorted(one.metadata.name for one in several) for several in found)
        self.found[f"{obj.metadata.namespace}/{obj.metadata.name}"] = (pods, secrets, zones)


@asynccontextmanager
async def apps(client: Client, **options: Any) -> AsyncIterator[Apps]:
    made: list[Apps] = []

    def make(context: ControllerContext) -> Apps:
        made.append(Apps(context))
        return made[0]

    async with running(Manager(client, known={"apps": make}, options=options)):
        yield made[0]


def secret(name: str, namespace: str = "default") -> V1Secret:
    return V1Secret(metadata=V1ObjectMeta(name=name, namespace=namespace))


async def test_objects_that_name_others_reconcile_them_and_are_found(client: Client) -> None:
    pods: Any = client.resource(V1Pod)
    containers = [{"name": "c", "image": "i"}]
    async with apps(client) as found:
        for name in ("shop", "till"):
            await client.resource(WebApp).create(web_app(name))
        await eventually(lambda: len(found.found) == 2)

        labels = {"apps": "shop.till"}
        await pods.create({"metadata": {"name": "p", "labels": labels}, "spec": {"containers": containers}}, "default")
        await eventually(lambda: [one[0] for one in found.found.values()] == [["p"], ["p"]])

        await pods.patch("p", {"metadata": {"labels": {"apps": "till"}}}, "default")
        await eventually(lambda: (found.found["default/shop"][0], found.found["default/till"][0]) == ([], ["p"]))


async def test_objects_that_are_named_reconcile_who_names_them(client: Client) -> None:
    secrets = client.resource(V1Secret)
    await client.resource(V1Namespace).create(V1Namespace(metadata=V1ObjectMeta(name="other")))
    async with apps(client) as found:
        for namespace in ("default", "other"):
            await client.resource(WebApp).create(web_app("shop", namespace, image="key"))
        await eventually(lambda: len(found.found) == 2)
        assert [one[2] for _, one in sorted(found.found.items())] == [["default"], ["other"]]

        await secrets.create(secret("key", "other"))
        await eventually(lambda: found.found["other/shop"][1] == ["key"])
        assert found.found["default/shop"][1] == []

        await secrets.create(secret("shared"))
        await eventually(lambda: [one[1] for _, one in sorted(found.found.items())] == [["shared"], ["key", "shared"]])

        await secrets.delete("key", "other")
        await eventually(lambda: found.found["other/shop"][1] == ["shared"])


async def test_owned_objects_reconcile_their_owner_and_are_found_by_its_uid(client: Client) -> None:
    class Owners(Reconciler[V1Namespace]):
        name = "owners"
        maps = Owned(V1ConfigMap)
        secrets = Owned(V1Secret, metadata=True)

        async def reconcile(self, obj: V1Namespace) -> None:
            if obj.metadata.name == "default":
                found.append([one.metadata.name for one in self.maps.of(obj)])
                found[-1] += [one.metadata.name for one in self.secrets.of(obj)]

    found: list[list[str]] = []
    maps = client.resource(V1ConfigMap)
    owner = await client.resource(V1Namespace).get("default")
    before = V1Namespace(metadata=V1ObjectMeta(name="default", uid="of-before"))
    async with running(Manager(client, known={"owners": Owners})):
        await eventually(lambda: found == [[]])
        for name, controller in (("old", before), ("new", owner)):
            made = V1ConfigMap(metadata=V1ObjectMeta(name=name, namespace="default"))
            set_controller_reference(controller, made)
            await maps.create(made)
        await eventually(lambda: found[-1] == ["new"])

        kept = secret("key")
        set_controller_reference(owner, kept)
        await client.resource(V1Secret).create(kept)
        await eventually(lambda: found[-1] == ["new", "key"])

        await maps.delete("new", "default")
        await eventually(lambda: found[-1] == ["key"])
    assert {tuple(sorted(rule.verbs)) for rule in Owners.permissions if "configmaps" in rule.resources} == {
        ("list", "watch")
    }


async def test_options_are_values_in_a_reconciler_and_their_type_in_its_class(client: Client) -> None:
    async with apps(client, zone="east") as found:
        assert found.options == AppOptions(zone="east")
        assert found.options is found.options
    assert Apps.options is AppOptions


def test_permissions_follow_from_what_is_declared() -> None:
    class Own(Apps):
        permissions = (allow("list", "pods"),)

    wanted = {
        "webapps.example.com": "list watch get patch",
        "webapps.example.com/status": "update",
        "webapps.example.com/finalizers": "update",
        "configmaps": "list watch get create patch",
        "pods": "list watch delete",
        "secrets": "list watch",
        "namespaces": "list watch",
        "events": "create patch",
    }

    assert set(permissions_of(Apps.permissions)) == set(
        permissions_of(allow(verbs, resource) for resource, verbs in wanted.items())
    )
    assert Own.permissions == (allow("list", "pods"),)


async def test_a_text_for_names_is_an_error_that_names_the_relation(client: Client) -> None:
    class Texts(Reconciler[WebApp]):
        name = "texts"
        pods = Related(V1Pod, lambda pod: pod.metadata.name)

        async def reconcile(self, obj: WebApp) -> None: ...

    texts = Texts(ControllerContext(client, SharedInformerFactory(client)))

    with pytest.raises(TypeError, match=r"what .*Texts\.pods returns is 'a': want a list of names"):
        texts.pods.keys_of(V1Pod(metadata=V1ObjectMeta(name="a", namespace="default")))
