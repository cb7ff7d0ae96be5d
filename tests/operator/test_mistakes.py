"""A user's mistakes: each is one error that names the thing, and says what to write instead."""

from __future__ import annotations

import inspect
import random
import types
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, Literal
from unittest.mock import Mock

import msgspec
import pytest

import kinformer.sync
from kinformer.cache import ResourceEventHandlerDetailedFuncs, ResourceEventHandlerFuncs, SharedIndexInformer
from kinformer.cache.testing import FakeControllerSource
from kinformer.client import Client, ConfigError, PatchType, connect
from kinformer.envtest import ApiServer
from kinformer.informers import SharedInformerFactory
from kinformer.manager import (
    Controller,
    ControllerContext,
    Fleet,
    KubeconfigContexts,
    Manager,
    RequeueAfter,
    generation_changed,
    select_controllers,
)
from kinformer.manager.syncs import seconds_of
from kinformer.meta import Quantity
from kinformer.models import V1ConfigMap, V1Deployment, V1ObjectMeta, V1Pod, from_dict, resource_for
from kinformer.operator import (
    Applier,
    Column,
    CustomResource,
    Fields,
    Finalizer,
    Reconciler,
    add_finalizer,
    definition_of,
    list_map,
    retry_on_conflict,
    set_condition,
    set_controller_reference,
    update_status_if_changed,
)
from kinformer.operator.webhooks import Webhooks
from kinformer.permissions import allow


class Spec(Fields):
    size: int = 1


class Ready(Fields):
    ready_replicas: int = 0


class Sized(CustomResource[Spec, Ready], group="example.com", version="v1", plural="sizeds"):
    """A resource with a status."""


class Bare(CustomResource[Spec, None], group="example.com", version="v1", plural="bares"):
    """A resource without a status."""


class Ruled(Fields):
    rules: ClassVar = ("self.size < 3",)


class Tagged(Fields, tag=True):
    size: int = 1


class Drawn(Fields):
    number: float = msgspec.field(default_factory=random.random)


META: Final = V1ObjectMeta(name="a", namespace="default")
SIZED: Final = Sized(metadata=META, spec=Spec())
BARE: Final = Bare(metadata=META, spec=Spec())
#: What a type checker would refuse.
WRONG: Final[Any] = {
    "name": "Pod",
    "class": V1Pod,
    "naive": datetime(2026, 1, 1),
    "list": ["web"],
    "dict": {},
    "labels": {"app": "web"},
    "port": 8080,
    "true": True,
    "none": None,
    "pod": V1Pod(metadata=V1ObjectMeta(name="a")),
    "url": "http://127.0.0.1:1",
}


async def sync(key: str) -> None: ...


async def keyless() -> None: ...


def plain(key: str) -> Any: ...


async def objectless(self: Any) -> None: ...


def follow(self: Any, obj: Any) -> None: ...


HALF_A_HANDLER: Final[Any] = Mock(spec=["on_add"])


def thing(spec: Any = Spec, **words: Any) -> Any:
    """A custom resource, with other words in its class statement."""

    class Thing(
        CustomResource[spec, None],  # type: ignore[valid-type]  # each row has a spec of its own
        **{"group": "example.com", "version": "v1", "plural": "things", **words},
    ):
        pass

    return Thing


def fields_of(type_: Any) -> Any:
    return msgspec.defstruct("Spec", [("field", type_)], bases=(Fields,), kw_only=True)


def reconciler(**attributes: Any) -> Any:
    async def reconcile(self: Any, obj: Any) -> None: ...

    return types.new_class(
        "Bares",
        (Reconciler[Bare],),
        exec_body=lambda body: body.update({"name": "bares", "reconcile": reconcile, **attributes}),
    )


def informer() -> Any:
    return SharedIndexInformer(FakeControllerSource(), dict, name="pods")


def untyped() -> Any:
    class Thing(CustomResource, group="example.com", version="v1", plural="things"):  # type: ignore[type-arg]  # the mistake
        pass


