"""A user's mistakes: what was wrong, where, and what to write instead."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from kinformer.cache import SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import Client, ConfigError, connect
from kinformer.envtest import ApiServer
from kinformer.manager import Controller, Manager, UnknownControllerError, select_controllers
from kinformer.models import V1ConfigMap, V1ObjectMeta, V1Pod, resource_for
from kinformer.operator import Applier, CustomResource, Fields, Reconciler, install, update_status_if_changed


class Spec(Fields):
    size: int = 1


class Bare(CustomResource[Spec, None], group="example.com", version="v1", plural="bares"):
    """A resource without a status."""


def test_a_reconcile_that_is_not_async_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r"Bares\.reconcile is not async: want async def reconcile\(self, obj\)"):

        class Bares(Reconciler[Bare]):
            name = "bares"

            def reconcile(self, obj: Bare) -> None:  # type: ignore[override]
                return None


def test_an_owned_type_without_a_tuple_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match=r"Bares\.owns is <class .*V1Pod'>: want a tuple of types"):

        class Bares(Reconciler[Bare]):
            name = "bares"
            owns = V1Pod  # type: ignore[assignment]

            async def reconcile(self, obj: Bare) -> None: ...


class Ready(Fields):
    ready_replicas: int = 0


class Sized(CustomResource[Spec, Ready], group="example.com", version="v1", plural="sizeds"):
    """A resource with a status."""


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"redyReplicas": 1}, r"Sized has no field status\.redyReplicas \(is it readyReplicas\?\)"),
        (Spec(size=5), "the status of a Sized is Spec: want Ready"),
    ],
    ids=["misspelt", "another type"],
)
async def test_a_status_that_does_not_fit_is_refused_before_it_is_sent(status: Any, error: str) -> None:
    async with connect(url="http://127.0.0.1:1") as client:
        sized = Sized(metadata=V1ObjectMeta(name="a", namespace="default"), spec=Spec())
        with pytest.raises(TypeError, match=error):
            await update_status_if_changed(client, sized, status)


def test_a_name_in_place_of_a_class_is_no_resource() -> None:
    wrong: Any = "Pod"
    with pytest.raises(TypeError, match="'Pod' is no class: want a model such as V1Pod"):
        resource_for(wrong)


def test_a_struct_alone_does_not_say_where_it_is_served() -> None:
    with pytest.raises(LookupError, match=r"Spec has no known resource: .* as in resource\(MyStruct, V1Pod\)"):
        resource_for(Spec)


def test_a_function_is_no_event_handler() -> None:
    informer = SharedIndexInformer(FakeControllerSource(), dict, name="pods")
    wrong: Any = print
    with pytest.raises(TypeError, match=r"no event handler of informer pods: want ResourceEventHandlerFuncs"):
        informer.add_event_handler(wrong)


def test_a_controller_watches_informers_not_types() -> None:
    async def sync(key: str) -> None: ...

    wrong: Any = V1Pod
    with pytest.raises(TypeError, match=r"controller web cannot watch .*V1Pod.*: want an informer"):
        Controller("web", sync).watch(wrong)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"group": "example.com", "plural": "Things"}, "has the plural 'Things': want small letters"),
        ({"group": "example", "plural": "things"}, "has the group 'example': want a domain"),
    ],
    ids=["plural", "group"],
)
def test_what_a_server_would_refuse_is_refused_in_the_class_statement(words: dict[str, str], said: str) -> None:
    with pytest.raises(TypeError, match=f"the custom resource Thing {said}"):

        class Thing(CustomResource[Spec, None], version="v1", **words):  # type: ignore[misc]
            pass


def test_a_custom_resource_has_types() -> None:
    with pytest.raises(TypeError, match=r"Thing has no types: want Thing\(CustomResource\[Spec, Status\], …\)"):

        class Thing(CustomResource, group="example.com", version="v1", plural="things"):  # type: ignore[type-arg]
            pass


def test_a_controller_that_is_nearly_known_is_named() -> None:
    with pytest.raises(UnknownControllerError, match=r"'site-operater' \(did you mean site-operator\?\): want"):
        select_controllers(["site-operater"], ["deployment", "site-operator"])


async def test_without_any_kubeconfig_it_says_where_it_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", "/nowhere")

    with pytest.raises(
        ConfigError, match=r"/nowhere/\.kube/config is not there, KUBECONFIG is not set, and this is no"
    ):
        async with connect():
            pass


async def test_a_status_where_the_resource_has_none() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await install(client, Bare)
        bare = await client.resource(Bare).create(
            Bare(metadata=V1ObjectMeta(name="a", namespace="default"), spec=Spec())
        )
        with anyio.fail_after(60), pytest.raises(TypeError, match="Bare has no status: want CustomResource"):
            await update_status_if_changed(client, bare, Spec())


async def test_an_object_without_a_name_is_not_applied() -> None:
    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(ValueError, match=r"the name is empty: want metadata\.name"):
            await Applier(client, "web").apply(V1ConfigMap(metadata=V1ObjectMeta(namespace="default")))


async def test_a_factory_that_returns_nothing() -> None:
    async def with_client(client: Client) -> None:
        wrong: Any = lambda context: None  # noqa: E731
        with pytest.raises(TypeError, match="the factory of controller web returned None: want a Controller"):
            Manager(client, known={"web": wrong})

    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        await with_client(client)
