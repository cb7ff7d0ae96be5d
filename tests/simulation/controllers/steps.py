"""The steps of golden scenarios, done by the user of a simulated world.

Golden scenarios say what users, schedulers and kubelets do. :func:`play` does that and no more: the simulator compares
a run in which things go wrong with the run in which nothing does. :func:`answers` gives the snapshots of a scenario,
too. They can be compared with what came out on a real cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import anyio

from kinformer.client import AlreadyExists, ApiError, Client, Conflict, ConnectionLost, NotFound, ServerUnreachable
from tests.golden.api import PATCHES, Refused, path_of
from tests.golden.scenario import Run

__all__ = ("NAMESPACE", "World", "answers", "play")

NAMESPACE = "case"


class World(Protocol):
    """What the steps need of a world."""

    @property
    def client(self) -> Client: ...

    async def settled(self) -> None: ...

    async def sleep(self, seconds: float) -> None: ...


async def play(world: World, steps: Sequence[Mapping[str, Any]]) -> None:
    """
    Do the steps in a namespace of their own, and wait at the end until everybody has done what there was to do.

    :raises ScenarioError: if the server refuses a step
    """
    await _do(_Run(world), steps)
    await world.settled()


async def answers(world: World, steps: Sequence[Mapping[str, Any]]) -> list[Any]:
    """
    Do the steps in a namespace of their own.

    :return: what a recording has: a state for each snapshot, in what golden scenarios reduce it to
    :raises ScenarioError: if the server refuses a step
    """
    run = _Recorded(world)
    await _do(run, steps)
    return run.answers


async def _do(run: _Run, steps: Sequence[Mapping[str, Any]]) -> None:
    await run.step({"create": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}})
    for step in steps:
        await run.step(dict(step))


class _Run(Run):
    def __init__(self, world: World) -> None:
        self._world = world
        self._requests = _Api(world.client)
        super().__init__(self._requests, None, lambda: False, ())  # type: ignore[arg-type]  # it has the methods of Api

    def _now(self) -> datetime:
        return datetime.now(UTC)  # the world's

    async def _sleep(self, seconds: float) -> None:
        # Where something goes wrong what users wait for takes longer.
        await self._world.sleep(seconds)
        await self._world.settled()

    async def _settle(self, seconds: float) -> None:
        await self._world.settled()

    async def _end_pods(self, what: dict[str, Any]) -> None:
        """What kubelets do with pods that are to go."""
        for pod in await self._pods(what):
            if pod["metadata"].get("deletionTimestamp"):
                await self._api.delete("Pod", _name(pod), {"gracePeriodSeconds": 0})

    async def _wait(self, seconds: float) -> None:
        """Let just so many seconds pass, whatever is still to be done."""
        await self._world.sleep(seconds)

    async def _renew(self, what: dict[str, Any]) -> None:
        """What a kubelet does every ten seconds: it renews its node's Lease."""
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
        for number in range(int(what["seconds"] / 10)):
            spec = {"renewTime": self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"), "holderIdentity": what["node"]}
            body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
            if number == 0:
                await self._requests.ask("POST", path, body={**body, "metadata": {"name": what["node"]}})
            else:
                headers = {"Content-Type": PATCHES["merge"]}
                await self._requests.ask("PATCH", f"{path}/{what['node']}", body={"spec": spec}, headers=headers)
            await self._world.sleep(10)

    async def _legacy_token(self, what: dict[str, Any]) -> None:
        """A token as Kubernetes made them by itself before 1.24, in a cluster that has long noted which are used."""
        labels = {"kubernetes.io/legacy-token-invalid-since": "2020-01-01"} if what.get("is_invalid") else {}
        tracking = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking"
        headers = {"Content-Type": PATCHES["merge"]}
        await self._requests.ask("PATCH", tracking, body={"data": {"since": "2020-01-01"}}, headers=headers)
        [account] = [found for found in await self._api.list("ServiceAccount") if _name(found) == what["account"]]
        annotations = {
            "kubernetes.io/service-account.name": what["account"],
            "kubernetes.io/service-account.uid": account["metadata"]["uid"],
        }
        meta = {"name": what["name"], "annotations": annotations, "labels": labels}
        type_ = "kubernetes.io/service-account-token"
        await self._api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": type_})

    async def _snapshot(self, kinds: list[str]) -> None:
        await self._world.settled()


class _Recorded(_Run):
    """With snapshots, which :class:`~tests.golden.scenario.Run` takes."""

    _snapshot = Run._snapshot


def _name(obj: Mapping[str, Any]) -> str:
    name: str = obj["metadata"]["name"]
    return name


class _Api:
    """What :class:`tests.golden.api.Api` is, through a client of this project."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.namespace = NAMESPACE

    async def create(self, obj: dict[str, Any]) -> dict[str, Any]:
        path = self._path(obj["kind"], namespace=obj["metadata"].get("namespace", ""))
        return await self.ask("POST", path, body=obj)

    async def list(self, kind: str, selector: str = "") -> list[dict[str, Any]]:
        kind, _, suffix = kind.partition("@")
        kind = "Service" if kind == "LoadBalancer" else kind
        path = self._path(kind, namespace=f"{NAMESPACE}{suffix}" if suffix else "")
        params = {"labelSelector": selector} if selector else None
        items: list[dict[str, Any]] = (await self.ask("GET", path, params=params))["items"]
        return [{**item, "kind": kind} for item in items]

    async def patch(
        self, kind: str, name: str, body: Any, *, type_: str = "strategic", subresource: str = ""
    ) -> dict[str, Any]:
        path = self._path(kind, name, *([subresource] if subresource else []))
        return await self.ask("PATCH", path, body=body, headers={"Content-Type": PATCHES.get(type_, type_)})

    async def delete(self, kind: str, name: str, options: dict[str, Any] | None = None) -> None:
        """:param name: for an object of another namespace than the scenario's, with this namespace before it"""
        namespace, _, name = name.rpartition("/")
        await self.ask("DELETE", self._path(kind, name, namespace=namespace), body=options)

    async def bind(self, pod: str, node: str) -> None:
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        await self.ask("POST", self._path("Pod", pod, "binding"), body=body)

    async def get(self, namespace: str, plural: str, name: str) -> dict[str, Any]:
        return await self.ask("GET", f"/api/v1/namespaces/{namespace}/{plural}/{name}")

    def _path(self, kind: str, *rest: str, namespace: str = "") -> str:
        return path_of(kind, *rest, namespace=namespace or NAMESPACE)

    async def ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        again = False
        while True:
            try:
                answer: dict[str, Any] = await self._client.request(method, path, **request, type_=dict)
            except (ConnectionLost, ServerUnreachable):
                # The server starts anew. Whoever has lost an answer asks again, and may hear that it was done.
                again = True
                await anyio.sleep(1)
            except (AlreadyExists, Conflict, NotFound) as error:
                if not again:
                    raise Refused(error.code, error.message) from error
                return {"metadata": {"name": "", "uid": ""}}
            except ApiError as error:
                raise Refused(error.code, error.message) from error
            else:
                return answer