#: What somebody wrote, with a client of a server that is not there, and what the error says.
MISTAKES: Final[dict[str, tuple[Callable[[Client], Any], str]]] = {
    "a plain sync": (lambda _: Controller("web", plain), "the sync of controller web, plain, is not async"),
    "no workers": (lambda _: Controller("web", sync, workers=0), "controller web has 0 workers: want at least 1"),
    "no time": (lambda _: Controller("web", sync, sync_timeout=0), "a sync_timeout of 0 s: want more than 0, or None"),
    "watch(V1Pod)": (
        lambda _: Controller("web", sync).watch(WRONG["class"]),
        r"controller web cannot watch .*V1Pod.*: want an informer",
    ),
    "watch_owned(…, 'Pod')": (
        lambda _: Controller("web", sync).watch_owned(informer(), WRONG["name"]),
        r"cannot tell the kind of 'Pod': give watch_owned\(\) a model",
    ),
    "no mapper": (
        lambda _: Controller("web", sync).watch_mapped(informer(), WRONG.get("")),
        "None cannot give keys: want a plain function that returns a list of keys",
    ),
    "a function as handler": (
        lambda _: informer().add_event_handler(print),
        "the handler of informer pods is .*: want ResourceEventHandlerFuncs",
    ),
    "returns '30s'": (lambda _: seconds_of("web", "30s"), "returned str: want None, or seconds, a timedelta or a"),
    "returns a negative time": (lambda _: seconds_of("web", RequeueAfter(-1)), r"returned RequeueAfter\(seconds=-1"),
    "returns True": (lambda _: seconds_of("web", True), "returned True: want None, or seconds"),
    "a plain reconcile": (
        lambda _: reconciler(reconcile=plain),
        r"Bares\.reconcile is not async: want async def reconcile\(self, obj\)",
    ),
    "owns without a tuple": (lambda _: reconciler(owns=V1Pod), r"Bares\.owns is V1Pod: want a tuple of"),
    "a reconciler without a name": (lambda _: reconciler(name=""), r"Bares has no name: want a class attribute"),
    "a misspelt controller": (
        lambda _: select_controllers(["site-operater"], ["site-operator"]),
        r"unknown controller 'site-operater': did you mean site-operator\?",
    ),
    "a naive time": (
        lambda _: set_condition(None, "Ready", True, reason="R", now=WRONG["naive"]),
        r"condition Ready has the time .* without a zone: want context\.clock\.now\(\)",
    ),
    "a misspelt field in a manifest": (
        lambda _: from_dict(V1Pod, {"spec": {"containrs": []}}),
        r"V1Pod: there is no field spec\.containrs \(is it containers\?\)",
    ),
    "a text for a number": (
        lambda _: from_dict(V1Deployment, {"spec": {"replicas": "3"}}).spec.replicas,
        r"Deployment: spec\.replicas: Expected `int",
    ),
    "a misspelt argument": (lambda _: WRONG["class"](specc=1), "Unexpected keyword argument 'specc'"),
    "a quantity with a space": (lambda _: Quantity.parse("1 Gi"), "'1 Gi' is not a quantity"),
    "a name for a class": (lambda _: resource_for(WRONG["name"]), "'Pod' is no class: want a model such as V1Pod"),
    "a Struct alone": (
        lambda _: resource_for(Spec),
        r"Spec has no known resource: .* as in resource\(MyStruct,",
    ),
    "a capital plural": (lambda _: thing(plural="Things"), "has the plural 'Things': want small letters"),
    "a group without a dot": (lambda _: thing(group="example"), "has the group 'example': want a domain"),
    "a resource without a version": (lambda _: thing(version=None), "Thing lacks version in its class statement"),
    "a resource without types": (
        lambda _: untyped(),
        r"Thing has no types: want Thing\(CustomResource\[Spec",
    ),
    "a column of no field": (
        lambda _: definition_of(thing(columns=(Column("Size", ".spec.sise"),))),
        r"\.spec\.sise: there is no field 'sise': want one of size",
    ),
    "a column of no attribute": (
        lambda _: definition_of(thing(columns=(Column("Size", "spec.sise"),))),
        r"spec\.sise: Spec has no attribute 'sise'",
    ),
    "a type that JSON lacks": (
        lambda _: definition_of(thing(fields_of(complex))),
        r"spec\.field: complex cannot be expressed in a definition",
    ),
    "a set": (
        lambda _: definition_of(thing(fields_of(set[str]))),
        r"spec\.field: set cannot .*: want a list with list_set\(\)",
    ),
    "a timedelta": (
        lambda _: definition_of(thing(fields_of(timedelta))),
        "timedelta cannot .*: want a number, such as",
    ),
    "a Quantity as a field": (
        lambda _: definition_of(thing(fields_of(Quantity))),
        r"spec\.field: a Quantity is no text in JSON: want int \| str, and Quantity\.parse",
    ),
    "values of two types": (
        lambda _: definition_of(thing(fields_of(Literal["a", 1]))),
        r"spec\.field: the values .* are of several types",
    ),
    "a tagged class": (
        lambda _: definition_of(thing(fields_of(Tagged))),
        r"spec\.field: Tagged has tag= or array_like=",
    ),
    "one type or another": (
        lambda _: definition_of(thing(fields_of(dict[str, str] | list[str]))),
        r"spec\.field: dict \| list: want one type, perhaps with None, or int \| str",
    ),
    "numbers as keys": (lambda _: definition_of(thing(fields_of(dict[int, str]))), "a dict's keys are int: want str"),
    "a default by chance": (
        lambda _: definition_of(thing(Drawn)),
        r"spec\.number: its default is another one each",
    ),
    "a rule as text": (lambda _: definition_of(thing(Ruled)), r"its rules have 'self\.size < 3': want rule\(…\)"),
    "keys of a list that has none": (lambda _: list_map(), r"list_map\(\) has no keys: name the fields"),
    "no class": (lambda _: definition_of(), "a definition needs a class at least"),
    "two stored versions": (
        lambda _: definition_of(thing(), thing(version="v2")),
        "is stored in v1 and v2: want one, and storage=False",
    ),
    "one version twice": (lambda _: definition_of(thing(), thing(storage=False)), "has the version v1 twice"),
    "an owner that is not created": (
        lambda _: set_controller_reference(SIZED, V1ConfigMap(metadata=META)),
        "default/a has no uid: create it before it owns something",
    ),
    "a misspelt status": (
        lambda client: update_status_if_changed(client, SIZED, {"redyReplicas": 1}),
        r"Sized has no field status\.redyReplicas \(is it readyReplicas\?\)",
    ),
    "a misspelt patch": (
        lambda client: client.resource(Sized).patch_status("a", {"redyReplicas": 1}, "default"),
        r"Sized has no field status\.redyReplicas \(is it readyReplicas\?\)",
    ),
    "a patch of a wrong type": (
        lambda client: client.resource(Sized).patch_status("a", {"readyReplicas": "1"}, "default"),
        r"Sized: status\.readyReplicas: Expected `int`, got `str`",
    ),
    "a status of a wrong type": (
        lambda client: update_status_if_changed(client, SIZED, {"readyReplicas": 1.5}),
        r"Sized: status\.readyReplicas: Expected `int`, got `float`",
    ),
    "a status of another type": (
        lambda client: update_status_if_changed(client, SIZED, Spec()),
        "the status of a Sized is Spec: want Ready",
    ),
    "a status where there is none": (
        lambda client: update_status_if_changed(client, BARE, Spec()),
        "Bare has no status: want CustomResource",
    ),
    "a strategic patch": (
        lambda client: client.resource(Sized).patch("a", {}, "default", patch_type=PatchType.STRATEGIC),
        r"takes no strategic merge patch: leave patch_type out, or give PatchType\.MERGE",
    ),
    "no namespace": (lambda client: client.resource(V1Pod).get("a"), "pods belong to a namespace"),
    "an unfinished selector": (
        lambda client: client.resource(V1Pod).list("default", label_selector="app in"),
        "label_selector 'app in' cannot be parsed",
    ),
    "a finalizer without a domain": (
        lambda client: add_finalizer(client, SIZED, "dns"),
        r"the finalizer 'dns' has no domain: want a name such as 'example\.com/dns'",
    ),
    "an object without a name": (
        lambda client: Applier(client, "web").apply(V1ConfigMap(metadata=V1ObjectMeta(namespace="default"))),
        r"the name is empty: want metadata\.name",
    ),
    "a name with spaces": (lambda _: reconciler(name="My Bares"), "Bares.name is 'My Bares': want letters"),
    "a reconcile without an object": (
        lambda _: reconciler(reconcile=objectless),
        r"Bares\.reconcile is objectless\(self\): want async def reconcile\(self, obj\)",
    ),
    "a plain daemon": (lambda _: reconciler(daemon=follow), r"Bares\.daemon is not async: want async def daemon"),
    "needs without a tuple": (
        lambda _: reconciler(needs=allow("get", "pods")),
        r"Bares\.needs is Rule.*: want a tuple, as in needs = \(allow",
    ),
    "when without a tuple": (
        lambda _: reconciler(when=generation_changed),
        r"Bares\.when is generation_changed: want a tuple, as in when = \(generation_changed,\)",
    ),
    "options without OptionsOf": (lambda _: reconciler(options=Spec), r"Bares\.options is Spec: want OptionsOf"),
    "a function for webhooks": (lambda _: reconciler(webhooks=sync), r"Bares\.webhooks is sync: want a Webhooks"),
    "a misspelt verb": (lambda _: allow("lst", "pods"), "'lst' is not a verb: did you mean 'list'"),
    "a class for a resource": (
        lambda _: allow("get", WRONG["class"]),
        "a resource of a rule is V1Pod: want its plural, such as 'pods'",
    ),
    "an operation for operations": (
        lambda _: Webhooks("bares").validating(Bare, operations=WRONG["name"]),
        r"operations is 'Pod': want a tuple, as in operations=\('CREATE',\)",
    ),
    "webhooks with spaces": (lambda _: Webhooks("My Hooks"), "the name of webhooks is 'My Hooks': want small letters"),
    "a version with a dot": (lambda _: thing(version="1.0"), "has the version '1.0': want one such as 'v1'"),
    "a scope": (lambda _: thing(scope="Cluster"), "of Thing has no scope: want namespaced=False"),
    "a misspelt keyword": (lambda _: thing(colums=()), "of Thing has no colums: want columns"),
    "a text for short names": (
        lambda _: thing(short_names="th"),
        r"short_names of Thing is 'th': want a tuple, as in short_names=\('a',\)",
    ),
    "a path for a column": (
        lambda _: thing(columns=("spec.size",)),
        r"a column of Thing is 'spec\.size': want Column\('Size', 'spec.size'\)",
    ),
    "a name for controllers": (
        lambda client: Manager(client, known={}, controllers="web"),
        r"controllers is 'web': want a list of names, as in controllers=\['web'\]",
    ),
    "a list for known": (
        lambda client: Manager(client, known=WRONG["list"]),
        r"known is \['web'\]: want a dict of factories, as in \{'web': WebApps\}",
    ),
    "a port for an endpoint": (
        lambda client: Manager(client, endpoint=WRONG["port"]),
        r"endpoint is 8080: want a host and a port, as in \('127\.0\.0\.1', 8080\)",
    ),
    "True for an election": (
        lambda client: Manager(client, leader_election=WRONG["true"]),
        r"leader_election is True: want LeaderElection\(…\), or None",
    ),
    "webhooks for their serving": (
        lambda client: Manager(client, known={}, webhooks=WRONG["port"]),
        r"webhooks of a manager is 8080: want WebhookServing\(…\)",
    ),
    "a name for contexts": (
        lambda _: KubeconfigContexts(contexts="west"),
        r"contexts is 'west': want a list of names, as in contexts=\['west'\]",
    ),
    "a dict for a fleet's source": (
        lambda _: Fleet(WRONG["dict"]),
        "the source of a fleet is {}: want a ClusterSource, such as KubeconfigContexts",
    ),
    "a dict for a selector": (
        lambda client: client.resource(V1Pod).list("default", label_selector=WRONG["labels"]),
        "label_selector is {'app': 'web'}: want a text, as in 'app=web",
    ),
    "a patch before its namespace": (
        lambda client: client.resource(Sized).patch("a", WRONG["name"], {"spec": {}}),
        r"the namespace of sizeds\.example\.com is {'spec': {}}: want a text: the arguments are \(name, …, namespace\)",
    ),
    "an object for its name": (
        lambda client: client.resource(V1Pod).delete(WRONG["pod"], "default"),
        "the name of pods is V1Pod.*: want a text: the arguments are",
    ),
    "a key for a name": (
        lambda client: client.resource(V1Pod).get("default/a"),
        "pods belong to a namespace.*; want a name and a namespace, as in 'a', 'default'",
    ),
    "a handler without on_update": (
        lambda _: informer().add_event_handler(HALF_A_HANDLER),
        r"handler of informer pods is .*Mock.*: want ResourceEventHandlerFuncs\(add=…\), or an object with on_update\(",
    ),
    "a wrapped handler without on_update": (
        lambda _: Controller("web", sync).handle(informer(), HALF_A_HANDLER),
        r"handler of informer pods is .*Mock.*: want ResourceEventHandlerFuncs",
    ),
    "an add handler of two arguments": (
        lambda _: ResourceEventHandlerFuncs(add=lambda old, new: None),
        r"add of a handler is .*<lambda>\(old, new\): want a function of the object",
    ),
    "an update handler of one argument": (
        lambda _: ResourceEventHandlerDetailedFuncs(update=lambda new: None),
        r"update of a handler is .*<lambda>\(new\): want a function of the object as it was and as it is",
    ),
    "a called handler": (
        lambda _: ResourceEventHandlerFuncs(add=WRONG["dict"]),
        "add of a handler is {}: want a function of the object",
    ),
    "a sync without a key": (
        lambda _: Controller("web", keyless),
        r"the sync of controller web is keyless\(\): want async def sync\(key\)",
    ),
    "a factory without a context": (
        lambda client: Manager(client, known={"web": keyless}),
        r"the factory of controller web is keyless\(\): want a function of the context",
    ),
    "a controller for its factory": (
        lambda client: Manager(client, known={"web": WRONG["port"]}),
        "the factory of controller web is 8080: want a function of the context",
    ),
    "an async factory": (
        lambda client: Manager(client, known={"web": sync}),
        "the factory of controller web is async: want a plain function that returns a Controller",
    ),
    "a client without its block": (
        lambda _: connect(url="http://127.0.0.1:1").resource(V1Pod),
        r"connect\(\) has no resource: its client has it, which is used in `async with connect\(\) as client:`",
    ),
    "a blocking client without its block": (
        lambda _: kinformer.sync.connect(url="http://127.0.0.1:1").resource(V1Pod),
        r"connect\(\) has no resource: its client has it, which is used in `with connect\(\) as client:`",
    ),
    "a list for the namespace": (
        lambda client: SharedInformerFactory(client, namespace=WRONG["list"]),
        r"namespace is \['web'\]: want a name; namespaces= takes several",
    ),
    "None for a name": (
        lambda client: client.resource(V1Pod).delete(WRONG["none"], "default"),
        r"the name of pods is None: want a text: the arguments are \(name, …, namespace\)",
    ),
    "None for the name of what is waited for": (
        lambda client: client.resource(V1Pod).until(WRONG["none"], lambda pod: False, "default"),
        "the name of pods is None: want a text",
    ),
    "an object without a namespace": (
        lambda client: client.resource(V1Pod).create(V1Pod(metadata=V1ObjectMeta(name="a"))),
        "pods belong to a namespace.*; want metadata.namespace of the object",
    ),
    "a name for an object": (
        lambda client: client.resource(V1Pod).create(WRONG["name"]),
        r"the object is 'Pod': want a model such as V1Pod\(…\), or a dict",
    ),
    "an object of another kind": (
        lambda client: client.resource(V1ConfigMap).create(WRONG["pod"], "default"),
        "the type of the object is V1Pod: want that of a ConfigMap",
    ),
    "an object for its class": (lambda client: client.resource(WRONG["pod"]), r"V1Pod\(.*\) is no class: want a model"),
    "a text for a resource": (
        lambda client: client.resource(dict, WRONG["name"]),
        r"the resource is 'Pod': want group, version and plural, as in \('example\.com', 'v1', 'webapps'\)",
    ),
    "a called clean-up": (
        lambda client: Finalizer("example.com/dns", client).ensure(SIZED, WRONG["dict"]),
        r"the clean-up of example\.com/dns is {}: want the function itself, as in cleanup=self\.remove",
    ),
    "a URL for a kubeconfig": (
        lambda _: connect(WRONG["url"]).__aenter__(),
        r"kubeconfig http://127\.0\.0\.1:1: want a file; a server's address is connect\(url=…\)",
    ),
    "no try": (lambda _: retry_on_conflict(lambda: sync(""), tries=0), "tries is 0: want at least 1"),
    "a token for no server": (lambda _: connect(token="x").__aenter__(), "has token and no url"),
    "no server": (
        lambda client: client.resource(V1Pod).list("default"),
        "cannot reach the server at http://127.0.0.1:1: Connection refused",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
async def test_a_mistake_is_named_with_its_remedy(mistake: str) -> None:
    make, said = MISTAKES[mistake]

    async def make_it(client: Client) -> None:
        made = make(client)
        if inspect.isawaitable(made):
            await made

    async with connect(url="http://127.0.0.1:1") as client:
        with pytest.raises(Exception, match=said):
            await make_it(client)


async def test_without_any_kubeconfig_it_says_where_it_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", "/nowhere")

    with pytest.raises(
        ConfigError, match=r"/nowhere/\.kube/config is not there, KUBECONFIG is not set, and this is no"
    ):
        async with connect():
            pass


async def test_a_factory_that_returns_nothing() -> None:
    def wrong(context: ControllerContext) -> Any:
        return None

    async with ApiServer() as server, connect(url=server.url, token=server.token) as client:
        with pytest.raises(TypeError, match="the factory of controller web returned None: want a Controller"):
            Manager(client, known={"web": wrong})
