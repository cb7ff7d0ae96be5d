"""The cells of a pod: a short text for the state of its containers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kinformer.envtest.handlers.spans import NONE, since
from kinformer.envtest.strategy.base import has_condition

__all__ = ("pod_conditions", "pod_ready", "pod_restarts", "pod_status", "readiness_gates")

Obj = dict[str, Any]
_OVER = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def pod_conditions(obj: Obj) -> list[Obj]:
    """The conditions of a pod's row. Only a finished pod has one."""
    phase = (obj.get("status") or {}).get("phase", "")
    if phase not in _OVER:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _OVER[phase]}]


def _sidecars(obj: Obj) -> set[str]:
    """The names of init containers that keep running beside the others."""
    containers = obj["spec"].get("initContainers") or ()
    return {one["name"] for one in containers if one.get("restartPolicy") == "Always"}


def _statuses(obj: Obj, name: str) -> list[Obj]:
    return list((obj.get("status") or {}).get(name) or ())


def pod_ready(obj: Obj, now: datetime) -> str:
    sidecars = _sidecars(obj)
    total = len(obj["spec"].get("containers") or ()) + len(sidecars)
    ready = [one for one in _statuses(obj, "containerStatuses") if (one.get("state") or {}).get("running") is not None]
    initial = _statuses(obj, "initContainerStatuses")
    ready += [one for one in initial if one.get("name") in sidecars and one.get("started")]
    return f"{sum(bool(one.get('ready')) for one in ready)}/{total}"


def pod_restarts(obj: Obj, now: datetime) -> str:
    sidecars = _sidecars(obj)
    initial = _statuses(obj, "initContainerStatuses")
    if _initializing(obj) is None:
        initial = [one for one in initial if one.get("name") in sidecars]
        counted = [*initial, *_statuses(obj, "containerStatuses")]
    else:
        counted = initial
    count = sum(one.get("restartCount", 0) for one in counted)
    ends = [((one.get("lastState") or {}).get("terminated") or {}).get("finishedAt") for one in counted]
    last = max((end for end in ends if end), default=None)
    return f"{count} ({since(last, now)} ago)" if count and last else str(count)


def _end_of(state: Obj, before: str = "") -> str:
    """The text for how a container has ended."""
    if state.get("reason"):
        return f"{before}{state['reason']}"
    if state.get("signal"):
        return f"{before}Signal:{state['signal']}"
    return f"{before}ExitCode:{state.get('exitCode', 0)}"


def _initializing(obj: Obj) -> str | None:
    """The text for a pod whose init containers are not finished. None if they are."""
    if has_condition(obj.get("status"), "Initialized"):
        return None
    sidecars = _sidecars(obj)
    for place, one in enumerate(_statuses(obj, "initContainerStatuses")):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if one.get("name") in sidecars and one.get("started"):
            continue
        if ended is not None:
            return _end_of(ended, "Init:")
        if waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{place}/{len(obj['spec'].get('initContainers') or ())}"
    return None


def pod_status(obj: Obj, now: datetime) -> str:
    status = obj.get("status") or {}
    phase, conditions = status.get("phase", ""), _statuses(obj, "conditions")
    word = status.get("reason") or phase
    if any(one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in conditions):
        word = "SchedulingGated"
    initializing = _initializing(obj)
    word = initializing if initializing is not None else _of_containers(obj, word)
    if "deletionTimestamp" in obj["metadata"]:
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if phase not in ("Succeeded", "Failed"):
            return "Terminating"
    return str(word)


def _of_containers(obj: Obj, word: str) -> str:
    running, failed = False, ""
    for one in reversed(_statuses(obj, "containerStatuses")):
        state = one.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting") or {}
        if waiting.get("reason"):
            word = waiting["reason"]
        elif ended is not None:
            word = _end_of(ended)
            if ended.get("exitCode"):
                failed = word
        elif one.get("ready") and state.get("running") is not None:
            running = True
    if word != "Completed":
        return word
    if running and has_condition(obj.get("status"), "Ready"):
        return "Running"
    return failed or ("NotReady" if running else word)


def readiness_gates(obj: Obj, now: datetime) -> str:
    gates = obj["spec"].get("readinessGates") or ()
    true = sum(has_condition(obj.get("status"), gate.get("conditionType")) for gate in gates)
    return f"{true}/{len(gates)}" if gates else NONE
