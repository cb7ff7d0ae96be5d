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
from kinformer.client import Client, ClientOptions, ConfigError, PatchType, connect
from kinformer.envtest import ApiServer
from kinformer.informers import Selection, SharedInformerFactory
from kinformer.leaderelection import ElectionOptions, LeaderElector, LeaseKeeper, LeaseLock
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
    create_or_update,
    definition_of,
    install,
    list_map,
    retry_on_conflict,
    set_condition,
    set_controller_reference,
    update_status_if_changed,
)
from kinformer.operator.webhooks import Webhooks
from kinformer.permissions import allow
from kinformer.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    PriorityQueue,
    RateLimitingQueue,
    WithMaxWaitRateLimiter,
)


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
    "minute": timedelta(minutes=1),
    "seconds": "15s",
    "factory": SharedInformerFactory,
    "limiter": MaxOfRateLimiter(),
    "limiter class": MaxOfRateLimiter,
    "no object": lambda: None,
}


async def sync(key: str) -> None: ...


async def keyless() -> None: ...


def as_any(given: object) -> Any:
    """For what a type checker would refuse here."""
    return given


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
    "a name for the installed controllers": (
        lambda client: Manager(client, controllers="web"),
        r"controllers is 'web': want a list of names, as in controllers=\['web'\]",
    ),
    "a name for the required controllers": (
        lambda client: Manager(client, known={}, required="web"),
        r"required is 'web': want a list of names, as in required=\['web'\]",
    ),
    "None for the client of a manager": (
        lambda _: Manager(WRONG["none"], known={}),
        "the client of a manager is None: want the client of `async with connect",
    ),
    "a timedelta for a manager's timeout": (
        lambda client: Manager(client, known={}, cache_sync_timeout=WRONG["minute"]),
        r"cache_sync_timeout is datetime.timedelta.*: want seconds, as in 15\.0; a timedelta has total_seconds\(\)",
    ),
    "the class for an informer factory": (
        lambda client: Manager(client, known={}, informers=WRONG["factory"]),
        r"informers is SharedInformerFactory: want SharedInformerFactory\(client\), or None",
    ),
    "a dict for the limits of the health checks": (
        lambda client: Manager(client, known={}, limits=WRONG["dict"]),
        r"limits is {}: want HealthLimits\(…\), or None",
    ),
    "a pair for the TLS of the endpoint": (
        lambda client: Manager(client, known={}, secure=WRONG["list"]),
        r"secure is \['web'\]: want SecureServing\(…\), or None",
    ),
    "the arguments of a controller in another order": (
        lambda _: Controller(WRONG["class"], WRONG["name"]),
        r"the name of a controller is V1Pod: want a text: the arguments are \(name, sync\)",
    ),
    "a text for the workers": (
        lambda _: Controller("web", sync, workers=WRONG["seconds"]),
        "workers of controller web is '15s': want a whole number",
    ),
    "a timedelta for a sync_timeout": (
        lambda _: Controller("web", sync, sync_timeout=WRONG["minute"]),
        "sync_timeout of controller web is datetime.timedelta.*: want seconds, as in",
    ),
    "a number for a limiter": (
        lambda _: Controller("web", sync, limiter=WRONG["port"]),
        r"the limiter of queue web is 8080: want a rate limiter, such as ItemExponentialFailureRateLimiter\(",
    ),
    "a list for limits": (
        lambda _: Controller("web", sync, limits=WRONG["list"]),
        r"limits of controller web is \['web'\]: want a dict of limiters by class",
    ),
    "a text for a class of errors": (
        lambda _: Controller("web", sync, limits={WRONG["name"]: MaxOfRateLimiter()}),
        "a key of limits of controller web is 'Pod': want a class of errors, such as Conflict",
    ),
    "a number for a limiter of errors": (
        lambda _: Controller("web", sync, limits={ValueError: WRONG["port"]}),
        "a value of limits of controller web is 8080: want a rate limiter",
    ),
    "a name for starts_after": (
        lambda _: Controller("web", sync, starts_after="db"),
        r"starts_after of controller web is 'db': want a list of names, as in \['web'\]",
    ),
    "a text for shard_by": (
        lambda _: Controller("web", sync, shard_by=WRONG["name"]),
        "shard_by of controller web is 'Pod': want a plain function of one argument, or None",
    ),
    "a limiter for the name of a queue": (
        lambda _: RateLimitingQueue(WRONG["limiter"]),
        "the name of a queue is .*: want a text, or nothing; limiter= takes a rate limiter",
    ),
    "a class for a limiter": (
        lambda _: PriorityQueue("web", limiter=WRONG["limiter class"]),
        "the limiter of queue web is MaxOfRateLimiter: want a rate limiter, such as",
    ),
    "a list of limiters": (
        lambda _: MaxOfRateLimiter(WRONG["list"]),
        r"a limiter of MaxOfRateLimiter is \['web'\]: want a rate limiter",
    ),
    "a text for the delay of a limiter": (
        lambda _: ItemExponentialFailureRateLimiter(WRONG["seconds"], 10.0),
        "base_delay is '15s': want seconds, as in",
    ),
    "a timedelta for the slow delay": (
        lambda _: ItemFastSlowRateLimiter(1.0, WRONG["minute"], 3),
        r"slow_delay is datetime\.timedelta.*: want seconds",
    ),
    "a text for the tries of a limiter": (
        lambda _: ItemFastSlowRateLimiter(1.0, 2.0, WRONG["seconds"]),
        "max_fast_attempts is '15s': want a whole number",
    ),
    "a timedelta for the longest wait": (
        lambda _: WithMaxWaitRateLimiter(MaxOfRateLimiter(), WRONG["minute"]),
        r"max_delay is datetime\.timedelta.*: want seconds",
    ),
    "a text for the rate of a bucket": (
        lambda _: BucketRateLimiter(WRONG["seconds"], 10),
        "qps is '15s': want a number",
    ),
    "a timedelta for a lease": (
        lambda _: ElectionOptions(lease_duration=WRONG["minute"]),
        r"lease_duration of the election is datetime\.timedelta.*: want seconds, as in",
    ),
    "a lock whose client comes last": (
        lambda client: LeaseLock(WRONG["name"], "default", "web", as_any(client)),
        "the client of a lock is 'Pod': want the client of `async with connect",
    ),
    "a lock without a namespace": (
        lambda client: LeaseLock(client, "", "web", "me"),
        "the namespace of a lock is empty",
    ),
    "None for the namespace of a lock": (
        lambda client: LeaseLock(client, WRONG["none"], "web", "me"),
        r"the namespace of a lock is None: want a text: the arguments are \(client, namespace, name, identity\)",
    ),
    "a client for a lock": (
        lambda client: LeaseKeeper(as_any(client)),
        r"the lock of a keeper is .*: want LeaseLock\(client, namespace, name, identity\)",
    ),
    "a dict for the options of a keeper": (
        lambda client: LeaseKeeper(LeaseLock(client, "default", "web", "me"), WRONG["labels"]),
        r"options is {'app': 'web'}: want ElectionOptions\(…\), or None",
    ),
    "a lock for its keeper": (
        lambda client: LeaderElector(as_any(LeaseLock(client, "default", "web", "me"))),
        r"the keeper of an elector is .*LeaseLock.*: want LeaseKeeper\(LeaseLock\(…\)\)",
    ),
    "the work of a leader with an argument": (
        lambda client: LeaderElector(LeaseKeeper(LeaseLock(client, "default", "web", "me"))).run(as_any(sync)),
        r"the work of a leader is sync\(key\): want an async function without arguments",
    ),
    "None for the client of a factory": (
        lambda _: SharedInformerFactory(WRONG["none"]),
        "the client of an informer factory is None: want the client of `async with connect",
    ),
    "a timedelta for a resync": (
        lambda client: SharedInformerFactory(client, resync_period=WRONG["minute"]),
        r"the resync period is datetime\.timedelta.*: want seconds",
    ),
    "a plural for a type": (
        lambda client: SharedInformerFactory(client, custom_resync={WRONG["name"]: 30.0}),
        "a key of by_type or custom_resync is 'Pod': want a type",
    ),
    "a text for a selection": (
        lambda client: SharedInformerFactory(client, by_type={V1Pod: WRONG["name"]}),
        r"a value of by_type is 'Pod': want Selection\(label_selector='app=web'\)",
    ),
    "an async transform": (
        lambda client: SharedInformerFactory(client, transform=as_any(sync)),
        "the transform of informers is sync: want a plain function of the object that returns what is stored",
    ),
    "a transform without an object": (
        lambda _: Selection(transform=WRONG["no object"]),
        r"the transform of informers is <lambda>\(\): want a plain function of the object",
    ),
    "a text for a rate of requests": (
        lambda _: ClientOptions(qps=WRONG["seconds"]),
        "qps of a client is '15s': want a number",
    ),
    "a timedelta for an event_patience": (
        lambda _: ClientOptions(event_patience=WRONG["minute"]),
        r"event_patience of a client is datetime\.timedelta.*: want seconds",
    ),
    "a timedelta for a read_timeout": (
        lambda _: ClientOptions(read_timeout=WRONG["minute"]),
        r"read_timeout of a client is datetime\.timedelta.*: want seconds",
    ),
    "None for the client of a finalizer": (
        lambda _: Finalizer("example.com/dns", WRONG["none"]),
        "the client of the finalizer example.com/dns is None: want the client",
    ),
    "an Applier whose client comes last": (
        lambda client: Applier(WRONG["name"], as_any(client)),
        "the client of an Applier is 'Pod': want the client",
    ),
    "an async mutate": (
        lambda client: create_or_update(client, WRONG["pod"], as_any(sync)),
        "mutate is sync: want a plain function that changes the object that it is given",
    ),
    "a built-in kind for a definition": (
        lambda client: install(client, WRONG["class"]),
        "the class of a definition is V1Pod: want a subclass of CustomResource",
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
