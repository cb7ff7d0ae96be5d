"""Tables: how ``kubectl get`` wants to see objects, a row each, with the columns that the kind has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from kinformer.envtest.handlers.view import View
from kinformer.envtest.registry import Resource

__all__ = ("TableView",)

Obj = dict[str, Any]
#: A column: name, type, priority (0 is always shown), and how its cell is read.
Column = tuple[str, str, int, Callable[[Obj], Any]]

_META = {"apiVersion": "meta.k8s.io/v1"}


class TableView(View):
    """
    Objects as rows.

    :param include: what of the object comes with its row: ``Metadata``, ``Object`` or ``None``
    """

    def __init__(self, resource: Resource, include: str, now: datetime):
        super().__init__(resource)
        self._include = include
        self._now = now
        self._columns = _columns_of(resource)

    def one(self, raw: bytes) -> bytes:
        obj = msgspec.json.decode(raw)
        return self._table([obj], {"resourceVersion": obj["metadata"].get("resourceVersion", "")})

    def many(self, raws: Iterable[bytes], metadata: dict[str, Any]) -> bytes:
        return self._table([msgspec.json.decode(raw) for raw in raws], metadata) + b"\n"

    def _table(self, objects: list[Obj], metadata: Obj) -> bytes:
        definitions = [
            {
                "name": name,
                "type": "string" if type_ == "date" else type_,
                "format": "name" if name == "Name" else "",
                "description": "",
                "priority": priority,
            }
            for name, type_, priority, _ in self._columns
        ]
        table = {"kind": "Table", **_META, "metadata": metadata, "columnDefinitions": definitions}
        return msgspec.json.encode({**table, "rows": [self._row(obj) for obj in objects]})

    def _row(self, obj: Obj) -> Obj:
        cells = [self._cell(obj, type_, read) for _, type_, _, read in self._columns]
        row: Obj = {"cells": cells}
        if self._include == "Object":
            row["object"] = {"kind": self.resource.kind, "apiVersion": self.resource.api_version, **obj}
        elif self._include != "None":
            row["object"] = {"kind": "PartialObjectMetadata", **_META, "metadata": obj["metadata"]}
        return row

    def _cell(self, obj: Obj, type_: str, read: Callable[[Obj], Any]) -> Any:
        try:
            value = read(obj)
        except (KeyError, TypeError, AttributeError, IndexError):
            value = None
        if type_ == "date":
            return _age(value, self._now)
        if value is None:
            return 0 if type_ == "integer" else "<none>"
        return value if type_ == "integer" else str(value)


def _age(text: Any, now: datetime) -> str:
    """How long ago, in the one or two units that say it."""
    if not isinstance(text, str):
        return "<unknown>"
    try:
        seconds = int((now - datetime.fromisoformat(text.replace("Z", "+00:00"))).total_seconds())
    except ValueError:
        return "<unknown>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes = seconds // 60
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    return f"{days}d{hours % 24}h" if days < 8 and hours % 24 else f"{days}d"


def _at(path: str) -> Callable[[Obj], Any]:
    parts = path.strip(".").split(".")

    def read(obj: Obj) -> Any:
        value: Any = obj
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    return read


_NAME: Column = ("Name", "string", 0, _at("metadata.name"))
_AGE: Column = ("Age", "date", 0, _at("metadata.creationTimestamp"))


def _pod_ready(obj: Obj) -> str:
    statuses = obj["status"].get("containerStatuses") or ()
    return f"{sum(bool(one.get('ready')) for one in statuses)}/{len(obj['spec']['containers'])}"


def _pod_status(obj: Obj) -> Any:
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return obj["status"].get("reason") or obj["status"].get("phase")


def _restarts(obj: Obj) -> int:
    return sum(one.get("restartCount", 0) for one in obj["status"].get("containerStatuses") or ())


def _ready_of(total: str) -> Callable[[Obj], str]:
    read = _at(total)
    return lambda obj: f"{obj.get('status', {}).get('readyReplicas', 0)}/{read(obj) or 0}"


def _service_ports(obj: Obj) -> str:
    ports = obj["spec"].get("ports") or ()
    numbers = [(f"{port['port']}:{port['nodePort']}" if port.get("nodePort") else port["port"]) for port in ports]
    return ",".join(f"{number}/{port['protocol']}" for number, port in zip(numbers, ports, strict=True))


def _node_status(obj: Obj) -> str:
    conditions = obj["status"].get("conditions") or ()
    ready = next((one["status"] for one in conditions if one.get("type") == "Ready"), "Unknown")
    words = ["Ready" if ready == "True" else "NotReady"]
    return ",".join([*words, "SchedulingDisabled"] if obj["spec"].get("unschedulable") else words)


def _replicas() -> list[Column]:
    return [
        ("Desired", "integer", 0, _at("spec.replicas")),
        ("Current", "integer", 0, _at("status.replicas")),
        ("Ready", "integer", 0, _at("status.readyReplicas")),
    ]


_COLUMNS: dict[tuple[str, str], list[Column]] = {
    ("", "pods"): [
        ("Ready", "string", 0, _pod_ready),
        ("Status", "string", 0, _pod_status),
        ("Restarts", "integer", 0, _restarts),
        _AGE,
        ("IP", "string", 1, _at("status.podIP")),
        ("Node", "string", 1, _at("spec.nodeName")),
    ],
    ("", "replicationcontrollers"): [*_replicas(), _AGE],
    ("apps", "replicasets"): [*_replicas(), _AGE],
    ("apps", "deployments"): [
        ("Ready", "string", 0, _ready_of("spec.replicas")),
        ("Up-to-date", "integer", 0, _at("status.updatedReplicas")),
        ("Available", "integer", 0, _at("status.availableReplicas")),
        _AGE,
    ],
    ("apps", "statefulsets"): [("Ready", "string", 0, _ready_of("spec.replicas")), _AGE],
    ("", "services"): [
        ("Type", "string", 0, _at("spec.type")),
        ("Cluster-IP", "string", 0, _at("spec.clusterIP")),
        ("External-IP", "string", 0, _at("spec.externalName")),
        ("Port(s)", "string", 0, _service_ports),
        _AGE,
    ],
    ("", "namespaces"): [("Status", "string", 0, _at("status.phase")), _AGE],
    ("", "nodes"): [
        ("Status", "string", 0, _node_status),
        ("Roles", "string", 0, lambda obj: None),
        _AGE,
        ("Version", "string", 0, _at("status.nodeInfo.kubeletVersion")),
    ],
    ("", "configmaps"): [
        ("Data", "integer", 0, lambda obj: len(obj.get("data") or {}) + len(obj.get("binaryData") or {})),
        _AGE,
    ],
    ("", "secrets"): [
        ("Type", "string", 0, _at("type")),
        ("Data", "integer", 0, lambda obj: len(obj.get("data") or {})),
        _AGE,
    ],
    ("", "events"): [
        ("Last Seen", "date", 0, lambda obj: obj.get("lastTimestamp") or obj.get("eventTime")),
        ("Type", "string", 0, _at("type")),
        ("Reason", "string", 0, _at("reason")),
        ("Object", "string", 0, lambda obj: f"{obj['involvedObject']['kind'].lower()}/{obj['involvedObject']['name']}"),
        ("Message", "string", 0, _at("message")),
    ],
}


def _columns_of(resource: Resource) -> list[Column]:
    if resource.definition is not None:
        printed = resource.definition.get("additionalPrinterColumns") or ()
        custom: list[Column] = [
            (one["name"], one.get("type", "string"), one.get("priority", 0), _at(one.get("jsonPath", "")))
            for one in printed
        ]
        return [_NAME, *(custom or [_AGE])]
    columns = _COLUMNS.get((resource.group if resource.plural != "events" else "", resource.plural), [_AGE])
    return columns if resource.plural == "events" else [_NAME, *columns]
