"""Replaying golden scenarios: what users do, step by step, and the state that controllers make of it.

A scenario runs in a namespace of its own, against whatever server and controllers there are. What comes out is a list
to compare with the recorded one: an entry for each snapshot and each try_create.
"""

from __future__ import annotations

import copy
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio

from tests.golden.api import Api, Refused, Unreachable, connected
from tests.golden.pace import NotSettled, Pace, RealPace
from tests.golden.reduce import Reducer
from tests.golden.run import difference, same_json

__all__ = ("Outcome", "Run", "Scenario", "ScenarioError", "replay")

#: What is looked at to see whether anything changes still.
_WATCHED = (
    "Pod",
    "ReplicationController",
    "ResourceQuota",
    "Service",
    "Endpoints",
    "EndpointSlice",
    "ConfigMap",
    "Secret",
    "PersistentVolumeClaim",
    "Event",
)
#: What is deleted at the end, in this order: an owner would make its pods again.
_OWNERS_FIRST = (
    "CronJob",
    "Job",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "ReplicationController",
    "Pod",
)
_OF_THE_CLUSTER = (
    "Node",
    "PersistentVolume",
    "CertificateSigningRequest",
    "CSINode",
    "ResourceSlice",
    "ServiceCIDR",
    "ValidatingAdmissionPolicy",
    "VolumeAttributesClass",
)
#: Seconds for which a state has to stand before a snapshot of it.
_SNAPSHOT_SETTLE = 2.0


