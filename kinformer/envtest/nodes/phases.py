"""Phases: the status that a kubelet would report for a pod, if its containers did what the pod's annotations say.

It is a pure function of the pod, the time at which its node accepted it, and the present time. All annotations are
optional:

================================================  ==================================================================
``fake-nodes.kinformer.dev/pending-seconds``      the seconds for which its images are pulled (0)
``fake-nodes.kinformer.dev/ready-after-seconds``  the seconds until its running containers are ready (0), or ``never``
``fake-nodes.kinformer.dev/run-seconds``          the seconds for which its containers run (for ever)
``fake-nodes.kinformer.dev/exit-code``            the exit code with which they end (0)
================================================  ==================================================================

If the pod's ``restartPolicy`` says so, ended containers are started again, and their restarts are counted. Otherwise
the pod is Succeeded or Failed. Init containers have succeeded as soon as the others start. Those that are restarted
always (sidecars) run as long as the others do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from kinformer.meta.integers import read_unsigned
from kinformer.models import V1Container, V1Pod, to_dict

__all__ = (
    "EXIT_CODE",
    "PENDING_SECONDS",
    "READY_AFTER_SECONDS",
    "RUN_SECONDS",
    "Placement",
    "PodScript",
    "PodScriptError",
    "status_at",
    "terminating",
    "timestamp",
)

_PREFIX = "fake-nodes.kinformer.dev/"
PENDING_SECONDS = _PREFIX + "pending-seconds"
READY_AFTER_SECONDS = _PREFIX + "ready-after-seconds"
RUN_SECONDS = _PREFIX + "run-seconds"
EXIT_CODE = _PREFIX + "exit-code"


#: Seconds.
_SHORTEST_RUN = 1.0


class PodScriptError(ValueError):
    """A pod's annotation has an invalid value."""


