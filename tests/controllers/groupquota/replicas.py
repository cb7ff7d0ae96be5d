"""Schedules: replicas of the webhook around one store, where writes, news and answers take as long as a seed says.

Each replica is the real one but for its informers and its client, which are played here: news of quotas and of pods
comes by different watches, late and not together; a write may be stored and its answer lost; a replica may be killed at
any moment, between any two writes, and another starts from what is stored. Now and then two take themselves for the
leader. ::

    python -m tests.controllers.groupquota.replicas --schedules 10000

runs so many and says what came of them; a seed that fails is run alone by ``--first SEED --schedules 1``.
"""

from __future__ import annotations

import argparse
import copy
import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import structlog

from kinformer.cache.tasks import plain_task_group
from kinformer.client import ServerUnreachable
from kinformer.clock import FakeClock
from kinformer.meta.names import GroupResource
from kinformer.models import V1Namespace, V1ObjectMeta, V1Pod, from_dict
from kinformer.operator.webhooks.reviews import RawRequest, Resource
from kinformer_controllers.groupquota import QuotaWebhook
from kinformer_controllers.groupquota.changes import ObjectHandler
from kinformer_controllers.shared.quota.pods import PODS
from tests.controllers.objects import conflict, not_found

__all__ = ("OverCommitted", "Outcome", "Refused", "run_schedule")

#: Seconds that a charge is reserved, longer than anything takes between admission and storage.
RESERVATION = 3.0
#: An API server stores what was admitted within this time, or never.
STORED_WITHIN = 2.0
NAMESPACES = ("shop-1", "shop-2")


class OverCommitted(AssertionError):
    """More is stored than the limit allows."""


class Refused(AssertionError):
    """A request was refused though there was room, or usage ended up wrong."""