class ScenarioError(Exception):
    """A file is no scenario, or a step of it could not be done."""


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: Sequence[dict[str, Any]]
    want: list[Any]
    #: Kinds to look at, besides those that every scenario looks at, to see whether anything changes still.
    watched: Sequence[str] = ()

    @classmethod
    def read(cls, file: Path) -> Scenario:
        """
        :raises ScenarioError: if the file cannot be read, or is none
        """
        try:
            data = json.loads(file.read_bytes())
            return cls(data["name"], data["steps"], data["want"], data.get("watch", ()))
        except OSError as error:
            raise ScenarioError(f"{file}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f"{file}: not a scenario: {error!r}") from error


@dataclass(frozen=True, slots=True)
class Outcome:
    """
    What came of a scenario.

    :param problem: what differs, or what step could not be done; ``""`` if it passed
    """

    scenario: Scenario
    seconds: float
    problem: str = ""


async def replay(
    scenario: Scenario,
    url: str,
    token: str = "",
    *,
    ca_file: Path | None = None,
    pace: Pace | None = None,
    is_busy: Callable[[], bool] = lambda: False,
    same: Callable[[Any, Any], bool] = same_json,
) -> Outcome:
    """
    Run a scenario and compare.

    :param ca_file: the authority that a server with HTTPS has its certificate from; None: any certificate will do
    :param pace: how to wait until a state has settled; in real time if not said
    :param is_busy: whether something is known to be still to come, however still it looks
    :param same: whether what came out is what was recorded
    """
    began = anyio.current_time()
    namespace = f"{scenario.name.replace('_', '-')}-{secrets.token_hex(3)}"
    async with connected(url, token, namespace=namespace, ca_file=ca_file) as api:
        run = Run(api, pace or RealPace(), is_busy, scenario.watched)
        try:
            await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            for step in scenario.steps:
                await run.step(step)
            got: list[Any] = run.answers
            problem = "" if same(got, scenario.want) else difference(got, scenario.want)
        except (Refused, Unreachable, ScenarioError, NotSettled) as error:
            problem = str(error)
        finally:
            with anyio.move_on_after(2, shield=True):
                await _remove(api)
    return Outcome(scenario, anyio.current_time() - began, problem)


async def _remove(api: Api) -> None:
    """Leave nothing behind that a controller would go on with."""
    try:
        for kind in _OWNERS_FIRST:
            for obj in await api.list(kind):
                await api.delete(kind, obj["metadata"]["name"], {"gracePeriodSeconds": 0})
        for kind in _OF_THE_CLUSTER:
            for obj in await api.list(kind, f"set={api.namespace}"):
                await api.delete(kind, obj["metadata"]["name"])
        await api.delete("Namespace", api.namespace)
    except (Refused, Unreachable):
        return  # it goes with the server


class Run:
    """A scenario under way. Each step is a method: its verb after an underscore."""

    def __init__(self, api: Api, pace: Pace, is_busy: Callable[[], bool], watched: Sequence[str]) -> None:
        self._api = api
        self._pace = pace
        self._is_busy = is_busy
        self._watched = list(dict.fromkeys([*_WATCHED, *watched]))
        self._revision = ""
        self._versions: list[str] = []
        self._reducer = Reducer(api.namespace)
        self._last_ip = 1
        self.answers: list[Any] = []

    async def step(self, step: dict[str, Any]) -> None:
        for verb, argument in json.loads(json.dumps(step).replace("${ns}", self._api.namespace)).items():
            do = getattr(self, f"_{verb}", None)
            if do is None:
                raise ScenarioError(f"unknown step {verb!r}")
            try:
                await do(argument)
            except Refused as error:
                raise ScenarioError(f"{verb} {json.dumps(argument)[:200]}: {error}") from error

    async def _create(self, objects: Any) -> None:
        for obj in _expanded(objects):
            self._reducer.saw(await self._api.create(obj))

    async def _ensure(self, objects: Any) -> None:
        for obj in _expanded(objects):
            try:
                await self._api.create(obj)
            except Refused as error:
                if error.code != 409:
                    raise

    async def _ensure_in(self, objects: Any) -> None:
        """The same for objects that name another namespace than the scenario's."""
        await self._ensure(objects)

    async def _try_create(self, obj: dict[str, Any]) -> None:
        code, message = 201, ""
        try:
            await self._api.create(obj)
        except Refused as error:
            code, message = error.code, self._reducer.text(error.message)
        name = f"{obj['kind']}/{obj['metadata']['name']}"
        self.answers.append({"try_create": name, "status": code, "message": message})

    async def _patch(self, what: dict[str, Any]) -> None:
        await self._api.patch(
            what["kind"],
            what["name"],
            what["body"],
            type_=what.get("type", "merge"),
            subresource=what.get("subresource", ""),
        )

    async def _delete(self, what: dict[str, Any]) -> None:
        await self._api.delete(what["kind"], what["name"], what.get("options"))

    async def _delete_pods(self, what: dict[str, Any]) -> None:
        for pod in await self._pods(what):
            await self._api.delete("Pod", pod["metadata"]["name"], what.get("options", {"gracePeriodSeconds": 0}))

    async def _patch_pods(self, what: dict[str, Any]) -> None:
        for pod in await self._pods(what):
            name = pod["metadata"]["name"]
            subresource = "status" if what.get("status") else ""
            await self._api.patch("Pod", name, what["body"], type_=what.get("type", "merge"), subresource=subresource)

    async def _run_pods(self, what: dict[str, Any]) -> None:
        """What a scheduler and a kubelet do."""
        ready = "True" if what.get("ready", True) else "False"
        for pod in await self._pods(what):
            ip = pod.get("status", {}).get("podIP") or self._next_ip()
            status = {
                "phase": what.get("phase", "Running"),
                "podIP": ip,
                "podIPs": [{"ip": ip}],
                "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            }
            name = pod["metadata"]["name"]
            try:
                if not pod["spec"].get("nodeName"):
                    await self._api.bind(name, what.get("node", "n1"))
                await self._api.patch("Pod", name, {"status": status}, type_="strategic", subresource="status")
            except Refused as error:
                if error.code != 404:  # a controller may have deleted the pod since it was listed
                    raise

    async def _run_ds(self, what: dict[str, Any]) -> None:
        """The same for daemon pods: each runs on the node that its affinity names."""
        for pod in await self._pods(what):
            if not pod["spec"].get("nodeName"):
                affinity = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                [name] = affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"]
                await self._api.bind(pod["metadata"]["name"], name)
        await self._run_pods(what)

    async def _pod_metrics(self, what: dict[str, Any]) -> None:
        """What a metrics server says of pods now."""
        for pod in await self._pods(what):
            meta = {"name": pod["metadata"]["name"], "labels": pod["metadata"].get("labels") or {}}
            containers = [{"name": each["name"], "usage": what["usage"]} for each in pod["spec"]["containers"]]
            now = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
            body = {"metadata": meta, "timestamp": now, "window": "30s", "containers": containers}
            try:
                await self._api.create({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", **body})
            except Refused as error:
                if error.code != 409:
                    raise
                await self._api.patch("PodMetrics", meta["name"], body, type_="merge")

    async def _attach(self, what: dict[str, Any]) -> None:
        """What a CSI driver says: each of the scenario's volumes is attached, or why it is not."""
        status: dict[str, Any] = {"attached": True}
        if error := what.get("error"):
            status = {"attached": False, "attachError": {"message": error, "time": "2026-01-01T00:00:00Z"}}
        for attachment in await self._api.list("VolumeAttachment"):
            if attachment["spec"]["nodeName"].startswith(self._api.namespace):
                name = attachment["metadata"]["name"]
                await self._api.patch("VolumeAttachment", name, {"status": status}, type_="merge", subresource="status")

    async def _reserve(self, what: dict[str, Any]) -> None:
        """What a scheduler does: a claim is for a pod."""
        pod = await self._api.get(self._api.namespace, "pods", what["pod"])
        user = {"resource": "pods", "name": what["pod"], "uid": pod["metadata"]["uid"]}
        body = {"status": {"reservedFor": [user]}}
        await self._api.patch("ResourceClaim", what["claim"], body, type_="merge", subresource="status")

    async def _exists(self, objects: list[list[str]]) -> None:
        """For each namespace, plural and name: whether it is there."""
        found = []
        for namespace, plural, name in objects:
            try:
                await self._api.get(namespace, plural, name)
            except Refused as error:
                if error.code != 404:
                    raise
                found.append(False)
            else:
                found.append(True)
        self.answers.append({"exists": found})

    async def _data(self, where: list[str]) -> None:
        self.answers.append({"data": (await self._api.get(*where)).get("data") or {}})

    def _now(self) -> datetime:
        return self._pace.now()

    async def _sleep(self, seconds: float) -> None:
        await self._pace.sleep(seconds)

    async def _settle(self, seconds: float) -> None:
        await self._pace.settle(seconds, self._look, self._is_busy)

    async def _snapshot(self, kinds: list[str]) -> None:
        await self._settle(_SNAPSHOT_SETTLE)
        self.answers.append(self._reducer.state({kind: await self._api.list(kind) for kind in kinds}))

    async def _look(self) -> list[str]:
        """Every object with its version."""
        # The server's version may move by what others do, and by events: then the objects tell.
        if self._revision != (revision := await self._api.revision()):
            self._revision = revision
            self._versions = []
            for kind in self._watched:
                for obj in await self._api.list(kind):
                    # Events tell of pods by name, also where no snapshot shows pods.
                    self._reducer.saw(obj)
                    meta = obj["metadata"]
                    self._versions.append(f"{kind}/{meta['name']}@{meta['resourceVersion']}")
        return self._versions

    async def _pods(self, what: dict[str, Any]) -> list[dict[str, Any]]:
        """The pods that a step is about: by name, those that its selector selects, as many as it says."""
        found = await self._api.list("Pod", what.get("selector", ""))
        pods = sorted(found, key=lambda pod: str(pod["metadata"]["name"]))
        return pods[: what.get("count", len(pods))]

    def _next_ip(self) -> str:
        self._last_ip += 1
        return f"10.1.{self._last_ip // 256}.{self._last_ip % 256}"


def _expanded(objects: Any) -> list[dict[str, Any]]:
    """One object or several; one with ``x-count`` is so many, ``{i}`` in its texts the index of each."""
    expanded: list[dict[str, Any]] = []
    for obj in objects if isinstance(objects, list) else [objects]:
        if "x-count" not in obj:
            expanded.append(obj)
            continue
        template = copy.deepcopy(obj)
        count = template.pop("x-count")
        expanded += [json.loads(json.dumps(template).replace("{i}", str(index))) for index in range(count)]
    return expanded
