"""Reducing a state to what can be compared: the rules of golden scenarios for what differs from run to run."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import Any

__all__ = ("Reducer",)

_DROPPED = {
    "managedFields",
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "selfLink",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
    "lastHeartbeatTime",
    "lastScheduleTime",
    "lastSuccessfulTime",
    "lastScaleTime",
    "timeAdded",
    "clusterIP",
    "clusterIPs",
    "startTime",
    "completionTime",
    "time",
}
#: Texts that are secret, or made anew each time.
_ANY = {"token", "ca.crt", "certificate"}
#: Labels whose value is a hash or a uid.
_HASHES = {
    "pod-template-hash",
    "controller-revision-hash",
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
}
#: Kinds of the cluster: those of a scenario are labelled with its namespace.
_LABELLED = {
    "Node",
    "PersistentVolume",
    "Namespace",
    "CertificateSigningRequest",
    "StorageClass",
    "CSINode",
    "VolumeAttributesClass",
    "ServiceCIDR",
    "ResourceSlice",
    "ValidatingAdmissionPolicy",
    "ClusterRole",
}
_UNORDERED = {
    "addresses",
    "notReadyAddresses",
    "ports",
    "subsets",
    "ownerReferences",
    "conditions",
    "endpoints",
    "finalizers",
}
#: Kinds whose pods are named after them, though such a pod may be gone before anybody looks.
_MAKES_PODS = {"ReplicationController", "ReplicaSet", "DaemonSet", "Job"}
#: The letters of generated names.
_LETTERS = "[bcdfghjklmnpqrstvwxz2456789]"
_SUFFIX = _LETTERS + "{5}"
_HASH = re.compile(rf"(?<=\w)-{_LETTERS}{{8,10}}(?![A-Za-z0-9])")
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_IP = re.compile(r"\b10\.1\.\d+\.\d+\b")


class Reducer:
    """
    The rules, for one run of one scenario.

    :param namespace: that the run has for itself
    """

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._prefixes: set[str] = set()
        #: Names that the server or a controller has made from a prefix, and what they are called here.
        self._names: dict[str, str] = {}
        self._cron_jobs: set[str] = set()
        #: Texts as they are shown, while the names are the same: most of them stand in every object.
        self._texts: dict[str, str] = {}

    def state(self, objects: dict[str, list[dict[str, Any]]]) -> dict[str, list[Any]]:
        """A snapshot: objects by kind."""
        for obj in (obj for listed in objects.values() for obj in listed):
            self.saw(obj)
        return {kind: self._kind(kind, listed) for kind, listed in objects.items() if kind != "Service"}

    def saw(self, obj: dict[str, Any]) -> None:
        """Remember after what names are generated: they may turn up in texts after the object is gone."""
        self._texts.clear()
        meta = obj.get("metadata", {})
        if prefix := meta.get("generateName"):
            self._prefixes.add(prefix)
            if str(meta.get("name", "")).startswith(prefix):
                self._names[meta["name"]] = f"{prefix}*"
        if obj.get("kind") in _MAKES_PODS:
            self._prefixes.add(f"{meta['name']}-")
        if obj.get("kind") == "CronJob":
            self._cron_jobs.add(meta["name"])

    def text(self, text: str) -> str:
        """A message, or any other string."""
        if (known := self._texts.get(text)) is None:
            known = self._texts[text] = self._reduced(text)
        return known

    def _reduced(self, text: str) -> str:
        text = text.replace(self._namespace, "<ns>")
        text = text.replace(base64.b64encode(self._namespace.encode()).decode(), "<ns64>")
        for name, shown in sorted(self._names.items(), key=lambda item: -len(item[0])):
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", shown, text)
        for name in self._cron_jobs:
            # A job may be gone before anybody looks, and is named by nothing but the Events about its pods.
            text = re.sub(rf"\b{re.escape(name)}-\d{{7,9}}-{_SUFFIX}\b", f"{name}-<minute>-*", text)
            text = re.sub(rf"\b{re.escape(name)}-\d{{7,9}}\b", f"{name}-<minute>", text)
        for prefix in sorted(self._prefixes, key=len, reverse=True):
            # A pod of an Indexed Job has its index in between.
            text = re.sub(rf"\b{re.escape(prefix)}(\d+-)?{_SUFFIX}\b", rf"{prefix}\1*", text)
        text = text.replace("kubernetes-admin", "admin")  # they were recorded with another name for the administrator
        text = _HASH.sub("-<hash>", text)
        text = _UID.sub("<uid>", text)
        text = _TIME.sub("<time>", text)
        return _IP.sub("<ip>", text)

    def _kind(self, kind: str, objects: Iterable[dict[str, Any]]) -> list[Any]:
        if kind == "Event":
            events = {_json(self._event(event)) for event in objects}
            return [json.loads(text) for text in sorted(events)]
        kind = kind.partition("@")[0]
        if kind in _LABELLED:
            objects = [obj for obj in objects if obj["metadata"].get("labels", {}).get("set") == self._namespace]
        if kind == "VolumeAttachment":
            objects = [obj for obj in objects if obj["spec"]["nodeName"].startswith(self._namespace)]
            objects = [{**obj, "metadata": {**obj["metadata"], "name": "<va>"}} for obj in objects]
        reduced = [self._value(_SHOWN.get(kind, _whole)(obj)) for obj in objects]
        for obj in reduced:
            obj.pop("kind", None)
            obj.pop("apiVersion", None)
        return sorted(reduced, key=_json)

    def _event(self, event: dict[str, Any]) -> dict[str, Any]:
        involved = event["involvedObject"]
        return {
            "type": event["type"],
            "reason": event["reason"],
            "object": self.text(f"{involved['kind']}/{involved['name']}"),
            "source": event.get("source", {}).get("component", ""),
            "message": self.text(event["message"]),
        }

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if not isinstance(value, dict):
            return value
        reduced: dict[str, Any] = {}
        for key, part in value.items():
            if key in _HASHES and isinstance(part, str):
                reduced[key] = "<hash>"
            elif key in _ANY and isinstance(part, str):
                reduced[key] = "<any>"
            elif key not in _DROPPED:
                reduced[key] = self._value(part)
            if key in _UNORDERED and isinstance(part, list):
                reduced[key].sort(key=_json)
        if value.get("deletionTimestamp"):
            reduced["deleting"] = True
        return reduced


def _pod(pod: dict[str, Any]) -> dict[str, Any]:
    spec = pod["spec"]
    return {
        "metadata": pod["metadata"],
        "spec": {
            "nodeName": spec.get("nodeName"),
            "containers": [{"name": each["name"], "image": each.get("image")} for each in spec["containers"]],
        },
        "status": {"phase": pod.get("status", {}).get("phase")},
    }


def _load_balancer(service: dict[str, Any]) -> dict[str, Any]:
    meta = {
        key: service["metadata"][key]
        for key in ("name", "finalizers", "deletionTimestamp")
        if key in service["metadata"]
    }
    return {"metadata": meta, "spec": {"type": service["spec"].get("type")}, "status": service.get("status", {})}


def _whole(obj: dict[str, Any]) -> dict[str, Any]:
    return obj


#: What is shown of an object, for kinds of which not all is.
_SHOWN = {"Pod": _pod, "LoadBalancer": _load_balancer}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