class Store:
    """
    What is stored: one quota, and pods.

    :param compares: whether a write is refused that was not reckoned from the newest version
    """

    def __init__(self, hard: int, *, compares: bool = True) -> None:
        self.hard = hard
        self.compares = compares
        self.version = 100
        self.quota: dict[str, Any] = {
            "apiVersion": "quota.kinformer.dev/v1",
            "kind": "GroupQuota",
            "metadata": {"name": "g", "uid": "g-uid", "generation": 1, "resourceVersion": "100"},
            "spec": {"namespaceSelector": {}, "hard": {"pods": str(hard)}},
        }
        self.pods: dict[str, V1Pod] = {}
        self.watchers: list[Callable[[str, str, Any], object]] = []
        self.writes = self.conflicts = 0

    def _next(self) -> str:
        self.version += 1
        return str(self.version)

    def put_status(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.compares and body["metadata"]["resourceVersion"] != self.quota["metadata"]["resourceVersion"]:
            self.conflicts += 1
            raise conflict()
        self.writes += 1
        metadata = {**self.quota["metadata"], "resourceVersion": self._next()}
        self.quota = {**self.quota, "metadata": metadata, "status": copy.deepcopy(body["status"])}
        self._tell("quotas", "set", self.quota)
        return copy.deepcopy(self.quota)

    def store_pod(self, namespace: str, name: str, uid: str) -> None:
        if f"{namespace}/{name}" in self.pods:
            return
        metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": self._next()}
        pod = from_dict(V1Pod, {"metadata": metadata, "spec": {"containers": []}})
        self.pods[f"{namespace}/{name}"] = pod
        if len(self.pods) > self.hard:
            raise OverCommitted(f"{len(self.pods)} pods are stored, of {self.hard} allowed")
        self._tell("pods", "set", pod)

    def touch_pod(self, key: str) -> None:
        """Something else about a pod has changed: its status, as a kubelet writes it."""
        pod = copy.deepcopy(self.pods[key])
        pod.metadata.resource_version = self._next()
        self.pods[key] = pod
        self._tell("pods", "set", pod)

    def delete_pod(self, key: str) -> None:
        pod = copy.deepcopy(self.pods.pop(key))
        pod.metadata.resource_version = self._next()
        self._tell("pods", "delete", pod)

    def _tell(self, stream: str, what: str, obj: Any) -> None:
        for watcher in list(self.watchers):
            watcher(stream, what, obj)


class _Indexer:
    def __init__(self, key_of: Callable[[Any], str]) -> None:
        self._key_of = key_of
        self.objects: dict[str, Any] = {}
        self.version = "0"

    def get_by_key(self, key: str) -> Any:
        return self.objects.get(key)

    def list_keys(self) -> list[str]:
        return list(self.objects)

    def list(self) -> list[Any]:
        return list(self.objects.values())

    def by_index(self, _: str, namespace: str) -> list[Any]:
        return [one for one in self.objects.values() if one.metadata.namespace == namespace]

    def last_store_sync_resource_version(self) -> str:
        return self.version


class _Informer:
    """A cache, and handlers, that the schedule tells of changes."""

    pending = 0

    def __init__(self, name: str, key_of: Callable[[Any], str], version_of: Callable[[Any], str]) -> None:
        self.name = name
        self._key_of = key_of
        self._version_of = version_of
        self.indexer = _Indexer(key_of)
        self._handlers: list[Any] = []
        self._synced = anyio.Event()

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    def add_event_handler(self, handler: Any) -> _Informer:
        self._handlers.append(handler)
        return self

    def begin(self, objects: list[Any], version: str) -> None:
        """The first list."""
        self._synced.set()
        self.indexer.objects = {self._key_of(one): one for one in objects}
        self.indexer.version = version
        for one in objects:
            for handler in self._handlers:
                handler.on_add(one, True)

    def take(self, what: str, obj: Any) -> None:
        """One event of a watch."""
        key = self._key_of(obj)
        old = self.indexer.objects.get(key)
        self.indexer.version = self._version_of(obj)
        if what == "delete":
            self.indexer.objects.pop(key, None)
            for handler in self._handlers:
                handler.on_delete(obj)
            return
        self.indexer.objects[key] = obj
        for handler in self._handlers:
            if old is None:
                handler.on_add(obj, False)
            else:
                handler.on_update(old, obj)


def _of_model(name: str) -> _Informer:
    def key_of(obj: Any) -> str:
        meta = obj.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name

    return _Informer(name, key_of, lambda obj: obj.metadata.resource_version)


class _Informers:
    def __init__(self) -> None:
        self.quotas = _Informer(
            "quotas", lambda one: one["metadata"]["name"], lambda one: one["metadata"]["resourceVersion"]
        )
        self._others: dict[Any, _Informer] = {}

    def informer_for(self, type_: Any, *_: Any, **__: Any) -> Any:
        if type_ is dict:
            return self.quotas
        return self._others.setdefault(type_, _of_model(type_.__name__))

    async def run(self) -> None:
        await anyio.sleep_forever()


class _Monitor:
    """Of the kinds that there are, pods alone are followed."""

    def __init__(self, objects: Any) -> None:
        self._objects = objects

    async def run(self) -> None:
        await anyio.sleep_forever()

    async def wait_synced(self) -> None:
        """What is followed is followed from the start."""

    def objects(self, _: GroupResource) -> Any:
        return self._objects


@dataclass
class Outcome:
    """What came of a schedule."""

    admitted: int = 0
    refused: int = 0
    not_checked: int = 0
    killed: int = 0
    writes: int = 0
    conflicts: int = 0


@dataclass
class World:
    """One schedule."""

    seed: int
    store: Store
    clock: FakeClock = field(default_factory=FakeClock)
    rng: random.Random = field(init=False)
    replicas: list[Replica] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    #: Writes whose answers are lost, of all.
    lost: float = 0.05
    is_over: bool = False

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    async def take_some_time(self, most: float = 0.02) -> None:
        await self.clock.sleep(self.rng.choice((0.0, 0.001, self.rng.random() * most)))


class _Server:
    """The API server, as one replica's client finds it: for quotas, or for pods."""

    def __init__(self, world: World, is_of_pods: bool = False) -> None:
        self._world = world
        self._is_of_pods = is_of_pods

    async def get(self, name: str, namespace: str = "") -> Any:
        world = self._world
        await world.take_some_time()
        if self._is_of_pods:
            found = world.store.pods.get(f"{namespace}/{name}")
            if found is None:
                raise not_found()
        else:
            found = copy.deepcopy(world.store.quota)
        await world.take_some_time()
        return found

    async def list(self, **_: Any) -> Any:
        await self._world.take_some_time()
        return type("Listed", (), {"resource_version": str(self._world.store.version)})()

    async def update_status(self, body: Any) -> Any:
        world = self._world
        await world.take_some_time()
        if world.rng.random() < world.lost / 2:
            raise ServerUnreachable("http://server", OSError("the connection was refused"))
        stored = world.store.put_status(body)
        await world.take_some_time()
        if world.rng.random() < world.lost / 2:
            raise ServerUnreachable("http://server", OSError("the connection was cut"))
        return stored


class _Client:
    def __init__(self, world: World) -> None:
        self._world = world

    def resource(self, type_: Any, *_: Any, **__: Any) -> Any:
        return _Server(self._world, type_ is not dict)


class Replica:
    """One process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.informers = _Informers()
        client: Any = _Client(world)
        self.webhook = QuotaWebhook(
            client,
            self.informers,  # type: ignore[arg-type]
            reservation=RESERVATION,
            period=0.0,
            clock=world.clock,
        )
        self.webhook.evaluator._random = world.rng.random
        controller = self.webhook.controller
        monitor: Any = _Monitor(_Server(world, is_of_pods=True))
        controller.monitor = controller._objects._monitor = monitor
        self.pods = self.informers.informer_for(V1Pod)
        self.pods.add_event_handler(ObjectHandler(PODS, controller._sightings, controller.changes))
        self.scope = anyio.CancelScope()
        self.is_alive = True
        #: Who waits for an answer.
        self.callers: set[anyio.CancelScope] = set()
        self.term = anyio.CancelScope()
        self._streams = {"quotas": self.informers.quotas, "pods": self.pods}
        self._news: dict[str, list[tuple[str, Any]]] = {"quotas": [], "pods": []}
        self._woken = {name: anyio.Event() for name in self._news}

    async def run(self) -> None:
        """Live until killed."""
        world, store = self._world, self._world.store
        with self.scope:
            # Lists are as old as they like, and watches begin where they ended.
            await world.take_some_time()
            namespaces = [V1Namespace(metadata=V1ObjectMeta(name=name, resource_version="1")) for name in NAMESPACES]
            self.informers.informer_for(V1Namespace).begin(namespaces, "1")
            store.watchers.append(self._hear)
            quotas, pods, version = [copy.deepcopy(store.quota)], list(store.pods.values()), str(store.version)
            first, second = (self.informers.quotas, quotas), (self.pods, pods)
            for informer, objects in (first, second) if world.rng.random() < 0.5 else (second, first):
                informer.begin(objects, version)
                await world.take_some_time()
            async with anyio.create_task_group() as tasks:
                for stream in self._news:
                    tasks.start_soon(self._follow, stream)
                tasks.start_soon(self.webhook.evaluator.run)
                tasks.start_soon(self.webhook.withdrawer.run)
                await anyio.sleep_forever()
        self.is_alive = False
        with suppress(ValueError):
            store.watchers.remove(self._hear)

    async def lead(self, seconds: float) -> None:
        """Be the leader for a while, or until killed."""
        client: Any = _Client(self._world)
        with anyio.CancelScope() as self.term:
            timer = self._world.clock.call_later(seconds, self.term.cancel)
            try:
                if self.is_alive:
                    await self.webhook.controller.lead(client)
            finally:
                timer.cancel()

    def kill(self) -> None:
        self.is_alive = False
        self.scope.cancel()
        self.term.cancel()
        self._world.outcome.killed += 1

    def _hear(self, stream: str, what: str, obj: Any) -> None:
        self._news[stream].append((what, copy.deepcopy(obj) if stream == "quotas" else obj))
        self._woken[stream].set()

    async def _follow(self, stream: str) -> None:
        rng, clock = self._world.rng, self._world.clock
        while True:
            if not self._news[stream]:
                self._woken[stream] = anyio.Event()
                await self._woken[stream].wait()
            if not self._world.is_over:
                await clock.sleep(rng.choice((0.0, 0.0, 0.001, 0.005, 0.05)) if rng.random() < 0.97 else rng.random())
            for _ in range(rng.randrange(1, 4)):
                if self._news[stream]:
                    self._streams[stream].take(*self._news[stream].pop(0))


def _asked(namespace: str, name: str, uid: str) -> RawRequest:
    metadata = {"name": name, "namespace": namespace, "uid": uid}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    return RawRequest(
        uid=uid,
        operation="CREATE",
        resource=Resource("", "v1", "pods"),
        name=name,
        namespace=namespace,
        object=pod,
    )


class _Driver:
    """API servers, kubelets, and whoever kills replicas."""

    def __init__(self, world: World, *, gentle: bool) -> None:
        self.world = world
        self.gentle = gentle
        self.numbers = iter(range(1_000_000))
        self.errors: list[BaseException] = []
        self.tasks: Any = None

    async def one(self) -> bool | None:
        """One request to create a pod: whether it was admitted, None if nobody decided."""
        world, rng = self.world, self.world.rng
        number = next(self.numbers)
        name, namespace, uid = f"p{number}", rng.choice(NAMESPACES), f"uid-{number}"
        alive = [replica for replica in world.replicas if replica.is_alive]
        replica = rng.choice(alive)
        code: int | None = None
        with anyio.CancelScope() as scope:
            # A replica that is killed answers nobody; some callers do not wait for their answer.
            patience = 60.0 if self.gentle or world.is_over or rng.random() < 0.9 else rng.random() * 0.05
            timer = world.clock.call_later(patience, scope.cancel)
            replica.callers.add(scope)
            try:
                code = (await replica.webhook.decide(_asked(namespace, name, uid))).code
            finally:
                timer.cancel()
                replica.callers.discard(scope)
        if code is None or not replica.is_alive:
            world.outcome.not_checked += 1
            return None
        if code != 200:
            if code == 403:
                world.outcome.refused += 1
                return False
            world.outcome.not_checked += 1
            return None
        world.outcome.admitted += 1
        if not (self.gentle or world.is_over):
            await world.clock.sleep(rng.random() * (STORED_WITHIN if rng.random() < 0.1 else 0.02))
            if rng.random() < 0.15:
                return True  # the API server died before it stored the object
        try:
            world.store.store_pod(namespace, name, uid)
        except OverCommitted as error:
            self.errors.append(error)
        return True

    async def requests(self, count: int) -> None:
        for _ in range(count):
            await self.world.clock.sleep(self.world.rng.random() * 0.05)
            if any(replica.is_alive for replica in self.world.replicas):
                await self.one()

    async def deletions(self) -> None:
        world, rng = self.world, self.world.rng
        while not world.is_over:
            await world.clock.sleep(rng.random() * 0.1)
            if world.store.pods:
                key = rng.choice(sorted(world.store.pods))
                if self.gentle or rng.random() < 0.4:
                    world.store.touch_pod(key)
                else:
                    world.store.delete_pod(key)

    async def recounts(self) -> None:
        world, rng = self.world, self.world.rng
        while not world.is_over:
            await world.clock.sleep(rng.random() * 0.05)
            rng.choice(world.replicas).webhook.controller.recount_all()

    async def leaders(self) -> None:
        world, rng = self.world, self.world.rng
        while not world.is_over:
            replica = rng.choice(world.replicas)
            # Now and then for longer than until the next one begins.
            seconds = rng.random() * 0.8
            if replica.webhook.controller._term is None and replica.is_alive:
                self.tasks.start_soon(replica.lead, seconds * (2 if rng.random() < 0.3 else 1))
            await world.clock.sleep(seconds)

    async def killers(self) -> None:
        world, rng = self.world, self.world.rng
        while not world.is_over:
            await world.clock.sleep(rng.random() * 0.6)
            victim = rng.choice(world.replicas)
            if victim.is_alive and not world.is_over:
                self.kill(victim)
                await world.clock.sleep(rng.random() * 0.1)
                self.start()

    def kill(self, victim: Replica) -> None:
        victim.kill()
        for scope in list(victim.callers):
            scope.cancel()
        self.world.replicas.remove(victim)

    def start(self) -> None:
        replica = Replica(self.world)
        self.world.replicas.append(replica)
        self.tasks.start_soon(replica.run)


async def run_schedule(
    seed: int, *, replicas: int = 3, gentle: bool | None = None, compares: bool = True, requests: int = 12
) -> Outcome:
    """
    Run one.

    :param gentle: nobody dies, goes away or deletes, and there is room for all: nobody may be refused
    :param compares: whether the store refuses writes that were reckoned from an old version
    :raises OverCommitted: if more was stored than the limit allows
    :raises Refused: if somebody was refused for whom there was room, or usage is wrong in the end
    """
    gentle = seed % 3 == 0 if gentle is None else gentle
    clients = 4
    hard = clients * requests if gentle else 3 + seed % 4
    world = World(seed, Store(hard, compares=compares))
    world.lost = 0.0 if gentle else 0.05
    driver = _Driver(world, gentle=gentle)
    async with plain_task_group() as tasks:
        driver.tasks = tasks
        for _ in range(replicas):
            driver.start()
        await world.clock.advance(0.2)
        tasks.start_soon(world.replicas[0].lead, 1.0)
        await _until(world, lambda: "used" in (world.store.quota.get("status") or {}))
        done = 0

        async def client() -> None:
            nonlocal done
            await driver.requests(requests)
            done += 1

        for _ in range(clients):
            tasks.start_soon(client)
        tasks.start_soon(driver.leaders)
        tasks.start_soon(driver.recounts)
        tasks.start_soon(driver.deletions)
        if not gentle:
            tasks.start_soon(driver.killers)
        await _until(world, lambda: done == clients or driver.errors, 60.0)
        world.is_over = True
        if not driver.errors:
            await _settle(world, driver, gentle)
        tasks.cancel_scope.cancel()
    if driver.errors:
        raise driver.errors[0]
    world.outcome.writes, world.outcome.conflicts = world.store.writes, world.store.conflicts
    return world.outcome


async def _settle(world: World, driver: _Driver, gentle: bool) -> None:
    """Whatever has happened: some time later usage is what is stored, and all that fits is let in, and no more."""
    if gentle and world.outcome.refused:
        raise Refused(f"{world.outcome.refused} were refused, of {world.store.hard} for whom there was room")
    await world.clock.advance(STORED_WITHIN)
    world.lost = 0.0
    while not world.replicas:
        driver.start()
    await world.clock.advance(1.0)
    for replica in world.replicas:
        replica.term.cancel()
    await world.clock.advance(0.1)
    driver.tasks.start_soon(world.replicas[-1].lead, 1000.0)
    # A reservation's time counts from when the leader saw it; and its object is looked for at intervals.
    await world.clock.advance(RESERVATION + 12.0)
    status, stored = world.store.quota["status"], len(world.store.pods)
    if status["used"] != {"pods": str(stored)} or status["reservations"]:
        raise Refused(f"{stored} pods are stored, and the quota says {status}")
    answers: list[bool | None] = []

    async def ask() -> None:
        answers.append(await driver.one())

    room = world.store.hard - stored
    for _ in range(room):
        driver.tasks.start_soon(ask)
    await _until(world, lambda: len(answers) == room)
    driver.tasks.start_soon(ask)
    await _until(world, lambda: len(answers) == room + 1)
    if answers != [True] * room + [False]:
        raise Refused(f"with room for {room}, the answers are {answers}")


async def _until(world: World, true: Callable[[], object], seconds: float = 30.0) -> None:
    end = world.clock.monotonic() + seconds
    while not true():
        if world.clock.monotonic() > end:
            raise Refused("it takes longer than anybody waits")
        await world.clock.advance(world.clock.next_due or 0.001)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--without-compare", action="store_true", help="take the compare-and-swap out")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if not options.verbose:
        structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    total, failed, began = Outcome(), [], time.monotonic()
    for seed in range(options.first, options.first + options.schedules):
        outcome = _outcome(seed, options)
        if isinstance(outcome, BaseException):
            failed.append(seed)
            print(f"seed {seed}: {outcome!r}", flush=True)
            continue
        for name, value in vars(outcome).items():
            setattr(total, name, getattr(total, name) + value)
    took = time.monotonic() - began
    print(f"{options.schedules} schedules in {took:.0f} s, {len(failed)} failed; {total}")


def _outcome(seed: int, options: argparse.Namespace) -> Outcome | BaseException:
    async def run() -> Outcome:
        return await run_schedule(seed, replicas=options.replicas, compares=not options.without_compare)

    try:
        return anyio.run(run)
    except (OverCommitted, Refused) as error:
        return error


if __name__ == "__main__":
    main()
