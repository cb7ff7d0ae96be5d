"""Random lives of owners and dependents under a garbage collector whose watches break.

One seed is one life: objects are made, given other owners, deleted in every manner and made again under their names,
while the collector hears of it late, in pieces, or by a new list. Each deletion that the collector asks for is judged
by the server at that very moment: is an owner there?
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio

from kinformer.client import Client
from kinformer.clock import FakeClock
from kinformer.envtest import ApiServer
from kinformer.envtest.admission import Attributes, User
from kinformer.envtest.operations import DeleteOptions, WriteOptions
from kinformer.envtest.registry import Resource
from kinformer.envtest.status import StatusError
from kinformer.informers import SharedInformerFactory
from kinformer.meta import GroupResource, GroupVersion
from kinformer_controllers.garbagecollector.controller import GarbageCollector
from tests.controllers.objects import FakeContext
from tests.controllers.scenarios.transports import HeldBack
from tests.golden.pace import scenario_clock
from tests.turning import turn

__all__ = ("live",)

_SOMEBODY: Final = WriteOptions(User("somebody"))

#: Kind, version, plural and namespace of each place where objects are.
_PLACES: Final = (
    ("ConfigMap", "v1", "configmaps", "one"),
    ("Secret", "v1", "secrets", "one"),
    ("Secret", "v1", "secrets", "two"),
    ("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles", ""),
)
_FOLLOWED: Final = frozenset(
    {
        GroupResource("", "configmaps"),
        GroupResource("", "secrets"),
        GroupResource("rbac.authorization.k8s.io", "clusterroles"),
    }
)

_FAULTS: Final = (
    *("refuse_429", "refuse_500", "refuse_503", "delay", "close_watches", "cut_watches", "cut_lines"),
    *("stall_watches", "compact", "lag", "cut_and_compact"),
)

_STEPS: Final = 40
_NAMES: Final = ("a", "b", "c", "d")


class Life:
    """
    What happens in one life.

    :ivar problems: what should not have come about
    :ivar collected: how many deletions the collector asked for
    """

    def __init__(self, server: ApiServer, rng: random.Random) -> None:
        self.server = server
        self.rng = rng
        self.problems: list[str] = []
        self.collected = 0
        #: References to all that was ever there, as objects may name them.
        self.references: list[dict[str, Any]] = []

    # --- who watches over it

    def admit(self, attributes: Attributes) -> None:
        """Nothing is changed."""

    def validate(self, attributes: Attributes) -> None:
        """Judge a deletion by what is there now."""
        if attributes.operation != "DELETE" or attributes.user == _SOMEBODY.user:
            return
        self.collected += 1
        assert attributes.old_object is not None
        meta = attributes.old_object["metadata"]
        references = meta.get("ownerReferences") or ()
        living = [
            one["name"] for one in references if self.standing(one, attributes.namespace) in ("living", "unknown")
        ]
        if living or not references:
            name = f"{attributes.resource.plural} {attributes.namespace}/{attributes.name}"
            self.problems.append(f"{name} was deleted, whose owners {living} live")

    def standing(self, reference: dict[str, Any], namespace: str) -> str:
        """Whether an owner is ``living``, ``waiting`` or ``gone``; ``unknown`` where nobody can say."""
        group, version = GroupVersion.parse(reference["apiVersion"])
        resource = self.server.registry.by_kind(group, version, reference["kind"])
        if resource is None or (resource.namespaced and not namespace):
            return "unknown"
        found = self.server.storage.get(resource.storage, namespace if resource.namespaced else "", reference["name"])
        meta = found.decode()["metadata"] if found is not None else {}
        if meta.get("uid") != reference["uid"]:
            return "gone"
        waits = "deletionTimestamp" in meta and "foregroundDeletion" in (meta.get("finalizers") or ())
        return "waiting" if waits else "living"

    # --- what happens

    def step(self) -> None:
        """Something that a user does; the collector is not told but by its watches."""
        kind, api_version, plural, namespace = self.rng.choice(_PLACES)
        group, version = GroupVersion.parse(api_version)
        resource = self.server.registry.find(group, version, plural)
        assert resource is not None
        name = self.rng.choice(_NAMES)
        there = self.server.storage.get(resource.storage, namespace, name)
        try:
            if there is None:
                self._make(resource, kind, api_version, namespace, name)
            elif self.rng.random() < 0.45:
                self._adopt(resource, namespace, name)
            else:
                propagation = self.rng.choice(("Background", "Background", "Foreground", "Orphan"))
                options = DeleteOptions(propagation=propagation)
                self.server.operations.delete(resource, namespace, name, options, _SOMEBODY)
        except StatusError as error:
            if error.code not in (404, 409, 422):
                raise

    def _make(self, resource: Resource, kind: str, api_version: str, namespace: str, name: str) -> None:
        metadata: dict[str, Any] = {"name": name, "ownerReferences": self._owners(namespace)}
        if namespace:
            metadata["namespace"] = namespace
        # What a request over HTTP would have filled in.
        body = {"metadata": metadata, **{"ClusterRole": {"rules": []}, "Secret": {"type": "Opaque"}}.get(kind, {})}
        made = self.server.operations.create(resource, namespace, body, _SOMEBODY).decode()
        uid = made["metadata"]["uid"]
        self.references.append({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid})

    def _adopt(self, resource: Resource, namespace: str, name: str) -> None:
        def change(old: dict[str, Any] | None) -> dict[str, Any]:
            assert old is not None
            old["metadata"]["ownerReferences"] = self._owners(namespace)
            return old

        self.server.operations.update(resource, namespace, name, change, _SOMEBODY)

    def _owners(self, namespace: str) -> list[dict[str, Any]]:
        """Some of what is there, or was; one in ten under a wrong kind or name."""
        last = self.references[-12:]
        chosen = self.rng.sample(last, min(self.rng.choice((0, 1, 1, 2, 3)), len(last)))
        found = []
        for one in chosen:
            reference = {**one, "blockOwnerDeletion": self.rng.random() < 0.5}
            if self.rng.random() < 0.05:
                reference["kind"] = "Secret" if one["kind"] == "ConfigMap" else "ConfigMap"
                reference["apiVersion"] = "v1"
            if self.rng.random() < 0.05:
                reference["name"] = self.rng.choice(_NAMES)
            found.append(reference)
        if not namespace and any(one["kind"] != "ClusterRole" for one in found):
            # Nobody can say which objects it means, so nothing is done about it. An owner that it holds up would wait
            # for ever, as in Kubernetes.
            found = [{**one, "blockOwnerDeletion": False} for one in found]
        return found

    # --- how it ends

    def unfinished(self) -> list[str]:
        """What is left to be done although nothing has happened for long."""
        left = []
        for storage, history in self.server.storage.logs():
            if storage not in _FOLLOWED:
                continue
            for version in history.select(""):
                meta = version.decode()["metadata"]
                namespace = meta.get("namespace", "")
                standings = [self.standing(one, namespace) for one in meta.get("ownerReferences") or ()]
                if not standings or "unknown" in standings or meta["name"] not in _NAMES:
                    if "deletionTimestamp" in meta:
                        left.append(f"{storage} {version.key} is still being deleted")
                    continue
                if "living" not in standings:
                    left.append(f"{storage} {version.key} is there without an owner: {standings}")
                elif set(standings) != {"living"}:
                    left.append(f"{storage} {version.key} names owners that are {standings}")
        return left


class _NoEvents:
    """A recorder of nothing."""

    def event(self, obj: Any, type_: str, reason: str, message: str, annotations: Any = None) -> None:
        """Nothing."""


@asynccontextmanager
async def _collecting(
    life: Life, clock: FakeClock, sabotage: Callable[[GarbageCollector], None]
) -> AsyncIterator[None]:
    plurals = [plural for _, _, plural, _ in _PLACES]
    line = HeldBack(life.server, clock, random.Random(life.rng.random()), plurals)
    async with line, SharedInformerFactory(Client(line), clock=clock) as informers:
        collector = GarbageCollector(
            FakeContext(Client(line), informers, _NoEvents(), clock=clock),
            follows=lambda resource: resource in _FOLLOWED,
        )
        sabotage(collector)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(collector.run)
            yield
            tasks.cancel_scope.cancel()


async def live(seed: int, sabotage: Callable[[GarbageCollector], None] = lambda _: None) -> Life:
    """
    Live the life of a seed.

    :param sabotage: changes the collector before it runs
    """
    rng = random.Random(seed)
    clock = scenario_clock()
    async with ApiServer(clock=clock, controllers=False, plugins=False) as server:
        life = Life(server, rng)
        server.admission.plugins.append(life)
        namespaces = server.registry.find("", "v1", "namespaces")
        assert namespaces is not None
        for name in ("one", "two"):
            server.operations.create(namespaces, "", {"metadata": {"name": name}}, _SOMEBODY)
        async with _collecting(life, clock, sabotage):
            for _ in range(_STEPS):
                life.step()
                if rng.random() < 0.15:
                    _break(server, rng)
                match rng.randrange(3):
                    case 0:
                        # The collector has begun something, and has not ended it.
                        for _ in range(rng.randrange(30)):
                            await anyio.lowlevel.checkpoint()
                    case 1:
                        await turn(clock, rng.choice((0.01, 0.1)))
                    case _:
                        await turn(clock, rng.choice((1.0, 5.0)))
            server.faults.end_all()
            await turn(clock, 120.0)
            if life.unfinished():
                await turn(clock, 3000.0)
            life.problems += life.unfinished()
        return life


def _break(server: ApiServer, rng: random.Random) -> None:
    """One fault, in place of the last one."""
    server.faults.end_all()
    kind = rng.choice(_FAULTS)
    if kind == "cut_and_compact":
        # What happened since is seen only by a new list.
        server.faults.cut_watches()
        server.faults.compact()
    else:
        server.faults._happen(kind, rng)