@dataclass(frozen=True, slots=True)
class PodScript:
    """The behaviour of a pod's containers. Times are seconds, infinite for never."""

    pending: float = 0.0
    ready_after: float = 0.0
    run: float = math.inf
    exit_code: int = 0

    @classmethod
    def of(cls, annotations: Mapping[str, str]) -> PodScript:
        """
        Read the annotations of a pod.

        :raises PodScriptError: if an annotation is not a number of seconds, ``never``, or an exit code
        """
        return cls(
            _seconds(annotations, PENDING_SECONDS, 0.0),
            _seconds(annotations, READY_AFTER_SECONDS, 0.0),
            _seconds(annotations, RUN_SECONDS, math.inf),
            _exit_code(annotations),
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """The addresses of a pod and its node, and the time since which the pod is there."""

    pod_ip: str
    host_ip: str
    since: datetime


def status_at(pod: V1Pod, placement: Placement, script: PodScript, now: datetime) -> tuple[dict[str, Any], float]:
    """The pod's status as in the API, and the seconds until it changes (infinite for never)."""
    restarts_anyway = _starts_again(pod, script)
    if restarts_anyway:
        # Containers that end at once and are started again at once would change without end; a kubelet backs off.
        script = replace(script, run=max(script.run, _SHORTEST_RUN))
    age = (now - placement.since).total_seconds()
    if age < script.pending:
        return _pending(pod, placement), script.pending - age
    running = age - script.pending
    if running >= script.run and not restarts_anyway:
        ended = placement.since + timedelta(seconds=script.pending + script.run)
        return _ended(pod, placement, script, ended), math.inf
    restarts = int(running // script.run)
    running -= restarts * script.run if restarts else 0.0
    started = now - timedelta(seconds=running)
    ready = running >= script.ready_after
    until_ready = math.inf if ready else script.ready_after - running
    return _running(pod, placement, script, restarts, started, ready=ready), min(until_ready, script.run - running)


def terminating(pod: V1Pod, now: datetime) -> dict[str, Any] | None:
    """
    A patch of the status of a pod whose containers are being stopped: it makes the pod not ready.

    A pod with finalizers stays visible, so it also ends, as it does with a kubelet: the Job controller waits for that.

    :return: None if the pod has this status already
    """
    status = to_dict(pod.status) if pod.status is not None else {}
    ready = [
        each["type"]
        for each in status.get("conditions") or ()
        if each["type"] in ("Ready", "ContainersReady") and each["status"] == "True"
    ]
    changes: dict[str, Any] = {"ready": False}
    if ends := bool(pod.metadata.finalizers) and status.get("phase") == "Running":
        killed = _terminated(PodScript(exit_code=137), now, now)
        changes |= {"started": False, "state": {"running": None, "terminated": killed}}
    elif not ready:
        return None
    why = {"status": "False", "reason": "ContainersNotReady", "lastTransitionTime": timestamp(now)}
    return ({"phase": "Failed"} if ends else {}) | {
        "conditions": [{"type": type_, **why} for type_ in ready],
        "containerStatuses": [{**each, **changes} for each in status.get("containerStatuses") or ()],
    }


def _starts_again(pod: V1Pod, script: PodScript) -> bool:
    """Whether containers that have ended are started again."""
    policy = pod.spec.restart_policy or "Always"
    return policy == "Always" or (policy == "OnFailure" and script.exit_code != 0)


def _pending(pod: V1Pod, placement: Placement) -> dict[str, Any]:
    return {
        "phase": "Pending",
        "hostIP": placement.host_ip,
        "hostIPs": [{"ip": placement.host_ip}],
        "startTime": timestamp(placement.since),
        "conditions": _conditions(placement.since, placement.since, ready=False),
        **_containers(pod, {"waiting": {"reason": "ContainerCreating"}}, placement.since),
    }


def _running(
    pod: V1Pod, placement: Placement, script: PodScript, restarts: int, started: datetime, *, ready: bool
) -> dict[str, Any]:
    last: dict[str, Any] = {}
    if restarts:
        last = {"terminated": _terminated(script, started - timedelta(seconds=script.run), started)}
    changed = started + timedelta(seconds=script.ready_after) if ready else started
    state, first = {"running": {"startedAt": timestamp(started)}}, placement.since + timedelta(seconds=script.pending)
    return {
        "phase": "Running",
        **_addresses(placement),
        "conditions": _conditions(placement.since, changed, ready=ready),
        **_containers(pod, state, first, last, restarts, ready=ready),
    }


def _ended(pod: V1Pod, placement: Placement, script: PodScript, ended: datetime) -> dict[str, Any]:
    first = ended - timedelta(seconds=script.run)
    reason = "PodFailed" if script.exit_code else "PodCompleted"
    return {
        "phase": "Failed" if script.exit_code else "Succeeded",
        **_addresses(placement),
        "conditions": _conditions(placement.since, ended, ready=False, reason=reason),
        **_containers(pod, {"terminated": _terminated(script, first, ended)}, first),
    }


def _addresses(placement: Placement) -> dict[str, Any]:
    return {
        "hostIP": placement.host_ip,
        "hostIPs": [{"ip": placement.host_ip}],
        "podIP": placement.pod_ip,
        "podIPs": [{"ip": placement.pod_ip}],
        "startTime": timestamp(placement.since),
    }


def _conditions(
    since: datetime, changed: datetime, *, ready: bool, reason: str = "ContainersNotReady"
) -> list[dict[str, Any]]:
    def condition(type_: str, holds: bool, at: datetime) -> dict[str, Any]:
        why = {} if holds else {"reason": reason}
        return {"type": type_, "status": str(holds), "lastProbeTime": None, "lastTransitionTime": timestamp(at), **why}

    return [
        condition("Initialized", True, since),
        condition("Ready", ready, changed),
        condition("ContainersReady", ready, changed),
        condition("PodScheduled", True, since),
    ]


def _containers(
    pod: V1Pod, state: dict[str, Any], first: datetime, last: Any = None, restarts: int = 0, *, ready: bool = False
) -> dict[str, Any]:
    """
    The statuses of all containers.

    :param state: the state of those that are not init containers
    :param first: when these started first, and the init containers had succeeded
    """
    succeeded = {"terminated": _terminated(PodScript(), first, first)}
    initial = []
    for each in pod.spec.init_containers or ():
        is_sidecar = each.restart_policy == "Always"
        its = state if "waiting" in state or (is_sidecar and "running" in state) else succeeded
        initial.append(_container(each, its, ready="running" in its or (its is succeeded and not is_sidecar)))
    others = [_container(each, state, last, restarts, ready=ready) for each in pod.spec.containers or ()]
    return ({"initContainerStatuses": initial} if initial else {}) | {"containerStatuses": others}


def _container(
    container: V1Container, state: dict[str, Any], last: Any = None, restarts: int = 0, *, ready: bool
) -> dict[str, Any]:
    return {
        "name": container.name,
        "image": container.image or "",
        "imageID": "" if "waiting" in state else f"fake://{container.image}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }


def _terminated(script: PodScript, started: datetime, ended: datetime) -> dict[str, Any]:
    return {
        "exitCode": script.exit_code,
        "reason": "Error" if script.exit_code else "Completed",
        "startedAt": timestamp(started),
        "finishedAt": timestamp(ended),
    }


def timestamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(annotations: Mapping[str, str], name: str, default: float) -> float:
    if (text := annotations.get(name)) is None:
        return default
    if text == "never":
        return math.inf
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise PodScriptError(f"annotation {name} is {text!r}: want seconds, or never")
    return seconds


def _exit_code(annotations: Mapping[str, str]) -> int:
    text = annotations.get(EXIT_CODE, "0")
    if (code := read_unsigned(text)) is None or code > 255:
        raise PodScriptError(f"annotation {EXIT_CODE} is {text!r}: want 0 to 255")
    return code
