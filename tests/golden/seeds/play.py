"""Playing a seed: a scenario whose steps pick pods by what can be seen of them, and never by a generated name.

After each operation comes a snapshot, reduced as those of recorded scenarios are. What the server refuses is part of
the outcome, so that a step may be about something that is no longer there.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import anyio

from tests.golden.api import Api, Refused, Unreachable
from tests.golden.pace import NotSettled, Pace
from tests.golden.scenario import ScenarioError
from tests.golden.seeds.certified import shown
from tests.golden.seeds.generate import Plan
from tests.golden.seeds.parts import LONG_AGO, NEVER
from tests.golden.seeds.steps import ObjectSteps
from tests.golden.seeds.watching import Telling

__all__ = ("Played", "namespace_of", "play")

#: Owners first: they would make their pods again.
_OWNERS = ("CronJob", "Job", "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet")
#: Kinds without a namespace, whose objects are labelled with that of their seed.
_OF_THE_CLUSTER = (
    "CSINode",
    "CertificateSigningRequest",
    "ClusterRole",
    "Namespace",
    "Node",
    "PersistentVolume",
    "StorageClass",
    "ValidatingAdmissionPolicy",
)


@dataclass(frozen=True, slots=True)
class Played:
    """
    What came of a seed.

    :param states: for each operation, its name and the state after it. A step that could not be done is the last one
    """

    seed: int
    title: str
    states: list[tuple[str, Any]]
    seconds: float


async def play(
    plan: Plan,
    api: Api,
    pace: Pace,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    changes: Telling | None = None,
    keep: bool = False,
) -> Played:
    """
    Play a seed in the namespace of `api`, which is made for it and deleted afterwards.

    :param now: the time, for scenarios that wait for a minute
    :param changes: what tells that something has changed; None to list the objects again and again
    :param keep: leave the namespace as it is at the end
    """
    began = anyio.current_time()
    run = _SeedRun(api, pace, plan, now, changes)
    states: list[tuple[str, Any]] = []
    name = "make the namespace"
    try:
        await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": api.namespace}})
        for name, steps in plan.operations:
            for step in steps:
                await run.step(step)
            await run.step({"snapshot": list(plan.looks)})
            refused, run.refused = run.refused, []
            states.append((name, {"refused": refused, **run.answers.pop()}))
    except (Refused, Unreachable, ScenarioError, NotSettled) as error:
        states.append((name, {"failed": f"{type(error).__name__}: {error}"}))
    finally:
        if not keep:
            with anyio.move_on_after(20, shield=True):
                await _remove(api)
    return Played(plan.seed, plan.title, states, anyio.current_time() - began)


def namespace_of(seed: int) -> str:
    """A name that no other run has, of letters that are in no hash."""
    return f"seed-{seed}-x{secrets.token_hex(3)}"


async def _remove(api: Api) -> None:
    try:
        for kind in _OWNERS:
            for obj in await api.list(kind):
                await api.patch(kind, obj["metadata"]["name"], {"metadata": {"finalizers": None}}, type_="merge")
                await api.delete(kind, obj["metadata"]["name"], {"propagationPolicy": "Background"})
        for pod in await api.list("Pod"):
            name = pod["metadata"]["name"]
            await api.patch("Pod", name, {"metadata": {"finalizers": None}}, type_="merge")
            await api.delete("Pod", name, {"gracePeriodSeconds": 0})
    except Refused:
        pass  # gone in between: the namespace takes the rest with it
    except Unreachable:
        return
    try:
        for kind in _OF_THE_CLUSTER:
            for obj in await api.list(kind, f"set={api.namespace}"):
                await api.delete(kind, obj["metadata"]["name"])
        await api.delete("Namespace", api.namespace)
    except (Refused, Unreachable):
        return


class _SeedRun(ObjectSteps):
    """The steps of seeds, beside those of all scenarios."""

    def __init__(
        self,
        api: Api,
        pace: Pace,
        plan: Plan,
        now: Callable[[], datetime],
        changes: Telling | None,
    ) -> None:
        super().__init__(api, pace, lambda: False, plan.looks)
        self._settled_after = plan.settled
        self._now = now
        self._changes = changes
        #: What the server has refused since this was last emptied.
        self.refused: list[str] = []

    async def step(self, step: dict[str, Any]) -> None:
        try:
            await super().step(step)
        except ScenarioError as error:
            if not isinstance(error.__cause__, Refused):
                raise
            self._refuse(error.__cause__)

    def _refuse(self, refusal: Refused) -> None:
        self.refused.append(self._reducer.text(f"{refusal.code} {refusal.message}"))

    async def _look(self) -> Any:
        return self._changes.of(self._api.namespace) if self._changes else await super()._look()

    async def _snapshot(self, kinds: list[str]) -> None:
        await self._settle(self._settled_after)
        found = {kind: await self._api.list(kind) for kind in kinds}
        found["Event"] = [event for event in found.get("Event", ()) if not _of_chance(event)]
        for kind in ("Endpoints", "EndpointSlice"):
            for obj in found.get(kind, ()):
                # Both depend on how many changes came at once.
                obj["metadata"].pop("generation", None)
                _without(obj, "endpoints.kubernetes.io/last-change-trigger-time")
        for node in found.get("Node", ()):
            # It tells how many nodes there are, and so how many other seeds.
            _without(node, "node.alpha.kubernetes.io/ttl")
            # Two writers add them.
            node["spec"].get("taints", []).sort(key=lambda taint: (taint["key"], taint["effect"]))
            # In the order of a Go map.
            node["status"].get("volumesAttached", []).sort(key=lambda volume: volume["name"])
        requests = found.get("CertificateSigningRequest", [])
        requests[:] = map(shown, requests)
        if "HorizontalPodAutoscaler" in found:
            for obj in found.get("Deployment", ()):
                # How many steps the autoscaler has needed.
                obj["metadata"].pop("generation", None)
                obj["status"].pop("observedGeneration", None)
        self.answers.append(self._reducer.state({kind: found[kind] for kind in kinds}))

    async def _wait_for(self, kind_and_name: list[str]) -> None:
        kind, name = kind_and_name
        for _ in range(600):
            if any(obj["metadata"]["name"] == name for obj in await self._api.list(kind)):
                return
            await self._pace.sleep(0.1)
        raise ScenarioError(f"{kind} {name} was not made within a minute")

    async def _until_minute(self, second: float) -> None:
        """Wait for that second of the next minute."""
        now = self._now()
        await self._pace.sleep(60.0 + second - now.second - now.microsecond / 1e6)

    async def _patch_first(self, what: dict[str, Any]) -> None:
        for obj in await self._first(what):
            await self._api.patch(what["kind"], obj["metadata"]["name"], what["body"], type_="merge")

    async def _delete_first(self, what: dict[str, Any]) -> None:
        for obj in await self._first(what):
            await self._api.delete(what["kind"], obj["metadata"]["name"], what["options"])

    async def _first(self, what: dict[str, Any]) -> list[dict[str, Any]]:
        """The first one by the number in an annotation, then by name."""
        found = await self._api.list(what["kind"], what["selector"])

        def order(obj: dict[str, Any]) -> tuple[int, str]:
            number = obj["metadata"].get("annotations", {}).get(what["by"], "0")
            return int(number), obj["metadata"]["name"]

        return sorted(found, key=order)[:1]

    async def _each_pod(self, what: dict[str, Any]) -> None:
        """Do something to one pod after the other: what the controllers do about one decides what is done next."""
        touched: set[str] = set()
        do = getattr(self, f"_pod_{what['do']}")
        for number in range(what["count"]):
            if number and "settle" in what:
                await self._settle(what["settle"])
            found = [pod for pod in await self._pods({"selector": what["selector"]}) if _concerns(what["do"], pod)]
            chosen = [pod for pod in found if pod["metadata"]["uid"] not in touched]
            if not chosen:
                return
            pod = sorted(chosen, key=_seen)[-1 if what.get("last") else 0]
            touched.add(pod["metadata"]["uid"])
            try:
                await do(pod, what)
            except Refused as refusal:
                self._refuse(refusal)

    async def _pod_ready(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._bound(pod)
        ip = pod.get("status", {}).get("podIP") or self._next_ip()
        since = NEVER if what.get("fresh") else LONG_AGO
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
        await self._write(pod, {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [ready]})

    async def _pod_serve(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        """Be ready, and have started long ago: then the use of its CPU counts."""
        await self._pod_ready(pod, what)
        await self._write(pod, {"startTime": LONG_AGO})

    async def _pod_measure(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        meta = {"name": pod["metadata"]["name"], "labels": pod["metadata"].get("labels") or {}}
        containers = [{"name": each["name"], "usage": what["usage"]} for each in pod["spec"]["containers"]]
        time = self._now().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {"timestamp": time, "window": "30s", "containers": containers}
        metrics = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics", "metadata": meta, **body}
        await self._replace_metric(metrics)

    async def _replace_metric(self, metric: dict[str, Any]) -> None:
        """Create an object of a custom resource, or patch the one that is there."""
        try:
            await self._api.create(metric)
        except Refused as error:
            if error.code != 409:
                raise
            await self._api.patch(metric["kind"], metric["metadata"]["name"], metric, type_="merge")

    async def _pod_unready(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._write(pod, {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": LONG_AGO}]})

    async def _pod_fail(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._bound(pod)
        conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": LONG_AGO}]
        if what.get("disrupted"):
            conditions.append({"type": "DisruptionTarget", "status": "True", "lastTransitionTime": LONG_AGO})
        # A failure of long ago is made good at once; one that is still to come is waited out beyond the scenario.
        finished = NEVER if what.get("later") else LONG_AGO
        status = {"phase": "Failed", "conditions": conditions, "containerStatuses": [_ended(what["code"], finished)]}
        await self._write(pod, status)

    async def _pod_succeed(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._bound(pod)
        conditions = [{"type": "Ready", "status": "False", "lastTransitionTime": LONG_AGO}]
        status = {"phase": "Succeeded", "conditions": conditions, "containerStatuses": [_ended(0, LONG_AGO)]}
        await self._write(pod, status)

    async def _pod_restart(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        container = {"name": "c", "restartCount": what["restarts"], "ready": True, "image": "i", "imageID": ""}
        await self._write(pod, {"containerStatuses": [container]})

    async def _pod_delete(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._api.delete("Pod", pod["metadata"]["name"])

    async def _pod_kill(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._api.delete("Pod", pod["metadata"]["name"], {"gracePeriodSeconds": 0})

    async def _pod_end(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        await self._api.delete("Pod", pod["metadata"]["name"], {"gracePeriodSeconds": 0})

    async def _pod_evict(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        await self._api.evict(name, eviction)

    async def _pod_relabel(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        body = {"metadata": {"labels": {"app": what["app"]}}}
        await self._api.patch("Pod", pod["metadata"]["name"], body, type_="merge")

    async def _pod_price(self, pod: dict[str, Any], what: dict[str, Any]) -> None:
        body = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": what["cost"]}}}
        await self._api.patch("Pod", pod["metadata"]["name"], body, type_="merge")

    async def _write(self, pod: dict[str, Any], status: dict[str, Any]) -> None:
        name = pod["metadata"]["name"]
        await self._api.patch("Pod", name, {"status": status}, type_="strategic", subresource="status")

    async def _bound(self, pod: dict[str, Any]) -> None:
        if not pod["spec"].get("nodeName"):
            name = _wanted_node(pod) or f"{self._api.namespace}-a"
            await self._api.bind(pod["metadata"]["name"], name)
            nodes = await self._api.list("Node", f"set={self._api.namespace}")
            if any(node["metadata"]["name"] == name and node["spec"].get("taints") for node in nodes):
                # It may be evicted at once, and must not be half-way when its status is written.
                await self._settle(1.1)


def _ended(code: int, finished: str) -> dict[str, Any]:
    state = {"terminated": {"exitCode": code, "finishedAt": finished, "startedAt": LONG_AGO, "reason": "x"}}
    return {"name": "c", "state": state, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}


def _wanted_node(pod: dict[str, Any]) -> str:
    """The node that a DaemonSet has made a pod for."""
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    for term in required.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", []):
        for field in term.get("matchFields", []):
            return str(field["values"][0])
    return ""


def _concerns(verb: str, pod: dict[str, Any]) -> bool:
    deleting, phase = "deletionTimestamp" in pod["metadata"], pod.get("status", {}).get("phase")
    if verb == "end":
        return deleting
    if verb in ("relabel", "price"):
        return not deleting
    active = not deleting and phase not in ("Succeeded", "Failed")
    if verb == "measure":
        return active
    if verb in ("ready", "serve"):
        return active and not _is_ready(pod)
    if verb == "unready":
        return active and _is_ready(pod)
    if verb == "restart":
        return active and phase == "Running"
    return active if verb in ("fail", "succeed") else not deleting


def _is_ready(pod: dict[str, Any]) -> bool:
    return any(
        each["type"] == "Ready" and each["status"] == "True" for each in pod.get("status", {}).get("conditions", [])
    )


def _seen(pod: dict[str, Any]) -> str:
    """What can be seen of a pod. Two that read the same are the same to a scenario."""
    meta, status = pod["metadata"], pod.get("status", {})
    hashes = ("pod-template-hash", "controller-revision-hash", "controller-uid", "batch.kubernetes.io/controller-uid")
    generated = "generateName" in meta and "apps.kubernetes.io/pod-index" not in meta.get("labels", {})
    conditions = sorted(
        [each["type"], each["status"], each.get("lastTransitionTime") == NEVER] for each in status.get("conditions", [])
    )
    seen = [
        _number(meta.get("labels", {}).get("batch.kubernetes.io/job-completion-index", "")),
        "" if generated else meta["name"],
        {key: value for key, value in meta.get("labels", {}).items() if key not in hashes},
        meta.get("annotations", {}),
        pod["spec"].get("nodeName") or _wanted_node(pod),
        [[each["image"], each.get("env", []), each.get("resources", {})] for each in pod["spec"]["containers"]],
        "deletionTimestamp" in meta,
        "ownerReferences" in meta,
        status.get("phase"),
        conditions,
        [[each.get("restartCount"), each.get("state")] for each in status.get("containerStatuses", [])],
    ]
    return json.dumps([*seen, meta["name"]], sort_keys=True)


def _without(obj: dict[str, Any], annotation: str) -> None:
    annotations = obj["metadata"].get("annotations", {})
    if annotations.pop(annotation, None) is not None and not annotations:
        del obj["metadata"]["annotations"]


def _of_chance(event: dict[str, Any]) -> bool:
    """Whether it tells of two writers that met, of the API server's own repairs, or which of many came last."""
    message = event.get("message", "")
    # "Create Pod" is not told if claims could not be updated in the same sync.
    # What a disruption budget has to say, it says of moments.
    return (
        event["involvedObject"].get("kind") == "PodDisruptionBudget"
        or "the object has been modified" in message
        or message.startswith(("(combined from similar events)", "Create Pod "))
        or event.get("reason") == "ClusterIPNotAllocated"
    )


def _number(text: str) -> str:
    return f"{int(text):06}" if text.isdigit() else text
